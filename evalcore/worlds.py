"""Plausible worlds: what the unlabelled items of a pool may turn out to be, given the labels so far.

A world is one draw of the recalibrated label model (`evalcore.recalibration`), positive rates of every cell,
and then of the labels themselves.  That model is used for every method: which worlds are plausible is a
question about the pool and not about how it is sampled, and the models of the published methods take the
supplied probabilities at their word, which on a rare class expects forty times too many positives.
"""

import numpy as np

from evalcore.cells import Cells
from evalcore.recalibration.configurations import CONFIGURATIONS
from evalcore.recalibration.label_model import fit, label_model
from evalcore.recalibration.posterior import noise, posterior
from evalcore.recalibration.shape import pool_shape
from evalcore.types import Floats, Ints

DRAWS = 600     # of the posterior, from which the worlds are picked by weight


def plausible_worlds(
    cells: Cells, labelled: Ints, left: Ints, count: int, rng: np.random.Generator
) -> Ints:
    """`count` worlds: items by their label (count, C, 2), what is labelled as it is.

    labelled (C, 2); left (C,) unlabelled items that can be asked.
    """
    model = label_model(pool_shape(cells), CONFIGURATIONS)
    n, k = labelled.sum(axis=1)[None].astype(np.float64), labelled[None, :, 1].astype(np.float64)
    post = posterior(model, fit(model, n, k), n, k, left[None].astype(np.float64), noise(model, DRAWS, rng))
    rate = post.rate[0][_by_weight(post.weight[0], count, rng)]
    positive = rng.binomial(left, np.clip(rate, 0.0, 1.0))
    return np.asarray(labelled + np.stack([left - positive, positive], axis=-1), dtype=np.int64)


def _by_weight(weight: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Indices (count,), systematic in the cumulated weights, so that few draws represent them well."""
    reach = np.cumsum(weight)
    places = (np.arange(count) + rng.random()) / count * reach[-1]
    return np.asarray(np.minimum(np.searchsorted(reach, places), len(weight) - 1), dtype=np.int64)
