"""Replay: the estimates that a method would have given in many evaluations of a pool with known labels; how
many labels it needs to a half-width, beside an oracle."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy

from assay.evalcore.design.draws import predicted_error, waterfill
from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.measures import two_classes
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.racing import race_look
from assay.evalcore.methods.any_outcome.state import SampleState
from assay.evalcore.methods.method import (
    AnswersT,
    CellsT,
    DesignT,
    LabelledSample,
    MeasuresT,
    Method,
    SamplingMethod,
    StateT,
)
from assay.evalcore.methods.registry import method
from assay.evalcore.methods.two_classes.choice import FALSE_ALARM
from assay.evalcore.pool.strata import Cells
from assay.evalcore.printed import IF_ANY, key_as
from assay.evalcore.replay.pool import (
    LabelledPool,
    OutcomePool,
    Prepared,
    Respondents,
    prepared,
    prepared_cells,
)
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Bools, Floats, Ints

_WIDE = ("wide_lower", "wide_upper")  # diagnostics that are intervals too


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Estimates of one number at each budget: arrays (R, budgets), NaN where undefined."""

    value: Floats
    lower: Floats
    upper: Floats
    labels: Ints         # distinct labelled items
    wide_lower: Floats | None = None   # the wide interval, of methods that report one
    wide_upper: Floats | None = None
    divergence: Floats | None = None   # of the proposal from the best one, where asked; NaN without a q
    winner: Ints | None = None   # (R, budgets) of the first number: the system named the best, -1 for none


def traces_of(
    looks: Sequence[Sequence[EstimateArrays]], labels: Ints, distance: Floats | None
) -> list[Trace]:
    """The trace of each number; looks: its estimates at each budget; labels, distance (R, budgets). R counts
    repeats; each trace holds value, interval and variance at every budget."""
    return [
        Trace(
            value=np.stack([e.value for e in at], axis=1),
            lower=np.stack([e.lower for e in at], axis=1),
            upper=np.stack([e.upper for e in at], axis=1),
            labels=labels,
            divergence=distance,
            **{
                end: np.stack([e.diagnostics[end] for e in at], axis=1)
                for end in _WIDE if end in at[0].diagnostics
            },
        )
        for at in zip(*looks, strict=True)
    ]


def join(parts: Sequence[Trace]) -> Trace:
    """The traces of several blocks of repeats as one, in their order; what one block lacks is None in the
    whole. The axis of repeats is the first one of every array."""
    columns = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Trace)}
    joined: dict[str, Any] = {
        name: None if any(column is None for column in columns_of_parts) else np.concatenate(columns_of_parts)
        for name, columns_of_parts in columns.items()
    }
    return Trace(**joined)


REPEATS_OF_STREAM = 50   # repeats that share a random stream


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """How every repeat of a replay goes: the budgets at which it is looked at, rising, the batch size, the
    confidence, and the seed.

    R evaluations run side by side.  A method sees the labels of drawn items only.  Repeats come in blocks
    with a random stream each, so the result depends on the seed and not on the number of processes.

        R   repeats
    """

    budgets: Sequence[int]       # rising numbers of distinct labelled items, or of answers where every draw
                                 # asks anew; a batch is cut short to meet a budget exactly
    batch_size: int = 25
    confidence: float = 0.95
    seed: int = 1
    divergences: bool = False    # tell how far the next round's proposal is from the best one at each budget
                                 # (`evalcore.replay.pool`), where labels do not vary


def blocks(repeats: int, method: Method) -> list[tuple[int, int]]:
    """(index, size) of the blocks that make up so many repeats of a method. Each block has a random stream of
    its own, so blocks can run on any worker."""
    block_size = REPEATS_OF_STREAM if method.in_one_array else 1
    return [(i, min(block_size, repeats - start)) for i, start in enumerate(range(0, repeats, block_size))]


