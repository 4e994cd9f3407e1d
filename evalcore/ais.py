"""Importance-weighted estimation from adaptive draws (AIS).

Marchant & Rubinstein (2021), section 3.  Draw j fell on an item (f_j, y_j) with probability q_j under the
proposal in force, and weighs w_j = 1 / (N q_j):

    R̂ = (1/n) Σ_j w_j ℓ(f_j, y_j),      Ĝ = g(R̂)
    Var(Ĝ) ≈ (1/n) [ (1/n) Σ_j w_j² (J ℓ_j)² - (J R̂)² ],   J at R̂

The variance uses the q each draw was really made with; the paper's formula puts the last q in its place.
ℓ depends on (f, y) only, so the sums of w and w² by (f, y) and the number of draws are all there is to keep.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from evalcore.cells import Cells
from evalcore.design import Design, EstimateArrays, Outcome
from evalcore.measures import Measure
from evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightSums:
    """Sufficient statistics of the draws so far, indexed [prediction, label]."""

    weight: Floats     # (R, 2, 2) Σ w
    squared: Floats    # (R, 2, 2) Σ w²
    draws: Ints        # (R,) n

    @staticmethod
    def none(repeats: int) -> "WeightSums":
        """Before the first draw."""
        zeros = np.zeros((repeats, 2, 2))
        return WeightSums(weight=zeros, squared=zeros, draws=np.zeros(repeats, np.int64))

    def add(self, cells: Cells, design: Design, outcome: Outcome) -> "WeightSums":
        """With the draws of one more round, weighted by the probabilities of its design.

        A census is no sample: its items were certain to be asked, and they add nothing here.
        """
        sampled = ~design.census[:, None, None]
        with np.errstate(divide="ignore"):
            w_new = np.where(design.unlabelled > 0, 1 / (cells.n_items * design.unlabelled), 0.0)[..., None]
            w_known = np.where(design.labelled > 0, 1 / (cells.n_items * design.labelled), 0.0)
        drawn_new, drawn_known = outcome.drawn_new * sampled, outcome.drawn_known * sampled
        by_cell = drawn_new * w_new + drawn_known * w_known
        by_cell_squared = drawn_new * w_new**2 + drawn_known * w_known**2
        return WeightSums(
            weight=self.weight + _by_prediction(cells, by_cell),
            squared=self.squared + _by_prediction(cells, by_cell_squared),
            draws=self.draws + (drawn_new + drawn_known).sum(axis=(1, 2)),
        )


def _by_prediction(cells: Cells, by_cell: Floats) -> Floats:
    return np.stack([by_cell[:, cells.prediction == f].sum(axis=1) for f in (0, 1)], axis=1)


def estimate(measure: Measure, sums: WeightSums, confidence: float) -> EstimateArrays:
    """The estimate of a measure and its delta-method normal interval, cut to the measure's range.

    A variance that cannot be told (fewer than two draws, or all draws alike) gives the measure's whole
    range: it is ignorance, not certainty.  `diagnostics`: the number of draws, and the effective sample
    size (Σw)² / Σw².
    """
    n = np.maximum(sums.draws, 1)
    risk = np.einsum("rfy,fyd->rd", sums.weight, measure.loss) / n[:, None]
    value = measure.value(risk)
    influence = measure.influence(risk)
    with np.errstate(invalid="ignore"):
        second = (sums.squared * influence**2).sum(axis=(1, 2)) / n
        mean = (sums.weight * influence).sum(axis=(1, 2)) / n
        variance = np.maximum(second - mean**2, 0.0) / n
    lowest, highest = measure.bounds
    value = np.where(sums.draws > 0, value, np.nan)
    # rounding leaves a shadow of a variance where there is none
    told = (sums.draws >= 2) & (variance > 1e-14 * (second / n))
    half = norm.ppf(0.5 + confidence / 2) * np.sqrt(variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = sums.weight.sum(axis=(1, 2)) ** 2 / sums.squared.sum(axis=(1, 2))
    return EstimateArrays(
        value=np.clip(value, lowest, highest),
        lower=np.where(told, np.clip(value - half, lowest, highest), lowest),
        upper=np.where(told, np.clip(value + half, lowest, highest), highest),
        variance=np.where(told, variance, 0.0),
        diagnostics={"draws": sums.draws, "effective_draws": np.nan_to_num(effective)},
    )
