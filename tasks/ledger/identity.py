"""What distinguishes evaluations of one name in different ledgers: `identity.json`, a random word.

Two ledgers may hold evaluations of one name that label on one server; the word keeps their questions apart.
It is written before the manifest, and never again: another word would ask other questions.
"""

from dataclasses import dataclass
from uuid import uuid4

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, put_record


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The word, written once."""

    identity: str


@retried
def own_identity(ledger: Ledger) -> str:
    """The word of an evaluation that is about to begin; a new one if it has none yet."""
    return put_record(ledger, layout.identity(ledger.name), Identity(identity=uuid4().hex)).identity


@retried
def read_identity(ledger: Ledger) -> str:
    """The word of an evaluation that has begun. Raises DamagedRecord if it is gone."""
    key = layout.identity(ledger.name)
    found = find_record(ledger, key, Identity)
    if found is None:
        raise codec.damaged(key, "is missing")
    return found.identity
