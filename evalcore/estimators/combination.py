"""How the rounds of an adaptive method weigh against each other.

Round t gives an estimate that is unbiased given everything before it, so any weights fixed before its labels
are seen keep the combination unbiased.  With n_t draws in round t and V_t the variance that the design
predicts for its estimate:

    plain              weight n_t: every draw counts alike
    square-root        weight √t: near the best for variances falling like any power of t (Owen & Zhou 2019)
    inverse-variance   weight 1 / V_t: best where the label model is right, and poor where it is wrong
    equal              weight 1: Yilmaz et al. (2021), eq. 128
"""

from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.types import Floats, Ints

CombinationRule: TypeAlias = Literal["plain", "square-root", "inverse-variance", "equal"]


def round_weight(
    rule: CombinationRule, round: int, size: Ints | Floats, predicted_variance: Floats
) -> Floats:
    """The weight (R,) of a round in the combination of all rounds; 0 for a round without draws.

    round: its number, from 1; size (R,): its draws, or as many as were expected where chance decides;
    predicted_variance (R,): of the round's estimate, from what was known before its labels.
    """
    match rule:
        case "plain":
            return size.astype(np.float64)
        case "square-root":
            return np.where(size > 0, np.sqrt(round), 0.0)
        case "inverse-variance":
            # a model that is sure of everything predicts a variance of 0; its round gets no infinite weight
            floor = np.maximum(predicted_variance, 1e-12)
            return np.where(size > 0, 1 / floor, 0.0)
        case "equal":
            return np.where(size > 0, 1.0, 0.0)
