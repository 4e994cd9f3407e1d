"""What clusters add to an interval: items that come together, such as the answers to one prompt.

Items are drawn as if there were no clusters, so estimates are what they were, and unbiased.  Of the pool
alone the usual variance V says all.  But a pool of a hundred prompts with twenty answers each knows less of
prompts than two thousand answers suggest.  With clusters named, an interval is for what the value would be
over the population that the clusters were drawn from, and its variance is

    V + B,     B = Σ_j S_j²/N² · m/(m - 1),     S_j = Σ_{i in j} z_i,     z_i = J·(ℓ_i - R)

over the clusters j of the pool (the variance of a mean of clusters drawn at random: Cochran 1977, ch. 9;
Liang & Zeger 1986).  z covers the known part of the losses too, which is another one in other clusters.  Most
labels are unknown, so B is estimated from the m clusters with labels.  With ω the items that each label
stands for,

    E Σ_j (Σ ω z)² = Σ_j S_j² + Σ_i (ω_i - 1) z_i²

where the first sum runs over labelled items and the last over the pool, so the latter's estimate
Σ ω (ω - 1) z² is taken off.  B is at least what independent items would have, Σ ω z²/N².

Few clusters: the correction m/(m - 1), and Student's with the degrees of freedom of both parts
(Satterthwaite), those of B being one less than the number of clusters, unequal ones counting for less.  With
one cluster nothing is known.  The interval does not close when all is labelled.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_methods.reading import sums
from assay.evalcore.outcome_methods.slopes import slopes_of_known
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.types import Bools, Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Between:
    """What clusters add."""

    variance: Floats     # (R, Q) B
    df: Floats           # (R, 1) its degrees of freedom
    alone: Bools         # (R, 1) fewer than two clusters have labels: B is not known
    parts: Floats        # (R, G, Q) what each cluster adds to the error

    def joined(self, variance: Floats, df: Floats) -> tuple[Floats, Floats]:
        """V + B (R, Q), and its degrees of freedom."""
        both = variance + self.variance
        below = variance**2 / df + self.variance**2 / self.df
        return both, np.where(below > 0, both**2 / np.where(below > 0, below, 1.0), df)


def between(
    state: SampleState, stands: Floats, total: Floats, risk: Floats, slopes: Floats
) -> Between | None:
    """B; None where the items come in no clusters.

    stands (R, n): items that each label stands for, total (R,): those of the pool, risk (R, D + D_k), slopes
    (R, Q, D).
    """
    table = state.table
    if table is None or table.cluster is None:
        return None
    z = np.einsum("rnd,rqd->rnq", table.loss[state.item] - risk[:, None, : state.stack.size], slopes)
    z = z + np.einsum("rnd,rqd->rnq", table.known[state.item] - risk[:, None, state.stack.size :],
                      slopes_of_known(state.stack, state.cells.known_sizes.tolist(), risk))
    numbers, cluster = np.unique(table.cluster, return_inverse=True)
    where = cluster.ravel()[state.item]
    stands = stands[..., None]
    parts = sums(where, stands * z, len(numbers))
    items = sums(where, stands, len(numbers))
    m = (items > 0).sum(axis=1)                                     # (R, 1)
    size = items.sum(axis=1) ** 2 / np.maximum((items**2).sum(axis=1), 1e-12)
    squares = (parts**2).sum(axis=1) * m / np.maximum(m - 1, 1)
    own = (stands * z**2).sum(axis=1)
    found = np.maximum(squares - (stands * (stands - 1) * z**2).sum(axis=1), own)
    total = total[:, None]
    return Between(
        variance=found / total**2, df=np.maximum(size - 1, 0.5), alone=m < 2, parts=parts / total[..., None]
    )

