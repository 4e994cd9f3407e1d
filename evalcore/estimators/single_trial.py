"""The estimate of Poms et al. (2021) from one weighted sample, and the variance that the sample itself tells.

    w_j   p(x_j) / q(x_j), the importance weight of draw j;  v   the item's part of the measure's denominator:
          α ŷ + (1 - α) y of F_α, and 1 of a measure that is no ratio of means
    Ĝ     Σ w v ℓ / Σ w v                                                                       (eq. 2)
    Var   C⁻¹ Σ (w v)² (ℓ - Ĝ)² / (Σ w v)²,    C = 1 - Σ (w v)² / (Σ w v)²                     (eq. 6)

Equation 6 prints n times this variance, that of √n Ĝ.  C is Bessel's correction: (n - 1)/n where all w v are
equal.  All sums go over items by prediction and label, so sums of w and w² by [ŷ, y] are all that is needed.
Measures other than F_α use g(R̂), R̂ = Σ w ℓ / Σ w, and the influence J·(ℓ - R̂) in place of v (ℓ - Ĝ); for F_α
that is the same number.
"""

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Floats


def denominator(measure: Measure) -> Floats:
    """v (2, 2), indexed [prediction, label]: the measure is a ratio of means with v below, or v is 1."""
    at_0, at_1 = measure.margin(0.0), measure.margin(1.0)
    if at_0 is None or at_1 is None:
        return np.ones((2, 2))
    return np.asarray(at_0[0] - at_1[0] + at_0[1] - at_1[1])


def single_trial(measure: Measure, weight: Floats, squared: Floats) -> tuple[Floats, Floats]:
    """Ĝ (R,) and its variance (R,), from the sums of w and of w² (R, 2, 2) by [prediction, label].

    Both are NaN where the sample leaves the measure undefined, the variance also where a single draw carries
    all weight.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        value = measure.of_confusion(weight)
        total = weight.sum(axis=(1, 2))
        risk = np.einsum("rfy,fyd->rd", weight, measure.loss) / total[:, None]
        centre = (measure.gradient(risk) * risk).sum(axis=-1)
        influence = measure.influence(risk) - centre[:, None, None]
        v = denominator(measure)
        correction = 1 - (squared * v**2).sum(axis=(1, 2)) / (weight * v).sum(axis=(1, 2)) ** 2
        variance = (squared * influence**2).sum(axis=(1, 2)) / total**2 / correction
    return value, np.where(correction > 1e-12, variance, np.nan)
