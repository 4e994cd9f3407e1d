"""Plausible worlds: what the unlabelled items of a pool may turn out to be, given the labels so far.

A world is one draw of the recalibrated label model (`evalcore.recalibration`), positive rates of every cell,
and then of the labels themselves.  That model is used for every method: which worlds are plausible is a
question about the pool and not about how it is sampled, and the models of the published methods take the
supplied probabilities at their word, which on a rare class expects forty times too many positives.
"""

import numpy as np

from assay.evalcore.pool.cells import Cells
from assay.evalcore.recalibration.configurations import CONFIGURATIONS
from assay.evalcore.recalibration.label_model import fit, label_model
from assay.evalcore.recalibration.posterior import noise, posterior
from assay.evalcore.recalibration.shape import pool_shape
from assay.evalcore.recalibration.warm import warmed
from assay.evalcore.types import Floats, Ints

DRAWS = 600         # of the posterior, from which the worlds are picked by weight
MOST_CELLS = 256    # beyond which neighbouring cells share their rates


def plausible_worlds(
    cells: Cells,
    labelled: Ints,
    left: Ints,
    count: int,
    rng: np.random.Generator,
    evidence: Floats | None = None,
) -> Ints:
    """`count` worlds: items by their label (count, C, 2), what is labelled as it is.

    labelled (C, 2); left (C,) unlabelled items that can be asked; evidence (C, 2): the pseudo-labels of an
    earlier window, where the evaluation starts from them.
    """
    group = _groups(cells)
    model = label_model(pool_shape(_merged(cells, group)), CONFIGURATIONS)
    if evidence is not None:
        model = warmed(model, np.stack([np.bincount(group, weights=one) for one in evidence.T], axis=1))

    def summed(by_cell: Ints) -> Floats:
        return np.asarray(np.bincount(group, weights=by_cell)[None], dtype=np.float64)

    n, k = summed(labelled.sum(axis=1)), summed(labelled[:, 1])
    post = posterior(model, fit(model, n, k), n, k, summed(left), noise(model, DRAWS, rng))
    rate = post.rate[0][_by_weight(post.weight[0], count, rng)][:, group]
    positive = rng.binomial(left, np.clip(rate, 0.0, 1.0))
    return np.asarray(labelled + np.stack([left - positive, positive], axis=-1), dtype=np.int64)


def _groups(cells: Cells) -> Ints:
    """The group (C,) of each cell: itself, or where there are many, neighbours of one prediction together.

    The label model's cost grows with the cube of its cells, and its rates are smooth in the score.
    """
    if cells.n_cells <= MOST_CELLS:
        return np.arange(cells.n_cells)
    reach = np.cumsum(np.sqrt(cells.size))
    block = np.minimum((reach / reach[-1] * MOST_CELLS / 2).astype(np.int64), MOST_CELLS // 2 - 1)
    group: Ints = np.unique(block * 2 + cells.prediction, return_inverse=True)[1].astype(np.int64)
    return group


def _merged(cells: Cells, group: Ints) -> Cells:
    """The cells of the groups, their means weighted by size."""
    size = np.bincount(group, weights=cells.size)
    first = np.unique(group, return_index=True)[1]

    def mean(by_cell: Floats) -> Floats:
        return np.asarray(np.bincount(group, weights=cells.size * by_cell) / size)

    return Cells(
        stratum=cells.stratum[first],
        prediction=cells.prediction[first],
        size=size.astype(np.int64),
        mean_score=mean(cells.mean_score),
        mean_probability=mean(cells.mean_probability),
        log_density=mean(cells.log_density),
        n_slots=cells.n_slots,
    )


def _by_weight(weight: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Indices (count,), systematic in the cumulated weights, so that few draws represent them well."""
    reach = np.cumsum(weight)
    places = (np.arange(count) + rng.random()) / count * reach[-1]
    return np.asarray(np.minimum(np.searchsorted(reach, places), len(weight) - 1), dtype=np.int64)
