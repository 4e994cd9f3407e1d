"""Replays in parallel: blocks of repeats go to processes, and what comes back does not depend on how many.

A block of repeats has a random stream of its own (evalcore.replay.simulation), so it may run anywhere and
in any order.
Processes are spawned and told names, not objects: each looks its method and measures up again. Linear
algebra is held to one thread everywhere, in this process too: threads would fight the processes for the
cores, and another number of threads may round differently.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from multiprocessing import get_context
from typing import Any

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.cells import Cells
from assay.evalcore.replay.simulation import (
    Annotators,
    BudgetSummary,
    LabelledPool,
    Trace,
    annotators_of,
    blocks,
    join,
    prepare,
    run_block,
    summarise,
)
from assay.evalcore.types import Ints

Progress = Callable[[int, int], None]                 # evaluations done, evaluations in all
_Columns = dict[str, Any]                             # the arrays of a Trace, each (R, budgets), by name

_WORTH_STARTING = 4   # blocks from which on the default is a process per processor


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMeasure:
    """A measure by the words of a spec."""

    name: str
    beta: float | None = None

    def find(self) -> Measure:
        """The measure itself. Raises UnknownName or BadInput."""
        return measure(self.name, self.beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """What to simulate."""

    methods: tuple[str, ...]
    measures: tuple[NamedMeasure, ...]   # the first drives the sampling
    budgets: tuple[int, ...]             # rising numbers of distinct labelled items
    repeats: int
    seed: int = 1
    batch_size: int = 25
    confidence: float = 0.95
    systems: tuple[str, ...] = ()        # names of the pool's further systems, for the method recycle
    annotators: int = 1                  # people who answer about each item, where they differ


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodResult:
    """How one method did on one measure."""

    method: str
    measure: str
    budgets: tuple[BudgetSummary, ...]
    seconds_per_round: float             # of one evaluation: planning, drawing, learning and estimating
    system: str | None = None            # one of the further systems; None for the pool's own predictions


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """A whole replay."""

    pool: str
    n: int
    repeats: int
    seed: int
    confidence: float
    truth: dict[str, float]              # by measure; of a further system by "measure of system"
    methods: tuple[MethodResult, ...]

    @property
    def of_systems(self) -> bool:
        """Whether several systems were judged."""
        return any(entry.system is not None for entry in self.methods)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Block:
    """One block of one method: everything a process needs to run it."""

    method: str
    cells: Cells
    by_label: Ints
    request: ReplayRequest
    index: int
    repeats: int
    annotators: Annotators | None = None


def run_replay(
    pool: LabelledPool,
    request: ReplayRequest,
    *,
    pool_name: str,
    processes: int | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Run every method of the request `repeats` times on a labelled pool.

    processes: how many to use; by default as many as there are processors, or one for a short replay.
    Everything but the times is the same for any number.  progress is called in this process, once a block.

    Raises UnknownName for a method or measure there is none of, and BadInput for budgets that do not rise or
    exceed the pool, or for a measure that has no value on this pool.
    """
    _check(request, processes)
    if request.systems and not all(method(name).capabilities.judges_systems for name in request.methods):
        raise BadInput("--systems are judged by the method recycle alone; write --method recycle")
    measures = [named.find() for named in request.measures]
    truth = _truth(pool, measures, request.systems, pool_name)
    work = _blocks(pool, request)
    total = request.repeats * len(request.methods)
    done = 0
    outcomes: dict[tuple[str, int], tuple[list[_Columns], float]] = {}
    for block, outcome in _run(work, processes):
        outcomes[block.method, block.index] = outcome
        done += block.repeats
        if progress:
            progress(done, total)
    results = [
        entry
        for name in request.methods
        for entry in _summaries(name, measures, truth, request, [
            outcomes[name, index] for index, _ in blocks(request.repeats)
        ])
    ]
    return ReplayResult(
        pool=pool_name,
        n=len(pool.label),
        repeats=request.repeats,
        seed=request.seed,
        confidence=request.confidence,
        truth=truth,
        methods=tuple(results),
    )


def replay_json(result: ReplayResult) -> dict[str, Any]:
    """What `assay replay --json` prints."""
    return {
        "pool": result.pool,
        "n": result.n,
        "repeats": result.repeats,
        "seed": result.seed,
        "truth": result.truth,
        "methods": [
            {
                "method": entry.method,
                **({"system": entry.system} if result.of_systems else {}),
                "measure": entry.measure,
                # what a method does not report is left out
                "budgets": [
                    {name: x for name, x in asdict(summary).items() if x is not None}
                    for summary in entry.budgets
                ],
                "seconds_per_round": entry.seconds_per_round,
            }
            for entry in result.methods
        ],
    }


