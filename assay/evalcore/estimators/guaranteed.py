"""`interval: guaranteed`: ends that hold for any pool and any number of labels, at every look.

Of any outcome by bets (`least_total`); of two classes, where all that labels say is in the counts by cell,
by what the counts leave open (`open_counts`).

**Two classes.**

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import scipy

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Floats, Ints

# labels after which each size of bets pays best, and its part of what is staked
HORIZONS: Floats = np.array([16.0, 64.0, 256.0, 1024.0, 4096.0])
_OF_HORIZONS: Floats = np.array([0.15, 0.25, 0.25, 0.2, 0.15])
_BOUND_HALVINGS = 44   # of an interval within 0 and the largest number that is possible
# about the log of a multiplier: reach, halvings, steps; each time with better weights of the mixture
_LOOKS = ((20.0, 12, 0), *[(0.6, 1, 4)] * 3, (0.2, 1, 8))
_BRACKETED_NEWTON_STEPS = 6   # within a bracket that halves where a step leaves it
_COMMON_LABELS = 2.0   # labels that what all cells have in common counts for in each
_CALM = 10.0       # labels after which the allocation so far is taken for the allocation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bets:
    """Bets on labels y in cells: what was staked, and what the bets can come to.

    Any outcome, by bets.

    Nothing here is normal, smoothed or "for large samples".  A bet is made before each label against a value
    of the measure; while the value is the true one no bet gains on average, and the chance that the capital
    ever grows to 1/α is α at most (Ville 1939).  The interval is what no capital has ruled out.  It holds for
    items that are drawn at random inside a cell, whatever decides how many of each cell: even draws, strata,
    and an allocation that follows the labels so far.  Items without an answer are taken to be like those with
    one.

    Let y ≥ 0 be what an item adds beyond the least it can, N the items of its cell, j those labelled before
    it, and u what the unlabelled ones add up to.  The mean of y for the next draw is then μ = (u + what the
    labels from this one on add up to)/(N - j), and

        E = Π (1 - a + a y/μ)

    is a martingale at the true u for any share 0 ≤ a < 1 that is chosen before the label (Waudby-Smith &
    Ramdas 2024, section 5; Stark 2023 writes bets so).  Cells multiply: a hypothesis on the sum over all
    cells leaves open how it is shared among them, and is ruled out once every way is (Spertus, Sridhar &
    Stark 2024).  As a does not depend on u, log E is convex in u, so the best way is found by one multiplier
    for all cells. Several sizes of a are mixed.  Of mixtures log Σ w E ≥ Σ p (log w E - log p) for any p,
    which is a sum over cells again; the p that makes this largest is approached in a few steps, and each is
    on the safe side.

        R   repeats;  C   cells;  n   labels in the order in which they were drawn;  H   sizes of bets
    """

    share: Floats     # (R, n, H) a
    gain: Floats      # (R, n) y (N - j)
    ahead: Floats     # (R, n) what this label and the later ones of its cell add up to
    cell: Ints        # (R, n)
    largest: Floats      # (R, C) of u
    spent: Floats     # (R, C) Σ y of the labels

    def logs(self, u: Floats) -> Floats:
        """(R, H) log E where the unlabelled items of the cells add up to u (R, C). R counts repeats, C cells
        and H bets; the evidence against u by each bet."""
        unlabelled_sum = np.take_along_axis(u, self.cell, axis=1) + self.ahead
        ratio = np.where(self.gain > 0, self.gain / np.where(unlabelled_sum > 0, unlabelled_sum, 1.0), 0.0)
        return np.asarray(np.log1p(self.share * (ratio[..., None] - 1)).sum(axis=1))

    def fall(self, u: Floats, p: Floats) -> tuple[Floats, Floats]:
        """(R, C) by how much Σ p log E falls as u (R, C) grows, and how fast that changes; p (R, H). R counts
        repeats, C cells and H bets; both are slopes for Newton's method."""
        unlabelled_sum = np.take_along_axis(u, self.cell, axis=1) + self.ahead
        unlabelled_sum = np.where(self.gain > 0, unlabelled_sum, 1.0)[..., None]
        stake = self.share * self.gain[..., None]
        not_staked = (1 - self.share) * unlabelled_sum
        slope_of_bet = p[:, None] * stake / (unlabelled_sum * (not_staked + stake))
        change = -slope_of_bet * (2 * not_staked + stake) / (unlabelled_sum * (not_staked + stake))
        fall, change_by_cell = (
            _by_cell(part.sum(axis=2), self.cell, self.largest.shape) for part in (slope_of_bet, change)
        )
        return fall, change_by_cell


