"""When the alerts of an owner are muted, and why.

    <owner>/mutes/0001.json

The last record counts from the moment it was made: it mutes until a date, or it ends the mute.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import put_record, read_records


@dataclass(frozen=True, slots=True, kw_only=True)
class Mute:
    """A change of what is muted."""

    number: int               # from 1
    until: datetime | None    # None: nothing is muted any more
    reason: str
    at: datetime              # when it was made


def create_mute(ledger: Ledger, mute: Mute) -> Mute:
    """Put a mute; returns the one under its number."""
    return put_record(ledger, layout.mute(ledger.name, mute.number), mute)


def read_mutes(ledger: Ledger) -> list[Mute]:
    """All of them, in order."""
    return read_records(ledger, layout.mutes(ledger.name), layout.mute, Mute)


def mute_at(mutes: Sequence[Mute], moment: datetime) -> Mute | None:
    """The mute in force at a moment, or None."""
    last = next((mute for mute in reversed(mutes) if mute.at <= moment), None)
    return last if last is not None and last.until is not None and moment < last.until else None


def ended_mutes(mutes: Sequence[Mute], moment: datetime) -> list[Mute]:
    """The mutes that were in force before a moment, and are not any more."""
    now = mute_at(mutes, moment)
    return [mute for mute in mutes if mute.until is not None and mute.at <= moment and mute is not now]
