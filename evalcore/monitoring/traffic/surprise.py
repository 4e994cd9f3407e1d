"""How unusual a window is, by how unusual the windows before it were.

Every earlier window is compared with the windows before it, as the new one is.  These past comparisons say
what ordinary windows do, sampling, drift and all, so no law of the traffic is assumed:

    level      a number x of each window.  u_k = (x_k − mean of the windows before k) / √(1 + 1/n_k), n_k
               their number.  For independent normal windows these are recursive residuals (Brown, Durbin
               & Evans 1975): independent with one variance.  So |u| is held against Student's t times their
               root mean square
    distance   a number that is never negative, such as PSI, in multiples of what chance alone explains.  Its
               logarithm is held against the mean and the standard deviation of the past ones
               (a prediction interval; one-sided)

Both are exact for independent normal windows, at any number of them, and approximate otherwise.  A window
that belongs to a season (a day of the week, an hour of the day) is compared with windows of the same season
once SAME_SEASON of them are there.

    K   past comparisons
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
from scipy.special import ndtri, stdtrit

MEMORY = 8         # a window is compared with so many windows before it
MOST = 60          # past comparisons that count
SAME_SEASON = 4    # windows of the same season, from which on only they are compared
_LEAST = 0.05      # a distance counts as at least this share of what chance explains


def earlier_windows(seasons: Sequence[Sequence[str]]) -> list[list[int]]:
    """For each window, which earlier ones it is compared with, the newest first; none for windows so long
    ago that their comparisons no longer count.

    seasons   of every window in order of time, from the finest to the coarsest; the last window is the new
              one, and decides how fine the seasons are
    """
    new = seasons[-1]
    finest = next(
        (i for i, name in enumerate(new) if sum(s[i] == name for s in seasons[:-1]) >= SAME_SEASON), len(new)
    )
    own = ["" if finest == len(new) else s[finest] for s in seasons]
    too_old = max(len(seasons) - 1 - MOST, 0)
    return [[] for _ in range(too_old)] + [
        list(islice((j for j in range(k - 1, -1, -1) if own[j] == own[k]), MEMORY))
        for k in range(too_old, len(seasons))
    ]


def level_bound(past: Sequence[float], compared: int, rate: float) -> float:
    """How far from the mean of `compared` windows an ordinary window stays, but for a share `rate`.

    past (K,) of the earlier windows: their distance from their mean, divided by √(1 + 1/n).  K ≥ 1.
    """
    recent = np.asarray(past[-MOST:])
    spread = float(np.sqrt((recent**2).mean() * (1 + 1 / compared)))
    return float(stdtrit(len(recent), 1 - rate / 2)) * spread


def normal_bound(spread: float, rate: float) -> float:
    """How far from its mean a normal number of this standard deviation stays, but for a share `rate`."""
    return float(ndtri(1 - rate / 2)) * spread


def distance_bound(past: Sequence[float], rate: float) -> float:
    """What the distance of an ordinary window stays below, but for a share `rate` of them.

    past (K,) distances of earlier windows, each in multiples of what chance explains, as is the result.
    K ≥ 2.
    """
    logs = np.log(np.maximum(past[-MOST:], _LEAST))
    scale = float(logs.std(ddof=1) * np.sqrt(1 + 1 / len(logs)))
    return float(np.exp(logs.mean() + float(stdtrit(len(logs) - 1, 1 - rate)) * scale))
