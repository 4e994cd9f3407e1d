"""`desk: {kind: caller}`."""

from typing import ClassVar, Literal

from assay.tasks.desks.kind import DeskKind, Labelling, Resources
from assay.tasks.desks.protocol import Desk


class CallerKind(DeskKind):
    """The caller's own code labels: it asks what waits, and tells answers."""

    example: ClassVar[str] = "{kind: caller}   # your own code asks what waits, and tells the answers"
    needs_display: ClassVar[bool] = False   # code may know the items by their ids

    kind: Literal["caller"]

    def opened(self, labelling: Labelling, resources: Resources) -> Desk:
        from assay.tasks.desks.caller.desk import CallerDesk

        return CallerDesk(
            resources.store, evaluation=labelling.evaluation, answers=labelling.answers,
            annotators_per_item=self.annotators_per_item, clock=resources.clock,
        )

    def look(self, labelling: Labelling, resources: Resources) -> str:
        """There is nothing to look at: items wait in the ledger's store."""
        return "the caller's own code labels"