def least_total(worth: Floats, cell: Ints, size: Ints, low: Floats, high: Floats, tail: Floats) -> Floats:
    """(R,) the least total over all items that the labels do not rule out, each with a chance of `tail` (R,).

    worth, cell (R, n) of the labels in order; size (R, C) items; low, high (R, C): the least and the most
    that an item of a cell can be worth, both finite.
    """
    if not worth.shape[1]:
        return np.asarray((size * low).sum(axis=1))
    bets = _bets(worth - np.take_along_axis(low, cell, axis=1), cell, size, np.maximum(high - low, 0.0), tail)
    hidden = _alone(bets, tail) if size.shape[1] == 1 else _shared(bets, tail)
    return np.asarray(hidden + bets.spent.sum(axis=1) + (size * low).sum(axis=1))


def _bets(y: Floats, cell: Ints, size: Ints, span: Floats, tail: Floats) -> Bets:
    """The bets on y (R, n), which follow the labels before each."""
    n = y.shape[1]
    order = np.argsort(cell, axis=1, kind="stable")
    back = np.argsort(order, axis=1, kind="stable")
    sorted_cell = np.take_along_axis(cell, order, axis=1)
    new = np.diff(sorted_cell, axis=1, prepend=-1) > 0
    first_of_cell = np.maximum.accumulate(np.where(new, np.arange(n), 0), axis=1)
    running = _before(np.take_along_axis(y, order, axis=1))
    before = running - np.take_along_axis(running, first_of_cell, axis=1)
    j = np.take_along_axis(np.arange(n) - first_of_cell, back, axis=1)
    before = np.take_along_axis(before, back, axis=1)
    spent, labels = _by_cell(y, cell, size.shape), _by_cell(np.ones(y.shape), cell, size.shape)
    items = np.take_along_axis(size, cell, axis=1).astype(np.float64)
    wide: Floats = np.take_along_axis(span, cell, axis=1)
    total, total_span, t = _before(y), _before(wide), np.arange(n)
    common = (total + wide / 2) / np.maximum(total_span + wide, 1e-300)
    mean = (before + _COMMON_LABELS * common * wide) / (j + _COMMON_LABELS)
    part = items / size.sum(axis=1, keepdims=True)
    stands = part * (t + _CALM) / (j + _CALM * part)
    off = (stands * (y - mean)) ** 2
    variance = (_before(off) + (wide / 2) ** 2) / (t + 1)
    depth = -np.log(tail)[:, None, None]
    size_of_bet = np.sqrt(2 * depth / (np.maximum(variance, 1e-300)[..., None] * HORIZONS))
    bet = size_of_bet * (stands * mean)[..., None]
    ahead = np.take_along_axis(spent, cell, axis=1) - before
    return Bets(
        share=bet / (1 + bet), gain=y * (items - j), ahead=np.maximum(ahead, y), cell=cell,
        largest=np.maximum(size - labels, 0) * span, spent=spent,
    )


def _by_cell(x: Floats, cell: Ints, shape: tuple[int, ...]) -> Floats:
    """Sums (R, C) of x (R, n)."""
    flat = (np.arange(shape[0])[:, None] * shape[1] + cell).ravel()
    sums = np.bincount(flat, weights=x.ravel(), minlength=shape[0] * shape[1])
    return np.asarray(sums.reshape(shape), np.float64)


def _before(x: Floats) -> Floats:
    """(R, n) sums of what came before each."""
    return np.asarray(np.cumsum(x, axis=1) - x)


def _alone(bets: Bets, tail: Floats) -> Floats:
    """(R,) the least u of one cell that the mixture does not rule out."""
    lower: Floats = np.zeros(len(tail))
    upper: Floats = bets.largest[:, 0].copy()
    for _ in range(_BOUND_HALVINGS):
        middle = (lower + upper) / 2
        logs = bets.logs(middle[:, None]) + np.log(_OF_HORIZONS)
        out = np.logaddexp.reduce(logs, axis=1) >= -np.log(tail)
        lower, upper = np.where(out, middle, lower), np.where(out, upper, middle)
    return np.where(bets.largest[:, 0] > 0, lower, 0.0)


