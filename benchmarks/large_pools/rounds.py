"""Rounds on a frozen pool: `python -m benchmarks.large_pools.rounds STORE` prints what each step took."""

import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from assay.flows.evaluation.advance import advance
from assay.tasks.ledger import open_store
from assay.tasks.testing import FakeDesk
from benchmarks.large_pools.freezing import LABELS, NAME
from benchmarks.large_pools.pool import is_positive
from benchmarks.ledger_cost.watched import Watched

ROUNDS = 8


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """What it takes to collect and close a round, estimate, plan and post the next: medians."""

    first: float        # seconds to open the evaluation, plan and post round 1
    seconds: float      # a round after it
    cpu: float          # of these, of the processor
    calls: int          # to the ledger
    kib: float          # read of the ledger
    idle: float         # seconds to look and find nothing due


@dataclass(frozen=True, kw_only=True)
class _Step:
    seconds: float
    cpu: float
    calls: int
    kib: float


def rounds(address: str) -> Rounds:
    """Rounds that are answered at once."""
    store, desk = open_store(address), FakeDesk()
    first = _step(store, desk)
    later = []
    for number in range(1, ROUNDS + 1):
        desk.answers |= {item: "yes" if is_positive(item) else "no" for item in desk.on_desk[number, 1]}
        later.append(_step(store, desk))
    if len(desk.on_desk) != ROUNDS + 1:
        raise RuntimeError(f"{len(desk.on_desk)} rounds of {LABELS} labels were posted, not {ROUNDS + 1}")
    return Rounds(
        first=first.seconds, idle=_step(store, desk).seconds,
        **{name: _median([getattr(one, name) for one in later]) for name in _Step.__dataclass_fields__},
    )


def _step(store: Any, desk: FakeDesk) -> _Step:
    watched: Any = Watched(store)
    start, used = time.perf_counter(), time.process_time()
    advance(watched, NAME, desk)
    return _Step(
        seconds=time.perf_counter() - start, cpu=time.process_time() - used,
        calls=watched.total, kib=watched.bytes_read / 1024,
    )


def _median(values: list[Any]) -> Any:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(rounds(sys.argv[1]))))
