"""A replay from a labelled pool to a table of results."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.replay.labels_to import LabelsTo, labels_to
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import blocks
from assay.evalcore.replay.summary import BudgetSummary, summarise
from assay.evalcore.replay.trace import join
from assay.tasks.replay.processes import Block, BlockRun, run_blocks
from assay.tasks.replay.request import ReplayRequest
from assay.tasks.replay.result import MethodResult, OracleResult, ReplayResult
from assay.tasks.replay.simulated import Simulated, Simulation, simulation_of

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

    processes: see `tasks.replay.processes.run_blocks`; everything but the times is the same for any number.
    progress is called in this process, once a block.

    Raises UnknownName for a method or measure there is none of, BadInput for budgets that do not rise or
    exceed the pool, or for measures without a value on this pool, and BadArgument for what cannot be
    simulated on it.
    """
    simulation = simulation_of(pool, request)
    try:
        numbers = simulation.numbers
    except BadInput as error:
        raise BadInput(f"{pool_name}: {error}") from None
    total, done = request.repeats * len(request.methods), 0
    runs: dict[str, dict[int, BlockRun]] = {name: {} for name in request.methods}
    work = [
        Block(method=name, index=index, repeats=size)
        for name in request.methods for index, size in blocks(request.repeats)
    ]
    for block, brought in run_blocks(pool, request, work, processes):
        runs[block.method][block.index] = brought
        done += block.repeats
        if progress:
            progress(done, total)
    oracles = simulation.oracles()
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
    least = simulation.find_method(name).least_coverage(request.confidence)
    traces = [join(several) for several in zip(*(part.traces for part in parts), strict=True)]
    for number, trace in zip(numbers, traces, strict=True):
        if not np.isfinite(number.truth):
            continue
        budgets = summarise(trace, number.truth, request.budgets)
        entry = MethodResult(
            method=simulation.named(name),
            measure=number.measure,
            budgets=tuple(budgets),
            seconds_per_round=seconds,
            least_coverage=least,
            labels_to=(),
            system=number.system,
            versus=number.versus,
            of_class=number.of_class,
            at=number.at,
            truth=number.truth,
        )
        reached = _reached(budgets, least, request, number.range_of, oracles.get(entry.of))
        yield replace(entry, labels_to=tuple(reached))


def _reached(
    budgets: Sequence[BudgetSummary], least: float, request: ReplayRequest, range_of: float,
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
            least_coverage=least,
            oracle=needs.get(half_width),
        )


def _rounds(request: ReplayRequest) -> int:
    """Rounds on the way to the largest budget when every round brings what it asks for."""
    steps = np.diff(np.array([0, *request.budgets]))
    return int(np.sum(-(-steps // request.batch_size)))