def _shared(bets: Bets, tail: Floats) -> Floats:
    """(R,) the least Σ u that is not ruled out, over all ways to share it among the cells.

    Each way that is looked at has one multiplier for all cells: what the evidence falls by for every unit.
    """
    p: Floats = np.broadcast_to(_OF_HORIZONS, (len(tail), len(HORIZONS)))
    depth = -np.log(tail)
    middle = 6.0 - np.log(np.maximum(bets.largest.sum(axis=1), 1e-12))
    least_sum, u = np.zeros(len(tail)), bets.largest / 2

    def over(multiplier: Floats) -> Floats:
        nonlocal u
        u = _at(bets, p, multiplier, u)
        return np.asarray(_mixed(bets.logs(u), p) - depth)

    for reach, halvings, steps in _LOOKS:
        middle = crossing(over, middle - reach, middle + reach, halvings, steps)
        able = over(middle) >= 0
        least_sum = np.maximum(least_sum, np.where(able, u.sum(axis=1), 0.0))
        logs = bets.logs(u) + np.log(_OF_HORIZONS)
        p = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None])
    return least_sum


def crossing(
    over: Callable[[Floats], Floats], low: Floats, high: Floats, halvings: int, steps: int
) -> Floats:
    """Where a function of (R,) that rises is 0 or a little more, between low and high (R,); high if nowhere.

    By halving, then where a straight line ends (regula falsi with halved ends: Illinois).
    """
    below, above = over(low), over(high)
    last_side: Floats = np.zeros(len(low))
    high = np.where(below >= 0, low, high)
    for step in range(halvings + steps):
        line = (step >= halvings) & (above > 0) & (below < 0)
        gap = np.where(line, above - below, 1.0)
        middle = np.where(line, (low * above - high * below) / gap, (low + high) / 2)
        new = over(middle)
        out = new >= 0
        below = np.where(out, np.where(last_side > 0, below / 2, below), new)
        above = np.where(out, new, np.where(last_side < 0, above / 2, above))
        low, high = np.where(out, low, middle), np.where(out, middle, high)
        last_side = np.where(out, 1.0, -1.0)
    return high


def _mixed(logs: Floats, p: Floats) -> Floats:
    """(R,) Σ p (log w E - log p), at most the log of the mixture."""
    entropy = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)
    return np.asarray((p * (logs + np.log(_OF_HORIZONS)) - entropy).sum(axis=1))


