"""`interval: guaranteed` for two classes, where all that labels say is in the counts by cell.

An unlabelled item of a cell is as likely to be drawn as any other there, so for each number K of positives
among its N items the chance of its labels, in the order in which they came, is known (hypergeometric).  With
any prediction q of labels that is made before them,

    E = Π_cells q(labels) / P(labels | K)

is a martingale at the true K, whatever decides how many items of each cell are drawn; so the chance that E
ever reaches 1/α is α at most (Ville 1939), and the K at which it has not are a region that holds at every
look (Waudby-Smith & Ramdas 2020, "Confidence sequences for sampling without replacement").  A measure lies
between its least and its largest value over the region.

q is a mixture of beta-binomial predictions: the supplied probabilities as they are, or with other log odds,
each cell more or less on its own.  How good q is decides how wide the interval is, never whether it holds.

-log P is convex in K, so of a measure that is a ratio of sums its least value is found by Dinkelbach's steps
(1967): the region's K of least A - θB, then θ = A/B there.  K need not be whole, which is on the safe side.
Items without an answer are taken to be like those with one.

    R   repeats;  C   cells
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import scipy

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.guaranteed_means import crossing
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints

GUARANTEED = "guaranteed"
WITH_GUARANTEE = ("passive", "stratified", "stratified-neyman", "stratified-online")   # methods
GUARANTEE_NOTE = (
    "Guaranteed: it covers the true value at least as often as it says, at every look together, for any pool "
    "and any number of labels: bets against each value that may be true, and no approximation. Undecided "
    "items, and items without an answer, are taken to be like the others. It is mostly 1.2 to 2.4 times as "
    "wide as the usual interval."
)

FEW_STRATA = 4     # each has a price: what is not known of it must be ruled out too
# what the supplied log odds are shifted by and times, and labels of a cell that the prediction counts for;
# the second of each pair is the part of the mixture
_SHIFTS = (
    (-5.0, 0.04), (-3.5, 0.06), (-2.0, 0.1), (-1.0, 0.15), (0.0, 0.3), (1.0, 0.15), (2.0, 0.12), (3.5, 0.08)
)
_SLOPES = ((0.0, 0.2), (0.5, 0.3), (1.0, 0.5))
_WORTH = ((1.0, 0.4), (10.0, 0.35), (100.0, 0.25))
_LIKELY = 7.0      # no supplied probability is believed beyond these log odds
_WITHIN = 40       # halvings
_ROUNDS = 8        # of Dinkelbach's steps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Labels counted by cell, each (R, C): what the positives K of the cells may be."""

    size: Floats       # N
    labels: Floats     # n
    positives: Floats  # k
    depth: Floats      # (R,) K is ruled out where -log P(k | K) is deeper

    def unlikely(self, there: Floats) -> Floats:
        """(R, C) -log of the chance of the labels, in the order in which they came, at K (R, C)."""
        missing, k, other = self.size - there, self.positives, self.labels - self.positives
        hits = scipy.special.gammaln(there + 1) - scipy.special.gammaln(there - k + 1)
        misses = scipy.special.gammaln(missing + 1) - scipy.special.gammaln(missing - other + 1)
        whole = scipy.special.gammaln(self.size + 1) - scipy.special.gammaln(self.size - self.labels + 1)
        return np.asarray(whole - hits - misses)

    def at(self, slope: Floats) -> Floats:
        """K (R, C) where -log P rises by the slope (R, C) for every positive."""
        least, most = self.positives, self.size - self.labels + self.positives
        k, other, psi = self.positives, self.labels - self.positives, scipy.special.psi
        for _ in range(_WITHIN):
            there = (least + most) / 2
            missing = self.size - there
            psi = scipy.special.psi
            rises = psi(there - k + 1) - psi(there + 1) + psi(missing + 1) - psi(missing - other + 1)
            least, most = np.where(rises < slope, there, least), np.where(rises < slope, most, there)
        return np.asarray((least + most) / 2)

    def furthest(self, worth: Floats) -> Floats:
        """K (R, C) of the least Σ worth K that is not ruled out; worth (R, C)."""
        def over(multiplier: Floats) -> Floats:
            return np.asarray(self.unlikely(at(multiplier)).sum(axis=1) - self.depth)

        def at(multiplier: Floats) -> Floats:
            return self.at(-worth * np.exp(multiplier)[:, None])

        far = np.full(len(worth), 30.0)
        return at(crossing(over, -far, far, 14, 10))


