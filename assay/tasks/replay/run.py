"""A replay from a labelled pool to a table of results, its repeats in parallel.

What comes back does not depend on how many processes there are. A block of repeats has a random stream of its
own (evalcore.replay.run), so it may run anywhere and in any order. Processes are spawned and told the pool
and the request: measures cannot travel, and each process makes them anew. Linear algebra is held to one
thread everywhere, in this process too: threads would compete with the processes for the cores, and another
number of threads may round differently.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from typing import Any

import numpy as np

from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.replay.pool import CountedPool, ItemizedPool, LabelledPool, OutcomePool, prepared
from assay.evalcore.replay.run import (
    BudgetSummary,
    LabelsTo,
    ReplayPlan,
    Trace,
    blocks,
    join,
    labels_to,
    run_block,
    summarise,
)
from assay.tasks.operating_system import available_processors, interrupts_held, one_thread
from assay.tasks.replay.simulated import (
    BestReplay,
    MethodResult,
    OracleResult,
    ReplayRequest,
    ReplayResult,
    Simulated,
    Simulation,
    simulation_of,
)

# blocks from which on the default is a process per processor: a process takes seconds to start
_WORTH_STARTING = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of repeats of one method, the unit that a process works on: its number, from which its
    random stream follows, and how many repeats it has."""

    method: str
    index: int
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRun:
    """What a block gave: a trace of estimates for each number that is simulated, and the seconds that it
    took."""

    traces: list[Trace]
    seconds: float


class _Runner:
    """What runs blocks in one process; the pool is cut once for each method."""

    def __init__(self, pool: LabelledPool | OutcomePool, request: ReplayRequest) -> None:
        self._pool, self._simulation = pool, simulation_of(pool, request)
        self._ready: dict[str, CountedPool | ItemizedPool] = {}

    def run(self, block: Block) -> BlockRun:
        """Simulate one method for the repeats of a block."""
        request, simulation = self._simulation.request, self._simulation
        method: Any = simulation.find_method(block.method)
        if block.method not in self._ready:
            self._ready[block.method] = prepared(method, self._pool, simulation.measures, request.people)
        plan = ReplayPlan(
            budgets=request.budgets, batch_size=request.batch_size, confidence=request.confidence,
            seed=request.seed, divergences=request.divergence,
        )
        with one_thread():
            start = time.perf_counter()
            traces = run_block(
                method, self._ready[block.method], plan, repeats=block.repeats, block=block.index
            )
            return BlockRun(traces=traces, seconds=time.perf_counter() - start)


_here: list[_Runner] = []   # of a process that was started


def _receive(pool: LabelledPool | OutcomePool, request: ReplayRequest) -> None:
    _here[:] = [_Runner(pool, request)]


def _run(block: Block) -> BlockRun:
    return _here[0].run(block)


def run_blocks(
    pool: LabelledPool | OutcomePool, request: ReplayRequest, work: Sequence[Block],
    processes: int | None = None,
) -> Iterator[tuple[Block, BlockRun]]:
    """Every block with its result, in any order.

    processes: by default as many as there are processors, or this one alone for a few blocks.
    Raises BadArgument for less than one process.
    """
    if processes is not None and processes < 1:
        raise BadArgument("processes", f"must be at least 1, got {processes}")
    wished = processes or (available_processors() if len(work) >= _WORTH_STARTING else 1)
    workers = min(wished, len(work))
    if workers == 1:
        runner = _Runner(pool, request)
        yield from ((block, runner.run(block)) for block in work)
        return
    # spawn: forking a process that runs threads (the command line has some) can hang
    executor = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_receive, initargs=(pool, request)
    )
    before = set(active_children())
    try:
        # Ctrl-C reaches the processes of a terminal all at once: theirs is held back, and this one ends them
        with interrupts_held():
            running = {executor.submit(_run, block): block for block in work}
        for future in as_completed(running):
            yield running[future], future.result()
    except KeyboardInterrupt:
        for child in set(active_children()) - before:
            child.terminate()
        raise
    finally:
        # after an error or an interruption nothing more is started
        executor.shutdown(cancel_futures=True)


Progress = Callable[[int, int], None]                 # evaluations done, evaluations in all


