"""Rounds on a frozen pool: `python -m benchmarks.large_pools.rounds STORE` prints what each step took."""

import json
import sys
import time
from dataclasses import asdict, dataclass

from assay.flows.evaluation.advance import advance
from assay.tasks.ledger import open_store
from assay.tasks.testing import FakeDesk
from benchmarks.large_pools.freezing import NAME
from benchmarks.large_pools.pool import is_positive

ROUNDS = 4


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Median seconds: to collect and close a round, estimate, plan and post the next."""

    first: float        # to open the evaluation, plan and post round 1
    median: float       # of a round after it
    idle: float         # to look and find nothing due


def rounds(address: str) -> Rounds:
    """Four rounds of 100 labels, answered at once."""
    store, desk = open_store(address), FakeDesk()
    first = _seconds(store, desk)
    later = []
    for number in range(1, ROUNDS + 1):
        desk.answers |= {
            item: "yes" if is_positive(item) else "no" for item in desk.on_desk[number, 1]
        }
        later.append(_seconds(store, desk))
    return Rounds(first=first, median=sorted(later)[len(later) // 2], idle=_seconds(store, desk))


def _seconds(store: object, desk: FakeDesk) -> float:
    start = time.perf_counter()
    advance(store, NAME, desk)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(rounds(sys.argv[1]))))
