"""The top of the ranking: where rare positives are looked for, by methods that look nowhere else.

Poms et al. (2021) sample among the K highest scores only and take every item below for negative.  Their
method takes a K that grows (`iteration_of`); the other methods built on it take

    K = max(N/100, 4 PP, 200),   PP the number of predicted positives,

at most N.  The methods built on it share a weakness: a positive below the cut is never found, and their
intervals leave it out.  When all K items are labelled the cut moves down with the labels, item by item in
rank order, so that a pool that is labelled to the end is measured exactly.

`acis` takes the paper's own cut instead: 3 (i + 1) PP in iteration i.
"""

import numpy as np

from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.partition import decision_boundary
from assay.evalcore.pool.strata import OrderedScores, rank_edges
from assay.evalcore.types import Bools, Floats, Ints

_SHARE = 0.01            # K at least this share of the pool,
_PREDICTED_POSITIVES = 4  # this many times PP, lest a common class be cut off,
_LEAST = 200             # and this many items
_ITERATIONS = 12         # whose domains end at an edge: beyond it they have 40,950 labels


def cut_rank(n_items: int, predicted_positives: int) -> int:
    """K, the number of items above the cut."""
    wanted = max(int(np.ceil(_SHARE * n_items)), _PREDICTED_POSITIVES * predicted_positives, _LEAST)
    return min(wanted, n_items)


def top_edges(scores: OrderedScores, positives: int, *, ratio: float = 1.06) -> tuple[Floats, int]:
    """Edges of strata of geometric ranks, cut at K and at the decision boundary as well; and their number.

    positives: PP, the number of predicted positives.  About the first `1 / (ratio - 1)` ranks are strata of
    one item.
    """
    k = cut_rank(len(scores), positives)
    at_cut = float(scores.at(np.array([len(scores) - k]))[0])
    marks = [at_cut, decision_boundary(scores, positives)]
    return _ranked(scores, ratio, marks)


def iteration_edges(scores: OrderedScores, positives: int, *, ratio: float = 1.03) -> tuple[Floats, int]:
    """As `top_edges`, cut where the domain of each iteration ends: see `iteration_of`."""
    ranks = [3 * (i + 1) * positives for i in range(1, _ITERATIONS + 1)]
    at = [len(scores) - rank for rank in ranks if 0 < rank <= len(scores)]
    marks = scores.at(np.array(at)).tolist() if at else []
    return _ranked(scores, ratio, [*marks, decision_boundary(scores, positives)])


def _ranked(scores: OrderedScores, ratio: float, marks: list[float]) -> tuple[Floats, int]:
    edges = np.unique(np.concatenate([rank_edges(scores, 1, ratio), marks]))
    edges = edges[edges > scores.low]
    return edges, len(edges) + 1


def iteration_of(cells: Cells) -> Floats:
    """The first iteration i (C,), from 1, whose domain has the cell; infinite without predicted positives.

    The domain of iteration i is the fewest whole strata that hold the 3 (i + 1) PP highest scores (Poms et
    al. 2021, section 3.3).
    """
    step = 3 * cells.predicted_positives
    return np.maximum(_above(cells) // step, 1.0) if step else np.full(cells.n_cells, np.inf)


def top_cells(cells: Cells) -> Bools:
    """Cells (C,) of the domain: the fewest whole strata that hold the top K items."""
    return np.asarray(_above(cells) < cut_rank(cells.n_items, cells.predicted_positives))


def _above(cells: Cells) -> Floats:
    """Items (C,) in strata above that of each cell."""
    size = np.bincount(cells.stratum, weights=cells.size, minlength=cells.n_slots)
    above = np.cumsum(size[::-1])[::-1] - size
    return np.asarray(above[cells.stratum])


def from_the_top(wanted: Ints, size: Ints) -> Ints:
    """Counts (R, C) of `size` (R,) items taken from `wanted` (R, C), cells of the highest scores first."""
    above = np.cumsum(wanted[:, ::-1], axis=1)[:, ::-1] - wanted
    return np.asarray(np.clip(size[:, None] - above, 0, wanted))