def simulate(
    method: SamplingMethod[CellsT, MeasuresT, StateT, DesignT, AnswersT],
    pool: LabelledPool | OutcomePool,
    measures: Sequence[Measure] | Stack,
    plan: ReplayPlan,
    *,
    repeats: int,
    progress: Callable[[int], None] | None = None,
    people: int = 1,
) -> list[Trace]:
    """Run a method `repeats` times on a labelled pool; `progress` is told how many repeats are done.

    measures: of two classes, or the `Stack` of a pool of any outcome.
    people: how many annotators answer about each item, where the pool has a `label_probability`.
    Traces and errors are those of `run_block`.
    """
    ready: Prepared[Any, Any, Any] = prepared(method, pool, measures, people)
    parts: list[list[Trace]] = []
    done = 0
    for block, size in blocks(repeats, method):
        parts.append(run_block(method, ready, plan, repeats=size, block=block))
        done += size
        if progress:
            progress(done)
    return [join(traces) for traces in zip(*parts, strict=True)]


def run_block(
    method: SamplingMethod[CellsT, MeasuresT, StateT, DesignT, AnswersT],
    ready: Prepared[Any, StateT, AnswersT], plan: ReplayPlan, *, repeats: int, block: int = 0
) -> list[Trace]:
    """Run `repeats` evaluations side by side up to the largest budget.

    Returns a trace for each number that is asked for; then, from a method of two classes that judges several
    systems, for each measure of each further one.  Raises BadArgument for budgets that do not rise or exceed
    N, and for empty batches.
    """
    check_budgets(plan.budgets, plan.batch_size, None if method.asks_anew else ready.n_items)
    seed, confidence = plan.seed, plan.confidence
    purpose = f"replay/{method.name}"
    rng = stream(seed, purpose, block, "draws")
    people = ready.respondents(method, repeats, rng, stream(seed, purpose, block, "answers"))
    state = ready.begin(method, repeats)
    looks: list[list[EstimateArrays]] = []
    counts: list[Ints] = []
    distances: list[Floats] = []
    winners: list[Ints] = []
    for budget in plan.budgets:
        missing = budget - (counts[-1] if counts else np.zeros(repeats, np.int64))
        state = _label(method, state, missing, plan.batch_size, people, rng)
        counts.append(state.bought)
        estimates = method.number_estimates(state, confidence, stream(seed, purpose, block, f"at {budget}"))
        looks.append([*estimates, *ready.further(method, state, confidence)])
        winners += _named_best(method, state)
        distance = ready.distance(method, state, plan.batch_size) if plan.divergences else None
        distances += [] if distance is None else [distance]
    main_results, *further_results = traces_of(
        looks, np.stack(counts, axis=1), np.stack(distances, axis=1) if distances else None
    )
    return [replace(main_results, winner=np.stack(winners, axis=1) if winners else None), *further_results]


def simulate_rounds(
    method: SamplingMethod[CellsT, MeasuresT, StateT, DesignT, AnswersT],
    ready: Prepared[Any, StateT, AnswersT],
    looks: Sequence[int], *, repeats: int, batch_size: int, seed: int = 1
) -> Iterator[tuple[int, StateT]]:
    """Each look, and the state of all repeats at it: for studies of what is decided there. Rounds between two
    looks have at most `batch_size` new labels each."""
    rng = stream(seed, f"replay/{method.name}", 0, "draws")
    people = ready.respondents(method, repeats, rng, stream(seed, f"replay/{method.name}", 0, "answers"))
    state = ready.begin(method, repeats)
    for look in looks:
        state = _label(method, state, look - state.bought, batch_size, people, rng)
        yield look, state


def _named_best(method: Method, state: LabelledSample) -> list[Ints]:
    """The system (R,) that is named the best at a look; nothing where that is not asked for."""
    if not isinstance(state, SampleState) or not isinstance(method, OutcomeMethod):
        return []
    race = state.stack.race
    if race is None:
        return []
    if method.holds_at_every_look:
        state = replace(state, stack=replace(state.stack, race=replace(race, looks=1)))
    ranking = race_look(method, state)
    return [ranking.winner]


def _label(
    method: SamplingMethod[CellsT, MeasuresT, StateT, DesignT, AnswersT], state: StateT, missing: Ints,
    batch_size: int, people: Respondents[StateT, AnswersT], rng: np.random.Generator,
) -> StateT:
    """The state after `missing` (R,) more labels, or after all there are to ask."""
    while (missing > 0).any():
        # a draw of random size may have gone beyond the budget
        size = method.round_size(state, np.clip(missing, 0, batch_size))
        if not (state.wanted.any(axis=1) & (size > 0)).any():
            break
        design, draws = method.next_round(state, size, rng)
        before = state
        state = method.observe(
            before, design, people.answer(draws, before, rng), np.zeros_like(before.excluded)
        )
        missing = missing - method.spent(before, state, size)
    return state


