"""Calibration of a score on few labels, as Poms et al. (2021) use it.

    c₀    the curve fitted to the model's own predictions ŷ instead of labels
    c_i   the curve fitted to all labels so far, unweighted
    c     β_i c₀ + (1 - β_i) c_i, then rescaled from [0, 1] to [ε, 1 - ε]

The curve is an isotonic regression on the score, with straight lines between labelled scores and level ends,
or Platt's curve (`evalcore.methods.low_shot.calibrated`).  It knows the score alone: cells of one stratum and
different predictions have the same rate.

    C   cells;  S   strata;  R   repeats
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from assay.evalcore.label_models.isotonic import isotonic_curve
from assay.evalcore.methods.low_shot.platt import platt_rates
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints

Calibration: TypeAlias = Literal["isotonic", "platt"]


class Curve(Protocol):
    """A curve fitted to labels."""

    def __call__(self, score: Floats, labelled: Ints) -> Floats:
        """Rates (S,) at score (S,), rising; labelled (S, 2): items by label."""
        ...


CURVES: Mapping[str, Curve] = {"isotonic": isotonic_curve, "platt": platt_rates}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Strata:
    """The strata of a pool, from the lowest score to the highest."""

    of_cell: Ints    # (C,) the stratum of each cell
    score: Floats    # (S,) mean score

    @staticmethod
    def of(cells: Cells) -> "Strata":
        """The occupied strata of these cells."""
        _, of_cell = np.unique(cells.stratum, return_inverse=True)
        size = np.bincount(of_cell, weights=cells.size)
        return Strata(
            of_cell=of_cell, score=np.bincount(of_cell, weights=cells.size * cells.mean_score) / size
        )

    def rates(self, calibration: Calibration, labelled: Ints) -> Floats:
        """The curve's rates (R, C) from labelled (R, C, 2): items by cell and label."""
        curve = CURVES[calibration]
        rows = []
        for counts in labelled:
            by_stratum = np.zeros((len(self.score), 2), np.int64)
            np.add.at(by_stratum, self.of_cell, counts)
            rows.append(curve(self.score, by_stratum)[self.of_cell])
        return np.stack(rows)


def prior_rates(cells: Cells, strata: Strata, calibration: Calibration) -> Floats:
    """c₀ (C,): the curve fitted to the predictions, as if they were labels."""
    predicted = np.stack([cells.size * (1 - cells.prediction), cells.size * cells.prediction], axis=-1)
    (rates,) = strata.rates(calibration, predicted[None])
    return np.asarray(rates)


def blended(prior: Floats, rates: Floats, beta: Floats, epsilon: float) -> Floats:
    """β c₀ + (1 - β) c, rescaled to [ε, 1 - ε]; prior (C,), rates (R, C), beta (R,)."""
    mixed = beta[:, None] * prior + (1 - beta[:, None]) * rates
    return np.asarray(epsilon + (1 - 2 * epsilon) * mixed)
