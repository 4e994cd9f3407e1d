"""A replay from a labelled pool to a table of results."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.labels_to import LabelsTo, labels_to
from assay.evalcore.replay.pool import LabelledPool, annotators_of, prepare
from assay.evalcore.replay.run import blocks
from assay.evalcore.replay.summary import BudgetSummary, summarise
from assay.evalcore.replay.trace import join
from assay.tasks.replay.processes import Block, BlockRun, run_blocks
from assay.tasks.replay.request import ReplayRequest
from assay.tasks.replay.result import MethodResult, OracleResult, ReplayResult, name_of
from assay.tasks.replay.yardstick import measured_oracles

Progress = Callable[[int, int], None]                 # evaluations done, evaluations in all


def run_replay(
    pool: LabelledPool,
    request: ReplayRequest,
    *,
    pool_name: str,
    processes: int | None = None,
    progress: Progress | None = None,
) -> ReplayResult:
    """Run every method of the request `repeats` times on a labelled pool.

    processes: see `tasks.replay.processes.run_blocks`; everything but the times is the same for any number.
    progress is called in this process, once a block.

    Raises UnknownName for a method or measure there is none of, and BadInput for budgets that do not rise or
    exceed the pool, or for a measure that has no value on this pool; BadArgument for a divergence where
    annotators differ.
    """
    request.check()
    if request.divergence and pool.label_probability is not None:
        raise BadArgument("divergence", "needs one label an item, and the annotators of this pool differ")
    measures = [named.find() for named in request.measures]
    truth = _truth(pool, measures, request.systems, pool_name)
    total, done = request.repeats * len(request.methods), 0
    runs: dict[str, dict[int, BlockRun]] = {name: {} for name in request.methods}
    for block, brought in run_blocks(_blocks(pool, request), processes):
        runs[block.method][block.index] = brought
        done += block.repeats
        if progress:
            progress(done, total)
    oracles = measured_oracles(pool, measures, request)
    return ReplayResult(
        pool=pool_name,
        n=len(pool.label),
        repeats=request.repeats,
        seed=request.seed,
        confidence=request.confidence,
        truth=truth,
        audit=request.audit,
        methods=tuple(
            entry
            for name, by_index in runs.items()
            for entry in _summaries(
                name, measures, truth, request, [by_index[i] for i in sorted(by_index)], oracles
            )
        ),
        oracle=tuple(oracles.values()),
    )


def _truth(
    pool: LabelledPool, measures: Sequence[Measure], systems: Sequence[str], pool_name: str
) -> dict[str, float]:
    """The value of every measure of every system on the pool."""
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


def _blocks(pool: LabelledPool, request: ReplayRequest) -> list[Block]:
    work = []
    for name in request.methods:
        cells, by_label = prepare(method(name), pool)
        annotators = annotators_of(method(name), pool, request.people)
        work += [
            Block(
                method=name, cells=cells, by_label=by_label, request=request, index=index, repeats=size,
                annotators=annotators,
            )
            for index, size in blocks(request.repeats)
        ]
    return work


def _summaries(
    name: str,
    measures: Sequence[Measure],
    truth: dict[str, float],
    request: ReplayRequest,
    parts: Sequence[BlockRun],
    oracles: Mapping[str, OracleResult],
) -> Iterator[MethodResult]:
    """One method's results, by system and measure; parts: its blocks in order; oracles: by `name_of`."""
    seconds = sum(part.seconds for part in parts) / (request.repeats * _rounds(request))
    traces = [join(several) for several in zip(*(part.traces(measures) for part in parts), strict=True)]
    systems = (None, *request.systems)
    least = method(name).least_coverage(request.confidence)
    for trace in traces:
        system = systems[trace.system]
        what = name_of(trace.measure.name, system)
        budgets = summarise(trace, truth[what], request.budgets)
        yield MethodResult(
            method=name,
            measure=trace.measure.name,
            budgets=tuple(budgets),
            seconds_per_round=seconds,
            least_coverage=least,
            labels_to=tuple(_reached(budgets, least, request, oracles.get(what))),
            system=system,
        )


def _reached(
    budgets: Sequence[BudgetSummary], least: float, request: ReplayRequest, oracle: OracleResult | None
) -> Iterator[LabelsTo]:
    """The labels to each half-width asked for."""
    needs = {o.half_width: o.labels for o in oracle.labels_to} if oracle else {}
    for half_width in request.half_widths:
        yield labels_to(
            half_width,
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
