"""Designs from the supplied probabilities alone.

Methods without a label model take the mean supplied probability p_c of each cell for the truth, and never
change it.  Their cells are fine, so that p hardly varies inside one.

    p (C,)   p(y = 1 | cell),  softened: λ p + (1 - λ)/2  (Yilmaz et al. 2021, section 2: against
             probabilities that are over-confident)
    R (d,)   the risk expected under p;  φ(f, y) = J(R)·(ℓ(f, y) - R)
    h (C,)   √ Σ_y p(y|c) φ²     the root mean squared influence of an item of the cell
"""

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.strata import csf_edges
from assay.evalcore.types import Floats

FINE_STRATA = 512


def fine_edges(scores: OrderedScores) -> tuple[Floats, int]:
    """Edges and number of FINE_STRATA strata of equal √frequency, for methods that need p item by item.
    """
    return csf_edges(scores, FINE_STRATA, n_bins=4 * FINE_STRATA), FINE_STRATA


def softened(cells: Cells, trust: float) -> Floats:
    """λ p + (1 - λ)/2 of each cell, (C,); `trust` is λ.

    Kept off 0 and 1 by 1e-9: a supplied probability of exactly 0 would rule a label out for good.
    """
    return np.asarray(np.clip(trust * cells.mean_probability + (1 - trust) / 2, 1e-9, 1 - 1e-9))


def prior_risk(measure: Measure, cells: Cells, positive_rate: Floats) -> Floats:
    """R (d,) if the items of each cell were positive at positive_rate (C,)."""
    by_label = cells.size[:, None] * np.stack([1 - positive_rate, positive_rate], axis=-1)
    return np.asarray(np.einsum("cy,cyd->d", by_label, measure.loss[cells.prediction]) / cells.n_items)


def centred_pull(measure: Measure, risk: Floats) -> Floats:
    """φ (..., 2, 2) = J(R)·(ℓ - R) at risk R (..., d), by [prediction, label].

    Where the measure is undefined at R, φ is 1 for every item with a loss.  For ratios g(R) = R₀/R₁, J·R is 0
    and φ is J·ℓ.  For any measure φ is the influence of an item on the self-normalised estimate:
    (f - R g)/G of Yilmaz et al. (2021), w (ℓ - G) of Sawade et al. (2010), up to a constant.
    """
    influence = measure.influence(risk)
    centre = (measure.gradient(risk) * risk).sum(axis=-1)
    phi = influence - centre[..., None, None]
    return np.where(np.isfinite(phi), phi, measure.touched())


def root_mean_square(pull: Floats, cells: Cells, positive_rate: Floats) -> Floats:
    """h (..., C) of pull φ (..., 2, 2), the labels of a cell being positive at positive_rate (..., C)."""
    squared = pull[..., cells.prediction, :] ** 2
    p = np.stack([1 - positive_rate, positive_rate], axis=-1)
    return np.asarray(np.sqrt((p * squared).sum(axis=-1)))
