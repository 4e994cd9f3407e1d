"""Draws with and without replacement compared: how many distinct items, and which has the smaller error.

Yilmaz et al. (2021), appendix C.  M_IS draws with replacement from q touch fewer distinct items than M_IS,
and only distinct items cost labels.  So they are compared with Bernoulli draws of as many items, M_BS.

    q (N,)   chance of each item per draw, Σ q = 1
    h (N,)   |f - F′ g|, how far each item moves the measure; known, as labels do not vary
"""

import numpy as np

from assay.evalcore.design.waterfill import predicted_error, waterfill
from assay.evalcore.types import Floats


def inclusion(q: Floats, draws: int) -> Floats:
    """π (N,) of eq. 81: the chance that an item comes up in so many draws, 1 - (1 - q)^M."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(draws * np.log1p(-np.minimum(q, 1.0))))


def distinct_items(q: Floats, draws: int) -> float:
    """M_BS of eq. 82 and 83: the expected number of distinct items, N - Σ (1 - q)^M."""
    return float(inclusion(q, draws).sum())


def importance_error(h: Floats, draws: int) -> float:
    """E_IS μ_y² N² of eq. 79, with the best q: (Σ h)² / M."""
    return float(h.sum()) ** 2 / draws


def bernoulli_error(h: Floats, labels: float) -> float:
    """E_BS μ_y² N² of eq. 26 and 69, with the best b: Σ h² (1/b - 1).

    While no b is 1 this is eq. 80, (Σ h)² / M - Σ h²; beyond it the paper has no formula.
    """
    one = np.ones((1, len(h)), np.int64)
    b = waterfill(h[None], one, np.array([labels]))
    return float(predicted_error(h[None], one, b)[0])


def printed_bound(n_items: int, draws: int) -> float:
    """1 - M_IS/N, which eq. 87 prints as a bound of E_BS/E_IS.  It is none: see `leading_ratio`."""
    return 1 - draws / n_items


def bound(n_items: int, draws: int, labels: float) -> float:
    """(1/M_BS - 1/N) M_IS of eq. 85, a bound of E_BS/E_IS while no b is 1."""
    return (1 / labels - 1 / n_items) * draws


def leading_ratio(q: Floats, draws: int) -> float:
    """E_BS/E_IS of the best designs, for few draws: 1 - M_IS Σ q² / 2.

    Exactly, it is M_IS/M_BS - M_IS Σ q² while no b is 1.  Eq. 86 puts M_BS = M_IS there, which doubles the
    gain; by eq. 83, M_BS = M_IS - M_IS (M_IS - 1) Σ q² / 2 + ...
    """
    return 1 - draws * float((q**2).sum()) / 2
