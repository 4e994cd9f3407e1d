"""From an estimate and its error to what is reported: ends inside the bounds, and bands of curves."""

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods import interval, tails
from assay.evalcore.outcome_methods.errors import Errors
from assay.evalcore.outcome_methods.simultaneous import together
from assay.evalcore.outcome_methods.state import OutcomeEstimates
from assay.evalcore.outcome_methods.unseen_errors import Unseen
from assay.evalcore.types import Bools, Floats


def nothing_yet(stack: Stack, exact: Bools) -> OutcomeEstimates:
    """Before any label; exact (R,)."""
    nothing = np.full((len(exact), len(stack.parts)), np.nan)
    return OutcomeEstimates(value=nothing, lower=nothing, upper=nothing, variance=nothing, exact=exact)


def value_of(stack: Stack, risk: Floats, known: list[int]) -> Floats:
    """The numbers (R, Q) at R̂, inside their bounds; NaN where undefined."""
    value = stack.value(risk, known)
    return np.where(np.isfinite(value), np.clip(value, *bounds_of(stack)), np.nan)


def bounds_of(stack: Stack) -> tuple[Floats, Floats]:
    """The least and the largest value (Q,) of each number."""
    low, high = np.array([stack.measures[m].bounds for m, _ in stack.parts]).T
    return low, high


def reported(
    stack: Stack, risk: Floats, known: list[int], error: Errors, exact: Bools, confidence: float,
    pull: Floats | None = None, hidden: Unseen | None = None,
) -> OutcomeEstimates:
    """The estimates at R̂ (R, D + D_k) with intervals; known: sizes of the losses' known parts, exact (R,).

    pull (R, n, Q): of the residuals of measures without bounds, whose ends are moved out where the tails are
    heavy; hidden: what no label has shown.
    """
    bounds, value = bounds_of(stack), value_of(stack, risk, known)
    slack, unbounded = stack.slack(risk, known), np.asarray(np.isinf(bounds).any(axis=0))

    out = None if pull is None else tails.further(pull, unbounded)

    def ends(level: Floats) -> tuple[Floats, Floats]:
        """At these confidences (R, Q)."""
        lower, upper = interval.ends(value, error.variance, error.df, error.skew, level, bounds)
        if out is not None:
            lower, upper = tails.moved_out(value, lower, upper, out)
        if hidden is not None:
            lower, upper = hidden.widened(value, lower, upper, level)
        lower, upper = np.minimum(lower, value - slack), np.maximum(upper, value + slack)
        return (np.where(error.unknown, bounds[0], np.maximum(lower, bounds[0])),
                np.where(error.unknown, bounds[1], np.minimum(upper, bounds[1])))

    level = np.full(value.shape, confidence)
    lower, upper = ends(level)
    for curve in stack.curves:
        level[:, curve] = together(error.parts[..., curve], confidence)[:, None]
    return OutcomeEstimates(
        value=value, lower=lower, upper=upper, variance=error.variance, exact=exact,
        ends=ends, band=ends(level) if stack.curves else None,
    )
