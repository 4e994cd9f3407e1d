"""A replay of methods for any kind of outcome, from a labelled pool to a table of results.

Blocks of repeats may run in several processes: each has a random stream of its own, so the numbers are the
same.  Measures cannot travel between processes; each is told the pool and the request, and makes them anew.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from assay.evalcore.outcome_measures.base import OutcomeMeasure, Setting
from assay.evalcore.outcome_measures.difference import difference
from assay.evalcore.outcome_measures.registry import needs_grid, of_scores, outcome_measure
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.base import OutcomeMethod
from assay.evalcore.outcome_methods.registry import outcome_method, outcome_method_for
from assay.evalcore.outcome_replay.pool import OutcomePool
from assay.evalcore.outcome_replay.run import OutcomeTrace, Prepared, join, prepare, run_block
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.replay.labels_to import LabelsTo, labels_to
from assay.evalcore.replay.run import blocks
from assay.evalcore.replay.summary import BudgetSummary, summarise_columns
from assay.tasks.replay.request import check_request
from assay.tasks.replay.result import MethodResult, ReplayResult
from assay.tasks.spec.measure_text import named_measure


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeRequest:
    """What to simulate."""

    methods: tuple[str, ...]
    measures: tuple[str, ...]            # as written: macro_f1, f1(cat), fbeta(2)
    budgets: tuple[int, ...]
    repeats: int
    seed: int = 1
    batch_size: int = 25
    confidence: float = 0.95
    systems: tuple[str, ...] = ()        # names of the systems, as predictions are ordered
    half_widths: tuple[float, ...] = (0.10, 0.05)   # as shares of a measure's range


def run_outcome_replay(
    pool: OutcomePool,
    request: OutcomeRequest,
    *,
    pool_name: str,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReplayResult:
    """Run every method of the request on the pool.

    processes: one unless said.

    Of several systems, every measure is taken of each, and the difference of each from the first.  All
    measures drive the sampling.  Raises UnknownName, BadInput and BadArgument as the parts do.
    """
    check_request(request.methods, request.measures, request.repeats, request.confidence)
    methods = [outcome_method_for(name, pool.kind) for name in request.methods]
    stack = _stack(pool, request)
    truth = pool.truth(stack)
    total, entries = request.repeats * len(methods), []
    for m, method in enumerate(methods):
        start = time.perf_counter()

        def tell(done: int, before: int = m * request.repeats) -> None:
            if progress:
                progress(before + done, total)

        trace = _replayed(pool, request, method.name, processes or 1, tell)
        seconds = (time.perf_counter() - start) / request.repeats / _rounds(request)
        least = round(request.confidence - 0.95 + method.least_coverage, 9)
        entries += list(_entries(request, stack, method.name, trace, truth.tolist(), seconds, least))
    return ReplayResult(
        pool=pool_name,
        n=len(pool.items),
        repeats=request.repeats,
        seed=request.seed,
        confidence=request.confidence,
        truth={entry.of: entry.truth for entry in entries if entry.truth is not None},
        methods=tuple(entries),
        oracle=(),
    )


def _stack(pool: OutcomePool, request: OutcomeRequest) -> Stack:
    return Stack(kind=pool.kind, measures=tuple(_measures(pool, request)))


def _replayed(
    pool: OutcomePool, request: OutcomeRequest, method: str, processes: int, tell: Callable[[int], None]
) -> OutcomeTrace:
    """The trace of a method: all blocks in their order."""
    work = blocks(request.repeats)
    workers = min(processes, len(work))
    told = (pool, request, method)
    if workers == 1:
        _receive(*told)
        return join([_told(tell, done, _run_block(*block)) for done, block in _with_ends(work)])
    # spawn: forking a process that runs threads (the command line has some) can hang
    executor = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_receive, initargs=told
    )
    try:
        running = [(done, executor.submit(_run_block, *block)) for done, block in _with_ends(work)]
        return join([_told(tell, done, future.result()) for done, future in running])
    finally:
        executor.shutdown(cancel_futures=True)


def _with_ends(work: Sequence[tuple[int, int]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Each block, and how many repeats are done after it."""
    done = 0
    for index, size in work:
        done += size
        yield done, (index, size)


def _told(tell: Callable[[int], None], done: int, trace: OutcomeTrace) -> OutcomeTrace:
    tell(done)
    return trace


_here: list[tuple[OutcomeRequest, OutcomeMethod, Prepared]] = []   # what this process replays


def _receive(pool: OutcomePool, request: OutcomeRequest, method: str) -> None:
    chosen = outcome_method(method)
    _here[:] = [(request, chosen, prepare(chosen, _stack(pool, request), pool))]


def _run_block(index: int, size: int) -> OutcomeTrace:
    """A block of repeats; linear algebra keeps to one thread, so it rounds alike everywhere."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    request, method, prepared = _here[0]
    with threadpool_limits(limits=1):
        return run_block(
            method, prepared, request.budgets, repeats=size, batch_size=request.batch_size,
            confidence=request.confidence, seed=request.seed, block=index,
        )


def _measures(pool: OutcomePool, request: OutcomeRequest) -> Iterator[OutcomeMeasure]:
    named = [named_measure(written) for written in request.measures]
    made = grids(pool.kind, pool.items) if any(needs_grid(pool.kind, name) for name, _ in named) else {}

    def of(name: str, options: dict[str, Setting], system: int) -> OutcomeMeasure:
        return outcome_measure(
            name, pool.kind, len(pool.items), system=system, options=options, grids=made
        )

    for name, options in named:
        first = of(name, options, 0)
        yield first
        for s in range(1, pool.items.systems if first.system is not None else 1):
            other = of(name, options, s)
            yield other
            yield difference(other, first)


def asks_for_curves(measures: Sequence[str]) -> bool:
    """Whether a measure, as it is written, is a curve or the area under one."""
    return any(of_scores(written.partition("(")[0]) for written in measures)


def _entries(
    request: OutcomeRequest, stack: Stack, method: str, trace: OutcomeTrace, truth: Sequence[float],
    seconds: float, least: float,
) -> Iterator[MethodResult]:
    """One result for each number that has a value on the pool."""
    for q, (m, part) in enumerate(stack.parts):
        measure = stack.measures[m]
        if not np.isfinite(truth[q]):
            continue
        budgets = summarise_columns(
            trace.value[..., q], trace.lower[..., q], trace.upper[..., q], trace.labels, truth[q],
            request.budgets,
        )
        point = measure.points[part] if measure.points else None
        yield MethodResult(
            method=method,
            measure=point.measure if point else measure.name,
            at=point.at if point else None,
            budgets=tuple(budgets),
            seconds_per_round=seconds,
            least_coverage=least,
            labels_to=tuple(
                _reached(request, budgets, half_width * measure.range_of, least)
                for half_width in request.half_widths
            ),
            system=_system(request, measure.system),
            versus=_system(request, measure.versus),
            of_class=measure.parts[part],
            truth=truth[q],
        )


def _reached(
    request: OutcomeRequest, budgets: Sequence[BudgetSummary], half_width: float, least: float
) -> LabelsTo:
    return labels_to(
        half_width, request.budgets, [b.width for b in budgets], [b.coverage for b in budgets],
        repeats=[request.repeats] * len(budgets), least_coverage=least,
    )


def _system(request: OutcomeRequest, number: int | None) -> str | None:
    return request.systems[number] if number is not None and request.systems else None


def _rounds(request: OutcomeRequest) -> int:
    steps = np.diff(np.array([0, *request.budgets]))
    return int(np.sum(-(-steps // request.batch_size)))
