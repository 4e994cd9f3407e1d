"""The scores of a pool in rank order, as far as a cut asks for them.

A cut needs few numbers of many scores: the score at some ranks, how many lie below some values, and a
histogram.  `OrderedScores` is that much and no more, so that a cut can be made of scores that nobody holds
together; `ScoresInMemory` holds them all.  Ranks begin with 0, the lowest score.  -0.0 is 0.0 here.
"""

from typing import Protocol

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Floats, Ints

# `np.histogram` computes the bin of a score and corrects it by one where the edges say otherwise.  Where bins
# are wider than a few steps of rounding that is the bin between whose edges the score lies.
_SAFE_WIDTH = 16


class OrderedScores(Protocol):
    """N scores, at least one."""

    def __len__(self) -> int:
        """N."""
        ...

    @property
    def low(self) -> float:
        """The lowest score."""
        ...

    @property
    def high(self) -> float:
        """The highest score."""
        ...

    def at(self, ranks: Ints) -> Floats:
        """The scores (k,) at these ranks (k,), each within 0..N - 1."""
        ...

    def below(self, values: Floats) -> Ints:
        """How many scores (k,) are lower than each of these values (k,)."""
        ...

    def histogram(self, bins: int) -> tuple[Ints, Floats]:
        """Counts (bins,) and edges (bins + 1,) of bins of one width from the lowest score to the highest."""
        ...


class ScoresInMemory:
    """An `OrderedScores` of an array."""

    def __init__(self, scores: Floats, *, rising: bool = False) -> None:
        """scores (N,), in any order, or rising and without -0.0.  Raises BadInput where there are none."""
        if len(scores) == 0:
            raise BadInput("the pool is empty: there is nothing to evaluate")
        self._ordered: Floats = scores if rising else np.sort(scores) + 0.0

    def __len__(self) -> int:
        """See OrderedScores."""
        return len(self._ordered)

    @property
    def low(self) -> float:
        """See OrderedScores.low."""
        return float(self._ordered[0])

    @property
    def high(self) -> float:
        """See OrderedScores.high."""
        return float(self._ordered[-1])

    def at(self, ranks: Ints) -> Floats:
        """See OrderedScores.at."""
        return self._ordered[ranks]

    def below(self, values: Floats) -> Ints:
        """See OrderedScores.below."""
        return np.searchsorted(self._ordered, values)

    def histogram(self, bins: int) -> tuple[Ints, Floats]:
        """See OrderedScores.histogram."""
        return histogram(self._ordered, bins, self.low, self.high)


def histogram(rising: Floats, bins: int, low: float, high: float) -> tuple[Ints, Floats]:
    """Counts (bins,) and edges (bins + 1,) of some scores (n,), rising, between low and high.

    The counts are those of `np.histogram`.  Each score is put into a bin by itself: counts of any pieces add
    up to those of the whole.
    """
    edges = np.histogram_bin_edges(rising[:0], bins=bins, range=(low, high))
    spread, rounding = high - low, np.spacing(max(abs(low), abs(high)))
    if not _SAFE_WIDTH * rounding * bins < spread < np.inf:
        return np.histogram(rising, bins=bins, range=(low, high))
    inner = np.searchsorted(rising, edges[:-1])
    return np.diff(np.append(inner, np.searchsorted(rising, edges[-1], side="right"))), edges


def quantiles(scores: OrderedScores, shares: Floats) -> Floats:
    """The quantiles (k,) at these shares (k,) of the scores, linear between neighbouring ranks.

    Definition 7 of Hyndman & Fan (1996), rounded as numpy's `quantile` does.
    """
    place = (len(scores) - 1) * np.asarray(shares, np.float64)
    lower = np.floor(place).astype(np.int64)
    upper = np.minimum(lower + 1, len(scores) - 1)
    found = scores.at(np.concatenate([lower, upper]))
    a, b = found[:len(lower)], found[len(lower):]
    part = place - lower
    return np.where(part < 0.5, a + (b - a) * part, b - (b - a) * (1 - part))
