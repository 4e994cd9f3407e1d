"""`topk`: label the highest scores, and count the rest as negative.

The TOP-K baseline of Poms et al. (2021): no sampling, no weights, no model.  It is right when every positive
ranks among the labelled items, and wrong by every positive that does not.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, without_replacement
from assay.evalcore.design.round import Design
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.low_shot.plug_in import PlugIn, PlugInState
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.top_domain import from_the_top, top_edges
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class TopK(PlugIn):
    """From the top down.  Items of one stratum, half a percent of their rank apart, come in random order."""

    name: str = "topk"
    capabilities: ClassVar[Capabilities] = Capabilities(top_of_ranking=True, whole_pool_only=True)

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """Strata of one item down to rank 200, and ½% of the rank from there on."""
        return top_edges(scores, positives, ratio=1.005)

    def rates(self, state: PlugInState) -> Floats:
        """0: unlabelled items count as negative."""
        return np.zeros(state.left.shape)

    def chances(self, state: PlugInState, size: Ints) -> Floats:
        """Certain above the round's last stratum, even within it."""
        counts = from_the_top(state.wanted, size)
        return np.asarray(np.divide(counts, state.left, out=np.zeros(state.left.shape), where=state.left > 0))

    def draw(self, state: PlugInState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """The highest scores left."""
        return without_replacement(from_the_top(state.wanted, size))
