"""What distinguishes evaluations of one name in different ledgers: `identity.json`, a random word.

Two ledgers may hold evaluations of one name that label on one server; the word keeps their questions apart.
"""

from dataclasses import dataclass
from uuid import uuid4

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The word, written once."""

    identity: str


@retried
def own_identity(ledger: Ledger) -> str:
    """The evaluation's word; a new one if it has none yet."""
    return put_record(ledger, layout.identity(ledger.name), Identity(identity=uuid4().hex)).identity


def read_identity(ledger: Ledger) -> str | None:
    """The evaluation's word, or None if it has none."""
    found = find_record(ledger, layout.identity(ledger.name), Identity)
    return None if found is None else found.identity
