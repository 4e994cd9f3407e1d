"""The confidence sequence of `recalibrated`: an interval that may be looked at after every round.

Three intervals are joined, n the number of labels:

    combined    z(n) standard errors around the combined value, with the posterior's variance
    heavier     the posterior with a heavier tail: its quantiles at Φ(−z(n)) and Φ(z(n))
    design      the design's own bounds of a single look, one-sided, with its empirical variance: no model

z(n) is such that a mean of n independent normal terms stays within z(n) standard errors at all n at once,
with the confidence asked for.  Up to HORIZON labels z is constant.  It covers any number of looks while n
grows tenfold: the chance to leave is (Miller & Siegmund 1982, for a random walk)

    (z − 1/z) φ(z) log 10 + 4 φ(z)/z = 1 − confidence        z = 2.84 at 95%

Beyond HORIZON it widens with the number d of doublings, z(n)² = z² + 4 log(1 + d): then the chances of all
further doublings add less than a hundredth.  Labels outside the tenfold are paid for by the fact that looks
come in rounds: with 25 labels a round, from the first round on and for ever, a mean of normal terms leaves in
4.8% of runs.

The estimates are normal only nearly, and the posterior is right only if one of its configurations is.  The
design's bounds are there for the looks at which none is.  So that 95% of runs are covered at all looks is
measured and not proved (docs/stopping.md).

    R repeats   S draws
"""

from math import exp, log, pi, sqrt

import numpy as np
from scipy.special import ndtr, ndtri

from assay.evalcore.recalibration.combine import ByDesign, ByPosterior, Combined, Counts
from assay.evalcore.recalibration.interval.usual import Ends
from assay.evalcore.recalibration.intervals import hull, logit_interval, tail_quantiles
from assay.evalcore.recalibration.quantities import Estimand
from assay.evalcore.types import Floats

GROWTH = 10.0            # the labels of the last look over those of the first
HORIZON = 1000.0         # labels up to which people mostly stop
LARGEST_Z = 38.0         # beyond it the normal density is 0 in floating point


def standard_errors(labels: Floats, confidence: float) -> Floats:
    """z(n) for n = labels (R,)."""
    from scipy.optimize import brentq  # half a second to import, and few evaluations need it

    def excess(z: float) -> float:
        return exp(-(z**2) / 2) / sqrt(2 * pi) * ((z - 1 / z) * log(GROWTH) + 4 / z) - (1 - confidence)

    constant = brentq(excess, 1.0, LARGEST_Z) if excess(1.0) > 0 else 1.0
    doublings = np.log2(np.maximum(labels / HORIZON, 1.0))
    return np.asarray(np.sqrt(constant**2 + 4 * np.log1p(doublings)))


def anytime_ends(
    estimand: Estimand,
    combined: Combined,
    design: ByDesign,
    posterior: ByPosterior,
    heavier: tuple[Floats, Floats],
    labels: Floats,
    counts: Counts,
    ends: Ends,
    certain: Ends,
    confidence: float,
) -> Ends:
    """The confidence sequence (R,), within what the labels leave possible, `certain`.

    heavier: draws of the measure with the heavier tail and their weight, (R, S) each; labels (R,).  With no
    positive found, what the interval `ends` does not exclude is not excluded.
    """
    z = standard_errors(labels, confidence)
    one_sided = max(float(ndtri(confidence)), 0.0)
    reach = one_sided * np.sqrt(np.where(design.usable, design.empirical, np.nan))
    lower, upper = hull(
        [
            logit_interval(combined.value, np.sqrt(posterior.variance), z, estimand.bounds),
            tail_quantiles(*heavier, ndtr(-z)),
            (design.value - reach, design.value + reach),
        ],
        estimand.bounds,
    )
    lower, upper = np.clip(lower, *certain), np.clip(upper, *certain)
    return (
        np.where(counts.none_found, np.fmin(lower, ends[0]), lower),
        np.where(counts.none_found, np.fmax(upper, ends[1]), upper),
    )
