"""What an evaluation waits for while people are asked."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from assay.tasks.report.printed import WaitingForJson

_ONLY_IF_SO = ("tied", "invalid", "not_on_desk", "asked_again", "overdue")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFor:
    """The items of a round that people have to answer."""

    round: int
    items: int                        # asked; of what is asked a second time, only these
    on_desk: int | None = None        # of them; None where the desk was not read
    answered: int | None = None       # of them, by somebody
    tied: int = 0                     # one more person is asked
    invalid: int = 0                  # answered with something that is not a class
    not_on_desk: int = 0              # they will be posted again
    asked_again: int = 0              # everybody skipped them the first time
    deadline: datetime | None = None  # of the round
    overdue: bool = False             # the deadline has passed
    cannot_close: str | None = None   # why the round is not closed although it should be
    desk: str                         # the kind of desk
    place: str = ""                   # where people find it; for people, and not part of the JSON

    def to_json(self) -> WaitingForJson:
        """The contract's object: counts of unusual things only where there are any."""
        told: Any = {
            name: value for name, value in asdict(self).items()
            if value is not None and (value or name not in _ONLY_IF_SO) and name != "place"
        }
        if self.deadline is not None:
            told["deadline"] = self.deadline.isoformat(timespec="seconds")
        there: WaitingForJson = told
        return there
