"""The decision to close a round although items are unanswered: `rounds/0001/closing.json`.

Written before the last look at the desk, so that whoever comes next closes the round too, and kept because it
is the reason why the round's labels have gaps. It says why, and no more: who decided first may not matter.
"""

from typing import Literal

from tasks.effects import effect
from tasks.ledger import encoding, keys
from tasks.ledger.store import KeyMissing, Store

Why = Literal["deadline", "request"]


@effect("close-early")
def decide_to_close(store: Store, evaluation: str, round: int, why: Why) -> Why:
    """Put the decision; the reason that stands."""
    key = keys.closing(evaluation, round)
    stands: Why = encoding.from_json(store.put(key, encoding.to_json({"why": why})), key)["why"]
    return stands


def read_closing(store: Store, evaluation: str, round: int) -> Why | None:
    """Why the round is closed early, or None if it is not."""
    key = keys.closing(evaluation, round)
    try:
        why: Why = encoding.from_json(store.get(key), key)["why"]
    except KeyMissing:
        return None
    return why