def open_counts(size: Ints, labelled: Ints, chance: Floats, confidence: float) -> Counted:
    """What labels rule out; size (R, C) items, labelled (R, C, 2) by label, chance (C,): the supplied
    probabilities of a positive."""
    odds = np.clip(scipy.special.logit(np.clip(chance, 1e-9, 1 - 1e-9)), -_LIKELY, _LIKELY)
    n, k = labelled.sum(axis=2).astype(np.float64), labelled[..., 1].astype(np.float64)
    logs = []
    for (slope, by_slope), (shift, by_shift), (worth, by_worth) in product(_SLOPES, _SHIFTS, _WORTH):
        mean = scipy.special.expit(np.clip(slope * odds + shift, -_LIKELY, _LIKELY))
        a, b = worth * mean, worth * (1 - mean)
        likely = (scipy.special.betaln(a + k, b + n - k) - scipy.special.betaln(a, b)).sum(axis=1)
        logs.append(likely + np.log(by_slope * by_shift * by_worth))
    predicted = np.logaddexp.reduce(logs, axis=0)
    return Counted(
        size=size.astype(np.float64), labels=n, positives=k, depth=-np.log(1 - confidence) - predicted
    )


def refuse_without_mean(measures: Sequence[Measure]) -> None:
    """Raises BadInput for measures that no mean decides about."""
    for measure in measures:
        if measure.margin(0.5) is None:
            raise BadInput(
                f"{measure.name} is no ratio of means, which a guaranteed interval needs; ask for accuracy, "
                "F1, precision, recall or specificity, or leave the guarantee out"
            )


def with_guarantee(
    measures: Sequence[Measure], cells: Cells, labelled: Ints, excluded: Ints,
    found: Sequence[EstimateArrays], confidence: float, *, even: bool,
) -> list[EstimateArrays]:
    """The estimates of the measures, in order, with guaranteed intervals.

    labelled (R, C, 2) items by label; excluded (R, C) items that nobody could decide; even: every item had
    the same chance, so that cells may be counted together.
    """
    return [
        _ends(measure, cells, labelled, cells.size - excluded, estimate, confidence, even)
        for measure, estimate in zip(measures, found, strict=True)
    ]


def _ends(
    measure: Measure, cells: Cells, labelled: Ints, size: Ints, found: EstimateArrays, confidence: float,
    even: bool,
) -> EstimateArrays:
    matters = measure.label_matters()[cells.prediction]
    rest = np.stack([(size * ~matters * (cells.prediction == f)).sum(axis=1) for f in (0, 1)], axis=1)
    labelled, size, f = labelled[:, matters], size[:, matters], cells.prediction[matters]
    chance = cells.mean_probability[matters]
    if even and matters.all() and _is_share_of_all(measure):
        # the items that count are positives of one cell; the others are the rest of it
        hit = np.add(*measure.margin(0.0))                                      # type: ignore[misc]
        labelled = (labelled[..., None] * np.stack([1 - hit, hit], axis=-1)[f]).sum(axis=(1, 2))[:, None]
        region = open_counts(size.sum(axis=1, keepdims=True), labelled, np.array([0.9]), confidence)
        lower, upper = (
            region.furthest(np.full((len(size), 1), sign))[:, 0] / size.sum(axis=1) for sign in (1.0, -1.0)
        )
    else:
        region = open_counts(size, labelled, chance, confidence)
        lower, upper = (_extreme(measure, region, f, rest, sign) for sign in (1.0, -1.0))
    return replace(found, lower=np.fmin(lower, found.value), upper=np.fmax(upper, found.value),
                   interval=GUARANTEED)


def _is_share_of_all(measure: Measure) -> bool:
    """Whether it is the share of the items of some kinds among all items."""
    at_0, at_1 = measure.margin(0.0), measure.margin(1.0)
    if at_0 is None or at_1 is None:
        return False
    hit, lost = at_0[0] + at_0[1], at_1[0] + at_1[1]
    return bool(np.isin(hit, (0.0, 1.0)).all() and np.allclose(hit - lost, 1.0))


def _extreme(measure: Measure, region: Counted, f: Ints, rest: Ints, sign: float) -> Floats:
    """(R,) the least (sign 1) or largest (-1) value over the region; f (C,) the cells' predictions, rest (R,
    2): further items by prediction, whose labels do not matter."""
    there = region.at(np.zeros(region.size.shape))
    value = _value(measure, region, there, f, rest)
    theta = np.where(np.isfinite(value), value, np.mean(measure.bounds))
    for _ in range(_ROUNDS):
        slope = np.stack([_by_label(measure, at) for at in theta.tolist()])[:, f]
        there = region.furthest(sign * slope)
        value = _value(measure, region, there, f, rest)
        theta = np.where(np.isfinite(value), value, theta)
    return np.where(np.isfinite(value), value, measure.bounds[0 if sign > 0 else 1])


def _by_label(measure: Measure, limit: float) -> Floats:
    """(2,) by prediction: what a positive label instead of a negative adds to the margin of a limit."""
    table = measure.margin(limit)[1]                                            # type: ignore[index]
    return np.asarray(table[:, 1] - table[:, 0])


def _value(measure: Measure, region: Counted, there: Floats, f: Ints, rest: Ints) -> Floats:
    """(R,) of the pool with so many positives (R, C)."""
    rows = [
        np.stack([(region.size - there)[:, f == g].sum(axis=1) + rest[:, g], there[:, f == g].sum(axis=1)],
                 axis=1)
        for g in (0, 1)
    ]
    return measure.of_confusion(np.stack(rows, axis=1))
