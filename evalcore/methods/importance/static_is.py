"""`static-is`: importance sampling with Proposition 2 and the scores taken for p(y|x).

Marchant & Rubinstein (2021), remark 4: their best proposal needs the unknown p(y|x); a static method uses the
supplied probabilities instead and never changes them.  In the deterministic form of Proposition 2, a pool
whose labels do not change,

    q(x) ∝ Σ_y p(y|x) max(|J(R)·ℓ(f, y)|, ε 1[ℓ ≠ 0]),   mixed with ε of the uniform distribution

with the importance-weighted estimate and its normal interval.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.design.proposal import pull
from assay.evalcore.design.supplied import prior_risk
from assay.evalcore.estimators.importance import IntervalKind
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.importance.fixed_proposal import StaticImportance
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
        "The nominal normal interval. "
        + covered((11, 19, 61, 88), (64, 36, 12, 36), runs=1000)
        + " Do not rely on it where positives are rare and the supplied probabilities are not calibrated."
    )
    epsilon: Share = 1e-9

    def weights(self, measure: Measure, cells: Cells, positive_rate: Floats) -> Floats:
        """Σ_y p(y|x) |J ℓ|, with the threshold, plus ε of the uniform distribution."""
        touched = measure.touched()
        phi = np.abs(pull(measure, prior_risk(measure, cells, positive_rate)))
        phi = np.maximum(phi, self.epsilon * touched)[cells.prediction]
        p = np.stack([1 - positive_rate, positive_rate], axis=-1)
        weight = (p * phi).sum(axis=-1)
        share = weight / max(float((cells.size * weight).sum()), 1e-300)
        return np.asarray((1 - self.epsilon) * share + self.epsilon / cells.n_items)