def _check(request: ReplayRequest, processes: int | None) -> None:
    if request.repeats < 1:
        raise BadInput(f"--repeats must be at least 1, got {request.repeats}")
    if not 0 < request.confidence < 1:
        raise BadInput(f"--confidence must lie between 0 and 1, got {request.confidence:g}")
    if processes is not None and processes < 1:
        raise BadInput(f"--processes must be at least 1, got {processes}")
    for what, given in (("--method", request.methods), ("--measure", request.measures)):
        if not given:
            raise BadInput(f"{what}: name at least one")
        if len(set(given)) < len(given):
            raise BadInput(f"{what}: the same one is named twice")


def _truth(
    pool: LabelledPool, measures: Sequence[Measure], systems: Sequence[str], pool_name: str
) -> dict[str, float]:
    truth: dict[str, float] = {}
    for s, system in enumerate((None, *systems)):
        confusion = pool.confusion(s)
        for m in measures:
            what = name_of(m.name, system)
            truth[what] = float(m.of_confusion(confusion))
            if not np.isfinite(truth[what]):
                raise BadInput(
                    f"{pool_name}: {what} has no value on this pool: {m.undefined_when}; "
                    "nothing can be compared with it"
                )
    return truth


def name_of(measure: str, system: str | None) -> str:
    """`f1`, or `f1 of child` for a further system."""
    return measure if system is None else f"{measure} of {system}"


def _blocks(pool: LabelledPool, request: ReplayRequest) -> list[_Block]:
    work = []
    for name in request.methods:
        cells, by_label = prepare(method(name), pool)
        annotators = annotators_of(method(name), pool, request.annotators)
        work += [
            _Block(
                method=name, cells=cells, by_label=by_label, request=request, index=index, repeats=size,
                annotators=annotators,
            )
            for index, size in blocks(request.repeats)
        ]
    return work


def _run_one(block: _Block) -> tuple[list[_Columns], float]:
    """Run a block here; its traces as plain arrays (a Measure cannot travel), and its seconds."""
    request = block.request
    with _one_thread():
        start = time.perf_counter()
        traces = run_block(
            method(block.method),
            block.cells,
            block.by_label,
            [named.find() for named in request.measures],
            request.budgets,
            repeats=block.repeats,
            batch_size=request.batch_size,
            confidence=request.confidence,
            seed=request.seed,
            block=block.index,
            annotators=block.annotators,
        )
        seconds = time.perf_counter() - start
    arrays = [f.name for f in fields(Trace) if f.name != "measure"]
    return [{name: getattr(t, name) for name in arrays} for t in traces], seconds


def _run(
    work: Sequence[_Block], processes: int | None
) -> Iterator[tuple[_Block, tuple[list[_Columns], float]]]:
    """Every block with its outcome, in whatever order they come."""
    # a process takes seconds to start: a few blocks are done before it has
    wished = processes or (len(os.sched_getaffinity(0)) if len(work) >= _WORTH_STARTING else 1)
    workers = min(wished, len(work))
    if workers == 1:
        yield from ((block, _run_one(block)) for block in work)
        return
    # spawn: forking a process that runs threads (the command line has some) can hang
    executor = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        running: dict[Future[tuple[list[_Columns], float]], _Block] = {
            executor.submit(_run_one, block): block for block in work
        }
        waiting = set(running)
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                yield running[future], future.result()
    finally:
        # after an error or an interruption nothing more is started
        executor.shutdown(cancel_futures=True)


@contextmanager
def _one_thread() -> Iterator[None]:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # comes with scikit-learn

    with threadpool_limits(limits=1):
        yield


def _summaries(
    name: str,
    measures: Sequence[Measure],
    truth: dict[str, float],
    request: ReplayRequest,
    parts: Sequence[tuple[list[_Columns], float]],
) -> Iterator[MethodResult]:
    seconds = sum(part[1] for part in parts) / (request.repeats * _rounds(request))
    named = [(m, system) for system in (None, *request.systems) for m in measures]
    for j, (m, system) in enumerate(named):
        trace = join([Trace(measure=m, **part[0][j]) for part in parts])
        yield MethodResult(
            method=name,
            measure=m.name,
            budgets=tuple(summarise(trace, truth[name_of(m.name, system)], request.budgets)),
            seconds_per_round=seconds,
            system=system,
        )


def _rounds(request: ReplayRequest) -> int:
    """Rounds on the way to the largest budget when every round brings what it asks for."""
    steps = np.diff(np.array([0, *request.budgets]))
    return int(np.sum(-(-steps // request.batch_size)))
