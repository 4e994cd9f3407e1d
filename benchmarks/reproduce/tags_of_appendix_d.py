"""Bernoulli sampling for micro and macro F1 of tags, as appendix D of Yilmaz et al. (2021) has it.

Yilmaz et al. (2021), appendix D.  Tags are taken to be independent given the item.

    predicted    (N, K) whether the model predicts the tag
    probability  (N, K) p_a(v = 1 | x), what is believed of the labels: eq. 93
    h²           (N,)   ⟨(Σ_k ψ_k)²⟩, ψ_k what tag k of the item adds to the error of the measure

Both measures are functions of means over the pool, so ψ is linear in the labels, and for independent tags

    h² = Σ_k ⟨ψ_k²⟩ - Σ_k ⟨ψ_k⟩² + (Σ_k ⟨ψ_k⟩)²                   eq. 95 to 97

For macro F1 eq. 109 and 119 print the first sum alone.  That leaves out that one coin draws all tags of an
item together (docs/measured/papers/errata.md); `printed` computes it so.

Every item has a coin with chance b = min(1, μ h), and a labelled item
weighs 1/b in all sums.  The variance is that of eq. 28 with the labels' own ψ:

    V̂ = Σ_labelled (1 - b)/b² (Σ_k ψ_k)²

for micro F_α with ψ_k = (f_k - F̂ g_k) / Σ g, for macro F1 with its slopes at the estimated a, b and c.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.draws import waterfill
from assay.evalcore.types import Bools, Floats


def softened(probability: Floats, trust: float = 0.9) -> Floats:
    """p_a of eq. 93, in the shape of `probability`: λ p + (1 - λ)/2."""
    return np.asarray(trust * probability + (1 - trust) / 2)


def micro_f(hits: Floats, predicted: Floats, labels: Floats, alpha: float = 0.5) -> Floats:
    """F_α (...) of eq. 90, of totals by tag (..., K); NaN where nothing is there."""
    above, below = hits.sum(axis=-1), (alpha * predicted + (1 - alpha) * labels).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(below > 0, above / below, np.nan))


def macro_f1(hits: Floats, predicted: Floats, labels: Floats) -> Floats:
    """F1 (...) of eq. 101 and 102, of totals by tag (..., K): from the mean precision and the mean recall.

    NaN where a tag is never predicted or never there, and where nothing is hit.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p, r = (hits / predicted).mean(axis=-1), (hits / labels).mean(axis=-1)
        return np.asarray(2 * p * r / (p + r))


def micro_squares(predicted: Bools, probability: Floats, alpha: float = 0.5) -> Floats:
    """h² (N,) of micro F_α, at the F_α that p_a expects; up to the factor 1/μ_y²."""
    f = predicted.astype(np.float64)
    value = micro_f((f * probability).sum(axis=0), f.sum(axis=0), probability.sum(axis=0), alpha)
    absent = -value * alpha * f                                     # f - F′ g of a tag that is not there
    there = f - value * (alpha * f + (1 - alpha))
    return _squares(there, absent, probability)


def macro_squares(predicted: Bools, probability: Floats, *, printed: bool = False) -> Floats:
    """h² (N,) of macro F1, its slopes taken at what p_a expects of a, b and c: eq. 109."""
    by_hit, by_alarm, by_miss = slopes(
        *(x.mean(axis=0) for x in outcomes(predicted, probability))
    )
    there = np.where(predicted, by_hit, by_miss)
    absent = np.where(predicted, by_alarm, 0.0)
    if printed:
        return np.asarray((probability * there**2 + (1 - probability) * absent**2).sum(axis=1))
    return _squares(there, absent, probability)


def outcomes(predicted: Bools, label: Floats) -> tuple[Floats, Floats, Floats]:
    """What eq. 104 to 106 sum, (N, K) each: hits, false alarms and misses; label may be expected."""
    f = predicted.astype(np.float64)
    return f * label, f * (1 - label), (1 - f) * label


def slopes(hit: Floats, alarm: Floats, miss: Floats) -> tuple[Floats, Floats, Floats]:
    """∂F/∂a, ∂F/∂b and ∂F/∂c, (K,) each, of macro F1 at means a, b and c (K,)."""
    k = len(hit)
    p, r = (hit / (hit + alarm)).mean(), (hit / (hit + miss)).mean()
    by_p, by_r = 2 * r**2 / (p + r) ** 2, 2 * p**2 / (p + r) ** 2
    precision, recall = (hit + alarm) ** 2 * k, (hit + miss) ** 2 * k
    by_alarm, by_miss = -by_p * hit / precision, -by_r * hit / recall
    return by_p * alarm / precision + by_r * miss / recall, by_alarm, by_miss


def _squares(there: Floats, absent: Floats, probability: Floats) -> Floats:
    """⟨(Σ ψ)²⟩ (N,) of independent tags; there, absent (N, K): ψ of a tag that is there, and of one not."""
    mean = probability * there + (1 - probability) * absent
    square = probability * there**2 + (1 - probability) * absent**2
    return np.asarray((square - mean**2).sum(axis=1) + mean.sum(axis=1) ** 2)


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
