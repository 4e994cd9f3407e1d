"""Inclusion probabilities of draws without replacement: the best ones, and two ways to draw by them.

    waterfill            the probabilities of least variance
    systematic           draws at given probabilities, in batches of exactly the size asked for
    coins                a coin for every item; the size of the batch is random
    bernoulli_error      the error, and that of draws with replacement (Yilmaz et al. 2021, appendix C)
"""

import numpy as np

from assay.evalcore.types import Floats, Ints

# Inclusion probabilities that minimise the variance of a Horvitz-Thompson total.
#
# Yilmaz et al. (2021), section 3.  Of u_c unlabelled items in cell c, each with root mean squared influence
# h_c, b labels are to be drawn without replacement; the error (eq. 28) is proportional to Σ u_c h_c² (1/π_c -
# 1). Its minimum under Σ u_c π_c = b and π_c ≤ 1 is found by water-filling:
#
#     π_c = min(1, λ h_c)
#
# Items with the largest h are certain to be drawn ("saturated"), and the rest share what is left in
# proportion to h.  Algorithm 3 sorts by h and saturates j - 1 items for the smallest j that keeps all
# others at or below 1 (eq. 88).  Its printed line 13 is wrong in two places; the weights of the others are
#
#     π_r = h_r (b - (j - 1)) / (H - S_{j-1})   for r ≥ j,   and π_N = 1 when j = N and H = S_{j-1}
#
# with H the sum of all h and S_{j-1} that of the saturated ones: only then is Σ π = b.

def waterfill(influence: Floats, items: Ints, labels: Ints) -> Floats:
    """π (R, C) of one item of each cell: min(1, λ h), with Σ_c items_c π_c = labels.

    influence h, items u (R, C), not negative; labels b (R,).  Items without influence get π = 0, so the
    expected number is below `labels` where the others are too few.  A cell without items gets the π that an
    item of its influence would have.
    """
    # descending; the scale is free, and dividing by the largest keeps tiny influences away from 0
    largest = influence.max(axis=1, keepdims=True)
    h = influence / np.where(largest > 0, largest, 1.0)
    order = np.argsort(-h, axis=1, kind="stable")
    sorted_h = np.take_along_axis(h, order, axis=1)
    count = np.where(sorted_h > 0, np.take_along_axis(items, order, axis=1), 0).astype(np.float64)
    mass = count * sorted_h
    before = np.cumsum(count, axis=1) - count                      # items of the cells that come earlier
    # summed from the small end, so that the remainder after the last saturated cell is free of cancellation
    rest = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]               # influence from this cell on
    missing = labels[:, None] - before
    # eq. 88: the first cell whose items stay at or below 1 when all earlier ones are certain
    open_ = (sorted_h * missing <= rest) & (missing >= 0)
    first = np.where(open_.any(axis=1), np.argmax(open_, axis=1), h.shape[1] - 1)
    rows = np.arange(len(h))
    left, remainder = missing[rows, first], rest[rows, first]
    level = np.divide(left, remainder, out=np.zeros(len(h)), where=remainder > 0)
    level = np.where(labels >= count.sum(axis=1), np.inf, np.maximum(level, 0.0))
    with np.errstate(invalid="ignore"):
        return np.where(h > 0, np.minimum(1.0, h * level[:, None]), 0.0)


def rising_inclusion(inclusion: Floats, influence: Floats, left: Ints, size: Ints) -> Floats:
    """π (R, C) of a round of `size` (R,) more items, by which the chances b so far rise along μ h.

    inclusion b, influence h, left (R, C): unlabelled items.  An item that is certain was labelled, unless it
    was set aside: no more water for it.
    """
    rest = np.maximum(1 - inclusion, 1e-12)
    return waterfill(np.where(inclusion < 1, influence / rest, 0.0), left, size)


