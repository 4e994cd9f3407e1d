"""`static-is`: importance sampling with Proposition 2 and the scores taken for p(y|x).

Marchant & Rubinstein (2021), remark 4: their best proposal needs the unknown p(y|x); a static method uses the
supplied probabilities instead and never changes them.  In the deterministic form of Proposition 2, a pool
whose labels do not change,

    q(x) ∝ Σ_y p(y|x) max(‖J(R) ℓ(f, y)‖, ε 1[ℓ ≠ 0]),   mixed with ε of the uniform distribution

(the norm over all measures that drive the sampling, see `evalcore.design.proposal`) with the
importance-weighted estimate and its normal interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.proposal import total_pull, touched_cells
from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.importance import IntervalKind
from assay.evalcore.measures.base import Measure, served
from assay.evalcore.methods.capabilities import Capabilities
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.hidden_labels import with_hidden_labels
from assay.evalcore.methods.importance.fixed_proposal import ImportanceState, StaticImportance
from assay.evalcore.methods.options import Share
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticIS(StaticImportance):
    """The baseline the adaptive method of the same paper is measured against."""

    name: str = "static-is"
    interval: ClassVar[str] = "ais-normal"
    interval_kind: ClassVar[IntervalKind] = "normal"
    self_normalised: bool = False
    interval_note: ClassVar[str] = (
        "The nominal normal interval, as wide as what no label has shown may reach. "
        + covered((91, 95, 96, 97), (98, 97, 99, 100))
        + " It is nearly as wide as the measure's whole range there, because few of the predicted negatives "
        "are asked."
    )
    epsilon: Share = 1e-9

    capabilities: ClassVar[Capabilities] = replace(
        StaticImportance.capabilities, serves_several=True, serves_all=True
    )

    def weights(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """Σ_y p(y|x) ‖J ℓ‖, with the threshold, plus ε of the uniform distribution."""
        phi = self._pull(measures, cells, positive_rate)[0]
        phi = np.maximum(phi, self.epsilon * touched_cells(measures, cells))
        p = np.stack([1 - positive_rate, positive_rate], axis=-1)
        weight = (p * phi).sum(axis=-1)
        share = weight / max(float((cells.size * weight).sum()), 1e-300)
        return np.asarray((1 - self.epsilon) * share + self.epsilon / cells.n_items)

    def slope(self, measures: Sequence[Measure], cells: Cells, positive_rate: Floats) -> Floats:
        """That of the first measure centred, where one drives; of several, as `total_pull` has it."""
        if len(served(measures)) == 1:
            return StaticImportance.slope(self, served(measures), cells, positive_rate)
        return self._pull(measures, cells, positive_rate)[1]

    def mixing(self, measures: Sequence[Measure]) -> float:
        """Where one measure is not all that is asked: it bounds the weights, and segments rest on it."""
        return self.secondary_mixing if len(measures) > 1 else 0.0

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """With intervals as wide as what no label has shown may reach."""
        found = StaticImportance.estimate(self, state, confidence, rng)
        return with_hidden_labels(state, found, state.sums.weight, self.caught(state), confidence)

    @staticmethod
    def _pull(
        measures: Sequence[Measure], cells: Cells, positive_rate: Floats
    ) -> tuple[Floats, Floats]:
        """‖J ℓ‖ (C, 2), and the change (C,) that a label 1 instead of 0 makes, before any label."""
        nothing = np.zeros((1, cells.n_cells, 2), np.int64)
        phi, slope = total_pull(measures, cells, nothing, cells.size[None], positive_rate[None])
        return phi[0], slope[0]
