"""Inclusion probabilities that minimise the variance of a Horvitz-Thompson total.

Yilmaz et al. (2021), section 3.  Of u_c unlabelled items in cell c, each with root mean squared influence
h_c, b labels are to be drawn without replacement; the error (eq. 28) is proportional to Σ u_c h_c² (1/π_c -
1). Its minimum under Σ u_c π_c = b and π_c ≤ 1 is found by water-filling:

    π_c = min(1, λ h_c)

Items with the largest h are certain to be drawn ("saturated"), and the rest share what is left in proportion
to h.  Algorithm 3 sorts by h and saturates j - 1 items for the smallest j that keeps all others at or below 1
(eq. 88).  Its printed line 13 is wrong in two places; the weights of the others are

    π_r = h_r (b - (j - 1)) / (H - S_{j-1})   for r ≥ j,   and π_N = 1 when j = N and H = S_{j-1}

with H the sum of all h and S_{j-1} that of the saturated ones: only then is Σ π = b.
"""

import numpy as np

from assay.evalcore.types import Floats, Ints


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


def predicted_error(influence: Floats, items: Ints, inclusion: Floats) -> Floats:
    """Σ u h² (1/π - 1) (R,): eq. 28, the expected squared error of the total under independent draws.

    influence h, items u, inclusion π: (R, C).  Infinite where an item with influence can never be drawn.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(items * influence > 0, influence**2 * (1 / inclusion - 1), 0.0)
    return np.asarray((items * each).sum(axis=1))