def predicted_error(influence: Floats, items: Ints, inclusion: Floats) -> Floats:
    """Σ u h² (1/π - 1) (R,): eq. 28, the expected squared error of the total under independent draws.

    influence h, items u, inclusion π: (R, C).  Infinite where an item with influence can never be drawn.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(items * influence > 0, influence**2 * (1 / inclusion - 1), 0.0)
    return np.asarray((items * each).sum(axis=1))


# Drawing without replacement at given inclusion probabilities, in batches of exactly the size asked for.
#
# Independent (Poisson, Bernoulli) draws make batches of random size, which may overrun a budget.  A
# systematic draw over cells keeps every inclusion probability and fixes the size:
#
#     count_c = ⌊cum_c + U⌋ - ⌊cum_{c-1} + U⌋,   cum the running sum of u_c π_c,  U uniform on [0, 1)
#
# Inside a cell the count falls on a simple random sample.  The cells come in random order: in a fixed order
# two neighbours of small probability could never both be drawn, and every other cell could be missed
# together.

def systematic(left: Ints, inclusion: Floats, rng: np.random.Generator) -> Ints:
    """Items drawn of each cell, (R, C): u π rounded up or down, Σ rounded to the nearest whole number.

    left (R, C) unlabelled items; inclusion (R, C) their π.  The mean of every count is exactly u π when Σ u π
    is whole.
    """
    expected = left * inclusion
    certain = np.floor(expected + 1e-9)
    order = np.argsort(rng.random(left.shape), axis=1)
    fraction = np.take_along_axis(np.maximum(expected - certain, 0.0), order, axis=1)
    reach = np.cumsum(fraction, axis=1)
    reach[:, -1] = np.round(reach[:, -1])                          # rounding must not win or lose an item
    steps = np.floor(np.minimum(reach, reach[:, -1:]) + rng.random(len(left))[:, None])
    extra = np.diff(steps, axis=1, prepend=0.0)
    counts = certain
    np.put_along_axis(counts, order, np.take_along_axis(counts, order, axis=1) + extra, axis=1)
    return np.minimum(counts.astype(np.int64), left)


# Drawing without replacement with a coin for every item: Poisson sampling, which Yilmaz et al. (2021) call
# Bernoulli sampling (section 3).
#
# The size of a batch is random, with mean Σ b and variance Σ b (1 - b).  `systematic` has the
# same chances and exact sizes.
#
# A round must ask somebody, so where no coin shows heads all are thrown again.  An item's chance is then
#
#     π = b / (1 - P₀),   P₀ = Π (1 - b) the chance of no head at all
#
# which is the chance that designs record and estimates use, so nothing is biased.  P₀ is below e^(-Σ b): 4e-5
# for a batch of 10 on average, and 1e-11 for one of 25.

def inclusion(left: Ints, heads: Floats) -> Floats:
    """π (R, C) of one item; left (R, C) unlabelled items, heads (R, C) b of each one's coin."""
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.exp(np.where(left > 0, left * np.log1p(-heads), 0.0).sum(axis=1, keepdims=True))
        return np.where(heads > 0, np.minimum(heads / (1 - none), 1.0), 0.0)


def coins(left: Ints, heads: Floats, rng: np.random.Generator) -> Ints:
    """Items drawn of each cell (R, C), each of the `left` (R, C) items by its own coin; heads (R, C): b.

    At least one item in each repeat, unless no item has a chance.
    """
    counts = np.asarray(rng.binomial(left, heads), dtype=np.int64)
    possible = ((left > 0) & (heads > 0)).any(axis=1)
    while True:
        again = np.flatnonzero(possible & (counts.sum(axis=1) == 0))
        if not len(again):
            return counts
        counts[again] = rng.binomial(left[again], heads[again])


# Draws with and without replacement compared: how many distinct items, and which has the smaller error.
#
# Yilmaz et al. (2021), appendix C.  M_IS draws with replacement from q touch fewer distinct items than M_IS,
# and only distinct items cost labels.  So they are compared with Bernoulli draws of as many items, M_BS.
#
#     q (N,)   chance of each item per draw, Σ q = 1
#     h (N,)   |f - F′ g|, how far each item moves the measure; known, as labels do not vary

def inclusion_in_draws(q: Floats, draws: int) -> Floats:
    """π (N,) of eq. 81: the chance that an item comes up in so many draws, 1 - (1 - q)^M."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(draws * np.log1p(-np.minimum(q, 1.0))))


def distinct_items(q: Floats, draws: int) -> float:
    """M_BS of eq. 82 and 83: the expected number of distinct items, N - Σ (1 - q)^M."""
    return float(inclusion_in_draws(q, draws).sum())


def importance_error(h: Floats, draws: int) -> float:
    """E_IS μ_y² N² of eq. 79, with the best q: (Σ h)² / M."""
    return float(h.sum()) ** 2 / draws


def bernoulli_error(h: Floats, labels: float) -> float:
    """E_BS μ_y² N² of eq. 26 and 69, with the best b: Σ h² (1/b - 1).

    While no b is 1 this is eq. 80, (Σ h)² / M - Σ h²; beyond it the paper has no formula.
    """
    one = np.ones((1, len(h)), np.int64)
    b = waterfill(h[None], one, np.array([labels]))
    return float(predicted_error(h[None], one, b)[0])


def printed_bound(n_items: int, draws: int) -> float:
    """1 - M_IS/N, which eq. 87 prints as a bound of E_BS/E_IS.  It is none: see `leading_ratio`."""
    return 1 - draws / n_items


def bound(n_items: int, draws: int, labels: float) -> float:
    """(1/M_BS - 1/N) M_IS of eq. 85, a bound of E_BS/E_IS while no b is 1."""
    return (1 / labels - 1 / n_items) * draws


def leading_ratio(q: Floats, draws: int) -> float:
    """E_BS/E_IS of the best designs, for few draws: 1 - M_IS Σ q² / 2.

    Exactly, it is M_IS/M_BS - M_IS Σ q² while no b is 1.  Eq. 86 puts M_BS = M_IS there, which doubles the
    gain; by eq. 83, M_BS = M_IS - M_IS (M_IS - 1) Σ q² / 2 + ...
    """
    return 1 - draws * float((q**2).sum()) / 2
