"""`gmm`: label the top of the ranking, and read the rest off two normal distributions of the score.

The GMM baseline of Poms et al. (2021): the highest scores are labelled as in TOP-K, and the score's density
is a mixture of two normals, one per class (Miller, Vila, Kirn & Zipkin 2018), by expectation-maximisation on
the cells of the whole pool.  A labelled item belongs to its class, an unlabelled one to each class by its
posterior

    r_c = w φ(s_c; μ₁, σ₁) / [w φ(s_c; μ₁, σ₁) + (1 - w) φ(s_c; μ₀, σ₀)]

The start is the model's own predictions.  The scores of rare classes are not normal in the tails, and the
labels are no random sample of the classes: it is a baseline and not recommended.

With the setting `top_domain`, which is not the paper's, items are a random sample of the top of the ranking,
the mixture is of that domain, and it starts at the supplied probabilities.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws
from assay.evalcore.design.round import Design
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.low_shot.plug_in import PlugIn, PlugInState
from assay.evalcore.methods.low_shot.topk import TopK
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.types import Floats, Ints

_STEPS = 60
_LEAST_VARIANCE = 1e-4   # in units of the domain's score variance: a class may not shrink to a point
_TOP = TopK()


@dataclass(frozen=True, slots=True)
class GaussianMixture(PlugIn):
    """Two normals, fitted to labelled and unlabelled items alike."""

    name: str = "gmm"
    capabilities: ClassVar[Capabilities] = Capabilities(top_of_ranking=True, whole_pool_only=True)

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Those of `topk`."""
        return PlugIn.edges(self, scores, positives) if self.top_domain else _TOP.edges(scores, positives)

    def rates(self, state: PlugInState) -> Floats:
        """r of each cell."""
        cells, domain = state.cells, state.domain
        score, size = cells.mean_score[domain], cells.size[domain]
        labelled, left = state.labelled[:, domain], state.left[:, domain]
        floor = max(float(np.average((score - np.average(score, weights=size)) ** 2, weights=size)), 1e-12)
        supposed = cells.mean_probability if self.top_domain else cells.prediction
        start: Floats = np.clip(supposed[domain].astype(np.float64), 0.01, 0.99)
        posterior = np.repeat(start[None], len(labelled), axis=0)
        for _ in range(_STEPS):
            posterior = _step(score, labelled, left, posterior, _LEAST_VARIANCE * floor)
        rates = np.zeros(state.left.shape)
        rates[:, domain] = posterior
        return rates

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """Those of `topk`."""
        return PlugIn.chances(self, state, size) if self.top_domain else _TOP.chances(state, size)

    def draw(self, state: PlugInState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """The highest scores left."""
        if self.top_domain:
            return PlugIn.draw(self, state, design, size, rng)
        return _TOP.draw(state, design, size, rng)


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
