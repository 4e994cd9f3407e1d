"""How far apart two distributions are, from items counted in the same bins.

    psi     Σ (p_b − q_b) ln(p_b/q_b) over ten groups of bins with about equal shares of the windows before.
            Of two samples of one population of sizes n and m it behaves like (1/n + 1/m) χ²₉ (Yurdakul 2018)
    ks      the largest distance between the two distribution functions, at the edges of the bins; of two
            samples of one population of the order of √(1/n + 1/m)
    shares  half of Σ |p_b − q_b|: the share of items that would have to move (total variation)
"""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.evalcore.types import Floats, Ints

GROUPS = 10


def stability(now: Ints, before: Ints) -> float:
    """PSI of items (B,) against items (B,) in the same bins.  Half an item stands for an empty group."""
    share = before / before.sum()
    middle = np.cumsum(share) - share / 2
    group = np.minimum((middle * GROUPS).astype(np.int64), GROUPS - 1)
    ours, theirs = (
        _shares(np.bincount(group, weights=x, minlength=GROUPS).astype(np.float64)) for x in (now, before)
    )
    used = np.bincount(group, minlength=GROUPS) > 0
    return float(((ours - theirs) * np.log(ours / theirs))[used].sum())


def largest_gap(now: Ints, before: Ints) -> float:
    """The Kolmogorov-Smirnov distance of items (B,) from items (B,) in the same bins."""
    return float(np.abs(np.cumsum(now / now.sum()) - np.cumsum(before / before.sum())).max())


def moved_share(now: Mapping[str, int], before: Sequence[Mapping[str, int]]) -> float:
    """The total variation distance of the values of one window from those of several together."""
    names = sorted({*now, *(name for one in before for name in one)})
    ours = np.array([now.get(name, 0) for name in names], np.float64)
    theirs = np.array([sum(one.get(name, 0) for one in before) for name in names], np.float64)
    return float(np.abs(ours / ours.sum() - theirs / theirs.sum()).sum() / 2)


def _shares(counts: Floats) -> Floats:
    return np.asarray(np.maximum(counts, 0.5) / counts.sum())
