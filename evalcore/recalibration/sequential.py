"""The sequential difference estimator: unbiased whatever the label model believes.

Round t labels cell c with inclusion probability π_c after the model has said m_c.  For TP and for FN alike

    T_t = Σ labelled y + Σ unlabelled m + Σ batch (y − m)/π,      E[T_t | before] = the pool's total
    V_t = Σ_c u_c (1/π_c − 1) g_c² m_c (1 − m_c)                  its predicted variance, known beforehand

and the rounds are combined with weights 1/V_t.  Because the weights are fixed before the labels arrive,
Σ w_t (T_t − θ) is a martingale: its mean is zero.  Two variances are kept, predicted by the model and
empirical, Σ batch (y − m)² (1/π)(1/π − 1).

Where the items of a batch were drawn one at a time, the number of items that a label stands for takes the
place of 1/π (`evalcore.design.one_at_a_time`); the weights and the predicted variance rest on what was
planned.

An item that people could not decide counts as no positive and is out of the pool.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.round import Design, RoundLabels
from assay.evalcore.measures import totals
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.totals import by_prediction
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RoundSums:
    """Weighted sums over rounds, one set of weights per measure (Q of them); last axis: FN, TP."""

    weight: Floats       # (R, Q) Σ w_t
    total: Floats        # (R, Q, 2) Σ w_t T_t
    empirical: Floats    # (R, Q, 2) Σ w_t² empirical variance
    predicted: Floats    # (R, Q, 2) Σ w_t² predicted variance
    log_missed: Floats   # (R, C) log of the chance that an unlabelled item was in no batch so far

    @staticmethod
    def none(repeats: int, measures: int, n_cells: int) -> "RoundSums":
        """Before the first round."""
        pairs = np.zeros((repeats, measures, 2))
        return RoundSums(
            weight=np.zeros((repeats, measures)),
            total=pairs,
            empirical=pairs,
            predicted=pairs,
            log_missed=np.zeros((repeats, n_cells)),
        )

    def add(
        self,
        cells: Cells,
        measures: Sequence[Measure],
        labelled: Ints,
        gone: Ints,
        design: Design,
        labels: RoundLabels,
        excluded: Ints,
    ) -> "RoundSums":
        """With one more round.

        labelled (R, C, 2) and gone (R, C): labels and undecided items before it; excluded (R, C): items of
        this round that stayed undecided.  A census is no sample and adds nothing.
        """
        predicted_positive = cells.prediction.astype(np.float64)
        sampled = ~design.census[:, None]
        pi, m, left = design.unlabelled, design.model, design.left.astype(np.float64)
        inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > 0)
        told = inverse if design.stands_for is None else design.stands_for
        positive, negative = labels.new[..., 1], labels.new[..., 0] + excluded
        residual = (positive - (positive + negative) * m) * told
        estimate = by_prediction(labelled[..., 1] + left * m + residual, predicted_positive)      # (R, 2)
        spread = np.where(pi > 0, left * (inverse - 1) * np.maximum(m * (1 - m), 1e-12), 0.0)
        predicted = by_prediction(spread, predicted_positive)
        seen = told * np.maximum(told - 1, 0.0) * (positive * (1 - m) ** 2 + negative * m**2)
        empirical = by_prediction(seen, predicted_positive)
        expected = by_prediction(labelled[..., 1] + left * m, predicted_positive)
        items = by_prediction((cells.size - gone).astype(np.float64), predicted_positive)
        weights = []
        for measure in measures:
            slope = totals.gradient(measure, expected[:, 1], expected[:, 0], items)
            variance = (slope**2 * predicted).sum(axis=1)
            weights.append(np.where(sampled[:, 0] & (variance > 0), 1 / np.maximum(variance, 1e-30), 0.0))
        w = np.stack(weights, axis=1)
        with np.errstate(divide="ignore"):
            missed = np.log1p(-np.minimum(pi, 1 - 1e-12)) * sampled
        return RoundSums(
            weight=self.weight + w,
            total=self.total + w[..., None] * estimate[:, None, :],
            empirical=self.empirical + w[..., None] ** 2 * empirical[:, None, :],
            predicted=self.predicted + w[..., None] ** 2 * predicted[:, None, :],
            log_missed=self.log_missed + missed,
        )

    def combined(self, q: int) -> tuple[Floats, Floats, Floats]:
        """For measure q: totals (R, 2), empirical and predicted variances (R, 2), indexed by prediction.

        Before the first round the totals are 0 and the variances infinite.
        """
        w = self.weight[:, q, None]
        safe = np.where(w > 0, w, 1.0)
        nothing = w <= 0
        return (
            np.where(nothing, 0.0, self.total[:, q] / safe),
            np.where(nothing, np.inf, self.empirical[:, q] / safe**2),
            np.where(nothing, np.inf, self.predicted[:, q] / safe**2),
        )

