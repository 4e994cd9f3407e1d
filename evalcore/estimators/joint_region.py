"""Several measures at once: the confidence region of a vector of measures.

Marchant & Rubinstein (2021), section 3.  By the delta method the estimates Ĝ (M,) of M
measures are jointly normal around G with covariance Σ; with the draws' influences φ_m (see
`evalcore.estimators.importance`)

    Σ_lm = Σ_j a_j² (w_j φ_l - J_l R̂)(w_j φ_m - J_m R̂) / (Σ a)²
    region = { G : (G - Ĝ)ᵀ Σ⁻¹ (G - Ĝ) ≤ χ²_M(confidence) }

an ellipsoid, smaller than the box of M intervals at the same joint confidence where measures move together.
Where Σ is singular (a measure that does not vary, or one that follows from the others) the region is flat:
the quantile has the rank of Σ for degrees of freedom, and directions without variance allow no deviation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from assay.evalcore.errors import AssayError
from assay.evalcore.estimators.importance import WeightSums, risk_of
from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Bools, Floats

_NEGLIGIBLE = 1e-10  # eigenvalues below this share of the largest are rounding


class NoRegion(AssayError):
    """The draws so far do not determine a region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRegion:
    """{ G : (G - center)ᵀ shape⁻¹ (G - center) ≤ 1 } of M measures, in plain numbers.

    Where `rank` is below M the inverse is the pseudo-inverse, and directions outside the range of `shape`
    allow no deviation.
    """

    measures: tuple[str, ...]
    center: tuple[float, ...]               # (M,)
    shape: tuple[tuple[float, ...], ...]    # (M, M) χ² Σ
    reach: tuple[float, ...]                # (M,) how far it extends from its center along each measure
    rank: int                               # dimensions in which it has any extent
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """An ellipsoid around the estimates of M measures."""

    measures: tuple[str, ...]
    centre: Floats       # (M,) Ĝ
    covariance: Floats   # (M, M) Σ of the estimator
    radius_squared: float  # the χ² quantile
    rank: int            # dimensions in which Σ has any extent
    confidence: float

    def contains(self, points: Floats) -> Bools:
        """Whether each of the points (..., M) lies in the region: (...,)."""
        lengths, directions = self._axes()
        along = (np.asarray(points) - self.centre) @ directions
        flat = lengths <= _NEGLIGIBLE * max(float(lengths.max(initial=0.0)), 1e-300)
        distance = (np.where(flat, 0.0, along**2 / np.where(flat, 1.0, lengths))).sum(axis=-1)
        off = np.any(flat & (np.abs(along) > 1e-9), axis=-1)
        return np.asarray((distance <= self.radius_squared) & ~off)

    def half_widths(self) -> Floats:
        """How far (M,) the region reaches from its centre along each measure."""
        return np.asarray(np.sqrt(self.radius_squared * np.diagonal(self.covariance)))

    def in_plain_numbers(self) -> JointRegion:
        """The region as it is recorded and reported."""
        return JointRegion(
            measures=self.measures,
            center=tuple(self.centre.tolist()),
            shape=tuple(tuple(row) for row in (self.radius_squared * self.covariance).tolist()),
            reach=tuple(self.half_widths().tolist()),
            rank=self.rank,
            confidence=self.confidence,
        )

    def axes(self) -> tuple[Floats, Floats]:
        """Half-lengths (M,) and directions (M, M) by column of the principal axes, longest first.

        The largest entry of each direction is positive, so that the same region has the same axes anywhere.
        """
        lengths, directions = self._axes()
        return np.sqrt(self.radius_squared * lengths), directions

    def _axes(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.covariance)
        order = np.argsort(-values)
        values, vectors = np.maximum(values[order], 0.0), vectors[:, order]
        largest = vectors[np.argmax(np.abs(vectors), axis=0), np.arange(len(values))]
        return values, np.asarray(vectors * np.where(largest < 0, -1.0, 1.0))


def confidence_region(
    measures: Sequence[Measure], sums: WeightSums, confidence: float, repeat: int = 0
) -> Region:
    """The region of these measures from the draws of one repeat.

    Raises NoRegion with fewer than two draws, or when a measure is undefined among the labels so far.
    """
    if sums.draws[repeat] < 2:
        raise NoRegion(f"a joint region needs at least 2 draws, got {int(sums.draws[repeat])}")
    values, influences, pulls = [], [], []
    for m in measures:
        risk = risk_of(m, sums)[repeat]
        value = float(m.value(risk))
        if not np.isfinite(value):
            raise NoRegion(f"no joint region: among the labels so far, {m.undefined_when} ({m.name})")
        values.append(value)
        influences.append(m.influence(risk))
        pulls.append(float((m.gradient(risk) * risk).sum()))
    phi, pull = np.stack(influences), np.array(pulls)                          # (M, 2, 2), (M,)
    cross = np.einsum("lfy,fy->l", phi, sums.crossed[repeat])
    covariance = (
        np.einsum("lfy,mfy,fy->lm", phi, phi, sums.squared[repeat])
        - np.outer(cross, pull)
        - np.outer(pull, cross)
        + np.outer(pull, pull) * sums.say_squared[repeat]
    ) / sums.say[repeat] ** 2
    covariance = (covariance + covariance.T) / 2
    eigenvalues = np.linalg.eigvalsh(covariance)
    rank = int((eigenvalues > _NEGLIGIBLE * max(float(eigenvalues.max()), 1e-300)).sum())
    return Region(
        measures=tuple(m.name for m in measures),
        centre=np.array(values),
        covariance=covariance,
        radius_squared=float(chdtri(rank, 1 - confidence)) if rank else 0.0,
        rank=rank,
        confidence=confidence,
    )
