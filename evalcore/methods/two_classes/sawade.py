"""`sawade`: active estimation of F-measures.

Sawade, Landwehr & Scheffer (2010).  A generalised risk is G = E[w ℓ] / E[w]; with w = α f + (1 - α) y it is
F_α = TP / (α PP + (1 - α) P), precision at α = 1 and recall at α = 0.  The best sampling distribution is
q(x) ∝ p(x) √ E[w² (ℓ - G)² | x], and with p = p(y = 1 | x)

    F_α (corollary 2)        √( p (1 - F)² + α² (1 - p) F² )   where f = 1
                             (1 - α) √( p F² )                 where f = 0
    recall (corollary 3)     √( p (1 - G)² )  where f = 1,     √( p G² )  where f = 0
    precision (corollary 4)  √( p (1 - G)² + (1 - p) G² )  where f = 1,  0 elsewhere

G being what the supplied probabilities expect.  (The corollaries write p(f(x)|x) for the chance that the
prediction is right; corollary 4 in that form is √((1 - 2G) p(f(x)|x) + G²).)  All are √ E[φ² | x] with φ the
centred influence of `evalcore.design.proposal`, which is how they are computed here; that serves the other
measures too.  The estimate is Σ v w ℓ / Σ v w with v = p(x)/q(x), and the interval Student's, Ĝ ± t √V:

    corrected   V = Σ v² w² (ℓ - Ĝ)² / (Σ v w)²        with n - 1 degrees of freedom
    printed     V = Σ v² w² (ℓ - Ĝ)² / (n Σ v)         with n: section 2.3

Lemma 2, on which section 2.3 rests, lacks E[w]² below the variance, which Poms et al. (2021), appendix D.2,
put right.  The printed interval is E[w] times too narrow (docs/measured/papers/errata.md).
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators import intervals
from assay.evalcore.estimators.importance import IntervalKind, WeightSums
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import covered
from assay.evalcore.methods.two_classes.fixed_proposal import ImportanceState, StaticImportance
from assay.evalcore.types import Floats

_CORRECTED = (
    "The paper's Student interval, with E[w]² in its variance, which the paper leaves out. "
    + covered((53, 20, 27, 71), (99, 91, 31, 18))
    + " It covers at few labels only because a sample without a single error gives the whole range; do "
    "not rely on it where positives are rare and the supplied probabilities are not calibrated."
)
_PRINTED = (
    "Student's interval as the paper prints it, for comparison only. Its variance lacks the square of the "
    "mean weight E[w], so it is too narrow by the factor E[w]: for F1, half the sum of the shares of "
    "positives and of predicted positives."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sawade(StaticImportance):
    """The optimal static proposal if the supplied probabilities were true."""

    sources: ClassVar[tuple[str, ...]] = ("sawade2010", "poms2021")
    name: str = "sawade"
    interval_kind: ClassVar[IntervalKind] = "student"
    self_normalised: bool = True
    variance: Literal["corrected", "printed"] = "corrected"

    @property
    def interval(self) -> str:
        """Which of the two intervals."""
        return "student" if self.variance == "corrected" else "student-as-printed"

    @property
    def interval_note(self) -> str:
        """What is known of that interval."""
        return _CORRECTED if self.variance == "corrected" else _PRINTED

    def estimate(
        self, state: ImportanceState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The weighted estimate of each measure from all draws."""
        # not super(): in a class with slots it would name the class before slots were added
        corrected = StaticImportance.estimate(self, state, confidence, rng)
        if self.variance == "corrected":
            return corrected
        return [
            _as_printed(measure, state.sums, confidence, one)
            for measure, one in zip(state.measures, corrected, strict=True)
        ]


def _as_printed(
    measure: Measure, sums: WeightSums, confidence: float, corrected: EstimateArrays
) -> EstimateArrays:
    """The interval of section 2.3; the whole range for a measure that is no generalised risk."""
    weight = generalised_weight(measure)
    told = (corrected.variance > 0) & (weight is not None)
    weighted = np.einsum("rfy,fy->r", sums.weight, np.zeros((2, 2)) if weight is None else weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = weighted**2 / (sums.draws * sums.weight.sum(axis=(1, 2)))         # about E[w]²
    variance = np.where(told, corrected.variance * lost, 0.0)
    # one draw more than there are: n degrees of freedom, as printed
    ends = intervals.student(
        corrected.value, variance, told, confidence, measure.bounds, sums.draws + 1
    )
    return replace(corrected, lower=ends.lower, upper=ends.upper, variance=variance)


def generalised_weight(measure: Measure) -> Floats | None:
    """w (2, 2) by [prediction, label], of a measure that is E[w ℓ] / E[w]; None for any other.

    Its margin is Σ w (ℓ - limit), so the difference between the margins of 0 and of 1 is w.
    """
    at_zero, at_one = measure.margin(0.0), measure.margin(1.0)
    if at_zero is None or at_one is None:
        return None
    return np.asarray(at_zero[0] + at_zero[1] - at_one[0] - at_one[1])
