"""`herding`: items picked one by one so that the sample looks like the pool.

A baseline of Poms et al. (2021), Welling's herding (2009): with φ(x) the statistics of an item, φ̄ their mean
over the pool, and w_0 = 0,

    x_t = argmax_x w_{t-1}·φ(x),    w_t = w_{t-1} + φ̄ - φ(x_t),

so that the picks' mean of φ follows φ̄ as 1/t instead of 1/√t.  The paper does not say what φ is, only that
it is "high-dimensional"; a pool is known here by its scores and predictions, so φ = (s, s², ŷ), s the score
less the decision boundary, each centred and with a variance of 1 over the pool.  Of items that tie, the one
nearest φ̄ is picked, and an item is picked once.  Labels do not steer the picks, and the measure of the
labelled items alone is the answer: without a positive or predicted positive among them there is no F.

With `kernel=gaussian`, which is not the paper's, it is kernel herding (Chen, Welling & Smola 2010),

    argmax_x  μ(x) - 1/(n + 1) Σ_{picked} k(x, x_i),    μ(x) the mean of k(x, ·) over the domain,

with k a Gaussian kernel of the score, as wide as a quarter of its standard deviation, and the answer is the
share of positives among the labelled of each prediction, ½ where there is none.  (Welling's herding is the
same with k(x, x') = φ(x)·φ(x').)
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.design.draws import Draws, without_replacement
from assay.evalcore.design.round import Design, EstimateArrays
from assay.evalcore.methods.low_shot.plug_in import PlugIn, PlugInState, without_interval
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.top_domain import from_the_top
from assay.evalcore.rounding import first_largest
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Herding(PlugIn):
    """Deterministic but for ties: items of one cell are picked in random order."""

    name: str = "herding"

    kernel: Literal["moments", "gaussian"] = "moments"
    width: float = 0.25   # of the Gaussian kernel, in standard deviations of the domain's scores

    def estimate(
        self, state: PlugInState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The measures of the labelled items."""
        if self.kernel == "gaussian":
            return PlugIn.estimate(self, state, confidence, rng)
        prediction = state.cells.prediction
        counts = np.stack([state.labelled[:, prediction == f].sum(axis=1) for f in (0, 1)], axis=1)
        return [without_interval(m, m.of_confusion(counts.astype(np.float64)), state) for m in state.measures]

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
        weight = cells.size * domain / (cells.size * domain).sum()
        kernel = self._kernel(cells, weight)
        target = kernel @ weight
        ties = 1e-9 * np.diag(kernel) if self.kernel == "moments" else 0.0
        picked = (state.labelled.sum(axis=2) + state.excluded) * domain
        embedded, n = picked @ kernel, picked.sum(axis=1)
        counts = np.zeros_like(here)
        rows = np.arange(len(here))
        for step in range(int(np.where(enough, size, 0).max(initial=0))):
            active = enough & (step < size)
            gain = np.where(here - counts > 0, target - embedded / (n + 1)[:, None] - ties, -np.inf)
            best = first_largest(gain)
            counts[rows[active], best[active]] += 1
            embedded = embedded + np.where(active[:, None], kernel[best], 0.0)
            n = n + active
        return counts + from_the_top(state.wanted, np.where(enough, 0, size))

    def _kernel(self, cells: Cells, weight: Floats) -> Floats:
        """k (C, C) between the cells' middles; weight (C,): their shares of the domain."""
        score = cells.mean_score
        if self.kernel == "gaussian":
            spread = np.sqrt(np.average((score - np.average(score, weights=weight)) ** 2, weights=weight))
            squared = ((score[:, None] - score) / max(self.width * float(spread), 1e-12)) ** 2
            return np.asarray(np.exp(-0.5 * squared))
        phi = np.stack([score, score**2, cells.prediction], axis=-1)
        centred = phi - weight @ phi
        scale = np.sqrt(weight @ centred**2)
        phi = centred / np.where(scale > 0, scale, 1.0)
        return np.asarray(phi @ phi.T)
