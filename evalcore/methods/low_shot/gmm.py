"""`gmm`: positives and negatives as two normal distributions of the score.

A baseline of Poms et al. (2021), after Welinder, Welling & Perona (2013), "A lazy man's approach to
benchmarking": the score's density is a mixture of two normals, one per class, and unlabelled scores help to
find them.  Expectation-maximisation on the cells of the domain: a labelled item belongs to its class, an
unlabelled one to each class by its posterior

    r_c = w φ(s_c; μ₁, σ₁) / [w φ(s_c; μ₁, σ₁) + (1 - w) φ(s_c; μ₀, σ₀)]

and the answer counts r_c for each unlabelled item.  The start is the supplied probabilities.  The scores of
rare classes are not normal in the tails, so the mixture is wrong there: it is a baseline and not recommended.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.methods.low_shot.plug_in import PlugIn, PlugInState
from assay.evalcore.types import Floats, Ints

_STEPS = 60
_LEAST_VARIANCE = 1e-4   # in units of the domain's score variance: a class may not shrink to a point


@dataclass(frozen=True, slots=True)
class GaussianMixture(PlugIn):
    """Two normals, fitted to labelled and unlabelled items alike."""

    name: str = "gmm"

    def rates(self, state: PlugInState) -> Floats:
        """r of each cell."""
        cells, domain = state.cells, state.domain
        score, size = cells.mean_score[domain], cells.size[domain]
        labelled, left = state.labelled[:, domain], state.left[:, domain]
        floor = max(float(np.average((score - np.average(score, weights=size)) ** 2, weights=size)), 1e-12)
        start = np.clip(cells.mean_probability[domain], 0.01, 0.99)
        posterior = np.repeat(start[None], len(labelled), axis=0)
        for _ in range(_STEPS):
            posterior = _step(score, labelled, left, posterior, _LEAST_VARIANCE * floor)
        rates = np.zeros(state.left.shape)
        rates[:, domain] = posterior
        return rates


def _step(score: Floats, labelled: Ints, left: Ints, posterior: Floats, floor: float) -> Floats:
    """One round of EM: from posteriors (R, C) of unlabelled items to better ones."""
    log_density = []
    for y, share in ((0, 1 - posterior), (1, posterior)):
        count = labelled[:, :, y] + left * share
        total = np.maximum(count.sum(axis=1), 1e-9)
        mean = (count @ score) / total
        deviation = (score - mean[:, None]) ** 2
        variance = np.maximum((count * deviation).sum(axis=1) / total, floor)[:, None]
        log_density.append(np.log(total)[:, None] - 0.5 * (np.log(variance) + deviation / variance))
    return np.asarray(1 / (1 + np.exp(np.clip(log_density[0] - log_density[1], -700, 700))))
