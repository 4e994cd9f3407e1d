"""What simple random sampling would have given: every method is compared with it.

n of the N items are drawn without replacement, labelled, and the measure is taken of the sample's own
confusion table. With p (2, 2) the pool's shares [prediction, label], R = Σ p ℓ and J the gradient of g at R,

    φ[f, y] = J(R) · (ℓ[f, y] − R)                how an item of each kind pulls at the measure
    S²      = Σ p φ² · N/(N − 1)                  Σ p φ = 0, so this is the pool's variance of φ
    se(n)²  = (1 − n/N) S²/n                      delta method with the finite population correction
    n(h)    = N z²S² / (N h² + z²S²)              solved for the half-width h = z · se

(Cochran 1977, Sampling Techniques, secs. 2.6 and 4.6.) It is too favourable to random sampling when the class
is rare: the delta method holds for samples with several positives. How often a sample holds too few for the
measure to exist is computed exactly beside it. Whether g exists depends only on which of the four kinds of
item are in the sample (a test holds every measure to that); the chance that n draws fall inside a set of
kinds of K items is C(K, n)/C(N, n), and inclusion and exclusion over the kinds gives the chance of each set.
"""

from dataclasses import dataclass
from itertools import combinations
from math import ceil, exp, isfinite, lgamma, sqrt

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.types import Floats

_KINDS = ((0, 0), (0, 1), (1, 0), (1, 1))      # (prediction, label)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSampling:
    """What `labels` labels of a simple random sample would say about one measure."""

    measure: str
    labels: int                     # n of the comparison
    std_error: float                # of the measure at n labels; 0 when all N are labelled
    half_width: float               # of a normal interval at `confidence`
    confidence: float
    chance_undefined: float         # that a sample of n holds too little for the measure to exist
    expected_positives: float       # positives among n labels
    target_half_width: float | None
    labels_needed: int | None       # n to reach the target: "random sampling would have needed about n"


def random_sampling_equivalent(
    measure: Measure,
    shares: Floats,
    pool_size: int,
    labels: int,
    confidence: float = 0.95,
    half_width: float | None = None,
) -> RandomSampling:
    """Random sampling at the same number of labels, and the number it needs for the same half-width.

    shares (2, 2): estimated or true shares of the pool (counts do as well), indexed [prediction, label].
    Raises BadInput for shares that are no distribution, a number of labels outside 1..N, a confidence
    outside (0, 1), a half-width that is not positive, or a measure that does not exist at these shares.
    """
    shares = _checked(measure, shares, pool_size)
    if not 1 <= labels <= pool_size:
        raise BadInput(f"labels must lie between 1 and the pool's {pool_size}, got {labels}")
    if not 0 < confidence < 1:
        raise BadInput(f"confidence must lie between 0 and 1, got {confidence}")
    if half_width is not None and not (isfinite(half_width) and half_width > 0):
        raise BadInput(f"half_width must be positive, got {half_width}")
    z = float(scipy.special.ndtri(0.5 + confidence / 2))
    variance = unit_variance(measure, shares, pool_size)
    std_error = sqrt(max(0.0, 1 - labels / pool_size) * variance / labels)
    needed = None
    if half_width is not None:
        needed = ceil(pool_size * z**2 * variance / (pool_size * half_width**2 + z**2 * variance))
    return RandomSampling(
        measure=measure.name,
        labels=labels,
        std_error=std_error,
        half_width=z * std_error,
        confidence=confidence,
        chance_undefined=chance_undefined(measure, shares, pool_size, labels),
        expected_positives=float(labels * shares[:, 1].sum()),
        target_half_width=half_width,
        labels_needed=None if needed is None else min(max(needed, 1), pool_size),
    )


def unit_variance(measure: Measure, shares: Floats, pool_size: int) -> float:
    """S²: the pool's variance of φ, so that n labels of a large pool have variance S²/n.

    shares (2, 2) of the pool, indexed [prediction, label].  NaN where the measure is undefined at them.
    """
    risk = np.einsum("fy,fyd->d", shares, measure.loss)
    pull = np.einsum("d,fyd->fy", measure.gradient(risk), measure.loss - risk)
    return float((shares * pull**2).sum()) * pool_size / max(pool_size - 1, 1)


def chance_undefined(measure: Measure, shares: Floats, pool_size: int, labels: int) -> float:
    """The chance that the measure is undefined on a random sample of `labels` items.

    shares (2, 2) of the pool, indexed [prediction, label]; exact where N·shares are whole numbers.
    """
    chance = 0.0
    for size in range(1, len(_KINDS) + 1):
        for kinds in combinations(_KINDS, size):
            present = np.zeros((2, 2))
            for kind in kinds:
                present[kind] = 1
            if np.isfinite(measure.of_confusion(present)):
                continue
            # P(exactly these kinds) by inclusion and exclusion over its subsets
            for inner in range(1, size + 1):
                sign = (-1) ** (size - inner)
                for subset in combinations(kinds, inner):
                    inside = pool_size * sum(float(shares[kind]) for kind in subset)
                    chance += sign * _all_inside(inside, pool_size, labels)
    return min(max(chance, 0.0), 1.0)


def _all_inside(inside: float, pool_size: int, labels: int) -> float:
    """C(K, n)/C(N, n), K the number of items inside, which is not whole where shares are estimates."""
    if inside < labels - 1e-9:
        return 0.0
    outside = max(inside - labels, 0.0)
    return exp(
        lgamma(inside + 1) - lgamma(outside + 1) - lgamma(pool_size + 1) + lgamma(pool_size - labels + 1)
    )


def _checked(measure: Measure, shares: Floats, pool_size: int) -> Floats:
    shares = np.asarray(shares, dtype=np.float64)
    if pool_size < 1:
        raise BadInput(f"the pool must hold at least one item, got {pool_size}")
    if shares.shape != (2, 2) or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise BadInput(f"shares must be a 2 × 2 table of numbers from 0 up, got {shares.tolist()}")
    shares = shares / shares.sum()
    if not np.isfinite(measure.of_confusion(shares)):
        raise BadInput(f"{measure.name} does not exist at these shares: {measure.undefined_when}")
    return shares
