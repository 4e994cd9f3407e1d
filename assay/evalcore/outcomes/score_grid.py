"""The scores of a pool in bands, for the areas under curves: cut once, from the pool alone."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import ItemPool, Items, OneShard
from assay.evalcore.types import Floats

EXACT = 256     # different scores up to which each has a band of its own
BY_RANK = 64    # bands that grow with the distance from the top, where there are more
ALIKE = 32      # and edges between bands of equally many items
TOP = 8.0       # items above which ranks are not told apart by more than their edges
_SCORES_AT_ONCE = 1 << 20   # sorted scores that are looked at together


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
    """(n,) the score of a class: of the items, or the probability of the class. Raises BadInput without.
    Higher is more likely of the class."""
    if items.score is not None:
        return items.score[:, 0]
    if items.probability is None:
        raise BadInput("curves need a score of each item, or a probability of each class")
    return np.asarray(items.probability[:, part], np.float32)


def grids(kind: OutcomeKind, items: Items) -> dict[int, Grid]:
    """The grid of each class that has a score: of all, or of the last where `Items.score` is given. Code of
    the class -> the edges of its bands, made over all shards alike."""
    if items.score is None and items.probability is None:
        return {}
    classes = range(kind.width) if items.score is None else [kind.width - 1]
    return {part: grid(OneShard(items), part) for part in classes}


def grid(pool: ItemPool, part: int) -> Grid:
    """Bands of the scores of one class: one a score up to EXACT scores, else finer towards the top.

    All scores of the class are held at once, and sorted: 4 or 8 bytes an item.
    """
    score = np.concatenate(list(pool.over(_Scores(part))))
    score.sort()
    n = len(score)
    lowest = _distinct(score)[1:]
    if len(lowest) >= EXACT:
        ranks = np.concatenate([
            np.geomspace(TOP, n, BY_RANK, endpoint=False), np.linspace(0, n, ALIKE, endpoint=False)[1:],
        ])
        # the lowest value of the items down to each rank, ties included, above the lowest of all
        quantiles = score[(n - 1 - np.floor(ranks).astype(np.int64)).clip(0)]
        lowest = np.unique(np.maximum(quantiles, lowest[0]))
    starts = [0, *np.searchsorted(score, lowest).tolist(), n]
    tied = [_tied(score, start, end) for start, end in pairwise(starts)]
    return Grid(edges=tuple(lowest.astype(np.float64).tolist()), tied=tuple(tied))


@dataclass(frozen=True, slots=True)
class _Scores:
    part: int

    def __call__(self, items: Items) -> Floats:
        return np.concatenate([score_of(piece, self.part) for _, piece in items.chunks()])


def _distinct(score: Floats) -> Floats:
    """The different ones of sorted scores; of more than EXACT, the lowest and EXACT others, at least."""
    distinct = score[:0]
    for start in range(0, len(score), _SCORES_AT_ONCE):
        distinct = np.unique(np.concatenate([distinct, score[start : start + _SCORES_AT_ONCE]]))
        if len(distinct) > EXACT:
            break
    return distinct


def _tied(score: Floats, start: int, end: int) -> float:
    """`Grid.tied` of the band of sorted scores from `start` to `end`."""
    inverse, at = 0.0, start
    while at < end:
        piece = score[at : min(at + _SCORES_AT_ONCE, end)]
        past = int(np.searchsorted(score, piece[-1], side="right"))   # ties stay together
        values = score[at:past]
        starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
        counts = np.diff(starts, append=len(values))
        ranks = len(score) - (at + starts)    # the rank of each value
        weights = np.concatenate([[inverse], counts / ranks])
        inverse, at = float(np.bincount(np.zeros(len(weights), np.int64), weights=weights)[0]), past
    return inverse * (len(score) - start) / (end - start)
