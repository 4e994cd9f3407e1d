"""The top of the ranking: where rare positives are looked for, by methods that look nowhere else.

Poms et al. (2021) sample among the K highest scores only and take every item below for negative.  The paper
chooses K for each data set; here

    K = max(40 PP, 200),   PP the number of predicted positives,

at most N.  The methods built on it share the weakness: a positive below the cut is never seen, and no
interval of theirs speaks of it.  When all K items are labelled the cut moves down with the labels, item by
item in rank order, so that a pool that is labelled to the end is measured exactly.
"""

from typing import Any

import numpy as np

from evalcore.cells import Cells
from evalcore.partition import decision_boundary
from evalcore.strata import rank_edges
from evalcore.types import Bools, Floats, Ints

SHARE = 40     # K in predicted positives
LEAST = 200    # the smallest K


def cut_rank(predicted_positives: int, share: int = SHARE) -> int:
    """K."""
    return max(share * predicted_positives, LEAST)


def top_edges(
    scores: Floats, predictions: Any, *, share: int = SHARE, ratio: float = 1.06
) -> tuple[Floats, int]:
    """Strata of geometric ranks, cut at K and at the decision boundary as well; and their number.

    The first `1 / (ratio - 1)` ranks or so are strata of one item each.
    """
    positives = int(np.count_nonzero(predictions))
    k = min(cut_rank(positives, share), len(scores))
    at_cut = np.partition(scores, len(scores) - k)[len(scores) - k]
    marks = [at_cut, decision_boundary(scores, predictions)]
    edges = np.unique(np.concatenate([rank_edges(scores, 1, ratio), marks]))
    edges = edges[edges > scores.min()]
    return edges, len(edges) + 1


def top_cells(cells: Cells, share: int = SHARE) -> Bools:
    """Cells (C,) of the domain: the fewest whole strata that hold the top K items."""
    before = np.bincount(cells.stratum, weights=cells.size, minlength=cells.n_slots)
    above = np.cumsum(before[::-1])[::-1] - before
    return np.asarray(above[cells.stratum] < cut_rank(cells.predicted_positives, share))


def from_the_top(wanted: Ints, size: Ints) -> Ints:
    """How `size` (R,) items fall on the cells when the highest scores go first: counts (R, C)."""
    above = np.cumsum(wanted[:, ::-1], axis=1)[:, ::-1] - wanted
    return np.asarray(np.clip(size[:, None] - above, 0, wanted))
