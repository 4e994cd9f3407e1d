"""From an estimate and its variance to an interval, each kind in one function.

    value, variance   (R,)   the estimate and the estimated variance of the estimator
    told              (R,)   whether the variance is known
    lower, upper      (R,)   what is returned, cut to the measure's bounds

Where the variance is not known the interval is the measure's whole range.  Which kind a method reports is
part of the method as published; how often intervals of a kind were measured to cover the truth is said in
each method's `interval_note`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interval:
    """Both ends of an interval, in every repeat."""

    lower: Floats  # (R,)
    upper: Floats  # (R,)


def normal(
    value: Floats, variance: Floats, told: Bools, confidence: float, bounds: tuple[float, float]
) -> Interval:
    """value ± z √variance; z the normal quantile of the confidence."""
    return _symmetric(value, variance, told, float(ndtri(0.5 + confidence / 2)), bounds)


def student(
    value: Floats,
    variance: Floats,
    told: Bools,
    confidence: float,
    bounds: tuple[float, float],
    draws: Ints,
) -> Interval:
    """value ± t √variance with draws - 1 degrees of freedom (Sawade et al. 2010); draws (R,)."""
    freedom = np.maximum(draws - 1, 1)
    quantile = np.asarray(stdtrit(freedom, 0.5 + confidence / 2), dtype=np.float64)
    return _symmetric(value, variance, told, quantile, bounds)


def _symmetric(
    value: Floats, variance: Floats, told: Bools, quantile: Floats | float, bounds: tuple[float, float]
) -> Interval:
    half = quantile * np.sqrt(np.where(told, variance, 0.0))
    lowest, highest = bounds
    return Interval(
        lower=np.where(told, np.clip(value - half, lowest, highest), lowest),
        upper=np.where(told, np.clip(value + half, lowest, highest), highest),
    )


def beta_fit(
    value: Floats, variance: Floats, told: Bools, confidence: float, bounds: tuple[float, float]
) -> Interval:
    """Central quantiles of the beta distribution with this mean and variance (Yilmaz et al. 2021).

    The measure's range is mapped to [0, 1] first.  With mean m and variance v the parameters are m·s and
    (1 - m)·s with s = m(1 - m)/v - 1; no beta distribution has a mean on the edge or a variance of m(1 - m)
    or more, and then the whole range is the answer.
    """
    lowest, highest = bounds
    span = highest - lowest
    mean = np.where(told, (value - lowest) / span, 0.5)
    spread = np.where(told, variance / span**2, 1.0)
    most = mean * (1 - mean)
    fits = told & (most > 0) & (spread < most)
    strength = np.where(fits, most / np.where(fits, spread, 1.0) - 1, 1.0)
    safe = np.where(fits, mean, 0.5)
    tail = (1 - confidence) / 2
    low = betaincinv(safe * strength, (1 - safe) * strength, tail)
    high = betaincinv(safe * strength, (1 - safe) * strength, 1 - tail)
    # parameters far below 1 pile all mass on the edges and the quantile function may give up there
    low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)
    return Interval(
        lower=np.where(fits, lowest + span * low, lowest),
        upper=np.where(fits, lowest + span * high, highest),
    )
