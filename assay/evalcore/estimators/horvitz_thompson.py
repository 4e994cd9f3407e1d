"""Estimates by inclusion probabilities: an item drawn with probability π stands for 1/π items.

Totals come from draws without replacement, and from the labels of several proposals reused together.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.proposal import centred_pull
from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators import intervals
from assay.evalcore.estimators.importance import denominator
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Totals:
    """Weighted sums over rounds of unbiased estimates of the confusion table, (R, 2, 2), with the moments
    that its variance is made of, and the sum of the weights, (R,).

    Totals from draws without replacement, by their inclusion probabilities.

    An item drawn with probability π stands for 1/π items.  The unknown is the pool's confusion table N_fy,
    and a measure is taken of the estimated table.  With m_y what a model expects of the label of an undrawn
    item (m = 0: Horvitz & Thompson 1952; m = (1 - p, p): the difference estimator of Särndal et al. 1992,
    model-assisted and unbiased whatever the model is worth), a round with known items K, unlabelled items U
    and batch B gives

        N̂_fy = Σ_K 1[y_i = y] + Σ_U m_y + Σ_B (1[y_i = y] - m_y) / π
        V̂(Σ φ N̂) = Σ_B (1 - π)/π² (φ·(1[y_i] - m))²         as for independent draws

    which is unbiased given everything before the round.  Systematic draws have a variance below it, as a
    rule. A measure g gets V̂ with φ = J (ℓ - R̂) / N̂, R̂ the means over the estimated table, N̂ its total.

        table    (R, 2, 2)      Σ ω N̂            ω the weight of a round
        moments  (R, 2, 2, 2)   Σ ω² (1 - π)/π² e eᵀ  by prediction, e_y = 1[y_i = y] - m_y
    """

    table: Floats     # (R, 2, 2)
    moments: Floats   # (R, 2, 2, 2)
    weight: Floats    # (R,) Σ ω

    @staticmethod
    def none(repeats: int) -> "Totals":
        """The sums before the first round, all zero."""
        return Totals(
            table=np.zeros((repeats, 2, 2)), moments=np.zeros((repeats, 2, 2, 2)), weight=np.zeros(repeats)
        )

    def add(self, added: "Totals", weight: Floats) -> "Totals":
        """These sums with those of another round added: tables and weights times the weight (R,), moments
        times its square. R counts repeats, and neither of the two is changed."""
        return Totals(
            table=self.table + weight[:, None, None] * added.table,
            moments=self.moments + weight[:, None, None, None] ** 2 * added.moments,
            weight=self.weight + weight * added.weight,
        )


def one_round(
    cells: Cells, labelled: Ints, open_items: Ints, drawn: Ints, inclusion: Floats,
    model: Floats | None = None
) -> Totals:
    """The table that one round estimates, with weight 1.

    labelled, drawn (R, C, 2): items labelled before the round and in it; open_items, inclusion (R, C): the
    unlabelled items before it and the π of each; model (R, C, 2): m_y, or None for Horvitz-Thompson.
    """
    m = np.zeros(drawn.shape) if model is None else model
    with np.errstate(divide="ignore"):
        expand = np.where(inclusion > 0, 1 / inclusion, 0.0)
    count = drawn.sum(axis=2)
    table = labelled + open_items[..., None] * m + (drawn - count[..., None] * m) * expand[..., None]
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
    """Value and variance, (R,) each, of a measure of the table; NaN where the measure is undefined. R counts
    repeats; the variance is that of the measure's tangent (Särndal et al. 1992, section 5.5)."""
    table = np.maximum(totals.table, 0.0)              # the difference estimate of a count may be negative
    n = table.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = measure.of_confusion(table)
        risk = np.einsum("rfy,fyd->rd", table, measure.loss) / n[:, None]
        phi = centred_pull(measure, risk) / n[:, None, None]
        variance = np.einsum("rfy,rfyz,rfz->r", phi, totals.moments, phi)
    return np.where(totals.weight > 0, value, np.nan), variance


