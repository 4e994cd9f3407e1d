"""When an evaluation began and its rounds closed: beside the record, and never compared."""

from dataclasses import dataclass
from datetime import datetime

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """`times.json`"""

    begun: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """`rounds/0001/times.json`"""

    closed: datetime


@retried
def write_begun(ledger: Ledger, moment: datetime) -> None:
    """Put when the evaluation began."""
    put_record(ledger, layout.begun(ledger.name), Begun(begun=moment))


@retried
def write_closed(ledger: Ledger, round: int, moment: datetime) -> None:
    """Put when a round closed."""
    put_record(ledger, layout.times(ledger.name, round), Closed(closed=moment))


@retried
def ensure_closed(ledger: Ledger, round: int, moment: datetime) -> None:
    """Put when a round closed unless it is there: the process that closed it may have crashed before."""
    if round and not ledger.exists(layout.times(ledger.name, round)):
        put_record(ledger, layout.times(ledger.name, round), Closed(closed=moment))


def read_begun(ledger: Ledger) -> datetime | None:
    """When the evaluation began; None if that was removed."""
    found = find_record(ledger, layout.begun(ledger.name), Begun)
    return None if found is None else found.begun


def read_closed(ledger: Ledger, round: int) -> datetime | None:
    """When a round closed; None if it is open, or if its process crashed and nobody came back since."""
    found = find_record(ledger, layout.times(ledger.name, round), Closed)
    return None if found is None else found.closed
