"""The intervals of `recalibrated`, made of the posterior's value and the design's: quantiles of weighted
draws, ends inside a known range, the usual interval, how much of it is earned, a guard, and one for any
time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import TypeAlias

import numpy as np
import scipy

from assay.evalcore.measures.by_group import CellGroups, Estimand
from assay.evalcore.recalibration.posterior import Posterior
from assay.evalcore.recalibration.sequential import Evidence, RegionSums
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
    has_value = np.isfinite(draws)
    weight = np.where(has_value, weight, 0.0)
    order = np.argsort(np.where(has_value, draws, np.inf), axis=1, kind="stable")
    sorted_draws = np.take_along_axis(np.where(has_value, draws, 0.0), order, axis=1)
    total = weight.sum(axis=1, keepdims=True)
    above = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1) / np.where(total > 0, total, 1.0)
    below = np.concatenate([np.zeros_like(total), above[:, :-1]], axis=1)
    last_place = np.maximum(has_value.sum(axis=1) - 1, 0)
    columns = []
    for level in levels:
        reach = BLUR * min(level, 1 - level)
        share = np.clip(np.minimum(above, level + reach) - np.maximum(below, level - reach), 0.0, None)
        at = np.minimum((above < level).sum(axis=1), last_place)[:, None]
        # measured from the draw in the middle: where all are alike, the quantile is exactly what they are
        middle = np.take_along_axis(sorted_draws, at, axis=1)
        away = (share * (sorted_draws - middle)).sum(axis=1) / np.maximum(share.sum(axis=1), 1e-300)
        columns.append(middle[:, 0] + away)
    return np.where(total > 0, np.stack(columns, axis=1), np.nan)


def tail_quantiles(draws: Floats, weight: Floats, tail: Floats) -> tuple[Floats, Floats]:
    """Quantiles (R,) at tail and at 1 − tail, tail (R,), of draws (R, S) with weight (R, S). R counts repeats
    and S draws; each repeat has a tail of its own."""
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
    has_value = np.isfinite(draws)
    weight = np.where(has_value, weight, 0.0)
    total = weight.sum(axis=1)
    safe = np.where(total > 0, total, 1.0)
    filled = np.where(has_value, draws, 0.0)
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


LEAST_VARIANCE = 1e-10   # is added to a variance, which may be 0
CLEAR_GAP = 9.0          # squared standard errors between design and model that speak against the model
CORRELATED = 4.0         # κ on sparse pools
NO_TRUST = 1e6           # variance of a design that has no estimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupCounts:
    """The items of the pool by group of cells, (R, G) each: all, labelled, positives found, unlabelled, and
    the positives that the posterior expects in total.

    One value from two: the posterior's and the design's.

        posterior   median and variance of the measure over draws of the finite pool
        design      the difference estimate by region, right whatever the model of the labels (`sequential`)
        combined    M̂ = (1 − λ) posterior median + λ design,  λ = W / (W + V),  W = V_post/κ + excess

    V is the design's variance; excess is what the squared gap between the two exceeds 9 (V_post + V) by: the
    model's error, measured.  Both saw the same labels, so they err together.  The covariance of an efficient
    estimate with any other of the same labels is the variance of the efficient one (Hausman 1978), and the
    one of smaller variance stands for it: with U = V_post + excess

        Var M̂ = (1 − λ)² U + λ² V + 2 λ (1 − λ) min(U, V)

    κ rises from 1 on dense pools to 4 on sparse ones: both saw the same labels, and where positives are few
    the posterior has used them better.

        R repeats   S draws   G groups of cells
    """

    items: Floats        # all that can be decided
    labelled: Floats     # labelled, of either label
    known: Floats        # positives found
    free: Floats         # unlabelled
    expected: Floats     # positives found, and those the posterior expects among the unlabelled

    @property
    def none_found(self) -> Bools:
        """Whether no positive was found yet in any group, (R,) for R repeats."""
        return np.asarray(self.known.sum(axis=1) == 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByPosterior:
    """What the posterior says of a measure, (R,) each: median, mean and variance, and the weight of draws
    that leave it undefined."""

    median: Floats
    mean: Floats
    variance: Floats
    undefined: Floats    # weight of the draws that leave the measure undefined


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByDesign:
    """What the design says of a measure without a model, (R,) each: its own value, if it has one, with the
    predicted and the empirical variance."""

    usable: Bools        # whether it has an estimate of its own
    value: Floats        # the posterior median where it has none
    variance: Floats     # the larger of the predicted and the empirical one
    empirical: Floats    # variance by the scatter of the labels alone


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Combined:
    """The posterior's and the design's value of a measure combined, (R,) each: value, variance, the share λ
    that the design has, and how far the two are apart."""

    value: Floats
    variance: Floats
    trust: Floats        # λ, the share of the design
    gap: Floats          # squared difference over the sum of the variances


def count(e: Evidence, post: Posterior, groups: CellGroups) -> GroupCounts:
    """The pool's items by group of cells, from the evidence and the posterior mean rates."""
    positives = groups.sums(e.k)
    return GroupCounts(
        items=groups.sums(e.n + e.left),
        labelled=groups.sums(e.n),
        known=positives,
        free=groups.sums(e.left),
        expected=positives + groups.sums(e.left * post.mean),
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
    positives, empirical, modelled = sums.totals(estimand.quantity.groups, mean)
    positives = np.clip(positives, counts.known, counts.known + counts.free)
    value = estimand.value(positives, counts.items)
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
    by_model, model_trust = posterior.variance + excess, 1 - trust
    shared = np.minimum(by_model, design.variance)      # their covariance
    variance = model_trust**2 * by_model + trust**2 * design.variance + 2 * model_trust * trust * shared
    return Combined(
        value=np.where(trust > 0, joined, posterior.median),
        variance=variance,
        trust=trust,
        gap=gap / spread,
    )


def _delta(slope: Floats, variance: Floats) -> Floats:
    """Σ g² V; a total that does not matter may have any variance."""
    matters = np.where(slope != 0, variance, 0.0)
    return np.asarray((slope**2 * matters).sum(axis=1))


Ends: TypeAlias = tuple[Floats, Floats]

# n of them know n / (n + 100) of the tails; halved and doubled in docs/measured/sensitivity.md
FEW_LABELS = 100.0
STRETCH = 1.1            # of posterior and combined value, for what a smooth model of the rates gets wrong
FADING = 4               # how fast the design's interval falls away where it is wider than the others ...
FEW_POSITIVES = 100.0    # ... and positives are few: at so many expected in the pool, half as fast


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Quantiles:
    """Two intervals from draws of the measure: at the nominal quantiles, and further out while labels are
    few."""

    nominal: Ends
    early: Ends          # further out, as if only n / (n + 100) of the tails were known


def quantiles(values: Floats, weight: Floats, labels: Floats, confidence: float) -> Quantiles:
    """Quantiles of draws of the measure: values, weight (R, S); labels (R,): how many there are. R counts
    repeats and S draws; early ones, for few labels, lie further out."""
    tail = (1 - confidence) / 2
    early = tail * np.maximum(labels, 1) / (labels + FEW_LABELS)
    ends = np.empty((4, len(labels)))
    for r in range(len(labels)):
        ends[:, r] = weighted_quantiles(
            values[r : r + 1], weight[r : r + 1], [tail, 1 - tail, early[r], 1 - early[r]]
        )[0]
    return Quantiles(nominal=(ends[0], ends[1]), early=(ends[2], ends[3]))


def main_interval(
    estimand: Estimand,
    combined: Combined,
    design: ByDesign,
    posterior: Quantiles,
    heavier: Quantiles,
    counts: GroupCounts,
    z: float,
) -> Ends:
    """The hull of the four, narrowed as far as the labels allow; cut to the measure's range.

    With hits and errors found the tails are those asked for, and the design's own interval falls away where
    it is wider than the others and positives are rare: there it says next to nothing.  Where they are not, it
    stays: matches scattered under the threshold follow no model.

    posterior, heavier: of the posterior, and of the one with a heavier tail; z: the normal quantile of the
    confidence.
    """
    joined = logit_interval(combined.value, np.sqrt(combined.variance), z, estimand.bounds)
    half = z * np.sqrt(np.where(design.usable, design.empirical, np.nan))      # half of the design's width
    two = hull([posterior.nominal, joined], estimand.bounds)
    three = hull(
        [stretched(two, combined.value, STRETCH, estimand.bounds), heavier.nominal], estimand.bounds
    )
    faded_half = half * _fading(three, half, counts.expected.sum(axis=1))
    earned = hull([three, (design.value - faded_half, design.value + faded_half)], estimand.bounds)
    design_ends = (design.value - half, design.value + half)
    four = _hull_of_four(estimand, joined, design_ends, posterior, heavier, counts)
    share = earned_share(estimand, counts)
    return share * earned[0] + (1 - share) * four[0], share * earned[1] + (1 - share) * four[1]


def _fading(three: Ends, half: Floats, positives: Floats) -> Floats:
    """The share (R,) of the design's half-width `half` that is kept beside the other three together.

    positives (R,): how many are expected in the pool.
    """
    other_half = (three[1] - three[0]) / 2
    wider = half > other_half
    power = FADING * FEW_POSITIVES / (positives + FEW_POSITIVES)
    return np.where(wider, other_half / np.where(wider, half, 1.0), 1.0) ** power


def _hull_of_four(
    estimand: Estimand, joined: Ends, design: Ends, posterior: Quantiles, heavier: Quantiles,
    counts: GroupCounts,
) -> Ends:
    # with no positive found the labels do not exclude that there is none to be found
    at_least = estimand.value(counts.known, counts.items)
    none_left = np.where(counts.none_found, at_least, np.nan)
    return hull([posterior.early, joined, heavier.early, design, (none_left, none_left)], estimand.bounds)


def within(ends: Ends, certain: Ends, posterior: ByPosterior, counts: GroupCounts, confidence: float) -> Ends:
    """Cut to what the labels leave possible, `certain`; all of that where the measure may well not exist. It
    may not exist where no positive is found and enough draws are without a value."""
    nothing = counts.none_found & (posterior.undefined > (1 - confidence) / 2)
    lower, upper = (np.clip(end, *certain) for end in ends)
    return np.where(nothing, certain[0], lower), np.where(nothing, certain[1], upper)


def reported_value(
    estimand: Estimand, combined: Combined, posterior: ByPosterior, certain: Ends, counts: GroupCounts
) -> Floats:
    """The combined value (R,), within what the labels leave possible.

    With no positive found an exact 0 or 1 is not to be reported: the mean, which is neither, stands in.
    """
    value = combined.value
    at_an_end = (value <= estimand.bounds[0]) | (value >= estimand.bounds[1])
    return np.clip(np.where(counts.none_found & at_an_end, posterior.mean, value), *certain)


ENOUGH = 20.0    # labelled items that raise the measure, and as many that lower it


def earned_share(estimand: Estimand, counts: GroupCounts) -> Floats:
    """The share (R,) of the way from the widest interval to the narrowest: 0 to 1, at ENOUGH both ways.

    How far the interval may be narrowed: by what the labels have shown of both sides of a measure.

    Every kind of labelled item (group, label) pulls the measure up or down: F1 is raised by true positives
    and lowered by false positives and false negatives alike.  A posterior that has seen several of both knows
    its measure; one that has seen one side only leans on its prior for the other, and is wrong where the
    prior is: it stops short of 1 on a pool without errors, and of 0 where no hit was found.
    """
    return np.minimum(shown_both_ways(estimand, counts) / ENOUGH, 1.0)


def shown_both_ways(estimand: Estimand, counts: GroupCounts) -> Floats:
    """Labelled items that raise the measure, or those that lower it, whichever are fewer: (R,).

    An item counts by its pull, as a share of the strongest pull in the same direction: of balanced accuracy
    on a rare class, a true negative is worth next to nothing beside a true positive.  0 where the measure is
    undefined at the expected counts.
    """
    expected = _by_label(counts.expected, counts.items)
    size = np.maximum(expected.sum(axis=(1, 2), keepdims=True), 1.0)
    pull = estimand.pull(counts.expected, counts.items)
    pull = pull - (pull * expected / size).sum(axis=(1, 2), keepdims=True)
    pull = np.where(np.isfinite(pull), pull, 0.0)
    labels = _by_label(counts.known, counts.labelled)
    return np.minimum(_weighed(labels, np.maximum(pull, 0.0)), _weighed(labels, np.maximum(-pull, 0.0)))


def _by_label(positives: Floats, items: Floats) -> Floats:
    """(R, G, 2) by group and label, from positives and items (R, G)."""
    return np.stack([np.maximum(items - positives, 0.0), positives], axis=-1)


def _weighed(labels: Floats, pull: Floats) -> Floats:
    """Items (R,) found of the kinds that pull, each as a share of the strongest: both (R, G, 2)."""
    strongest = pull.max(axis=(1, 2))
    total = (labels * pull).sum(axis=(1, 2))
    return np.where(strongest > 0, total / np.where(strongest > 0, strongest, 1.0), 0.0)


GUARDED_POSITIVES = 3   # positives found among the predicted negatives, up to which the guard is whole


def guarded(estimand: Estimand, ends: Ends, wide: Ends, counts: GroupCounts) -> Ends:
    """The interval (R,), drawn towards the wide one as far as the guard reaches.

    A guard against positives below the threshold that are found late (`recalibrated:guard=false`: none).

    How many positives the items predicted negative hold rests on how steeply the model takes the rates to
    fall, until some were found there.  Where they do not fall so steeply, the first labels show none, and the
    interval is sure of too few: the value of F1 is too high, and the lower end with it.  So until
    GUARDED_POSITIVES of them were found the interval reaches as far as the wide one, and from then on as much
    less of the way as a count is known better: √(GUARDED_POSITIVES / found), its relative error.  Let go at
    once, it was wrong most often just then.

    It does so on dense pools only: where a label among the predicted negatives stands for fewer items than
    were predicted positive.  There some positives should have turned up.  On a rare class none does in any
    number of labels that people pay for, and the wide interval stands beside the main one.

    docs/measured/ideas.md has what it does.
    """
    share = guard_share(estimand.quantity.label_matters, counts.items, counts.labelled, counts.known)
    return (
        ends[0] - share * np.fmax(ends[0] - wide[0], 0.0),
        ends[1] + share * np.fmax(wide[1] - ends[1], 0.0),
    )


def guard_share(matters: Bools, items: Floats, labelled: Floats, labelled_positives: Floats) -> Floats:
    """How much (R,) of the way to the wide interval the guard reaches: 1 until GUARDED_POSITIVES positives
    were found.

    matters (G,): whether a label of the group can change the measure; items, labelled, labelled_positives
    (R, G).  0 where labels among the predicted negatives are not dense, where these have no part in the
    measure, and where it is not one of predictions.
    """
    if len(matters) != 2 or not matters[0]:
        return np.zeros(len(items))
    dense = items[:, 0] / np.maximum(labelled[:, 0], 1.0) < items[:, 1]
    return np.where(
        dense, np.sqrt(GUARDED_POSITIVES / np.maximum(labelled_positives[:, 0], GUARDED_POSITIVES)), 0.0
    )


LOOKS_GROWTH = 10.0   # the labels of the last look over those of the first
LOOKS_HORIZON_LABELS = 1000.0   # labels up to which people mostly stop
LARGEST_Z = 38.0         # beyond it the normal density is 0 in floating point


def standard_errors(labels: Floats, confidence: float) -> Floats:
    """The number z(n) of standard errors of the confidence sequence at n labels, (R,): constant up to
    LOOKS_HORIZON_LABELS labels, by Miller and Siegmund (1982), then z² + 4 log(1 + d) with the number d of
    doublings.

    The confidence sequence of `recalibrated`: an interval that may be looked at after every round.

    Three intervals are joined, n the number of labels:

        combined    z(n) standard errors around the combined value, with the posterior's variance
        heavier     the posterior with a heavier tail: its quantiles at Φ(−z(n)) and Φ(z(n))
        design      the design's own bounds of a single look, one-sided, with its empirical variance: no model

    z(n) is such that a mean of n independent normal terms stays within z(n) standard errors at all n at once,
    with the confidence asked for.  Up to LOOKS_HORIZON_LABELS labels z is constant.  It covers any number of
    looks while n grows tenfold: the chance to leave is (Miller & Siegmund 1982, for a random walk)

        (z − 1/z) φ(z) log 10 + 4 φ(z)/z = 1 − confidence        z = 2.84 at 95%

    Beyond LOOKS_HORIZON_LABELS it widens with the number d of doublings, z(n)² = z² + 4 log(1 + d): then the
    chances of all further doublings add less than a hundredth.  Labels outside the tenfold are paid for by
    the fact that looks come in rounds: with 25 labels a round, from the first round on and for ever, a mean
    of normal terms leaves in 4.8% of runs.

    The estimates are normal only nearly, and the posterior is right only if one of its configurations is.
    The design's bounds are there for the looks at which none is.  So that 95% of runs are covered at all
    looks is measured and not proved (docs/measured/stopping.md).

        R repeats   S draws
    """

    def excess(z: float) -> float:
        return exp(-(z**2) / 2) / sqrt(2 * pi) * ((z - 1 / z) * log(LOOKS_GROWTH) + 4 / z) - (1 - confidence)

    constant = scipy.optimize.brentq(excess, 1.0, LARGEST_Z) if excess(1.0) > 0 else 1.0
    doublings = np.log2(np.maximum(labels / LOOKS_HORIZON_LABELS, 1.0))
    return np.asarray(np.sqrt(constant**2 + 4 * np.log1p(doublings)))


def anytime_ends(
    estimand: Estimand,
    combined: Combined,
    design: ByDesign,
    posterior: ByPosterior,
    heavier: tuple[Floats, Floats],
    labels: Floats,
    confidence: float,
) -> Ends:
    """The confidence sequence (R,), wherever the labels leave room for it (`anytime_within`).

    heavier: draws of the measure with the heavier tail and their weight, (R, S) each; labels (R,).
    """
    z = standard_errors(labels, confidence)
    one_sided = max(float(scipy.special.ndtri(confidence)), 0.0)
    reach = one_sided * np.sqrt(np.where(design.usable, design.empirical, np.nan))
    return hull(
        [
            logit_interval(combined.value, np.sqrt(posterior.variance), z, estimand.bounds),
            tail_quantiles(*heavier, scipy.special.ndtr(-z)),
            (design.value - reach, design.value + reach),
        ],
        estimand.bounds,
    )


def anytime_within(always: Ends, usual: Ends, certain: Ends, counts: GroupCounts) -> Ends:
    """The confidence sequence within what the labels leave possible, `certain`.

    With no positive found, what the usual interval does not exclude is not excluded.
    """
    lower, upper = (np.clip(end, *certain) for end in always)
    return (
        np.where(counts.none_found, np.fmin(lower, usual[0]), lower),
        np.where(counts.none_found, np.fmax(upper, usual[1]), upper),
    )