def _at(bets: Bets, p: Floats, multiplier: Floats, u: Floats) -> Floats:
    """(R, C) where Σ p log E falls by exp(multiplier) (R,) for every unit; u (R, C): where to begin.

    By Newton's steps for the logarithm of the fall, which is convex; inside a bracket that halves.
    """
    lower, upper, goal = np.zeros(bets.largest.shape), bets.largest, multiplier[:, None]
    for _ in range(_BRACKETED_NEWTON_STEPS):
        fall, change = bets.fall(u, p)
        falling = fall > 0
        off = np.where(falling, np.log(np.where(falling, fall, 1.0)) - goal, -1.0)
        lower, upper = np.where(off > 0, u, lower), np.where(off > 0, upper, u)
        step = u - off * np.where(falling, fall / np.where(change < 0, change, -1.0), 0.0)
        inside = falling & (step >= lower) & (step <= upper)
        u = np.where(inside, step, np.where(off > 0, (lower + upper) / 2, lower))
    return u


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
_PREDICTION_LABELS = ((1.0, 0.4), (10.0, 0.35), (100.0, 0.25))
_LIKELY = 7.0      # no supplied probability is believed beyond these log odds
_WITHIN = 40       # Newton's steps, of which seven are usual
_SETTLED_STEP = 1e-12   # of a cell's items: what a last step may move
_WITH_POSITIVES = np.array([1.0, 1.0, -1.0, -1.0])[:, None, None]
_DINKELBACH_STEPS = 8   # of Dinkelbach's steps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """Labels counted by cell, each (R, C): what the positives K of the cells may be."""

    size: Floats       # N
    labels: Floats     # n
    positives: Floats  # k
    depth: Floats      # (R,) K is ruled out where -log P(k | K) is deeper

    def unlikely(self, positives_of_cell: Floats) -> Floats:
        """(R, C) -log of the chance of the labels, in the order in which they came, at K (R, C). R counts
        repeats and C cells; K are the positives that each cell may hold."""
        missing, k, negatives = self.size - positives_of_cell, self.positives, self.labels - self.positives
        hits = scipy.special.gammaln(positives_of_cell + 1) - scipy.special.gammaln(positives_of_cell - k + 1)
        misses = scipy.special.gammaln(missing + 1) - scipy.special.gammaln(missing - negatives + 1)
        ways = scipy.special.gammaln(self.size + 1) - scipy.special.gammaln(self.size - self.labels + 1)
        return np.asarray(ways - hits - misses)

    def at(self, slope: Floats) -> Floats:
        """K (R, C) where -log P rises by the slope (R, C) for every positive.

        By Newton's steps in a bracket, from where it is so with the logarithm of x + 1/2 for ψ(x + 1).
        """
        fewest, largest = self.positives, self.size - self.labels + self.positives
        tolerance = _SETTLED_STEP * self.size
        # the four arguments of ψ in -log P's slope, first without K
        begins = 1 + np.stack([-fewest, np.zeros_like(fewest), self.size, largest])
        at, lower, upper = self._guess_at(slope), fewest, largest
        for _ in range(_WITHIN):
            arguments = begins + _WITH_POSITIVES * at
            values, bends = scipy.special.psi(arguments), _trigamma(arguments)
            off = values[0] - values[1] + values[2] - values[3] - slope
            bend = bends[0] - bends[1] - bends[2] + bends[3]
            below = off < 0
            lower, upper = np.where(below, at, lower), np.where(below, upper, at)
            step = np.minimum(np.maximum(at - off / np.maximum(bend, 1e-100), fewest), largest)
            previous, at = at, np.where((step >= lower) & (step <= upper), step, (lower + upper) / 2)
            if (np.abs(at - previous) <= tolerance).all():
                break
        return np.where(self.labels > 0, at, np.where(slope > 0, largest, fewest))

    def _guess_at(self, slope: Floats) -> Floats:
        """The root of (K - k + 1/2)(N - K + 1/2) = exp(slope) (K + 1/2)(N - K - n + k + 1/2)."""
        odds, fewest = np.exp(np.clip(slope, -30.0, 30.0)), self.positives
        largest = self.size - self.labels + fewest
        square, middle = odds - 1, self.size + fewest - odds * largest
        constant = -((fewest - 0.5) * (self.size + 0.5) + odds * (largest + 0.5) / 2)
        root = np.sqrt(np.maximum(middle**2 - 4 * square * constant, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            near_root, far_root = -2 * constant / (middle + root), -2 * constant / (middle - root)
        guess = np.where((near_root >= fewest - 0.5) & (near_root <= largest + 0.5), near_root, far_root)
        return np.clip(np.nan_to_num(guess), fewest, largest)

    def furthest(self, worth: Floats) -> Floats:
        """K (R, C) of the least Σ worth K that is not ruled out; worth (R, C). R counts repeats and C cells;
        the least sum is the lower end of an interval."""
        def over(multiplier: Floats) -> Floats:
            return np.asarray(self.unlikely(at(multiplier)).sum(axis=1) - self.depth)

        def at(multiplier: Floats) -> Floats:
            return self.at(-worth * np.exp(multiplier)[:, None])

        bound = np.full(len(worth), 30.0)
        return at(crossing(over, -bound, bound, 14, 10))


def _trigamma(x: Floats) -> Floats:
    """The derivative of ψ from 1 on, to 1%: how far a step goes, not where the steps end."""
    inverse = 1 / x
    square = inverse**2
    return np.asarray(inverse + square * (0.5 + inverse * (1 / 6 - square / 30)))


def open_counts(size: Ints, labelled: Ints, chance: Floats, confidence: float) -> Counted:
    """What labels rule out; size (R, C) items, labelled (R, C, 2) by label, chance (C,): the supplied
    probabilities of a positive. R counts repeats and C cells; what is left holds at every look, at this
    confidence."""
    odds = np.clip(scipy.special.logit(np.clip(chance, 1e-9, 1 - 1e-9)), -_LIKELY, _LIKELY)
    n, k = labelled.sum(axis=2).astype(np.float64), labelled[..., 1].astype(np.float64)
    logs = []
    for (slope, by_slope), (shift, by_shift), (worth, by_worth) in product(
        _SLOPES, _SHIFTS, _PREDICTION_LABELS
    ):
        mean = scipy.special.expit(np.clip(slope * odds + shift, -_LIKELY, _LIKELY))
        a, b = worth * mean, worth * (1 - mean)
        likely = (scipy.special.betaln(a + k, b + n - k) - scipy.special.betaln(a, b)).sum(axis=1)
        logs.append(likely + np.log(by_slope * by_shift * by_worth))
    predicted = np.logaddexp.reduce(logs, axis=0)
    return Counted(
        size=size.astype(np.float64), labels=n, positives=k, depth=-np.log(1 - confidence) - predicted
    )


def refuse_without_mean(measures: Sequence[Measure]) -> None:
    """Nothing; raises BadInput for a measure that is no ratio of means, because no mean decides whether it
    is beyond a limit, and a guaranteed interval needs that."""
    for measure in measures:
        if measure.margin(0.5) is None:
            raise BadInput(
                f"{measure.name} is no ratio of means, which a guaranteed interval needs; ask for accuracy, "
                "F1, precision, recall or specificity, or leave the guarantee out"
            )


def with_guarantee(
    measures: Sequence[Measure], cells: Cells, labelled: Ints, excluded: Ints,
    estimates: Sequence[EstimateArrays], confidence: float, *, even: bool,
) -> list[EstimateArrays]:
    """The estimates of the measures, in order, with guaranteed intervals.

    labelled (R, C, 2) items by label; excluded (R, C) items that nobody could decide; even: every item had
    the same chance, so that cells may be counted together.
    """
    return [
        _ends(measure, cells, labelled, cells.size - excluded, estimate, confidence, even)
        for measure, estimate in zip(measures, estimates, strict=True)
    ]


def _ends(
    measure: Measure, cells: Cells, labelled: Ints, size: Ints, estimate: EstimateArrays, confidence: float,
    even: bool,
) -> EstimateArrays:
    matters = measure.label_matters()[cells.prediction]
    irrelevant_items = np.stack(
        [(size * ~matters * (cells.prediction == f)).sum(axis=1) for f in (0, 1)], axis=1
    )
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
        lower, upper = (_extreme(measure, region, f, irrelevant_items, sign) for sign in (1.0, -1.0))
    return replace(estimate, lower=np.fmin(lower, estimate.value), upper=np.fmax(upper, estimate.value),
                   interval=GUARANTEED)


def _is_share_of_all(measure: Measure) -> bool:
    """Whether it is the share of the items of some kinds among all items."""
    at_0, at_1 = measure.margin(0.0), measure.margin(1.0)
    if at_0 is None or at_1 is None:
        return False
    hit, lost = at_0[0] + at_0[1], at_1[0] + at_1[1]
    return bool(np.isin(hit, (0.0, 1.0)).all() and np.allclose(hit - lost, 1.0))


def _extreme(measure: Measure, region: Counted, f: Ints, irrelevant_items: Ints, sign: float) -> Floats:
    """(R,) the least (sign 1) or largest (-1) value over the region; f (C,) the cells' predictions,
    irrelevant_items (R, 2): further items by prediction, whose labels do not matter."""
    positives_of_cell = region.at(np.zeros(region.size.shape))
    value = _value(measure, region, positives_of_cell, f, irrelevant_items)
    theta = np.where(np.isfinite(value), value, np.mean(measure.bounds))
    for _ in range(_DINKELBACH_STEPS):
        slope = np.stack([_by_label(measure, at) for at in theta.tolist()])[:, f]
        positives_of_cell = region.furthest(sign * slope)
        value = _value(measure, region, positives_of_cell, f, irrelevant_items)
        theta = np.where(np.isfinite(value), value, theta)
    return np.where(np.isfinite(value), value, measure.bounds[0 if sign > 0 else 1])


def _by_label(measure: Measure, limit: float) -> Floats:
    """(2,) by prediction: what a positive label instead of a negative adds to the margin of a limit."""
    table = measure.margin(limit)[1]                                            # type: ignore[index]
    return np.asarray(table[:, 1] - table[:, 0])


def _value(
    measure: Measure, region: Counted, positives_of_cell: Floats, f: Ints, irrelevant_items: Ints
) -> Floats:
    """(R,) of the pool with so many positives (R, C)."""
    rows = [
        np.stack(
            [
                (region.size - positives_of_cell)[:, f == g].sum(axis=1) + irrelevant_items[:, g],
                positives_of_cell[:, f == g].sum(axis=1),
            ],
            axis=1,
        )
        for g in (0, 1)
    ]
    return measure.of_confusion(np.stack(rows, axis=1))
