"""`passive-with-replacement`: a simple random sample in which an item may come up again.

The importance sampler whose proposal is the pool's own distribution: every weight is 1.  A draw of an item
that is already labelled costs nothing, but the sample is worth less than one without replacement, and there
is no finite-population correction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.estimators.importance import IntervalKind
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.importance.fixed_proposal import StaticImportance
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
        "Nominal normal interval of a random sample. "
        + covered((5, 9, 22, 63), (2, 3, 9, 28))
        + " With few positives in the sample it is too narrow, and with none the measure is undefined."
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
