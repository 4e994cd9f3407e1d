"""What posting, collecting and closing have to know of an evaluation."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.flows.record.opened import Opened
from assay.tasks.desks.protocol import Desk
from assay.tasks.ledger.owner import Ledger


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class People:
    """The people who answer for one evaluation: the desk they work at, and the clock."""

    opened: Opened
    desk: Desk
    now: Callable[[], datetime]
    repost_after: timedelta    # see flows.people.post

    @property
    def ledger(self) -> Ledger:
        """The evaluation's."""
        return self.opened.ledger

    @property
    def annotators(self) -> int:
        """People asked per item."""
        return self.opened.spec.desk.annotators_per_item

    @property
    def asks_twice(self) -> bool:
        """Whether items that everybody skipped are asked a second time."""
        return self.opened.spec.skipped != "set-aside"
