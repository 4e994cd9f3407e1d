"""Where labels of a look along a score are placed, before and while labels come.

The placing model says what rates to expect; it steers labels and fills strata that have none, and is no part
of an interval beyond one pseudo-label a stratum.  It is a logistic regression in the log odds of rank with a
step at the system's threshold,

    logit p = θ₀ + θ₁ x + θ₂ (side - ½),    θ ~ N((0, -1, ½), diag(1.5, 1, 1)²),

x the log odds of a cell's rank from the top, less those of the threshold's rank: before any label rates fall
like 1/rank, through a half at the threshold.  Labels of one cell are of one rate, which lies off the curve,
so they count as MOST_TAUGHT/C at most, and as LEAST_TAUGHT: few cells teach as much as many.

    R   repeats;  C   cells;  H   strata
"""

import numpy as np
import scipy

from assay.evalcore.types import Floats, Ints

PRIOR_MEAN = np.array([0.0, -1.0, 0.5])
PRIOR_DEVIATION = np.array([1.5, 1.0, 1.0])
MOST_TAUGHT = 288.0    # labels of all cells together that teach the model, at most
LEAST_TAUGHT = 9.0     # of one cell, where there are many
LEAST_LABELS_OF_STRATUM = 2.0   # of every stratum, as far as it has items
PLACING_STEPS = 40   # of Newton's method at most; the last digits end it sooner


def placing_features(odds: Floats, prediction: Ints) -> Floats:
    """(C, 3): 1, x and side - ½ of each cell; odds (C,): x; prediction (C,) 0 or 1. C counts the cells, and
    the side is what the items of a cell are predicted to be."""
    return np.stack([np.ones(len(odds)), odds, prediction - 0.5], axis=1)


def placing_rates(features: Floats, labels: Floats | Ints, positives: Floats | Ints) -> Floats:
    """The rates (R, C) that the labels make one expect: the posterior mean, by MacKay's approximation (1992).

    features (C, 3); labels, positives (R, C) of each cell.  Newton's method from the prior mean, to the last
    digits: the log posterior is concave.
    """
    most = max(MOST_TAUGHT / len(features), LEAST_TAUGHT)
    counted = most / (most - 1 + np.maximum(labels, 1))
    precision = np.diag(1 / PRIOR_DEVIATION**2)
    theta = np.tile(PRIOR_MEAN, (len(labels), 1))
    for _ in range(PLACING_STEPS):
        rate = scipy.special.expit(theta @ features.T)
        weight = labels * counted * rate * (1 - rate)
        curvature = np.einsum("rc,ci,cj->rij", weight, features, features) + precision
        slope = (counted * (positives - labels * rate)) @ features - (theta - PRIOR_MEAN) / PRIOR_DEVIATION**2
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        theta = theta + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-12:
            break
    spread = np.einsum("ci,rij,cj->rc", features, np.linalg.inv(curvature), features)
    rates = scipy.special.expit(theta @ features.T / np.sqrt(1 + np.pi / 8 * spread))
    return np.asarray(np.clip(rates, 1e-9, 1 - 1e-9))


def target_labels(share: Floats, items: Floats, total: float) -> Floats:
    """How many labels (R, H) each stratum is to have: LEAST_LABELS_OF_STRATUM, and above it in proportion to
    its share.

    share (R, H) ≥ 0; items (R, H) that may be labelled; total: labels in all.  The sum is `total`, or all
    items where these are fewer.
    """
    total = min(float(total), float(items.sum(axis=1).min()))
    floor = np.minimum(LEAST_LABELS_OF_STRATUM, items)
    floor = floor * np.minimum(1.0, total / np.maximum(floor.sum(axis=1, keepdims=True), 1e-12))
    scale = total / np.maximum(share.sum(axis=1), 1e-300)
    low, high = np.full_like(scale, -60.0), np.full_like(scale, 60.0)
    share = np.maximum(share, 1e-9 * share.max(axis=1, keepdims=True)) + 1e-300
    for _ in range(70):
        middle = (low + high) / 2
        labels = np.clip(share * (scale * np.exp(middle))[:, None], floor, items)
        below = labels.sum(axis=1) < total
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(np.clip(share * (scale * np.exp(high))[:, None], floor, items))
