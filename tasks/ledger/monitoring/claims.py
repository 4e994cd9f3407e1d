"""The labels of a month that openings have claimed.

    monitors/<name>/months/<month>/0001.json

A run that is about to open an evaluation claims its labels first. Claims of a month are numbered, and the
process that creates a number first has it, so of two runs at once the second counts what the first one took.
The opening that is then written has the labels of its claim. After a crash in between, the next run finds the
claim and opens with the same labels.
"""

from dataclasses import dataclass

from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import put_record, read_records


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Labels for one opening."""

    month: str
    number: int     # over the claims of the month, from 1
    window: str
    opening: int    # its number, of the window
    labels: int


def create_claim(ledger: Ledger, claim: Claim) -> Claim:
    """Put a claim; returns the one under its number."""
    return put_record(ledger, layout.month_claim(ledger.name, claim.month, claim.number), claim)


def read_claims(ledger: Ledger, month: str) -> list[Claim]:
    """The claims of a month, in order."""
    return read_records(ledger, layout.month_claims(ledger.name, month), layout.month_claim, Claim)
