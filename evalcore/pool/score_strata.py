"""Other ways to cut a pool by score, and all of them by name.

    csf             equal steps of cumulative √frequency (Dalenius & Hodges 1959): fine where scores are many
    geometric       widths growing from the top by a constant factor (Gunning & Horgan 2004, turned round)
    equal-size      as many items in each stratum
    rank-geometric  sizes growing from the top by a constant factor: fine where rare positives rank

All return interior edges as `evalcore.pool.strata` defines them; ties never straddle an edge, so fewer
strata than asked for can come out.
"""

from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.plurals import plural
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.strata import csf_edges
from assay.evalcore.types import Floats

StrataKind: TypeAlias = Literal["csf", "geometric", "equal-size", "rank-geometric"]
_SPAN = 1000.0   # the widest geometric stratum, in widths of the narrowest, is a little below this


def geometric_edges(scores: OrderedScores, n_strata: int) -> Floats:
    """Strata whose widths grow geometrically, the narrowest at the highest scores.

    Gunning & Horgan put edges at a r^k for a population skewed to the right from a; here that is the
    population of distances from the highest score, plus a thousandth of the range to keep them above 0.
    Returns (n_strata - 1,) edges or fewer.  Raises BadInput for n_strata < 1 or no scores.
    """
    _check(scores, n_strata)
    low, high = scores.low, scores.high
    offset = (high - low) / _SPAN
    distance = offset * (_SPAN + 1) ** (np.arange(1, n_strata) / n_strata) - offset
    return _interior(high - distance, scores)


def equal_size_edges(scores: OrderedScores, n_strata: int) -> Floats:
    """Edges (n_strata - 1,) or fewer of strata of N/n_strata items each, up to ties.  Raises BadInput for
    n_strata < 1 or no scores."""
    _check(scores, n_strata)
    ranks = (np.arange(1, n_strata) * len(scores)) // n_strata
    return _interior(scores.at(ranks), scores)


def rank_geometric_edges(scores: OrderedScores, n_strata: int) -> Floats:
    """Strata whose sizes grow geometrically from one item at the top.

    Edge k lies below the top N^(k/n_strata) items. Returns (n_strata - 1,) edges or fewer.  Raises BadInput
    for n_strata < 1 or no scores.
    """
    _check(scores, n_strata)
    counts = len(scores) ** (np.arange(1, n_strata) / n_strata)
    ranks = np.clip(counts.astype(np.int64), 1, len(scores))
    return _interior(scores.at(len(scores) - ranks), scores)


def _check(scores: OrderedScores, n_strata: int) -> None:
    if n_strata < 1 or len(scores) == 0:
        raise BadInput(f"cannot cut {plural(len(scores), 'score')} into {n_strata} strata")


def _interior(edges: Floats, scores: OrderedScores) -> Floats:
    edges = np.unique(edges)
    return np.asarray(edges[(edges > scores.low) & (edges <= scores.high)], dtype=np.float64)


_CUTS: dict[StrataKind, Callable[[OrderedScores, int], Floats]] = {
    "csf": csf_edges,
    "geometric": geometric_edges,
    "equal-size": equal_size_edges,
    "rank-geometric": rank_geometric_edges,
}


def score_edges(kind: StrataKind, scores: OrderedScores, n_strata: int) -> Floats:
    """Edges (n_strata - 1,) or fewer of a cut of this kind.

    Raises BadInput for n_strata < 1 or no scores.
    """
    return _CUTS[kind](scores, n_strata)