def run_replay(
    pool: LabelledPool | OutcomePool,
    request: ReplayRequest,
    *,
    pool_name: str,
    processes: int | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Run every method of the request `repeats` times on a labelled pool.

    processes: see `tasks.replay.run.run_blocks`; everything but the times is the same for any number.
    progress is called in this process, once a block.

    Raises UnknownName for a method or measure there is none of, BadInput for budgets that do not rise or
    exceed the pool, or for measures without a value on this pool, and BadArgument for what cannot be
    simulated on it.
    """
    simulation = simulation_of(pool, request)
    try:
        numbers = simulation.simulated_numbers
    except BadInput as error:
        raise BadInput(f"{pool_name}: {error}") from None
    total, done = request.repeats * len(request.methods), 0
    runs: dict[str, dict[int, BlockRun]] = {name: {} for name in request.methods}
    work = [
        Block(method=name, index=index, repeats=size)
        for name in request.methods
        for index, size in blocks(request.repeats, simulation.find_method(name))
    ]
    for block, brought in run_blocks(pool, request, work, processes):
        runs[block.method][block.index] = brought
        done += block.repeats
        if progress:
            progress(done, total)
    oracles = simulation.oracles()
    best = () if request.best_of is None else tuple(
        _best(simulation, name, [by_index[i] for i in sorted(by_index)]) for name, by_index in runs.items()
    )
    entries = tuple(
        entry
        for name, by_index in runs.items()
        for entry in _summaries(simulation, name, numbers, [by_index[i] for i in sorted(by_index)], oracles)
    )
    return ReplayResult(
        pool=pool_name,
        n=simulation.n_items,
        repeats=request.repeats,
        seed=request.seed,
        confidence=request.confidence,
        truth={entry.of: entry.truth for entry in entries},
        audit=request.audit,
        methods=entries,
        oracle=tuple(oracles.values()),
        best=best,
    )


def _best(simulation: Simulation, name: str, parts: Sequence[BlockRun]) -> BestReplay:
    """When a method named the best system; parts: its blocks in order."""
    winner = np.concatenate([np.asarray(part.traces[0].winner) for part in parts])     # (R, budgets)
    request = simulation.request
    has_winner = winner >= 0
    ever, first_look = has_winner.any(axis=1), has_winner.argmax(axis=1)
    budgets = np.array(request.budgets)
    labels = np.where(ever, budgets[first_look], budgets[-1])
    chosen = winner[ever, first_look[ever]]
    wrong = simulation.winner_is_wrong(chosen)
    return BestReplay(
        method=simulation.named(name), margin=request.best_of or 0.0,
        named=tuple((np.cumsum(has_winner, axis=1) > 0).mean(axis=0).tolist()),
        wrong=float(wrong.sum() / len(winner)), labels_mean=float(labels.mean()),
        labels_median=float(np.median(labels)),
        winners={
            system: float((chosen == s).sum() / len(winner))
            for s, system in enumerate(simulation.systems) if (chosen == s).any()
        },
    )


def _summaries(
    simulation: Simulation, name: str, numbers: Sequence[Simulated], parts: Sequence[BlockRun],
    oracles: Mapping[str, OracleResult],
) -> Iterator[MethodResult]:
    """One method's results, for each number that has a value on the pool.

    parts: its blocks in order; oracles: by `name_of`.
    """
    request = simulation.request
    seconds = sum(part.seconds for part in parts) / (request.repeats * _rounds(request))
    least_coverage = simulation.find_method(name).least_coverage(request.confidence)
    traces = [join(pieces) for pieces in zip(*(part.traces for part in parts), strict=True)]
    for number, trace in zip(numbers, traces, strict=True):
        if not np.isfinite(number.truth):
            continue
        budgets = summarise(trace, number.truth, request.budgets)
        entry = MethodResult(
            method=simulation.named(name),
            measure=number.measure,
            budgets=tuple(budgets),
            seconds_per_round=seconds,
            least_coverage=least_coverage,
            labels_to=(),
            system=number.system,
            versus=number.versus,
            question=number.question,
            of_class=number.of_class,
            at=number.at,
            truth=number.truth,
        )
        reached = _reached(budgets, least_coverage, request, number.range_of, oracles.get(entry.of))
        yield replace(entry, labels_to=tuple(reached))


def _reached(
    budgets: Sequence[BudgetSummary], least_coverage: float, request: ReplayRequest, range_of: float,
    oracle: OracleResult | None,
) -> Iterator[LabelsTo]:
    """The labels to each half-width asked for, as a share of the measure's range."""
    needs = {o.half_width: o.labels for o in oracle.labels_to} if oracle else {}
    for half_width in request.half_widths:
        yield labels_to(
            half_width * range_of,
            [b.labels for b in budgets],
            [b.width for b in budgets],
            [b.coverage for b in budgets],
            repeats=[request.repeats] * len(budgets),
            least_coverage=least_coverage,
            oracle=needs.get(half_width),
        )


def _rounds(request: ReplayRequest) -> int:
    """Rounds on the way to the largest budget when every round brings what it asks for."""
    steps = np.diff(np.array([0, *request.budgets]))
    return int(np.sum(-(-steps // request.batch_size)))
