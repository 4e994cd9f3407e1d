"""Items grouped by what several systems predict of them together.

Items that all systems call the same pull at a difference alike.  The most frequent joint predictions are a
group each; all others, which may be as many as there are items, are one group together.  Groups are numbered
by the mean spread of their items, so neighbours matter about as much.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcomes.item_pool import ItemPool
from assay.evalcore.outcomes.items import CHUNK, Items
from assay.evalcore.rounding import steady
from assay.evalcore.types import Floats, Ints

MOST_GROUPS = 30
TOLD = 1 << 16     # joint predictions of a shard that it tells at once
COUNTED = 1 << 22  # joint predictions of all shards that are counted at once
_FACTOR = np.uint64(0x9E3779B97F4A7C15)   # odd, so that multiplying loses nothing: 2^64/golden ratio


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The frequent joint predictions of a pool: their marks (M,), the most frequent first."""

    marks: Ints

    @property
    def groups(self) -> int:
        """M, and one for all others."""
        return len(self.marks) + 1

    def of(self, prediction: Floats) -> Ints:
        """The number (n,) of each joint prediction (n, S); M for all others."""
        order = np.argsort(self.marks)
        found = _marks_of(prediction)
        place = np.searchsorted(self.marks[order], found).clip(max=len(order) - 1)
        return np.where(self.marks[order][place] == found, order[place], len(order))


def joint_predictions(pool: ItemPool) -> Joint:
    """The frequent ones of a pool; of two as frequent, the one with the lower mark comes first."""
    told = list(pool.over(_Count(0, 1, TOLD if pool.n_shards > 1 else len(pool))))
    if all(one.counts is not None for one in told):
        return Joint(_most_frequent([(one.marks, one.counts) for one in told if one.counts is not None]))
    # more of them than anybody should hold: those with marks in one range after the other
    ranges = -(-sum(one.different for one in told) // COUNTED)
    best: list[tuple[Ints, Ints]] = []
    for number in range(ranges):
        here = list(pool.over(_Count(number, ranges, len(pool))))
        marks, counts = _added([(one.marks, one.counts) for one in here if one.counts is not None])
        first = np.argsort(-counts, kind="stable")[:MOST_GROUPS]
        best.append((marks[first], counts[first]))
    return Joint(_most_frequent(best))


def by_mean(sizes: Ints, totals: Floats) -> Ints:
    """The rank (G,) of each group by the mean spread of its items; sizes, totals (G,): items, spread."""
    rank = np.empty(len(sizes), np.int64)
    rank[np.argsort(steady(totals / np.maximum(sizes, 1)), kind="stable")] = np.arange(len(sizes))
    return rank


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    different: int
    marks: Ints
    counts: Ints | None   # None where there are too many to tell


@dataclass(frozen=True, slots=True)
class _Count:
    number: int     # of the range of marks that is counted
    ranges: int
    most: int

    def __call__(self, items: Items) -> _Counted:
        marks = _marks_of(items.prediction)
        if self.ranges > 1:
            high = marks.view(np.uint64) >> np.uint64(32)
            marks = marks[(high * np.uint64(self.ranges)) >> np.uint64(32) == np.uint64(self.number)]
        found, counts = np.unique(marks, return_counts=True)
        if len(found) > self.most:
            return _Counted(len(found), found[:0], None)
        return _Counted(len(found), found, counts)


def _added(told: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Different marks, rising, and how many items each has."""
    marks, place = np.unique(np.concatenate([marks for marks, _ in told]), return_inverse=True)
    counts = np.zeros(len(marks), np.int64)
    np.add.at(counts, place.ravel(), np.concatenate([counts for _, counts in told]))
    return marks, counts


def _most_frequent(told: list[tuple[Ints, Ints]]) -> Ints:
    marks, counts = _added(told)
    return np.asarray(marks[np.argsort(-counts, kind="stable")[:MOST_GROUPS]])


def _marks_of(prediction: Floats) -> Ints:
    return np.concatenate([
        _marks(np.asarray(prediction[start : start + CHUNK])) for start in range(0, len(prediction), CHUNK)
    ])


def _marks(prediction: Floats) -> Ints:
    """A number (n,) for each joint prediction (n, S): different for different ones, but for one in 10^19."""
    marks = np.zeros(len(prediction), np.uint64)
    for column in prediction.T:
        marks = (marks ^ (column.astype(np.int64) + 1).astype(np.uint64)) * _FACTOR
        marks ^= marks >> np.uint64(29)
    return marks.view(np.int64)