def check_budgets(budgets: Sequence[int], batch_size: int, n_items: int | None) -> None:
    """Raise BadArgument for budgets that do not rise or exceed the pool's items, and for empty batches.

    n_items: of the pool; None where items are asked anew, and budgets count answers.
    """
    if not budgets or budgets[0] < 1 or any(b <= a for a, b in pairwise(budgets)):
        raise BadArgument("budgets", f"must be rising positive numbers, got {list(budgets)}")
    if n_items is not None and budgets[-1] > n_items:
        raise BadArgument("budgets", f"{budgets[-1]} labels are more than the pool's {n_items} items")
    if batch_size < 1:
        raise BadArgument("batch_size", f"must be at least 1, got {batch_size}")


_COVERED_ROUNDING = 1e-9   # an interval that misses the truth by less covers it


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSummary:
    """How a method did at one budget over R repeats: squared error, bias, coverage and width of its
    intervals, and the share of repeats without an estimate.

    How a method did in a replay: error, coverage and width at each budget.

    Errors are against the pool's own value.  A repeat without an estimate counts as the value 0 in the error,
    as a miss in coverage and as width 1; it is never dropped.
    """

    labels: int          # the budget
    labels_mean: float   # labels bought
    mse: float           # mean squared error
    mse_se: float        # standard error of that mean
    bias: float
    undefined: float     # share of repeats without an estimate
    coverage: float      # share of intervals that hold the truth
    width: float         # mean width of the intervals
    coverage_wide: float | None = field(default=None, metadata=IF_ANY)   # of methods with a wide interval
    width_wide: float | None = field(default=None, metadata=IF_ANY)
    divergence: float | None = field(default=None, metadata=IF_ANY)   # mean KL(q* ‖ q) of the proposals; only
                                                                      # where asked for, and there is a q


def summarise(trace: Trace, truth: float, budgets: Sequence[int]) -> list[BudgetSummary]:
    """Error, coverage and width of a trace at each of its budgets; truth: the pool's own value. One entry a
    budget, in order. Divergences are left out where one of them is missing."""
    summaries = [_at(trace, truth, j, budget) for j, budget in enumerate(budgets)]
    if trace.divergence is None or np.isnan(trace.divergence).any():
        return summaries
    means = trace.divergence.mean(axis=0)
    return [replace(summary, divergence=float(mean)) for summary, mean in zip(summaries, means, strict=True)]


def _at(trace: Trace, truth: float, j: int, budget: int) -> BudgetSummary:
    wide = None
    if trace.wide_lower is not None and trace.wide_upper is not None:
        wide = (trace.wide_lower[:, j], trace.wide_upper[:, j])
    ends = (trace.lower[:, j], trace.upper[:, j])
    return _of(trace.value[:, j], ends, wide, trace.labels[:, j], truth, budget)


