"""Several sweepers at once over many open evaluations: what each costs, who waits, and who holds up whom.

Every sweeper is a process of its own. Some of the evaluations have a desk that is away: they fail in every
sweep, and nobody else may notice.
"""

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doubles.small_pool import spec_json

from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.evaluation import Spec
from benchmarks.ledger_cost.watched import Watched
from benchmarks.recovery.many import answer

AT_ONCE = (1, 2, 3)
BROKEN = 5          # evaluations
MOST = 60           # sweeps that are cut off, until all have moved


@dataclass(frozen=True, kw_only=True)
class Swept:
    """What one or several sweepers at once came to."""

    sweepers: int
    what: str
    moved: int           # evaluations whose round was closed, and the next one planned and posted
    failed: int          # those whose desk is away
    sweeps: int
    calls: int           # of one sweep: the mean
    dollars: float       # of all of them
    seconds: float       # until the last one moved


def sweepers(folder: Path, where: str, still_open: int) -> Iterator[Swept]:
    """The store at `where` holds so many open evaluations, made by `many`, in their first round."""
    _begin_broken(folder, where)
    for number, at_once in enumerate(AT_ONCE, start=1):
        answer(folder / "desk", folder / "labels.csv")
        yield _together(where, at_once, number, still_open)
    answer(folder / "desk", folder / "labels.csv")
    yield _cut_off(where, len(AT_ONCE) + 1, still_open)


def _together(where: str, at_once: int, number: int, still_open: int) -> Swept:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["assay.flows.drivers.sweep", "scipy.stats", "pyarrow.dataset"])
    with context.Pool(at_once) as pool:
        pool.map(_ready, range(at_once), chunksize=1)
        began = time.perf_counter()
        said = pool.map(_sweep, [where] * at_once, chunksize=1)
        seconds = time.perf_counter() - began
    moved = _moved(where, number, still_open)
    return Swept(
        sweepers=at_once, what="a round to close, the next to plan and to post", moved=moved,
        failed=said[0][2], sweeps=at_once, calls=round(sum(one[0] for one in said) / at_once),
        dollars=sum(one[1] for one in said), seconds=seconds,
    )


def _cut_off(where: str, number: int, still_open: int) -> Swept:
    """Sweeps that are killed after two seconds each, until everybody has moved."""
    context = multiprocessing.get_context("forkserver")
    sweeps, moved, began = 0, 0, time.perf_counter()
    while moved < still_open and sweeps < MOST:
        process = context.Process(target=_sweep, args=(where,))
        process.start()
        process.join(2.0)
        process.kill()
        process.join()
        sweeps += 1
        moved = _moved(where, number, still_open)
    return Swept(
        sweepers=1, what="the same, every sweep killed after 2 seconds", moved=moved, failed=BROKEN,
        sweeps=sweeps, calls=0, dollars=0.0, seconds=time.perf_counter() - began,
    )


def _ready(_number: int) -> None:
    """The process is there and has imported everything."""
    time.sleep(0.5)


def _sweep(where: str) -> tuple[int, float, int]:
    """One sweep by a process that knows nothing: calls, dollars, and evaluations that failed."""
    watched: Any = Watched(open_store(where))
    result = sweep_store(watched, workers=4)
    return watched.total, watched.dollars, len(result.failed)


def _moved(where: str, number: int, still_open: int) -> int:
    """How many have planned the round after this one."""
    store = open_store(where)
    names = [f"open-{n:04d}" for n in range(still_open)]
    return sum(read_plan(Ledger(store, name), number + 1) is not None for name in names)


def _begin_broken(folder: Path, where: str) -> None:
    gone = folder / "gone.csv"
    gone.write_bytes((folder / "labels.csv").read_bytes())
    for n in range(BROKEN):
        begin_evaluation(open_store(where), Spec.from_json(spec_json(
            folder / "predictions.csv", folder / "labels.csv", name=f"broken-{n}",
            desk={"kind": "simulated", "labels": str(gone)}, budget={"labels": 4}, batch_size=2,
        ), origin="the benchmark"))
    gone.unlink()
