"""Replay: the estimates that a method would have given in many evaluations of a pool with known labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadArgument
from assay.evalcore.methods.method import Method
from assay.evalcore.printed import IF_ANY
from assay.evalcore.replay.pool import LabelledPool, OutcomePool, Prepared, Respondents, prepared
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


def traces_of(
    looks: Sequence[Sequence[EstimateArrays]], labels: Ints, distance: Floats | None
) -> list[Trace]:
    """The trace of each number; looks: its estimates at each budget; labels, distance (R, budgets)."""
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
    """The traces of several blocks of repeats as one."""
    columns = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Trace)}
    joined: dict[str, Any] = {
        name: None if any(one is None for one in several) else np.concatenate(several)
        for name, several in columns.items()
    }
    return Trace(**joined)


# R evaluations run side by side.  A method sees the labels of drawn items only.  Repeats come in blocks
# with a random stream each, so the result depends on the seed and not on the number of processes.
#
#     R   repeats

BLOCK = 50  # repeats that share a random stream


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPlan:
    """How every repeat goes, and when it is looked at."""

    budgets: Sequence[int]       # rising numbers of distinct labelled items, or of answers where every draw
                                 # asks anew; a batch is cut short to meet a budget exactly
    batch_size: int = 25
    confidence: float = 0.95
    seed: int = 1
    divergences: bool = False    # tell how far the next round's proposal is from the best one at each budget
                                 # (`evalcore.replay.pool`), where labels do not vary


def blocks(repeats: int) -> list[tuple[int, int]]:
    """(index, size) of the blocks that make up so many repeats."""
    return [(i, min(BLOCK, repeats - start)) for i, start in enumerate(range(0, repeats, BLOCK))]


def simulate(
    method: Method,
    pool: LabelledPool | OutcomePool,
    measures: Any,
    budgets: Sequence[int],
    *,
    repeats: int,
    batch_size: int = 25,
    confidence: float = 0.95,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
    people: int = 1,
    divergences: bool = False,
) -> list[Trace]:
    """Run a method `repeats` times on a labelled pool; `progress` is told how many repeats are done.

    measures: of two classes, or the `Stack` of a pool of any outcome.
    people: how many annotators answer about each item, where the pool has a `label_probability`.
    The other arguments are those of `ReplayPlan`; traces and errors are those of `run_block`.
    """
    ready = prepared(method, pool, measures, people)
    plan = ReplayPlan(
        budgets=budgets, batch_size=batch_size, confidence=confidence, seed=seed, divergences=divergences
    )
    parts: list[list[Trace]] = []
    done = 0
    for block, size in blocks(repeats):
        parts.append(run_block(method, ready, plan, repeats=size, block=block))
        done += size
        if progress:
            progress(done)
    return [join(traces) for traces in zip(*parts, strict=True)]


def run_block(
    method: Method, ready: Prepared, plan: ReplayPlan, *, repeats: int, block: int = 0
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
    for budget in plan.budgets:
        missing = budget - (counts[-1] if counts else np.zeros(repeats, np.int64))
        state = _label(method, state, missing, plan.batch_size, people, rng)
        counts.append(state.bought)
        found = method.numbers(state, confidence, stream(seed, purpose, block, f"at {budget}"))
        looks.append([*found, *ready.further(method, state, confidence)])
        distance = ready.distance(method, state, plan.batch_size) if plan.divergences else None
        distances += [] if distance is None else [distance]
    return traces_of(looks, np.stack(counts, axis=1), np.stack(distances, axis=1) if distances else None)


def _label(
    method: Method, state: Any, missing: Ints, batch_size: int, people: Respondents,
    rng: np.random.Generator,
) -> Any:
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


# How a method did in a replay: error, coverage and width at each budget.
#
# Errors are against the pool's own value.  A repeat without an estimate counts as the value 0 in the error,
# as a miss in coverage and as width 1; it is never dropped.

_ROUNDING = 1e-9   # an interval that misses the truth by less covers it


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSummary:
    """How a method did at one budget, over R repeats."""

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
    """Error, coverage and width of a trace at each of its budgets; truth: the pool's own value."""
    found = [_at(trace, truth, j, budget) for j, budget in enumerate(budgets)]
    if trace.divergence is None or np.isnan(trace.divergence).any():
        return found
    means = trace.divergence.mean(axis=0)
    return [replace(one, divergence=float(mean)) for one, mean in zip(found, means, strict=True)]


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
    covers = ~undefined & (lower <= truth + _ROUNDING) & (truth <= upper + _ROUNDING)
    return float(covers.mean()), float(np.where(undefined, 1.0, upper - lower).mean())
