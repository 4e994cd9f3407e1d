"""`passive-with-replacement`: a simple random sample in which an item may come up again.

The importance sampler whose proposal is the pool's own distribution: every weight is 1.  A draw of an item
that is already labelled costs nothing, but the sample is worth less than one without replacement, and there
is no finite-population correction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.importance import IntervalKind
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.hidden_labels import with_hidden_labels
from assay.evalcore.methods.importance.fixed_proposal import ImportanceState, StaticImportance
from assay.evalcore.methods.options import Share
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PassiveWithReplacement(StaticImportance):
    """Uniform sampling with replacement, with normal intervals."""

    name: str = "passive-with-replacement"
    interval: ClassVar[str] = "delta-normal"
    interval_kind: ClassVar[IntervalKind] = "normal"
    self_normalised: bool = False
    secondary_mixing: Share = 0.0  # even already
    interval_note: ClassVar[str] = (
        "Nominal normal interval of a random sample, as wide as what no label has shown may reach. "
        + covered((5, 12, 27, 64), (1, 2, 7, 26))
        + " Its misses are runs without a positive in the sample: then the measure is undefined."
    )
    capabilities: ClassVar[Capabilities] = Capabilities(
        reuses_labels=True, spreads_evenly=True, single_draws=True, weighting="draws",
    )

    def edges(self, scores: OrderedScores, positives: int) -> tuple[Floats, int]:
        """One stratum: a uniform sample needs no more."""
        return np.empty(0), 1

    def weights(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """All alike."""
        return np.ones(cells.n_cells)

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """With intervals as wide as what no label has shown may reach."""
        found = StaticImportance.estimate(self, state, confidence, rng)
        return with_hidden_labels(state, found, state.sums.weight, self.caught(state), confidence)
