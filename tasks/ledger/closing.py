"""The decision to close a round although items are unanswered: `rounds/0001/closing.json`.

Written before the last look at the desk, so that whoever comes next closes the round too, and kept because it
is the reason why the round's labels have gaps. It says why, and no more: who decided first may not matter.
"""

from typing import Literal

from assay.tasks.effects.calls import effect
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import KeyMissing

Why = Literal["deadline", "request"]


@effect("close-early")
def decide_to_close(ledger: Ledger, round: int, why: Why) -> Why:
    """Put the decision; the reason that stands."""
    key = layout.closing(ledger.name, round)
    stands: Why = codec.from_json(ledger.put(key, codec.to_json({"why": why})), key)["why"]
    return stands


def read_closing(ledger: Ledger, round: int) -> Why | None:
    """Why the round is closed early, or None if it is not."""
    key = layout.closing(ledger.name, round)
    try:
        why: Why = codec.from_json(ledger.get(key), key)["why"]
    except KeyMissing:
        return None
    return why
