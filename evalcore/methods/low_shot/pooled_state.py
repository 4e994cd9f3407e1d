"""What `acis-pooled` knows between rounds, and what follows from it at once.

    R   repeats;  C   cells;  the domain is the top of the ranking, down to the cut
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.design.proposal import expected_risk, pull
from assay.evalcore.estimators.pooled_inclusion import Reused, confusion, predicted_variance
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.low_shot.pooled_average import Iterations
from assay.evalcore.methods.state import MethodState
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PooledState(MethodState):
    """The calibration and proposal in force, and what the iterations said."""

    domain: Bools          # (C,)
    rate: Floats           # (R, C) p_t
    proposal: Floats       # (R, C) q_t of one item, 0 outside the domain
    missed: Floats         # (R, C) log of the chance that an item was not drawn so far
    iteration: Ints        # (R,) t
    closed_at: Ints        # (R,) labels when the current iteration began
    closed: Iterations     # what the iterations before it said

    def exhausted(self, size: Ints) -> Bools:
        """Whether (R,) the domain has no more than `size` (R,) items left to ask."""
        return np.asarray((self.wanted * self.domain).sum(axis=1) <= size)

    def pull(self) -> Floats:
        """Influence (R, C, 2) of a label on the first measure, at the risk the calibration expects."""
        risk = expected_risk(self.measures[0], self.cells, self.labelled, self.left, self.rate)
        return pull(self.measures[0], risk)[:, self.cells.prediction]

    def current(self, measure: Measure) -> tuple[Floats, Floats]:
        """The estimate from all labels and its predicted variance, each (R,)."""
        data = Reused(
            labelled=self.labelled,
            size=self.cells.size - self.excluded,
            missed=self.missed,
            rate=self.rate,
            domain=self.domain,
        )
        counts = confusion(self.cells, data)
        return measure.of_confusion(counts), predicted_variance(measure, self.cells, data, counts)
