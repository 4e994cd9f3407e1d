"""What shards of a large window come to, so that its profile is made without all rows in one place.

Counts add up exactly, and sums are added in the order of the shards: the same bits on any number of workers.
Edges of bins are order statistics of the first window; of several shards they are found among some of the
order statistics of each, so a bin may hold 1 / `POINTS` of the rows more or less than its share.  That is as
good: edges only have to stay, and what lies between them is counted exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Array, Floats, Ints

POINTS = 4_096


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SomeValues:
    """Evenly spaced order statistics of the values of a shard."""

    points: Floats    # (k,) rising, k at most POINTS
    weight: float     # the rows that each stands for

    @classmethod
    def of(cls, values: Floats) -> Self:
        """Of values (n,)."""
        n = len(values)
        k = min(POINTS, n)
        ranks = ((np.arange(k) + 0.5) * n / max(k, 1)).astype(np.int64)
        return cls(points=np.sort(values)[ranks], weight=n / max(k, 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrafficTally:
    """What the predictions of some rows come to, with a positive and a negative class."""

    scores: Ints       # (bins,) as `counts_between` has them
    moments: Floats    # (2, 3) see `moments_of`

    def plus(self, other: "TrafficTally") -> "TrafficTally":
        """Of these rows and the other ones."""
        return TrafficTally(scores=self.scores + other.scores, moments=self.moments + other.moments)


def edges_of(shards: Sequence[SomeValues], bins: int) -> tuple[float, ...]:
    """Rising edges between which lie about equal shares of all rows, fewer where values are tied."""
    points = np.concatenate([one.points for one in shards])
    weights = np.concatenate([np.full(len(one.points), one.weight) for one in shards])
    order = np.argsort(points, kind="stable")
    below = np.cumsum(weights[order])
    places = np.searchsorted(below, np.arange(1, bins) / bins * below[-1])
    return tuple(np.unique(points[order][places]).tolist())


def counts_between(values: Floats, edges: Sequence[float]) -> Ints:
    """(len(edges) + 1,) how many values (n,) lie between the edges; one on an edge belongs above it."""
    return np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)


def moments_of(probability: Floats, prediction: Array) -> Floats:
    """(2, 3) for the items predicted negative and positive: how many, Σ p and Σ p²; of p (n,), f (n,)."""
    of_class = [probability[prediction == f] for f in (0, 1)]
    return np.array([[len(p), p.sum(), (p**2).sum()] for p in of_class])


def expected_from(moments: Floats, measure: Measure) -> tuple[float | None, float]:
    """The measure of the confusion table that the probabilities expect, and its standard deviation over
    samples of the window's population, by the delta method; None, and 0, where it is undefined.

    The pull of an item predicted f is linear in p, so `moments_of` all items (2, 3) is enough.
    """
    n, p, squares = moments.T
    counts = np.stack([n - p, p], axis=-1)
    value = float(measure.of_confusion(counts))
    if not np.isfinite(value):
        return None, 0.0
    total = n.sum()
    pull = measure.influence(np.einsum("fy,fyd->d", counts, measure.loss) / total)    # (2, 2)
    start, slope = pull[:, 0], pull[:, 1] - pull[:, 0]
    mean = (start * n + slope * p).sum() / total
    square = (start**2 * n + 2 * start * slope * p + slope**2 * squares).sum() / total
    return value, float(np.sqrt(max(square - mean**2, 0.0) / total))
