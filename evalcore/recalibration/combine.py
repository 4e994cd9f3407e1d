"""One value from two: the posterior's and the design's; quantiles of weighted draws, and ends inside a known
range.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.recalibration.posterior import Posterior
from assay.evalcore.recalibration.quantities import CellGroups, Estimand
from assay.evalcore.recalibration.regions import RegionSums
from assay.evalcore.recalibration.sequential import Evidence
from assay.evalcore.types import Bools, Floats

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
    middle = scipy.special.logit(unit)
    lower, upper = scipy.special.expit(middle - half), scipy.special.expit(middle + half)
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
        return scipy.special.logit(np.clip((x - low) / (high - low), LEAST_SHARE, 1 - LEAST_SHARE))

    middle = scale(centre)
    lower, upper = (middle + factor * (scale(end) - middle) for end in ends)
    return low + (high - low) * scipy.special.expit(lower), low + (high - low) * scipy.special.expit(upper)


def hull(parts: Sequence[tuple[Floats, Floats]], bounds: tuple[float, float]) -> tuple[Floats, Floats]:
    """The smallest interval that holds all parts, (R,) each, cut to the range.

    An end that is NaN is left out; where all are, the range's end is taken.
    """
    lower = np.fmin.reduce([low for low, _ in parts])
    upper = np.fmax.reduce([high for _, high in parts])
    lower = np.where(np.isfinite(lower), lower, bounds[0])
    upper = np.where(np.isfinite(upper), upper, bounds[1])
    return np.clip(lower, *bounds), np.clip(upper, *bounds)


# One value from two: the posterior's and the design's.
#
#     posterior   median and variance of the measure over draws of the finite pool
#     design      the difference estimate by region, right whatever the model of the labels (`regions`)
#     combined    M̂ = (1 − λ) posterior median + λ design,  λ = W / (W + V),  W = V_post/κ + excess
#
# V is the design's variance; excess is what the squared gap between the two exceeds 9 (V_post + V) by: the
# model's error, measured.
# κ rises from 1 on dense pools to 4 on sparse ones: both saw the same labels, and where positives are few the
# posterior has used them better.
#
#     R repeats   S draws   G groups of cells (`quantities`)

LEAST_VARIANCE = 1e-10
CLEAR_GAP = 9.0          # squared standard errors between design and model that speak against the model
CORRELATED = 4.0         # κ on sparse pools
NO_TRUST = 1e6           # variance of a design that has no estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupCounts:
    """Items of the pool by group, (R, G) each."""

    items: Floats        # all that can be decided
    labelled: Floats     # labelled, of either label
    known: Floats        # positives found
    free: Floats         # unlabelled
    expected: Floats     # positives found, and those the posterior expects among the unlabelled

    @property
    def none_found(self) -> Bools:
        """Whether (R,) no positive was found yet."""
        return np.asarray(self.known.sum(axis=1) == 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByPosterior:
    """What the posterior says of a measure, (R,) each."""

    median: Floats
    mean: Floats
    variance: Floats
    undefined: Floats    # weight of the draws that leave the measure undefined


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByDesign:
    """What the design says of a measure, (R,) each."""

    usable: Bools        # whether it has an estimate of its own
    value: Floats        # the posterior median where it has none
    variance: Floats     # the larger of the predicted and the empirical one
    empirical: Floats    # variance by the scatter of the labels alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Combined:
    """The two together, (R,) each."""

    value: Floats
    variance: Floats
    trust: Floats        # λ, the share of the design
    gap: Floats          # squared difference over the sum of the variances


def count(e: Evidence, post: Posterior, groups: CellGroups) -> GroupCounts:
    """The pool's items by group."""
    known = groups.sums(e.k)
    return GroupCounts(
        items=groups.sums(e.n + e.left),
        labelled=groups.sums(e.n),
        known=known,
        free=groups.sums(e.left),
        expected=known + groups.sums(e.left * post.mean),
    )


def by_posterior(values: Floats, weight: Floats) -> ByPosterior:
    """From draws of the pool: values (R, S) of the measure and their weight (R, S).

    Draws without a value are left out.
    """
    mean, variance = weighted_moments(values, weight)
    return ByPosterior(
        median=weighted_quantiles(values, weight, [0.5])[:, 0],
        mean=mean,
        variance=variance + LEAST_VARIANCE,
        undefined=(weight * ~np.isfinite(values)).sum(axis=1),
    )


def by_design(
    estimand: Estimand, sums: RegionSums, counts: GroupCounts, mean: Floats, median: Floats
) -> ByDesign:
    """From the sums of the rounds; mean (R, C) of the posterior's rates, median (R,) of its measure."""
    found, empirical, modelled = sums.totals(estimand.quantity.groups, mean)
    found = np.clip(found, counts.known, counts.known + counts.free)
    value = estimand.value(found, counts.items)
    slope = estimand.slope(counts.expected, counts.items)
    variance = _delta(slope, np.maximum(empirical, modelled)) + LEAST_VARIANCE
    usable = np.isfinite(value) & np.isfinite(variance) & np.isfinite(median)
    return ByDesign(
        usable=usable,
        value=np.where(usable, value, median),
        variance=np.where(usable, variance, NO_TRUST),
        empirical=_delta(slope, empirical),
    )


def combine(posterior: ByPosterior, design: ByDesign, counts: GroupCounts, labels: Floats) -> Combined:
    """Weigh the two against each other; labels (R,): how many there are."""
    gap = (design.value - posterior.median) ** 2
    spread = posterior.variance + design.variance
    # what the two differ by beyond three standard errors is the model's error, not the design's; nearer by,
    # it may be one positive drawn against all odds, of which the design's variance knows too little
    excess = np.maximum(gap - CLEAR_GAP * spread, 0.0)
    positives = counts.expected.sum(axis=1)
    sparse = 1 - (positives / (positives + labels + 50)) ** 2
    caution = posterior.variance / (1 + (CORRELATED - 1) * sparse) + excess
    trust = np.where(design.usable, caution / (caution + design.variance), 0.0)
    joined = (1 - trust) * posterior.median + trust * design.value
    return Combined(
        value=np.where(trust > 0, joined, posterior.median),
        variance=1 / (1 / (posterior.variance + excess) + 1 / design.variance),
        trust=trust,
        gap=gap / spread,
    )


def _delta(slope: Floats, variance: Floats) -> Floats:
    """Σ g² V; a total that does not matter may have any variance."""
    matters = np.where(slope != 0, variance, 0.0)
    return np.asarray((slope**2 * matters).sum(axis=1))