def estimate_of_totals(
    measure: Measure, totals: Totals, confidence: float, kind: str = "beta", epsilon: float = 0.0
) -> EstimateArrays:
    """A measure of the table, with an interval of the kind `beta` or `normal`, cut to the measure's range.

    A variance of 0 means that nothing is known of the error yet: the interval is the whole range.

    epsilon: ε, added to every h² of eq. 28 (Yilmaz et al. 2021, footnote 3), h² = (1/b - 1)(f - F g)²:
    V̂ rises by ε Σ 1/b / (Σ g/b)² over the labelled items, so it is never 0.  g is 1 where the measure is no
    ratio of means.  For Horvitz-Thompson totals of one round.
    """
    value, variance = measure_variance(measure, totals)
    if epsilon:
        with np.errstate(divide="ignore", invalid="ignore"):
            below = (totals.table * denominator(measure)).sum(axis=(1, 2))
            variance = variance + epsilon * totals.table.sum(axis=(1, 2)) / below**2
    has_variance = np.isfinite(value) & np.isfinite(variance) & (variance > (0.0 if epsilon else 1e-14))
    build = intervals.beta_fit if kind == "beta" else intervals.normal
    ends = build(np.nan_to_num(value), np.nan_to_num(variance), has_variance, confidence, measure.bounds)
    return EstimateArrays(
        value=value,
        lower=ends.lower,
        upper=ends.upper,
        variance=np.where(has_variance, variance, 0.0),
        diagnostics={},
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reused:
    """Everything that the estimate from reused labels needs, for R repeats and C cells: labels, sizes, the
    log chance that an item was never drawn, the label model's rate, and the domain that is sampled.

    Estimates from pooled inclusion probabilities: how labels of several proposals are reused together.

    Round t makes n_t draws with replacement under q_t.  The chance that an item was drawn in any round is

        π = 1 - Π_t (1 - q_t)^{n_t},

    and its label counts 1/π, however often and in whatever round it was drawn.  So labels of earlier rounds
    stay useful under later proposals, and when all items are labelled π is 1 and the estimate exact.  (q_t of
    later rounds depends on earlier labels, so the estimate is consistent, not unbiased.)

    Within predicted positives and predicted negatives the weights are normalised to the known number of
    items:

        P_f = N_f Σ_{labelled 1} 1/π / Σ_{labelled} 1/π,   clipped to what the labels leave possible

    The variance is predicted by the label model, since the labels are too few for their scatter to tell it
    (the single-trial variance of Poms et al. 2021, eq. 6, in this notation).  With φ the influence of an item
    on the measure, centred in its group,

        Var ≈ (1/N²) Σ_c N_c (1/π_c - 1) [p_c φ_{f1}² + (1 - p_c) φ_{f0}²]
    """

    labelled: Ints     # (R, C, 2)
    size: Ints         # (R, C) items of the cell without those that people could not decide
    missed: Floats     # (R, C) log of the chance that an item was not found: Σ n_t log(1 - q_t)
    rate: Floats       # (R, C) the label model's positive rate
    domain: Bools      # (C,) cells that are sampled; what lies outside counts as negative


def reuse_draws(missed: Floats, q: Floats, draws: Ints) -> Floats:
    """`missed` (R, C) after `draws` (R,) more draws; q (R, C): the chance of one item of a cell per draw. R
    counts repeats and C cells; `missed` is the logarithm of the chance that an item was never drawn."""
    return np.asarray(missed + draws[:, None] * np.log1p(-np.minimum(q, 1 - 1e-12)))


def confusion(cells: Cells, data: Reused) -> Floats:
    """Estimated counts (R, 2, 2) by [prediction, label]; their rows have the known sums. Each label counts
    with the inverse of the chance that its item was drawn at all."""
    weighted = _divided(data.labelled.astype(np.float64), _found(data)[:, :, None])
    rows = []
    for f in (0, 1):
        same_prediction = cells.prediction == f
        in_domain = same_prediction & data.domain
        size = data.size[:, in_domain].sum(axis=1).astype(np.float64)
        known_labels = data.labelled[:, in_domain].sum(axis=1)                    # (R, 2)
        w = weighted[:, in_domain].sum(axis=1)
        # nothing labelled in this group: what the label model expects of it
        expected = (data.rate[:, in_domain] * data.size[:, in_domain]).sum(axis=1)
        share = np.where(w.sum(axis=1) > 0, size * _divided(w[:, 1], w.sum(axis=1)), expected)
        # positives found below the cut
        below = data.labelled[:, same_prediction & ~data.domain, 1].sum(axis=1)
        positives = np.clip(share, known_labels[:, 1], size - known_labels[:, 0]) + below
        rows.append(np.stack([data.size[:, same_prediction].sum(axis=1) - positives, positives], axis=-1))
    return np.stack(rows, axis=1)


def predicted_variance(measure: Measure, cells: Cells, data: Reused, counts: Floats) -> Floats:
    """The variance (R,) of the measure at these counts (R, 2, 2).

    Infinite where a part of the domain could not be drawn; NaN where the measure is undefined.
    """
    total = np.maximum(data.size.sum(axis=1), 1)
    risk = np.einsum("rfy,fyd->rd", counts, measure.loss) / total[:, None]
    influence = measure.influence(risk)
    groups = [data.domain & (cells.prediction == f) for f in (0, 1)]
    sizes = np.stack([data.size[:, group].sum(axis=1) for group in groups], axis=1)
    share = np.minimum(counts[:, :, 1] / np.maximum(sizes, 1), 1.0)
    difference = influence[:, :, 1] - influence[:, :, 0]
    squares = np.stack([(difference * share) ** 2, (difference * (1 - share)) ** 2], axis=-1)
    squares = squares[:, cells.prediction]                            # (R, C, 2) by label
    n = data.labelled.sum(axis=2)
    # of the labelled items the labels are known, of the others the model speaks
    positive = (data.labelled[:, :, 1] + (data.size - n) * data.rate) / np.maximum(data.size, 1)
    expected = positive * squares[:, :, 1] + (1 - positive) * squares[:, :, 0]
    with np.errstate(divide="ignore"):
        thinned = 1 / _found(data) - 1
    touched = data.domain & (n < data.size) & (expected > 0)
    cell_variance = np.where(touched, data.size * expected, 0.0) * np.where(touched, thinned, 0.0)
    return np.asarray(cell_variance.sum(axis=1) / total**2)


def _found(data: Reused) -> Floats:
    """π (R, C)."""
    return -np.expm1(data.missed)


def _divided(above: Floats, below: Floats) -> Floats:
    """above / below, and 0 where nothing is below."""
    return np.asarray(np.where(below > 0, above / np.where(below > 0, below, 1.0), 0.0))
