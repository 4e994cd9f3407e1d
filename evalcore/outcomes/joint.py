"""Items grouped by what several systems predict of them together.

Items that all systems call the same pull at a difference alike.  The most frequent joint predictions are a
group each; all others, which may be as many as there are items, are one group together.  Groups are numbered
by the mean spread of their items, so neighbours matter about as much.
"""

import numpy as np

from assay.evalcore.outcomes.items import CHUNK
from assay.evalcore.types import Floats, Ints

MOST_GROUPS = 30
_FACTOR = np.uint64(0x9E3779B97F4A7C15)   # odd, so that multiplying loses nothing: 2^64/golden ratio


def joint_groups(prediction: Floats, spread: Floats) -> Ints:
    """The group (N,) of each item; prediction (N, S): codes of classes, spread (N,)."""
    marks = np.concatenate([
        _marks(np.asarray(prediction[start : start + CHUNK])) for start in range(0, len(prediction), CHUNK)
    ])
    _, pattern, count = np.unique(marks, return_inverse=True, return_counts=True)
    frequent = np.argsort(-count, kind="stable")[:MOST_GROUPS]
    number = np.full(len(count), len(frequent), np.int64)
    number[frequent] = np.arange(len(frequent))
    group = number[pattern]
    size = np.maximum(np.bincount(group, minlength=len(frequent) + 1), 1)
    mean = np.bincount(group, weights=spread, minlength=len(frequent) + 1) / size
    rank = np.empty(len(mean), np.int64)
    rank[np.argsort(mean, kind="stable")] = np.arange(len(mean))
    return rank[group]


def _marks(prediction: Floats) -> Ints:
    """A number (n,) for each joint prediction (n, S): different for different ones, but for one in 10^19."""
    marks = np.zeros(len(prediction), np.uint64)
    for column in prediction.T:
        marks = (marks ^ (column.astype(np.int64) + 1).astype(np.uint64)) * _FACTOR
        marks ^= marks >> np.uint64(29)
    return marks.view(np.int64)
