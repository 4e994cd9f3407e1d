"""Clusters drawn one after the other, each with a chance in proportion to its measure x among those left.

Such an order is that of exponential times E_j/x_j (successive sampling: Rosén 1972), so it can be drawn anew
in every round for the clusters that are left.  When m clusters are drawn, the chance of each to be among them
is

    π_j = 1 - exp(-x_j t),      t so that Σ π_j = m

nearly (Rosén 1972, Hájek 1981, ch. 9), and exactly where all x are equal.
"""

import numpy as np

from assay.evalcore.types import Floats, Ints

_HALVINGS = 60


def chances(x: Floats, there: Floats, total: Floats) -> Floats:
    """π (R, C) so that Σ there·π is `total` (R,), or all of it; x (R, C), 0 where nothing can be drawn.

    there (R, C): how much a cluster counts, 1 or its items.
    """
    possible = (x > 0) * there
    wanted = np.minimum(total, possible.sum(axis=1))
    scale = np.where(x > 0, x, np.nan)
    low: Floats = np.zeros(len(x))
    high: Floats = 50.0 / np.nan_to_num(np.nanmin(np.where(np.isnan(scale), np.inf, scale), axis=1), nan=1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = (possible * -np.expm1(-x * middle[:, None])).sum(axis=1) < wanted
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    found = -np.expm1(-x * high[:, None]) * (x > 0)
    everything = wanted >= possible.sum(axis=1) - 1e-9
    return np.where(everything[:, None], x > 0, found)


def in_turn(chance: Floats, rng: np.random.Generator) -> Ints:
    """(R, C) the clusters in the order in which they are drawn: those that are certain first.

    chance (R, C): as `chances` gives it, of any total; 0 puts a cluster last.
    """
    certain, never = chance >= 1, chance <= 0
    rate = -np.log1p(-np.where(certain | never, 0.5, chance))
    time = rng.standard_exponential(chance.shape) / rate
    return np.argsort(np.where(certain, -1 / time, np.where(never, np.inf, time)), axis=1, kind="stable")
