"""Positives that the score does not show, spread evenly over the items: how many to allow for.

A share η of the items that show no sign of it is positive all the same: p ← p + η (1 − p), η = ρ B/N with ρ
lognormal and B a number of items, the model's own tail or the predicted positives.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.recalibration.shape import PoolShape
from assay.evalcore.types import Floats

LARGEST_CONTAMINATION = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contamination:
    """ρ ~ lognormal(log median, sigma): positives that the score does not see, as a share of `of`.

    Of the predicted positives: a share of them may look like any negative, whatever the labels have shown.
    Of the tail: of the positives that the model itself expects among unlabelled items predicted negative, one
    more, and a twentieth of the predicted ones.  The model's tail is off by a factor then, and where it is
    next to nothing there is little to be off by.
    """

    median: float
    sigma: float
    of: Literal["tail", "predicted"]


NARROW = Contamination(median=0.3, sigma=1.0, of="tail")
WIDE = Contamination(median=0.2, sigma=1.5, of="predicted")
AT_LEAST_ITEMS, AT_LEAST_SHARE = 1.0, 0.05   # of the tail: what it is taken to hold beyond the model's own


def hidden_share(
    contamination: Contamination | None, shape: PoolShape, log_share: Floats, expected_missed: Floats
) -> Floats:
    """η (R or 1, S) of each draw; 0 without contamination.

    log_share (S,): the standard normal behind log ρ; expected_missed (R, 1): positives that the model expects
    among the unlabelled items predicted negative.
    """
    if contamination is None:
        return np.zeros((1, len(log_share)))
    base: Floats = np.full((1, 1), shape.positives)
    if contamination.of == "tail":
        base = expected_missed + AT_LEAST_ITEMS + AT_LEAST_SHARE * base
    factor = contamination.median * np.exp(contamination.sigma * log_share)
    return np.asarray(np.minimum(factor * base / shape.n_items, LARGEST_CONTAMINATION))
