"""The decision to close a round although items are unanswered: `rounds/0001/closing.json`.

Written before the labels, so that after a crash the next process closes the round too, and kept because it is
the reason why the round's labels have gaps. It says why, and no more: who decided first may not matter.
"""

from dataclasses import dataclass
from typing import Literal

from assay.tasks.effects.calls import effect
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record

Why = Literal["deadline", "request"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """That a round is closed early."""

    why: Why


@effect("close-early")
def decide_to_close(ledger: Ledger, round: int, why: Why) -> Why:
    """Put the decision; returns the reason under the key."""
    return put_record(ledger, layout.closing(ledger.name, round), Closing(why=why)).why


def read_closing(ledger: Ledger, round: int) -> Why | None:
    """Why the round is closed early, or None if it is not."""
    closing = find_record(ledger, layout.closing(ledger.name, round), Closing)
    return None if closing is None else closing.why
