"""How a method did in a replay: error, coverage and width at each budget.

Errors are against the pool's own value.  A repeat without an estimate counts as the value 0 in the error, as
a miss in coverage and as width 1; it is never dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.replay.trace import Trace
from assay.evalcore.types import Bools, Floats, Ints

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
    coverage_wide: float | None = None   # of the wide interval, of methods that report one
    width_wide: float | None = None
    divergence: float | None = None      # mean KL(q* ‖ q) of the proposals, where asked and there is a q


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
