"""The iterations of `acis` and how they are put together: equation 5 of Poms et al. (2021).

    Ĝ = Σ_i |W_i|₁ Ĝ_i / Σ_i |W_i|₁  over the last ℓ iterations,   a_i = |W_i|₁ / Σ |W_i|₁

The printed sum below starts at the first iteration; then the weights sum to 1 only if ℓ is all of them.

    independent   Var(Ĝ) = Σ a_i² V_i: no covariance between iterations, as the paper says it assumes
    averaged      Σ a_i V_i: the paper's words, taken literally
    worst         (Σ a_i √V_i)²: correlation 1, the paper's "worst case"

`averaged` is never below `worst`, so the paper's finding that its variance lies well below the worst case can
only mean `independent`.

    R   repeats;  M   measures;  T   iterations there is room for
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.types import Bools, Floats, Ints

Together: TypeAlias = Literal["independent", "averaged", "worst"]
_ROOM = 24   # iterations: their labels double


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iterations:
    """What each closed iteration said; 0 where there was none."""

    weight: Floats     # (R, T) |W_i|₁
    value: Floats      # (R, T, M) Ĝ_i, NaN where undefined
    variance: Floats   # (R, T, M)

    @staticmethod
    def none(repeats: int, measures: int) -> "Iterations":
        """Before the first iteration."""
        one, several = np.zeros((repeats, _ROOM)), np.zeros((repeats, _ROOM, measures))
        return Iterations(weight=one, value=several, variance=several)

    def plus(
        self, which: Bools, at: Ints, weight: Floats, value: Floats, variance: Floats
    ) -> "Iterations":
        """With iteration `at` (R,), from 0, in the repeats `which` (R,); weight (R,), the others (R, M)."""
        rows = np.flatnonzero(which)
        slot = np.minimum(at[rows], _ROOM - 1)
        weights, values, variances = self.weight.copy(), self.value.copy(), self.variance.copy()
        weights[rows, slot] = weight[rows]
        values[rows, slot], variances[rows, slot] = value[rows], variance[rows]
        return replace(self, weight=weights, value=values, variance=variances)

    def average(self, j: int, last: int, together: Together) -> tuple[Floats, Floats]:
        """Ĝ (R,) of measure j and its variance, NaN where nothing is known; last: ℓ, 0 for all iterations."""
        known = np.isfinite(self.value[:, :, j])
        said = np.where(known, self.weight, 0.0)
        if last:
            later = np.cumsum((said > 0)[:, ::-1], axis=1)[:, ::-1]     # iterations from this one on
            said = np.where(later <= last, said, 0.0)
        value = np.where(said > 0, self.value[:, :, j], 0.0)
        variance = np.where(said > 0, np.nan_to_num(self.variance[:, :, j]), 0.0)
        with np.errstate(invalid="ignore"):                            # 0/0 where nothing is known
            a = said / said.sum(axis=1, keepdims=True)
        match together:
            case "independent":
                combined = (a**2 * variance).sum(axis=1)
            case "averaged":
                combined = (a * variance).sum(axis=1)
            case "worst":
                combined = (a * np.sqrt(variance)).sum(axis=1) ** 2
        return (a * value).sum(axis=1), combined
