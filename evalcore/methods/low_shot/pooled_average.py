"""The closed iterations of `acis-pooled`, as the sums their average takes.

    R   repeats;  M   measures;  n_t   labels behind the estimate of iteration t

The answer weighs the estimates by n_t^recency and their standard errors by n_t^caution.  The errors are
averaged as if they were one and the same error.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iterations:
    """Weighted sums over the closed iterations."""

    recency: float
    caution: float
    weight: Floats         # (R, M) Σ n_t^recency
    value: Floats          # (R, M) Σ n_t^recency F_t
    error_weight: Floats   # (R, M) Σ n_t^caution
    error: Floats          # (R, M) Σ n_t^caution √Var_t

    @staticmethod
    def none(repeats: int, measures: int, *, recency: float, caution: float) -> "Iterations":
        """Before the first iteration is closed."""
        nothing = np.zeros((repeats, measures))
        return Iterations(
            recency=recency, caution=caution, weight=nothing, value=nothing, error_weight=nothing,
            error=nothing,
        )

    def plus(self, n: Floats, value: Floats, error: Floats) -> "Iterations":
        """With one more iteration: n, value, error (R, M), its labels, estimates and standard errors; n = 0
        adds nothing."""
        return replace(
            self,
            weight=self.weight + n**self.recency,
            value=self.value + n**self.recency * value,
            error_weight=self.error_weight + n**self.caution,
            error=self.error + n**self.caution * error,
        )

    def average(
        self, j: int, past: Floats, n: Floats, value: Floats, error: Floats
    ) -> tuple[Floats, Floats]:
        """Estimate and standard error (R,) of measure j, NaN where nothing is known.

        n, value, error (R,): of the unfinished iteration, n = 0 where it has nothing to add; past (R,): 1, or
        0 where the closed iterations are left out.
        """
        say, caution = n**self.recency, n**self.caution
        with np.errstate(invalid="ignore"):                       # 0/0 where nothing is known
            mean = (say * value + past * self.value[:, j]) / (say + past * self.weight[:, j])
            spread = caution * error + past * self.error[:, j]
            return mean, spread / (caution + past * self.error_weight[:, j])
