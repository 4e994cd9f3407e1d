"""A closed round as the ledger holds it: what was planned, what its items were closed with, the labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.evalcore.design.round import ClosedDraws
from assay.evalcore.evaluation.labelled_round import LabelledRound, Segments
from assay.evalcore.outcomes.codes import UNANSWERED
from assay.evalcore.types import Floats, Ints
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedRound:
    """A round and the labels of its draws as codes, some of which stand for none."""

    planned: PlannedRound
    labels: Floats  # (T,) see `evalcore.outcomes.codes`
    decided: Sequence[Decided] | None = None   # what it was closed with; None: in brief

    @property
    def has_gaps(self) -> bool:
        """Whether it was closed with items unanswered."""
        return bool((self.labels == UNANSWERED).any())

    def in_brief(self) -> "ClosedRound":
        """Without what people saw and what each item was closed with: what a checkpoint keeps."""
        if self.decided is None:
            return self
        planned = replace(self.planned, shown=[None] * len(self.planned.item_id))
        return ClosedRound(planned=planned, labels=self.labels)

    def answered(self, share: Floats | None = None, now: Floats | None = None) -> ClosedDraws:
        """As an evaluation takes it.

        share (T,): see `ClosedDraws`; now (T,): the codes of now, where they were revised since.
        """
        return ClosedDraws(
            plan=self.planned.plan, items=self.planned.items, share=share,
            code=self.labels if now is None else now, seen=None if now is None else self.labels,
        )

    def labelled(self, segments: Segments, before: Any = None) -> LabelledRound:
        """The draws, one by one; segments: the columns of the pool and their values; before: see there."""
        return LabelledRound(
            plan=self.planned.plan,
            code=self.labels,
            items=self.planned.items,
            new=np.array([label is None for label in self.planned.known], np.bool_),
            segment=self.places(segments),
            before=before,
        )

    def places(self, segments: Segments) -> dict[str, Ints]:
        """Column -> (T,) which of the column's values each draw's item has, counted from 0."""
        index = {column: {value: i for i, value in enumerate(values)} for column, values in segments.items()}
        return {
            column: np.array([of[item[column]] for item in self.planned.segments], np.int64)
            for column, of in index.items()
        }
