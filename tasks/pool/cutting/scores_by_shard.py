"""The scores of a frozen pool in rank order, of which nobody holds more than those of a shard.

How a score at some rank is found, to the last bit:

    summary     every shard sorts its scores and tells every k-th. A pool of up to `SUMMARY` rows tells all of
                them, and is done: its scores fit in memory.
    grid        of these about `GRID` values are chosen, close where scores are many. Every shard counts its
                scores below each of them, and up to it: the counts add up to exact ranks.
    gathering   a wanted rank is that of a grid value, which is the answer, or lies between two neighbours.
                All scores between these are gathered; there are few, as no value that many items share lies
                between grid values.

Every pass reads one column of the parts. Values are told apart by counts, so ties and heavy tails cost no
more. Bisecting on the bits of the numbers takes more passes, as the leading bits of scores within [0, 1]
agree; sorted runs would need eight bytes a row of scratch that all workers see.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.pool.ordered_scores import OrderedScores, ScoresInMemory, histogram
from assay.evalcore.types import Bools, Floats, Ints
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.cutting.frozen_shards import FrozenShard
from assay.tasks.pool.mapping import MapOver

SUMMARY = 1 << 24         # scores that all shards tell together: 128 MB,
LEAST_OF_SHARD = 1 << 12  # and that a shard tells at least, if it has as many
GRID = 1 << 16            # values whose ranks are counted
GATHERED = 1 << 22        # scores that are gathered in one pass, if one interval does not hold more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Summary:
    """What a shard tells of its scores."""

    rows: int
    positives: int    # that are predicted
    told: Floats      # every k-th score, rising, and the highest


@dataclass(frozen=True, slots=True)
class _Summarise:
    store: Travelling
    most: int     # scores told of a shard

    def __call__(self, shard: FrozenShard) -> _Summary:
        scores: list[Floats] = []
        positives = 0
        for table, known in shard.tables(self.store.store, ["score", "prediction"]):
            within = slice(None) if known is None else known < 0
            scores.append(np.asarray(table.column("score"))[within])
            positives += int(np.count_nonzero(np.asarray(table.column("prediction"))[within]))
        ordered = np.sort(np.concatenate(scores)) + 0.0
        told = ordered[:: -(-len(ordered) // self.most) or 1]
        return _Summary(
            rows=len(ordered), positives=positives,
            told=told if len(told) == len(ordered) else np.append(told, ordered[-1]),
        )


@dataclass(frozen=True, slots=True)
class _CountBelow:
    store: Travelling
    values: Floats

    def __call__(self, shard: FrozenShard) -> tuple[Ints, Ints]:
        """How many scores of the shard are lower than each value, and how many are not higher."""
        ordered = _sorted(self.store.store, shard)
        return np.searchsorted(ordered, self.values), np.searchsorted(ordered, self.values, side="right")


@dataclass(frozen=True, slots=True)
class _Gather:
    store: Travelling
    above: Floats
    below: Floats

    def __call__(self, shard: FrozenShard) -> Floats:
        """The scores of the shard between `above` and `below` of any interval, both left out, rising."""
        ordered = _sorted(self.store.store, shard)
        starts = np.searchsorted(ordered, self.above, side="right")
        ends = np.searchsorted(ordered, self.below)
        return np.concatenate([ordered[a:b] for a, b in zip(starts, ends, strict=True)])


@dataclass(frozen=True, slots=True)
class _Histogram:
    store: Travelling
    bins: int
    low: float
    high: float

    def __call__(self, shard: FrozenShard) -> tuple[Ints, Floats]:
        return histogram(_scores(self.store.store, shard), self.bins, self.low, self.high)


class ScoresByShard:
    """An `OrderedScores` of a frozen pool."""

    def __init__(
        self, store: Travelling, shards: Sequence[FrozenShard], map_over: MapOver, grid: Floats, soon: Ints
    ) -> None:
        """grid: values of scores, rising, among them the lowest and the highest; soon: ranks that are going
        to be asked for, to be found together with the first ones."""
        self._store, self._shards, self._map_over, self._grid = store, shards, map_over, grid
        self._soon, self._answers = soon, dict[int, float]()
        self._below, self._up_to = np.zeros(len(grid), np.int64), np.zeros(len(grid), np.int64)
        for below, up_to in map_over(_CountBelow(store, grid), shards):
            self._below += below
            self._up_to += up_to

    def __len__(self) -> int:
        """See OrderedScores."""
        return int(self._up_to[-1])

    @property
    def low(self) -> float:
        """See OrderedScores.low."""
        return float(self._grid[0])

    @property
    def high(self) -> float:
        """See OrderedScores.high."""
        return float(self._grid[-1])

    def at(self, ranks: Ints) -> Floats:
        """See OrderedScores.at."""
        missing = np.array([rank for rank in ranks.tolist() if rank not in self._answers], np.int64)
        if len(missing):
            missing = np.unique(np.concatenate([missing, self._soon]))
            self._answers |= zip(missing.tolist(), self._found(missing).tolist(), strict=True)
        return np.array([self._answers[rank] for rank in ranks.tolist()], np.float64)

    def below(self, values: Floats) -> Ints:
        """See OrderedScores.below."""
        place = np.searchsorted(self._grid, values)
        inside = np.minimum(place, len(self._grid) - 1)
        found: Ints = np.where(place < len(self._grid), self._below[inside], len(self))
        between = (place > 0) & (place < len(self._grid)) & (self._grid[inside] != values)
        for here, shift, scores in self._gathered(place, between):
            found[here] = np.searchsorted(scores, values[here]) - shift
        return found

    def histogram(self, bins: int) -> tuple[Ints, Floats]:
        """See OrderedScores.histogram."""
        work = _Histogram(self._store, bins, self.low, self.high)
        found = list(self._map_over(work, self._shards))
        return np.sum([counts for counts, _ in found], axis=0), found[0][1]

    def _found(self, ranks: Ints) -> Floats:
        place = np.searchsorted(self._up_to, ranks, side="right")   # of the first grid value not below
        found = self._grid[place]
        for here, shift, scores in self._gathered(place, ranks < self._below[place]):
            found[here] = scores[ranks[here] + shift]
        return found

    def _gathered(self, place: Ints, wanted: Bools) -> Iterator[tuple[Ints, Ints, Floats]]:
        """The scores between grid values, some intervals at a time.

        place (k,): interval i lies below grid value i; wanted (k,). Yields which of these are answered now,
        what has to be added to their ranks to get places among the scores, and the scores, rising.
        """
        intervals = np.unique(place[wanted])
        rows = self._below[intervals] - self._up_to[intervals - 1]
        group = np.cumsum(rows) // GATHERED
        for number in np.unique(group):
            some, n = intervals[group == number], rows[group == number]
            work = _Gather(self._store, self._grid[some - 1], self._grid[some])
            scores = np.sort(np.concatenate(list(self._map_over(work, self._shards))))
            shift = np.cumsum(n) - n - self._up_to[some - 1]
            here = np.flatnonzero(wanted & np.isin(place, some))
            yield here, shift[np.searchsorted(some, place[here])], scores


def ordered_scores(
    store: Travelling, shards: Sequence[FrozenShard], map_over: MapOver
) -> tuple[OrderedScores, int]:
    """The scores of the rows that are in cells, and how many of these are predicted positive."""
    summaries = list(map_over(_Summarise(store, max(SUMMARY // len(shards), LEAST_OF_SHARD)), shards))
    told = np.concatenate([one.told for one in summaries])
    rows, positives = sum(one.rows for one in summaries), sum(one.positives for one in summaries)
    if len(told) == rows:
        return ScoresInMemory(told), positives
    told.sort()
    grid = np.unique(told[np.linspace(0, len(told) - 1, GRID).astype(np.int64)])
    around_boundary = rows - positives + np.array([-1, 0] if 0 < positives < rows else [], np.int64)
    return ScoresByShard(store, shards, map_over, grid, around_boundary), positives


def _scores(store: Store, shard: FrozenShard) -> Floats:
    """(n,) of the rows of a shard that are in cells; without -0.0."""
    scores: list[Floats] = [
        np.asarray(table.column("score"))[slice(None) if known is None else known < 0]
        for table, known in shard.tables(store, ["score"])
    ]
    return np.concatenate(scores) + 0.0


def _sorted(store: Store, shard: FrozenShard) -> Floats:
    return np.sort(_scores(store, shard))
