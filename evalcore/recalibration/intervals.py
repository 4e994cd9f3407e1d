"""Intervals for a measure that lies in a known range, and quantiles of weighted draws."""

from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit

from assay.evalcore.types import Floats

BLUR = 0.05             # half of the window of a quantile, as a share of its tail
LEAST_SHARE = 1e-6      # of a measure's range: no end is stretched from nearer to its bounds


def weighted_quantiles(draws: Floats, weight: Floats, levels: Sequence[float]) -> Floats:
    """Quantiles (R, levels) of draws (R, S) with weight (R, S), which sums to 1 in each row.

    A quantile is the mean of the quantile function between (1 - BLUR) and (1 + BLUR) times the tail's share.
    A single order statistic would jump to the next draw where a weight differs by a rounding, and depend on
    the order of draws that are equal but for one.
    Draws without a value (NaN) are left out and the rest reweighted; NaN where none has one.
    """
    known = np.isfinite(draws)
    weight = np.where(known, weight, 0.0)
    order = np.argsort(np.where(known, draws, np.inf), axis=1, kind="stable")
    sorted_draws = np.take_along_axis(np.where(known, draws, 0.0), order, axis=1)
    total = weight.sum(axis=1, keepdims=True)
    above = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1) / np.where(total > 0, total, 1.0)
    below = np.concatenate([np.zeros_like(total), above[:, :-1]], axis=1)
    last = np.maximum(known.sum(axis=1) - 1, 0)
    columns = []
    for level in levels:
        reach = BLUR * min(level, 1 - level)
        share = np.clip(np.minimum(above, level + reach) - np.maximum(below, level - reach), 0.0, None)
        at = np.minimum((above < level).sum(axis=1), last)[:, None]
        # measured from the draw in the middle: where all are alike, the quantile is exactly what they are
        middle = np.take_along_axis(sorted_draws, at, axis=1)
        away = (share * (sorted_draws - middle)).sum(axis=1) / np.maximum(share.sum(axis=1), 1e-300)
        columns.append(middle[:, 0] + away)
    return np.where(total > 0, np.stack(columns, axis=1), np.nan)


def tail_quantiles(draws: Floats, weight: Floats, tail: Floats) -> tuple[Floats, Floats]:
    """Quantiles (R,) at tail and at 1 − tail, tail (R,), of draws (R, S) with weight (R, S)."""
    lower, upper = np.empty(len(tail)), np.empty(len(tail))
    for r in range(len(tail)):
        lower[r], upper[r] = weighted_quantiles(
            draws[r : r + 1], weight[r : r + 1], [tail[r], 1 - tail[r]]
        )[0]
    return lower, upper


def weighted_moments(draws: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Mean and variance (R,) of draws (R, S) with weight (R, S).

    Draws without a value (NaN) are left out; (NaN, inf) where none has one.
    """
    known = np.isfinite(draws)
    weight = np.where(known, weight, 0.0)
    total = weight.sum(axis=1)
    safe = np.where(total > 0, total, 1.0)
    filled = np.where(known, draws, 0.0)
    mean = (weight * filled).sum(axis=1) / safe
    variance = (weight * (filled - mean[:, None]) ** 2).sum(axis=1) / safe
    return np.where(total > 0, mean, np.nan), np.where(total > 0, variance, np.inf)


def logit_interval(
    centre: Floats, std_error: Floats, z: float | Floats, bounds: tuple[float, float]
) -> tuple[Floats, Floats]:
    """centre ± z se on the logit scale of the measure's range, so that the ends stay inside it.

    centre, std_error (R,); z: the normal quantile of the confidence, one for all or (R,); bounds: the range.
    Where se exceeds x (1 − x), x the centre's place in the range, the delta method does not hold: there the
    normal interval around x is joined to a logit interval of ± z.
    """
    low, high = bounds
    unit = np.clip((centre - low) / (high - low), 1e-7, 1 - 1e-7)
    scaled = np.minimum(std_error / (high - low), 1e6)
    ratio = scaled / (unit * (1 - unit))
    half = z * np.minimum(ratio, 1.0)
    lower, upper = expit(logit(unit) - half), expit(logit(unit) + half)
    coarse = ratio > 1
    lower = np.where(coarse, np.minimum(lower, np.maximum(unit - z * scaled, 0.0)), lower)
    upper = np.where(coarse, np.maximum(upper, np.minimum(unit + z * scaled, 1.0)), upper)
    return low + (high - low) * lower, low + (high - low) * upper


def stretched(
    ends: tuple[Floats, Floats], centre: Floats, factor: float, bounds: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Both ends moved away from the centre by `factor`, on the logit scale of the measure's range.

    ends, centre (R,); bounds: the range.  An end that is NaN stays so.
    """
    low, high = bounds

    def scale(x: Floats) -> Floats:
        return logit(np.clip((x - low) / (high - low), LEAST_SHARE, 1 - LEAST_SHARE))

    middle = scale(centre)
    lower, upper = (middle + factor * (scale(end) - middle) for end in ends)
    return low + (high - low) * expit(lower), low + (high - low) * expit(upper)


def hull(parts: Sequence[tuple[Floats, Floats]], bounds: tuple[float, float]) -> tuple[Floats, Floats]:
    """The smallest interval that holds all parts, (R,) each, cut to the range.

    An end that is NaN is left out; where all are, the range's end is taken.
    """
    lower = np.fmin.reduce([low for low, _ in parts])
    upper = np.fmax.reduce([high for _, high in parts])
    lower = np.where(np.isfinite(lower), lower, bounds[0])
    upper = np.where(np.isfinite(upper), upper, bounds[1])
    return np.clip(lower, *bounds), np.clip(upper, *bounds)
