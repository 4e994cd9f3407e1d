"""The scores of a pool in bands, for the areas under curves: cut once, from the pool alone."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

EXACT = 256     # different scores up to which each has a band of its own
BY_RANK = 64    # bands that grow with the distance from the top, where there are more
ALIKE = 32      # and edges between bands of equally many items
TOP = 8.0       # items above which ranks are not told apart by more than their edges


@dataclass(frozen=True, slots=True)
class Grid:
    """A pool's scores of one class in H bands.

    edges   (H - 1,) the lowest score of each band after the first, rising
    tied    (H,) A (M + n)/n, with M items above the band, n in it, and A the sum of 1/rank over them, tied
            items having the rank of the last: 1 where all scores of the band are equal
    """

    edges: tuple[float, ...]
    tied: tuple[float, ...]


def score_of(items: Items, part: int) -> Floats:
    """(n,) the score of a class: of the items, or the probability of the class.  Raises BadInput without."""
    if items.score is not None:
        return items.score[:, 0]
    if items.probability is None:
        raise BadInput("curves need a score of each item, or a probability of each class")
    return np.asarray(items.probability[:, part], np.float32)


def grids(kind: OutcomeKind, items: Items) -> dict[int, Grid]:
    """The grid of each class that has a score: of all, or of the last where `Items.score` is given."""
    if items.score is None and items.probability is None:
        return {}
    classes = range(kind.width) if items.score is None else [kind.width - 1]
    return {part: grid(items, part) for part in classes}


def grid(items: Items, part: int) -> Grid:
    """Bands of the scores of one class: one a score up to EXACT scores, else finer towards the top."""
    score = np.concatenate([score_of(piece, part) for _, piece in items.chunks()])
    values, counts = np.unique(score, return_counts=True)
    above = len(score) - np.cumsum(counts)               # items with a higher score, by value
    if len(values) <= EXACT:
        lowest = values[1:]
    else:
        ranks = np.concatenate([
            np.geomspace(TOP, len(score), BY_RANK, endpoint=False),
            np.linspace(0, len(score), ALIKE, endpoint=False)[1:],
        ])
        # the lowest value of the items down to each rank, ties included
        lowest = values[np.unique(np.searchsorted(-above, -ranks, side="left").clip(1, len(values) - 1))]
    band = np.searchsorted(lowest, values, side="right")
    last = above + counts                                # the rank of each value
    n = np.bincount(band, weights=counts)
    inverse = np.bincount(band, weights=counts / last)
    end = np.cumsum(n[::-1])[::-1]                       # M + n
    return Grid(
        edges=tuple(lowest.astype(np.float64).tolist()), tied=tuple((inverse * end / n).tolist())
    )
