"""The index of open evaluations: sweeps advance what is in it. It is no evidence, and can be rebuilt."""

from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger


@retried
def enter_index(ledger: Ledger) -> None:
    """Put an evaluation into the index; it may have been lost."""
    if not ledger.exists(layout.open_index(ledger.name)):
        ledger.put(layout.open_index(ledger.name), b"")


@retried
def leave_index(ledger: Ledger) -> None:
    """Take it out: nothing is due any more."""
    ledger.store.discard(layout.open_index(ledger.name))
