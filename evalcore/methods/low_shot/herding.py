"""`herding`: items picked one by one so that the sample looks like the pool.

A baseline of Poms et al. (2021): kernel herding (Welling 2009; Chen, Welling & Smola 2010).  Item n + 1 is

    argmax_x  μ(x) - 1/(n + 1) Σ_{picked} k(x, x_i),    μ(x) the mean of k(x, ·) over the domain,

with k a Gaussian kernel, so that the picks' mean embedding follows the domain's as 1/n instead of 1/√n.  The
paper herds in the space of image features; a pool is known here by its scores, so the score it is, with the
domain's standard deviation over four as the kernel's width.  Labels do not steer it, and the plain average of
the labelled, by prediction, is the answer.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.draws import Draws, without_replacement
from assay.evalcore.design.round import Design
from assay.evalcore.methods.low_shot.plug_in import PlugIn, PlugInState
from assay.evalcore.pool.top_domain import from_the_top
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Herding(PlugIn):
    """Deterministic but for ties: items of one cell are picked in random order."""

    name: str = "herding"
    width: float = 0.25   # of the kernel, in standard deviations of the domain's scores

    def rates(self, state: PlugInState) -> Floats:
        """The share of positives among the labelled of the same prediction; ½ when there is none."""
        rates = np.zeros(state.left.shape)
        for f in (0, 1):
            here = (state.cells.prediction == f) & state.domain
            negative, positive = np.moveaxis(state.labelled[:, here].sum(axis=1), -1, 0)
            rate = np.where(negative + positive > 0, positive / np.maximum(negative + positive, 1), 0.5)
            rates[:, here] = rate[:, None]
        return rates

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """Certain or not at all, but for the choice inside a cell."""
        counts = self._counts(state, size)
        return np.asarray(np.divide(counts, state.left, out=np.zeros(state.left.shape), where=state.left > 0))

    def draw(self, state: PlugInState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """The next `size` picks."""
        return without_replacement(self._counts(state, size))

    def _counts(self, state: PlugInState, size: Ints) -> Ints:
        """Picks (R, C) of each cell; from the top when the domain has too few left."""
        cells, domain = state.cells, state.domain
        here = state.wanted * domain
        enough = here.sum(axis=1) >= size
        score = cells.mean_score
        weight = cells.size * domain / (cells.size * domain).sum()
        spread = np.sqrt(np.average((score - np.average(score, weights=weight)) ** 2, weights=weight))
        kernel = np.exp(-0.5 * ((score[:, None] - score) / max(self.width * float(spread), 1e-12)) ** 2)
        target = kernel @ weight
        picked = (state.labelled.sum(axis=2) + state.excluded) * domain
        embedded, n = picked @ kernel, picked.sum(axis=1)
        counts = np.zeros_like(here)
        rows = np.arange(len(here))
        for step in range(int(np.where(enough, size, 0).max(initial=0))):
            active = enough & (step < size)
            gain = np.where(here - counts > 0, target - embedded / (n + 1)[:, None], -np.inf)
            best = np.argmax(gain, axis=1)
            counts[rows[active], best[active]] += 1
            embedded = embedded + np.where(active[:, None], kernel[best], 0.0)
            n = n + active
        return counts + from_the_top(state.wanted, np.where(enough, 0, size))
