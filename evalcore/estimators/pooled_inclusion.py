"""Estimates from pooled inclusion probabilities: how labels of several proposals are reused together.

Round t makes n_t draws with replacement under q_t.  The chance that an item was drawn in any round is

    π = 1 - Π_t (1 - q_t)^{n_t},

and its label counts 1/π, however often and in whatever round it was drawn.  So labels of earlier rounds stay
useful under later proposals, and when all items are labelled π is 1 and the estimate exact.  (q_t of later
rounds depends on earlier labels, so the estimate is consistent, not unbiased.)

Within predicted positives and predicted negatives the weights are normalised to the known number of items:

    P_f = N_f Σ_{labelled 1} 1/π / Σ_{labelled} 1/π,   clipped to what the labels leave possible

The variance is predicted by the label model, since the labels are too few for their scatter to tell it (the
single-trial variance of Poms et al. 2021, eq. 6, in this notation).  With φ the influence of an item on the
measure, centred in its group,

    Var ≈ (1/N²) Σ_c N_c (1/π_c - 1) [p_c φ_{f1}² + (1 - p_c) φ_{f0}²]
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reused:
    """Everything the estimate needs, for R repeats."""

    labelled: Ints     # (R, C, 2)
    size: Ints         # (R, C) items of the cell without those that people could not decide
    missed: Floats     # (R, C) log of the chance that an item was not found: Σ n_t log(1 - q_t)
    rate: Floats       # (R, C) the label model's positive rate
    domain: Bools      # (C,) cells that are sampled; what lies outside counts as negative


def reuse_draws(missed: Floats, q: Floats, draws: Ints) -> Floats:
    """`missed` (R, C) after `draws` (R,) more draws; q (R, C): the chance of one item of a cell per draw."""
    return np.asarray(missed + draws[:, None] * np.log1p(-np.minimum(q, 1 - 1e-12)))


def confusion(cells: Cells, data: Reused) -> Floats:
    """Estimated counts (R, 2, 2) by [prediction, label]; their rows have the known sums."""
    weighted = _divided(data.labelled.astype(np.float64), _found(data)[:, :, None])
    rows = []
    for f in (0, 1):
        here = cells.prediction == f
        mine = here & data.domain
        size = data.size[:, mine].sum(axis=1).astype(np.float64)
        known = data.labelled[:, mine].sum(axis=1)                    # (R, 2)
        w = weighted[:, mine].sum(axis=1)
        # nothing labelled in this group: what the label model expects of it
        expected = (data.rate[:, mine] * data.size[:, mine]).sum(axis=1)
        share = np.where(w.sum(axis=1) > 0, size * _divided(w[:, 1], w.sum(axis=1)), expected)
        below = data.labelled[:, here & ~data.domain, 1].sum(axis=1)  # positives found below the cut
        positives = np.clip(share, known[:, 1], size - known[:, 0]) + below
        rows.append(np.stack([data.size[:, here].sum(axis=1) - positives, positives], axis=-1))
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
    each = np.where(touched, data.size * expected, 0.0) * np.where(touched, thinned, 0.0)
    return np.asarray(each.sum(axis=1) / total**2)


def _found(data: Reused) -> Floats:
    """π (R, C)."""
    return -np.expm1(data.missed)


def _divided(above: Floats, below: Floats) -> Floats:
    """above / below, and 0 where nothing is below."""
    return np.asarray(np.where(below > 0, above / np.where(below > 0, below, 1.0), 0.0))
