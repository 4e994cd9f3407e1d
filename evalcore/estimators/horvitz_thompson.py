"""Totals from draws without replacement, by their inclusion probabilities.

An item drawn with probability π stands for 1/π items.  The unknown is the pool's confusion table N_fy, and a
measure is taken of the estimated table.  With m_y what a model expects of the label of an undrawn item
(m = 0: Horvitz & Thompson 1952; m = (1 - p, p): the difference estimator of Särndal et al. 1992,
model-assisted and unbiased whatever the model is worth), a round with known items K, unlabelled items U and
batch B gives

    N̂_fy = Σ_K 1[y_i = y] + Σ_U m_y + Σ_B (1[y_i = y] - m_y) / π
    V̂(Σ φ N̂) = Σ_B (1 - π)/π² (φ·(1[y_i] - m))²         as for independent draws

which is unbiased given everything before the round.  Systematic draws have a variance below it, as a rule.
A measure g gets V̂ with φ = J (ℓ - R̂) / N̂, R̂ the means over the estimated table, N̂ its total.

    table    (R, 2, 2)      Σ ω N̂            ω the weight of a round
    moments  (R, 2, 2, 2)   Σ ω² (1 - π)/π² e eᵀ  by prediction, e_y = 1[y_i = y] - m_y
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.design.supplied import centred_pull
from assay.evalcore.estimators import intervals
from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Totals:
    """Weighted sums of unbiased estimates of the confusion table."""

    table: Floats     # (R, 2, 2)
    moments: Floats   # (R, 2, 2, 2)
    weight: Floats    # (R,) Σ ω

    @staticmethod
    def none(repeats: int) -> "Totals":
        """Before the first round."""
        return Totals(
            table=np.zeros((repeats, 2, 2)), moments=np.zeros((repeats, 2, 2, 2)), weight=np.zeros(repeats)
        )

    def add(self, other: "Totals", weight: Floats) -> "Totals":
        """The sum of these and `weight` (R,) times the other."""
        return Totals(
            table=self.table + weight[:, None, None] * other.table,
            moments=self.moments + weight[:, None, None, None] ** 2 * other.moments,
            weight=self.weight + weight * other.weight,
        )


def one_round(
    cells: Cells, known: Ints, left: Ints, drawn: Ints, inclusion: Floats, model: Floats | None = None
) -> Totals:
    """The table that one round estimates, with weight 1.

    known, drawn (R, C, 2): items labelled before the round and in it; left, inclusion (R, C): the unlabelled
    items before it and the π of each; model (R, C, 2): m_y, or None for Horvitz-Thompson.
    """
    m = np.zeros(drawn.shape) if model is None else model
    with np.errstate(divide="ignore"):
        expand = np.where(inclusion > 0, 1 / inclusion, 0.0)
    count = drawn.sum(axis=2)
    table = known + left[..., None] * m + (drawn - count[..., None] * m) * expand[..., None]
    spread = np.maximum(1 - inclusion, 0.0) * expand**2
    moments = np.zeros((*drawn.shape, 2))
    for y in (0, 1):
        e = np.eye(2)[y] - m                                           # (R, C, 2)
        moments += (spread * drawn[..., y])[..., None, None] * e[..., :, None] * e[..., None, :]
    by_prediction = [cells.prediction == f for f in (0, 1)]
    return Totals(
        table=np.stack([table[:, at].sum(axis=1) for at in by_prediction], axis=1),
        moments=np.stack([moments[:, at].sum(axis=1) for at in by_prediction], axis=1),
        weight=np.ones(len(drawn)),
    )


def measure_variance(measure: Measure, totals: Totals) -> tuple[Floats, Floats]:
    """Value and variance, (R,) each, of a measure of the table; NaN where the measure is undefined."""
    table = np.maximum(totals.table, 0.0)              # the difference estimate of a count may be negative
    n = table.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = measure.of_confusion(table)
        risk = np.einsum("rfy,fyd->rd", table, measure.loss) / n[:, None]
        phi = centred_pull(measure, risk) / n[:, None, None]
        variance = np.einsum("rfy,rfyz,rfz->r", phi, totals.moments, phi)
    return np.where(totals.weight > 0, value, np.nan), variance


def estimate(measure: Measure, totals: Totals, confidence: float, kind: str = "beta") -> EstimateArrays:
    """A measure of the table, with an interval of the kind `beta` or `normal`, cut to the measure's range.

    A variance of 0 means that nothing is known of the error yet: the interval is the whole range.
    """
    value, variance = measure_variance(measure, totals)
    told = np.isfinite(value) & np.isfinite(variance) & (variance > 1e-14)
    build = intervals.beta_fit if kind == "beta" else intervals.normal
    ends = build(np.nan_to_num(value), np.nan_to_num(variance), told, confidence, measure.bounds)
    return EstimateArrays(
        value=value,
        lower=ends.lower,
        upper=ends.upper,
        variance=np.where(told, variance, 0.0),
        diagnostics={},
    )
