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
centred influence of `evalcore.design.supplied`, which is how they are computed here; that serves the other
measures too.  The estimate is Σ v w ℓ / Σ v w with v = p(x)/q(x), and the interval Student's.
"""

from dataclasses import dataclass
from typing import ClassVar

from assay.evalcore.estimators.importance import IntervalKind
from assay.evalcore.methods.coverage_note import covered
from assay.evalcore.methods.importance.fixed_proposal import StaticImportance


@dataclass(frozen=True, slots=True, kw_only=True)
class Sawade(StaticImportance):
    """The optimal static proposal if the supplied probabilities were true."""

    name: str = "sawade"
    interval: ClassVar[str] = "student"
    interval_kind: ClassVar[IntervalKind] = "student"
    self_normalised: bool = True
    interval_note: ClassVar[str] = (
        "The paper's Student interval. "
        + covered((53, 20, 27, 71), (99, 91, 31, 18))
        + " It covers at few labels only because a sample without a single error gives the whole range; do "
        "not rely on it where positives are rare and the supplied probabilities are not calibrated."
    )
