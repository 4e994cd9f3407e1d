"""Where the labels of two classes went on the axis of the score."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.types import Floats, Ints

BINS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreBin:
    """One piece of the axis."""

    lower: float
    upper: float
    items: int        # of the pool
    labelled: int     # of them, those with a label
    positives: int    # of these, those labelled positive


def along_the_score(
    position: Floats, size: Ints, cell: Sequence[int], positive: Sequence[bool]
) -> tuple[ScoreBin, ...]:
    """The axis in BINS pieces of one width, without those that hold no item; () where it is too long for
    a float.

    position (C,): mean score of the items of each cell; size (C,): its items; cell (n,): of each labelled
    item; positive (n,): whether it is labelled so. All items of a cell count where its mean is.
    """
    low, high = position.min().item(), position.max().item()
    if high - low == np.inf:
        return ()
    edges = np.linspace(low, high, BINS + 1) if high > low else np.array([low, high])
    pieces = len(edges) - 1
    at = np.clip(np.searchsorted(edges, position, side="right") - 1, 0, pieces - 1)
    items = np.bincount(at, weights=size, minlength=pieces)
    where = at[np.asarray(cell, np.int64)]
    labelled = np.bincount(where, minlength=pieces)
    found = np.bincount(where[np.asarray(positive, np.bool_)], minlength=pieces)
    return tuple(
        ScoreBin(
            lower=float(edges[i]), upper=float(edges[i + 1]), items=int(items[i]), labelled=int(labelled[i]),
            positives=int(found[i]),
        )
        for i in np.flatnonzero(items > 0).tolist()
    )