def _of(
    value: Floats, ends: tuple[Floats, Floats], wide: tuple[Floats, Floats] | None, labels: Ints,
    truth: float, budget: int,
) -> BudgetSummary:
    undefined = ~np.isfinite(value)
    error = np.where(undefined, 0.0, value) - truth
    squared = error**2
    coverage, width = _interval(*ends, truth, undefined)
    coverage_wide, width_wide = (None, None) if wide is None else _interval(*wide, truth, undefined)
    n = len(value)
    return BudgetSummary(
        labels=budget,
        labels_mean=float(labels.mean()),
        mse=float(squared.mean()),
        mse_se=float(squared.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0,
        bias=float(error.mean()),
        undefined=float(undefined.mean()),
        coverage=coverage,
        width=width,
        coverage_wide=coverage_wide,
        width_wide=width_wide,
    )


def _interval(lower: Floats, upper: Floats, truth: float, undefined: Bools) -> tuple[float, float]:
    """The share of the intervals that cover, and their mean width."""
    covers = ~undefined & (lower <= truth + _COVERED_ROUNDING) & (truth <= upper + _COVERED_ROUNDING)
    return float(covers.mean()), float(np.where(undefined, 1.0, upper - lower).mean())



# whose cells the oracle samples, whatever methods are replayed: else multiples of it could not be compared
CELLS_OF = "recalibrated"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Oracle:
    """The stratified design that knows the rates, for one measure of one pool.

    Labels to a half-width: how many a method needs until its interval is narrow enough, and an oracle.

    The half-width at a budget is half the mean width over repeats, a repeat without an estimate counting as
    width 1 (as in `evalcore.replay.run`).  The labels to a target are those at which it has fallen to the
    target for good: after the last budget whose half-width is above it.  Between that budget and the next it
    follows a straight line in the logarithms of both, as c/√labels does.  The lower end of that line is taken
    as at least a tenth of the target, because an interval that closes altogether has no logarithm.

    A narrow interval is worth nothing if it misses, so the coverage at the first budget at or beyond is told
    too, and held against what the method is held to by a one-sided binomial test.

    The row `oracle`: what a stratified sample needs whose designer knows the true rate of every cell.

    Cells are sampled separately without replacement, n_c of N_c items (Cochran 1977, chapters 5 and 5A).  The
    measure is linearised at the truth; g_c is what one more positive in cell c adds to it (J(R) times the
    change of the loss, over N).  With S_c² = p_c (1 - p_c) N_c / (N_c - 1) the standard error is

        SE² = Σ N_c² g_c² S_c² (1/n_c - 1/N_c),        and the width 2 z SE: 3.92 SE at 95%.

    The n_c that minimise it, Σ n_c = b, are Neyman's, n_c ∝ N_c |g_c| S_c, none beyond N_c; what a full cell
    cannot take goes to the others in the same proportion (`evalcore.design.draws`).  Parts of a label
    count, so no whole n_c do better.

    It is a yardstick and no law: nobody knows the rates, and cells whose labels are all alike cost it
    nothing; finer cells, or a label model that is right, can do with fewer labels.  Here "oracle" means a
    designer who knows the rates; in the papers on importance sampling it means whoever gives the labels.

        C   cells;  N   items of the pool;  b   labels
    """

    measure: Measure
    size: Ints           # (C,) items N_c
    spread: Floats       # (C,) |g_c| S_c
    confidence: float    # of the interval whose width is reported

    def allocation(self, labels: int) -> Floats:
        """n_c (C,), with parts of labels; `labels` in all, or fewer where no more are of use. C counts the
        cells; Neyman's rule with no cell beyond its size."""
        inclusion = waterfill(self.spread[None], self.size[None], np.array([labels]))[0]
        return np.asarray(inclusion * self.size)

    def standard_error(self, by_cell: Floats) -> float:
        """SE of the linearised measure with by_cell (C,) labels, at most N_c each.

        Infinite where a cell that matters has none.
        """
        error = predicted_error(self.spread[None], self.size[None], (by_cell / self.size)[None])
        return float(np.sqrt(error[0]))

    def half_width(self, labels: int) -> float:
        """Half the width of the oracle's normal interval, z times the standard error, under the best
        allocation of so many labels. The interval is two-sided at the oracle's confidence."""
        z = float(scipy.special.ndtri(0.5 + self.confidence / 2))
        return z * self.standard_error(self.allocation(labels))

    def labels_to(self, half_width: float) -> int:
        """The smallest number of labels with at most this half-width, from 0 to N. Half-widths fall as labels
        grow, so it is found by bisection."""
        everything = range(int(self.size.sum()) + 1)
        return bisect_left(everything, True, key=lambda labels: self.half_width(labels) <= half_width)


def oracle(measure: Measure, cells: Cells, by_label: Ints, confidence: float = 0.95) -> Oracle:
    """The oracle of these cells; by_label (C, 2): items of each cell by true label.

    Raises BadInput where the measure has no value or no gradient at the truth.
    """
    size, positives = cells.size, by_label[:, 1].astype(np.float64)
    chosen = cells.prediction.astype(np.float64)
    missed, hits = two_classes.by_prediction(positives[None], chosen)[0]
    items = two_classes.by_prediction(size[None].astype(np.float64), chosen)
    at = np.array([hits]), np.array([missed]), items
    slope = two_classes.slopes_by_prediction(measure, *at)[0]
    if not np.isfinite(two_classes.of_totals(measure, *at)[0]):
        raise BadInput(f"{measure.name} has no value on this pool: {measure.undefined_when}")
    rate = positives / size
    variance = rate * (1 - rate) * size / np.maximum(size - 1, 1)
    return Oracle(
        measure=measure,
        size=size,
        spread=np.abs(slope[cells.prediction]) * np.sqrt(variance),
        confidence=confidence,
    )


def oracles(
    pool: LabelledPool, measures: Sequence[Measure], confidence: float = 0.95, system: int = 0
) -> list[Oracle]:
    """The oracle of each measure on the cells of `CELLS_OF`; none where annotators differ.

    system: 0 for the pool's own predictions, else which further system.  Where annotators differ an item has
    no one label, and the formula does not hold.  Raises BadInput where a measure has no value.
    """
    if pool.label_probability is not None:
        return []
    prediction = pool.prediction if system == 0 or pool.systems is None else pool.systems[:, system - 1]
    cells, by_label = prepared_cells(method(CELLS_OF), replace(pool, prediction=prediction, systems=None))
    return [oracle(measure, cells, by_label, confidence) for measure in measures]


_FLOOR = 0.1    # of the target: the lowest end of a line


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsTo:
    """When the interval of a method has come down to a half-width."""

    half_width: float         # the target, in units of the measure
    labels: int | None        # labels at which it is reached; None if it is not
    at_most: bool             # reached at the smallest budget already, which `labels` is then
    more_than: int | None     # the largest budget, if it is not reached by then
    coverage: float | None    # at the first budget at or beyond `labels`; None if it is not reached
    covers: bool | None       # that coverage is not below what the method is held to, by the test
    oracle: int | None = None  # labels the oracle needs to the same half-width; None without one

    also_printed: ClassVar = {"times_oracle": key_as()}

    @property
    def times_oracle(self) -> float | None:
        """`labels` as a multiple of the oracle's; None if either is missing, or the oracle needs no label. No
        method can be below 1 in the mean."""
        return self.labels / self.oracle if self.labels is not None and self.oracle else None

    def columns(self) -> tuple[str, str, str]:
        """Labels, coverage and multiple as in tables; an asterisk where the interval does not cover. Each is
        a text, with a dash where it is not known."""
        mark = "*" if self.covers is False else ""
        number = self.more_than if self.labels is None else self.labels
        sign = "> " if self.labels is None else "≤ " if self.at_most else ""
        times = f"{sign}{number / self.oracle:.2f}{mark}" if number and self.oracle else "-"
        coverage = "-" if self.coverage is None else f"{self.coverage:.3f}{mark}"
        return f"{sign}{number:,}{mark}", coverage, times


def labels_to(
    half_width: float,
    budgets: Sequence[int],
    widths: Sequence[float],
    coverage: Sequence[float],
    *,
    repeats: Sequence[int],
    least_coverage: float,
    oracle: int | None = None,
) -> LabelsTo:
    """When half the mean width has come down to a half-width.

    budgets (B,) rising; widths, coverage, repeats (B,): at each the mean width, the covered share, and the
    number of repeats behind them.  least_coverage: what the interval is held to.  oracle: labels that the
    oracle needs.
    """
    halves = np.asarray(widths, np.float64) / 2
    above = np.flatnonzero(halves > half_width)
    reached = int(above[-1]) + 1 if len(above) else 0
    if reached == len(budgets):
        return LabelsTo(
            half_width=half_width, labels=None, at_most=False, more_than=budgets[-1], coverage=None,
            covers=None, oracle=oracle,
        )
    labels = budgets[0]
    if reached:
        before, after = budgets[reached - 1], budgets[reached]
        start, end = np.log(halves[reached - 1]), np.log(max(halves[reached], _FLOOR * half_width))
        share = (start - np.log(half_width)) / (start - end)
        labels = round(before * (after / before) ** float(share))
    return LabelsTo(
        half_width=half_width,
        labels=labels,
        at_most=reached == 0,
        more_than=None,
        coverage=coverage[reached],
        covers=not falls_short(coverage[reached], repeats[reached], least_coverage),
        oracle=oracle,
    )


def falls_short(coverage: float, repeats: int, nominal: float) -> bool:
    """Whether so few covers would come up less often than `FALSE_ALARM` if the coverage were `nominal`. A
    binomial test with `repeats` trials. `coverage` is the share of intervals that cover."""
    return bool(scipy.special.bdtr(round(coverage * repeats), repeats, nominal) < FALSE_ALARM)
