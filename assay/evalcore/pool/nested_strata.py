"""Nested strata along a score, on both sides of the system's decision.

Items predicted positive and items predicted negative are cut separately, by score, so that one more label is
about as welcome in one stratum as in another before anything is known.  An edge lies where the mean of two
cumulative guesses of the Neyman share N_h √(p_h (1 - p_h)) rises by equal steps:

    rates that fall like rank⁻²           √(p(1 - p)) = 1/(o/o_P + o_P/o),  o the odds of a rank, o_P those of
                                          the threshold's rank: strata of about octaves of rank
    the square root of the frequency      of the score (Dalenius & Hodges 1959)

The finest strata are the cells of the pool.  Coarser ones are unions of neighbours: strata are split as
labels come, and never merged (Cochran 1977, 5A.8: more than six strata gain little, so each should have
several labels).

    N   items of the pool;  C   cells;  S   sides: 0 predicted negative, 1 predicted positive
"""

from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.pool.strata import Cells, OrderedScores, log_odds
from assay.evalcore.types import Floats, Ints

FINEST = 16            # strata on each side
NESTED_LEVELS = 5   # 1, 2, 4, 8, 16 strata a side
LABELS_TO_SPLIT = 8    # labels for each stratum of a level, from which on it is used
_RANKS = 2000          # at which a side is looked at
_HISTOGRAM_BINS = 200   # of the histogram of scores


def two_sided_edges(scores: OrderedScores, positives: int) -> Floats:
    """Interior edges of a pool, the decision among them: at most 2 FINEST - 1, rising, each an item's score.

    positives: how many items are predicted positive, those of the highest scores.
    """
    n = len(scores)
    border = n - min(max(positives, 0), n)
    edges: list[Floats] = []
    for start, end in ((0, border), (border, n)):
        if end - start > 1:
            edges.append(_side_edges(scores, start, end, border))
    if 0 < border < n:
        edges.append(scores.at(np.array([border])))
    all_edges = np.unique(np.concatenate([np.empty(0), *edges]))
    return np.asarray(all_edges[all_edges > scores.low], dtype=np.float64)


def _side_edges(scores: OrderedScores, start: int, end: int, border: int) -> Floats:
    """Interior edges of the items of ranks start..end-1, counted from the lowest score."""
    n = len(scores)
    places = _spread_ranks(start, end)
    score = scores.at(places)
    from_top = n - places - 0.5
    odds = from_top / (n - from_top)
    top = threshold_rank(n - border, n)
    ratio = odds / (top / (n - top))
    by_rank = np.cumsum(np.diff(places, prepend=start) / (ratio + 1 / ratio))
    by_frequency = _root_frequency(scores, score)
    total = by_rank / max(by_rank[-1], 1e-300) + by_frequency / max(by_frequency[-1], 1e-300)
    steps = total[-1] * np.arange(1, FINEST) / FINEST
    return np.asarray(score[np.minimum(np.searchsorted(total, steps - 1e-9), len(score) - 1)])


def threshold_rank(positives: float, items: float) -> float:
    """The rank, from the top, around which strata are cut finest: that of the threshold.

    Where everything is predicted positive the threshold tells nothing of ranks: it is the middle one.
    """
    return float(max(positives, 0.5)) if positives < items else items / 2


