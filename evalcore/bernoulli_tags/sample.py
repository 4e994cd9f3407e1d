"""Drawing items with tags by coins, and estimating micro and macro F1 from them.

Yilmaz et al. (2021), appendix D.  Every item has a coin with chance b = min(1, μ h), and a labelled item
weighs 1/b in all sums.  The variance is that of eq. 28 with the labels' own ψ:

    V̂ = Σ_labelled (1 - b)/b² (Σ_k ψ_k)²

for micro F_α with ψ_k = (f_k - F̂ g_k) / Σ g, for macro F1 with its slopes at the estimated a, b and c.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.bernoulli_tags.deviations import macro_f1, micro_f, outcomes, slopes
from assay.evalcore.design.waterfill import waterfill
from assay.evalcore.types import Bools, Floats


@dataclass(frozen=True, slots=True)
class Estimated:
    """An estimate, and the estimated variance of the estimator; NaN where the measure is undefined."""

    value: float
    variance: float


def chances(squares: Floats, labels: int) -> Floats:
    """b (N,) of least Σ h²/b with Σ b = labels; squares (N,): h²."""
    one = np.ones((1, len(squares)), np.int64)
    return np.asarray(waterfill(np.sqrt(squares)[None], one, np.array([labels]))[0])


def estimate_micro(predicted: Bools, label: Floats, b: Floats, alpha: float = 0.5) -> Estimated:
    """Micro F_α from labelled items: predicted, label (n, K), b (n,)."""
    f, weight = predicted.astype(np.float64), (1 / b)[:, None]
    hits, said, there = ((weight * x).sum(axis=0) for x in (f * label, f, label))
    value = float(micro_f(hits, said, there, alpha))
    g = (alpha * f + (1 - alpha) * label).sum(axis=1)
    pull = ((f * label).sum(axis=1) - value * g) / (g / b).sum()
    return Estimated(value, _variance(pull, b))


def estimate_macro(predicted: Bools, label: Floats, b: Floats) -> Estimated:
    """Macro F1 of eq. 102 from labelled items: predicted, label (n, K), b (n,)."""
    weight = (1 / b)[:, None]
    parts = outcomes(predicted, label)
    a, alarm, miss = ((weight * x).sum(axis=0) for x in parts)
    value = float(macro_f1(a, a + alarm, a + miss))
    if not np.isfinite(value):
        return Estimated(np.nan, np.nan)
    pull = sum((x @ slope for x, slope in zip(parts, slopes(a, alarm, miss), strict=True)), np.zeros(len(b)))
    return Estimated(value, _variance(pull, b))


def _variance(pull: Floats, b: Floats) -> float:
    return float(((1 - b) / b**2 * pull**2).sum())
