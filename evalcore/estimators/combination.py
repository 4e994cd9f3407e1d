"""How the rounds of an adaptive method weigh against each other.

Round t gives an estimate that is unbiased given everything before it, so any weights fixed before its labels
are seen keep the combination unbiased.  With n_t draws in round t and V_t the variance that the design
predicts for its estimate:

    plain              weight n_t: every draw counts alike
    square-root        weight √t: near the best for variances falling like any power of t (Owen & Zhou 2019)
    inverse-variance   weight 1 / V_t: best when the prediction is right, and poor when the label model is not
"""

from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.types import Floats, Ints

CombinationRule: TypeAlias = Literal["plain", "square-root", "inverse-variance"]


def round_weight(rule: CombinationRule, round: int, size: Ints, predicted_variance: Floats) -> Floats:
    """The weight (R,) of round `round` ≥ 1, of `size` (R,) draws; 0 for a round without draws.

    predicted_variance (R,): of the round's estimate, from what was known before its labels.
    """
    match rule:
        case "plain":
            return size.astype(np.float64)
        case "square-root":
            return np.where(size > 0, np.sqrt(round), 0.0)
        case "inverse-variance":
            # a predicted variance of 0 means the model is sure of everything: no reason for infinite weight
            floor = np.maximum(predicted_variance, 1e-12)
            return np.where(size > 0, 1 / floor, 0.0)
