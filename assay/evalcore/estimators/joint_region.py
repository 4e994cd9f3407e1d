"""Several measures at once: the confidence region of a vector of measures.

Marchant & Rubinstein (2021), section 3.  By the delta method the estimates Ĝ (M,) of M
measures are jointly normal around G with covariance Σ; with the draws' influences φ_m (see
`evalcore.estimators.importance`)

    Σ_lm = Σ_j a_j² (w_j φ_l - J_l R̂)(w_j φ_m - J_m R̂) / (Σ a)²
    region = { G : (G - Ĝ)ᵀ Σ⁻¹ (G - Ĝ) ≤ χ²_M(confidence) }

an ellipsoid, smaller than the box of M intervals at the same joint confidence where measures move together.
Marchant & Rubinstein print another one, which is there beside it (section 3.3.2): with the last proposal in
Σ (`evalcore.estimators.importance`), and for n draws with (n - 1) M / (n - M) times the quantile of F with M
and n - M degrees of freedom (Hotelling 1931).  That quantile belongs to draws that are alike and normal,
which these are not; it approaches χ² as n grows.  A region says which of each it has.

Where Σ is singular (a measure that does not vary, or one that follows from the others) the region is flat:
the quantile has the rank of Σ for degrees of freedom, and directions without variance allow no deviation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy

from assay.evalcore.errors import AssayError
from assay.evalcore.estimators.importance import WeightSums, risk_of_draws
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.types import Bools, Floats

_NEGLIGIBLE = 1e-10  # eigenvalues below this share of the largest are rounding
_VARIANCE_ROUNDING = 1e-16   # variances are that far below 0, where they are nothing

Quantile: TypeAlias = Literal["chi-squared", "F"]
Variance: TypeAlias = Literal["corrected", "printed"]


class NoRegion(AssayError):
    """Raised where the draws so far do not determine a joint region: too few draws, a measure that is
    undefined, or a variance below 0."""


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
    quantile: Quantile = "chi-squared"
    variance: Variance = "corrected"        # the probabilities that Σ is made with


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Region:
    """A joint confidence region of M measures: an ellipsoid around their estimates, with the covariance of
    the estimator and the squared radius, by the quantile of χ² or of F."""

    measures: tuple[str, ...]
    centre: Floats       # (M,) Ĝ
    covariance: Floats   # (M, M) Σ of the estimator
    radius_squared: float  # the χ² quantile, or that of F times its factor
    rank: int            # dimensions in which Σ has any extent
    confidence: float
    quantile: Quantile = "chi-squared"
    variance: Variance = "corrected"

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
        return np.asarray(np.sqrt(self.radius_squared * np.maximum(np.diagonal(self.covariance), 0.0)))

    def in_plain_numbers(self) -> JointRegion:
        """The region as a record of plain numbers, as it is stored and reported: centre, shape matrix
        (squared radius times covariance), and the half-width of each measure."""
        return JointRegion(
            measures=self.measures,
            center=tuple(self.centre.tolist()),
            shape=tuple(tuple(row) for row in (self.radius_squared * self.covariance).tolist()),
            reach=tuple(self.half_widths().tolist()),
            rank=self.rank,
            confidence=self.confidence,
            quantile=self.quantile,
            variance=self.variance,
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
    measures: Sequence[Measure],
    sums: WeightSums,
    confidence: float,
    repeat: int = 0,
    *,
    quantile: Quantile = "chi-squared",
    weight_by_last: Floats | None = None,
) -> Region:
    """The region of these measures from the draws of one repeat.

    weight_by_last (R, 2, 2): what `importance.by_last_proposal` gives, for Σ as printed; None for that of the
    draws made.

    Raises NoRegion with fewer than two draws (for F: not more draws than measures), or when a measure is
    undefined among the labels so far.
    """
    if sums.draws[repeat] < 2:
        raise NoRegion(f"a joint region needs at least 2 draws, got {int(sums.draws[repeat])}")
    values, influences, pulls = [], [], []
    for m in measures:
        risk = risk_of_draws(m, sums)[repeat]
        value = float(m.value(risk))
        if not np.isfinite(value):
            raise NoRegion(f"no joint region: among the labels so far, {m.undefined_when} ({m.name})")
        values.append(value)
        influences.append(m.influence(risk))
        pulls.append(float((m.gradient(risk) * risk).sum()))
    phi, pull = np.stack(influences), np.array(pulls)                          # (M, 2, 2), (M,)
    if weight_by_last is None:
        covariance = _covariance(phi, pull, sums, repeat)
    else:
        terms = np.where((phi != 0).any(axis=0), weight_by_last[repeat], 0.0)
        mean_product = np.einsum("lfy,mfy,fy->lm", phi, phi, terms) / sums.say[repeat]
        covariance = (mean_product - np.outer(pull, pull)) / sums.say[repeat]
    if not np.isfinite(covariance).all():
        raise NoRegion("no joint region: the last proposal gives an item that was drawn no chance")
    return replace(
        region_around(
            [m.name for m in measures], np.array(values), covariance, confidence, quantile,
            int(sums.draws[repeat]),
        ),
        variance="corrected" if weight_by_last is None else "printed",
    )


def region_around(
    measures: Sequence[str], centre: Floats, covariance: Floats, confidence: float, quantile: Quantile,
    draws: int,
) -> Region:
    """The region of estimates (M,) of measures of these names, from their covariance (M, M).

    Raises NoRegion for F with no more draws than dimensions, and for variances as printed that are below 0.
    """
    if (np.diagonal(covariance) < -_VARIANCE_ROUNDING).any():
        raise NoRegion("no joint region: a variance as printed is below 0, which labels of a last proposal "
                       "unlike the ones before can bring; leave out variance=printed")
    covariance = (covariance + covariance.T) / 2
    eigenvalues = np.linalg.eigvalsh(covariance)
    rank = int((eigenvalues > _NEGLIGIBLE * max(float(eigenvalues.max()), 1e-300)).sum())
    return Region(
        measures=tuple(measures), centre=centre, covariance=covariance, rank=rank, confidence=confidence,
        radius_squared=_radius_squared(quantile, rank, draws, confidence), quantile=quantile,
    )


def _covariance(phi: Floats, pull: Floats, sums: WeightSums, repeat: int) -> Floats:
    """Σ (M, M) of the draws made; phi (M, 2, 2), pull (M,)."""
    cross = np.einsum("lfy,fy->l", phi, sums.crossed[repeat])
    return np.asarray((
        np.einsum("lfy,mfy,fy->lm", phi, phi, sums.squared[repeat])
        - np.outer(cross, pull)
        - np.outer(pull, cross)
        + np.outer(pull, pull) * sums.say_squared[repeat]
    ) / sums.say[repeat] ** 2)


def _radius_squared(quantile: Quantile, rank: int, draws: int, confidence: float) -> float:
    """The bound on (G - Ĝ)ᵀ Σ⁻¹ (G - Ĝ), Σ the covariance of Ĝ."""
    if not rank:
        return 0.0
    if quantile == "chi-squared":
        return float(scipy.special.chdtri(rank, 1 - confidence))
    if draws <= rank:
        raise NoRegion(f"a joint region of F needs more than {rank} draws, got {draws}")
    return float((draws - 1) * rank / (draws - rank) * scipy.special.fdtri(rank, draws - rank, confidence))
