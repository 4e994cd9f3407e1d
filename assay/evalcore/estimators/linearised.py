"""Intervals of estimates whose variance is a sum over groups of neighbouring strata.

The interval is Student's, with the degrees of freedom that the fourth moment of the terms leaves
(Satterthwaite 1946): a few large residuals widen it.  Where the terms are skewed, the end on the side of the
long tail is moved out as Johnson (1978) moves the mean.  Of a measure with one bound (a mean squared error,
R²) it is the interval of the logarithm of the distance from it; of one between two bounds it spans that of
the log odds as well, which reaches further away from a bound that is near.

    R   repeats;  Q   numbers;  C   cells
"""

import numpy as np
import scipy

from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats, Ints

LEAST_DF_LINEARISED = 3.0   # degrees of freedom of the t interval, however few labels there are
MEANT_LABELS = 2.0   # labels that those meant for a cell count for, beside those it has
FURTHEST_LOG_ODDS = 3.0   # log odds from the estimate: beyond it the normal interval alone speaks
WIDER = 1.08     # of the interval: residuals are a little smaller than the errors of what was fitted to them


def mean_of_items(per_item: Floats, items: Ints | Floats) -> Floats:
    """The mean (..., 1) over items (..., C) of what one item of each cell has, (..., C); 0 of no items. C
    counts the cells, `items` how many there are in each; leading axes are kept."""
    count = np.maximum(items.sum(axis=-1, keepdims=True), 1)
    return np.asarray((per_item * items).sum(axis=-1, keepdims=True) / count)


def grouped(labelled: Ints, labels_of_group: float) -> Ints:
    """The group (R, C) of each cell: neighbours in order, with about `labels_of_group` labels together.

    A cell without labels goes with the cell before it, or with the first that has some.
    """
    running = np.cumsum(labelled, axis=1)
    number = np.floor((running - labelled / 2) / labels_of_group).astype(np.int64)
    with_labels = np.where(labelled > 0, number, -1)
    filled = np.maximum.accumulate(with_labels, axis=1)
    first_group = np.where(labelled > 0, number, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    filled = np.where(filled < 0, np.where(first_group == np.iinfo(np.int64).max, 0, first_group), filled)
    steps = np.diff(filled, axis=1, prepend=filled[:, :1]) > 0
    return np.asarray(np.cumsum(steps, axis=1))


def freedom(total: Floats, fourth: Floats, labels: int) -> Floats:
    """The same of the sum of the terms, and that of their squares, each (R, Q). Satterthwaite's degrees of
    freedom, from LEAST_DF_LINEARISED to one less than the labels."""
    square, largest_df = total**2, max(labels - 1.0, LEAST_DF_LINEARISED)
    excess = np.maximum(fourth - square / max(labels, 1), 2 * square / largest_df)
    df = 2 * square / np.where(excess > 0, excess, 1.0)
    return np.clip(np.where(excess > 0, df, largest_df), LEAST_DF_LINEARISED, largest_df)


def interval_ends(
    value: Floats, variance: Floats, df: Floats, skew: Floats, confidence: float | Floats,
    bounds: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Lower and upper (R, Q), inside the bounds (Q,); confidence: one for all, or (R, Q). R counts repeats
    and Q numbers; the longer side is lengthened for skewness (Johnson 1978)."""
    t = scipy.special.stdtrit(df, 0.5 + confidence / 2)
    half = WIDER * t * np.sqrt(variance)
    tail = (1 + 2 * t**2) / (6 * t) * skew
    below, above = half * (1 + np.maximum(-tail, 0)), half * (1 + np.maximum(tail, 0))
    lower, upper = value - below, value + above
    low, high = (np.broadcast_to(bound, value.shape) for bound in bounds)
    lower, upper = _one_bound(value, lower, upper, low, np.isfinite(low) & np.isinf(high))
    flipped = _one_bound(-value, -upper, -lower, -high, np.isfinite(high) & np.isinf(low))
    lower, upper = _log_odds(value, half, -flipped[1], -flipped[0], low, high)
    return np.clip(lower, *bounds), np.clip(upper, *bounds)


def _one_bound(
    value: Floats, lower: Floats, upper: Floats, low: Floats, applies: Bools
) -> tuple[Floats, Floats]:
    """The interval of the logarithm of value - low, where `applies`."""
    # a value that is at its bound but for rounding has no logarithm either
    apply = applies & (value > low) & ~is_nothing(value - low, upper - lower)
    distance = np.where(apply, value - low, 1.0)
    down = np.exp(-np.minimum((value - lower) / distance, FURTHEST_LOG_ODDS))
    up = np.exp(np.minimum((upper - value) / distance, FURTHEST_LOG_ODDS))
    lower_end, upper_end = value - distance * (1 - down), value + distance * (up - 1)
    return np.where(apply, lower_end, lower), np.where(apply, upper_end, upper)


def _log_odds(
    value: Floats, half: Floats, lower: Floats, upper: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """The interval spread to that of the log odds, of values between two bounds."""
    span = np.where(np.isfinite(high) & np.isfinite(low), high - low, np.nan)
    share = (value - low) / span
    near = (share > 0) & (share < 1)
    inside = np.where(near, share, 0.5)
    odds = inside / (1 - inside)
    factor = np.exp(np.minimum(half / np.where(near, span, 1.0) / (inside * (1 - inside)), FURTHEST_LOG_ODDS))
    lower_end, upper_end = (low + span * ratio / (1 + ratio) for ratio in (odds / factor, odds * factor))
    return np.where(near, np.minimum(lower, lower_end), lower), np.where(
        near, np.maximum(upper, upper_end), upper
    )