def _spread_ranks(start: int, end: int) -> Ints:
    """Ranks of a side, both ends among them: evenly, and geometrically from either end."""
    size = end - start
    if size <= _RANKS:
        return np.arange(start, end)
    even = np.linspace(0, size - 1, _RANKS // 2)
    falling = np.geomspace(1, size, _RANKS // 4) - 1
    places = np.round(np.concatenate([even, falling, size - 1 - falling])).astype(np.int64)
    return np.asarray(start + np.unique(places))


def _root_frequency(scores: OrderedScores, score: Floats) -> Floats:
    """Cumulative √frequency (k,) of the scores of a side at some of them, rising, from its lowest.

    Scores between 0 and 1 are read as probabilities, and counted along their log odds: a column is cut alike
    whether it is called a score or a probability.
    """
    low, high = float(score[0]), float(score[-1])
    if not high > low:
        return np.arange(1, len(score) + 1, dtype=np.float64)
    are_probabilities = scores.low >= 0 and scores.high <= 1
    place = log_odds(score) if are_probabilities else score
    bins = np.linspace(place[0], place[-1], _HISTOGRAM_BINS + 1)
    edges = scipy.special.expit(bins) if are_probabilities else bins
    counts = np.diff(scores.below(np.append(edges[:-1], np.nextafter(high, np.inf))))
    reached = np.concatenate([[0.0], np.cumsum(np.sqrt(counts))])
    return np.asarray(np.interp(place, bins, reached))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestedStrata:
    """The strata that the cells of a pool make up, at every level.

    stratum (NESTED_LEVELS, C): the stratum of each cell, numbered through both sides, empty ones left out;
    side (NESTED_LEVELS, ·): 1 where a stratum's items are predicted positive, as a list of arrays.
    """

    stratum: Ints
    sides: tuple[Ints, ...]

    def level(self, labels: int) -> int:
        """The finest level that has LABELS_TO_SPLIT labels for each of its strata."""
        for level in range(NESTED_LEVELS - 1, 0, -1):
            if labels >= LABELS_TO_SPLIT * len(self.sides[level]):
                return level
        return 0

    def sums(self, by_cell: Floats | Ints, level: int) -> Floats:
        """Sums (R, H) over the cells of each stratum; by_cell (R, C)."""
        total = np.zeros((len(by_cell), len(self.sides[level])))
        np.add.at(total.T, self.stratum[level], np.asarray(by_cell, np.float64).T)
        return total


def nested_strata(prediction: Ints, place: Floats, group: Ints | None = None) -> NestedStrata:
    """The strata of cells; prediction (C,) 0 or 1; place (C,): their order, such as the mean score.

    group (C,): cells that are never in one stratum, such as those of several patterns of predictions; the two
    sides unless given.  Cells of one place stay together.  The places of a group are halved by their number,
    and halved again: cells were cut to be equally welcome.
    """
    numbered = prediction if group is None else np.unique(
        2 * group + prediction, return_inverse=True)[1].ravel()
    rows, sides = [], []
    for level in range(NESTED_LEVELS):
        stratum: Ints = np.zeros(len(prediction), np.int64)
        side_of: list[int] = []
        for number in range(int(numbered.max()) + 1):
            cells = np.flatnonzero(numbered == number)
            if len(cells):
                places, order = np.unique(place[cells], return_inverse=True)
                half = order.ravel() * 2**level // len(places)
                numbers = np.unique(half, return_inverse=True)[1].ravel()
                stratum[cells] = len(side_of) + numbers
                side_of += [int(prediction[cells[0]])] * (int(numbers.max()) + 1)
        rows.append(stratum)
        sides.append(np.array(side_of, np.int64))
    return NestedStrata(stratum=np.stack(rows), sides=tuple(sides))


def nested_strata_of_cells(cells: Cells) -> NestedStrata:
    """The strata of the cells of a pool of two classes."""
    return nested_strata(cells.prediction, cells.mean_score)


def log_rank_odds(size: Ints, place: Floats, positives: float) -> Floats:
    """Mean log odds (C,) of the ranks of each cell, from the top, less those of the threshold's rank.

    size (C,) items; place (C,): their order; positives: how many items are predicted positive.  The mean over
    a cell is exact: ∫ log r dr = r log r - r.
    """
    n = float(size.sum())
    order = np.argsort(-place, kind="stable")
    end = np.cumsum(size[order]).astype(np.float64)
    start = np.asarray(end - size[order], np.float64)

    def integral(r: Floats) -> Floats:
        return np.asarray(np.where(r > 0, r * np.log(np.maximum(r, 1e-300)), 0.0) - r)

    mean = (integral(end) - integral(start) + integral(n - end) - integral(n - start)) / size[order]
    at = threshold_rank(positives, n) / n
    odds = np.empty(len(size))
    odds[order] = mean - (np.log(at) - np.log1p(-at))
    return odds
