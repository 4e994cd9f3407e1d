"""The scores of a frozen pool in rank order, of which nobody holds more than a few runs.

How a score at some rank is found, to the last bit:

    runs        each is sorted once (`ScoreRun`). Those of a pool of up to `SCORES_TOGETHER` rows are brought
                together; of a larger pool each worker loads the run that it works on.
    grid        every run tells every k-th of its scores, and of these about `GRID_SCORES` values are chosen,
    close
                where scores are many. In each run it is counted how many scores are below each of them, and
                up to it: the counts add up to exact ranks.
    gathering   a wanted rank is that of a grid value, which is the answer, or lies between two neighbours.
                All scores between these are gathered; there are few, as no value that many items share lies
                between grid values.

Values are told apart by counts, so ties and heavy tails cost no more. Runs are not merged: sorting them all
once more would take five times as long.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import numpy as np

from assay.evalcore.pool.strata import OrderedScores, ScoresInMemory, histogram
from assay.evalcore.types import Bools, Floats, Ints
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.record import DamagedRecord
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.pool.frozen import FrozenShard
from assay.tasks.pool.shards import MapOver, one_after_the_other

SCORE = "<f8"


class ScoreRun(Protocol):
    """The scores of some rows of a pool, loaded and worked on in one piece by whoever has time.

    Scores of some rows of a pool, sorted once: every question about ranks is answered from these.

    A run is loaded by whoever works on it. Runs need not hold the rows of a shard that is cut: ranks, counts
    and histograms follow from all scores together.
    """

    def first(self) -> tuple[Floats, int]:
        """The scores (n,) rising, without -0.0, and how many of the rows are predicted positive."""
        ...

    def again(self) -> Floats:
        """The scores (n,) of the run, rising, when they are needed once more: the same as those that were
        loaded first."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RunInMemory:
    """A run of scores, (n,) rising, held in the memory of this process, with the number of its rows that are
    predicted positive."""

    scores: Floats
    positives: int

    def first(self) -> tuple[Floats, int]:
        return self.scores, self.positives

    def again(self) -> Floats:
        return self.scores


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run that was put into a store when its rows were frozen."""

    store: Travelling
    key: str
    rows: int
    positives: int

    def first(self) -> tuple[Floats, int]:
        return self.again(), self.positives

    def again(self) -> Floats:
        blob = self.store.store.get(self.key)
        if len(blob) != 8 * self.rows:
            raise DamagedRecord(f"{self.key}: does not hold {self.rows} scores; remove it and begin again")
        return np.frombuffer(blob, SCORE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOfShard:
    """The scores of a shard that are in cells, read from its parts.

    They are kept in a folder, if that is on the machine that reads them. Elsewhere they are read again.
    """

    store: Travelling
    shard: FrozenShard
    folder: str | None

    def first(self) -> tuple[Floats, int]:
        scores: list[Floats] = []
        positives = 0
        for table, labels in self.shard.tables(self.store.store, ["score", "prediction"]):
            within = slice(None) if labels is None else labels < 0
            scores.append(numbers_of(table.column("score"))[within])
            positives += int(np.count_nonzero(numbers_of(table.column("prediction"))[within]))
        ordered = rising(scores)
        if self.folder is not None:
            _keep(Path(self.folder), self._name, ordered)
        return ordered, positives

    def again(self) -> Floats:
        if self.folder is not None:
            with suppress(FileNotFoundError):
                return np.fromfile(Path(self.folder) / self._name, SCORE)
        return self.first()[0]

    @property
    def _name(self) -> str:
        return f"scores-{self.shard.number}"


def run_bytes(scores: Sequence[Floats]) -> bytes:
    """The bytes that a store holds of a run of these scores: sorted, 8 bytes each; none where there are no
    scores."""
    return (rising(scores) if scores else np.empty(0)).astype(SCORE, copy=False).tobytes()


def rising(scores: Sequence[Floats]) -> Floats:
    """All of these scores in one array (n,), sorted from the lowest, with -0.0 replaced by 0.0."""
    ordered = np.concatenate(scores)
    ordered += 0.0
    ordered.sort()
    return ordered


def _keep(folder: Path, name: str, scores: Floats) -> None:
    """Write a file whole or not at all; a folder that is not on this machine is left alone."""
    if not folder.is_dir():
        return
    written = folder / f"{name}-{uuid4().hex}"
    scores.astype(SCORE, copy=False).tofile(written)
    written.replace(folder / name)   # another process may have been quicker


SCORES_TOGETHER = 1 << 24   # scores that are held in one place: 128 MB
SUMMARY = 1 << 18         # scores that all runs tell together,
LEAST_OF_RUN = 1 << 12    # and that a run tells at least, if it has as many
GRID_SCORES = 1 << 16   # values whose ranks are counted
GATHERED = 1 << 22        # scores that are gathered in one pass, if one interval does not hold more


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Summary:
    """What a run tells of its scores."""

    rows: int
    positives: int    # that are predicted
    told: Floats      # every k-th score, rising, and the highest


@dataclass(frozen=True, slots=True)
class _Summarise:
    most: int     # scores told of a run

    def __call__(self, run: ScoreRun) -> _Summary:
        ordered, positives = run.first()
        sample = ordered[:: -(-len(ordered) // self.most) or 1]
        return _Summary(
            rows=len(ordered), positives=positives,
            told=sample if len(sample) == len(ordered) else np.append(sample, ordered[-1]),
        )


@dataclass(frozen=True, slots=True)
class _CountBelow:
    values: Floats

    def __call__(self, run: ScoreRun) -> tuple[Ints, Ints]:
        """How many scores of the run are lower than each value, and how many are not higher."""
        ordered = run.again()
        below = np.searchsorted(ordered, self.values)
        up_to = below.copy()
        if len(ordered):     # only of values that are there is it another number
            equal = np.flatnonzero(ordered.take(below, mode="clip") == self.values)
            up_to[equal] = np.searchsorted(ordered, self.values[equal], side="right")
        return below, up_to


@dataclass(frozen=True, slots=True)
class _Gather:
    above: Floats
    below: Floats

    def __call__(self, run: ScoreRun) -> Floats:
        """The scores of the run between `above` and `below` of any interval, both left out, rising."""
        ordered = run.again()
        starts = np.searchsorted(ordered, self.above, side="right")
        ends = np.searchsorted(ordered, self.below)
        return np.concatenate([ordered[a:b] for a, b in zip(starts, ends, strict=True)])


@dataclass(frozen=True, slots=True)
class _Histogram:
    bins: int
    low: float
    high: float

    def __call__(self, run: ScoreRun) -> tuple[Ints, Floats]:
        return histogram(run.again(), self.bins, self.low, self.high)


class ScoresByShard:
    """The scores of several runs in rank order, an `OrderedScores`: ranks are found through a grid of values
    whose exact ranks are counted, so nobody holds more than a few runs."""

    def __init__(
        self, runs: Sequence[ScoreRun], map_over: MapOver, grid: Floats, soon: Ints
    ) -> None:
        """grid: values of scores, rising, among them the lowest and the highest; soon: ranks that are going
        to be asked for, to be found together with the first ones."""
        self._runs, self._map_over, self._grid = runs, map_over, grid
        self._soon, self._answers = soon, dict[int, float]()
        self._below, self._up_to = np.zeros(len(grid), np.int64), np.zeros(len(grid), np.int64)
        for below, up_to in map_over(_CountBelow(grid), runs):
            self._below += below
            self._up_to += up_to

    def __len__(self) -> int:
        return int(self._up_to[-1])

    @property
    def low(self) -> float:
        return float(self._grid[0])

    @property
    def high(self) -> float:
        return float(self._grid[-1])

    def at(self, ranks: Ints) -> Floats:
        missing = np.array([rank for rank in ranks.tolist() if rank not in self._answers], np.int64)
        if len(missing):
            missing = np.unique(np.concatenate([missing, self._soon]))
            self._answers |= zip(missing.tolist(), self._found(missing).tolist(), strict=True)
        return np.array([self._answers[rank] for rank in ranks.tolist()], np.float64)

    def below(self, values: Floats) -> Ints:
        place = np.searchsorted(self._grid, values)
        inside = np.minimum(place, len(self._grid) - 1)
        counts: Ints = np.where(place < len(self._grid), self._below[inside], len(self))
        between = (place > 0) & (place < len(self._grid)) & (self._grid[inside] != values)
        for index, shift, scores in self._gathered(place, between):
            counts[index] = np.searchsorted(scores, values[index]) - shift
        return counts

    def histogram(self, bins: int) -> tuple[Ints, Floats]:
        work = _Histogram(bins, self.low, self.high)
        histograms = list(self._map_over(work, self._runs))
        return np.sum([counts for counts, _ in histograms], axis=0), histograms[0][1]

    def _found(self, ranks: Ints) -> Floats:
        place = np.searchsorted(self._up_to, ranks, side="right")   # of the first grid value not below
        values = self._grid[place]
        for index, shift, scores in self._gathered(place, ranks < self._below[place]):
            values[index] = scores[ranks[index] + shift]
        return values

    def _gathered(self, place: Ints, mask: Bools) -> Iterator[tuple[Ints, Ints, Floats]]:
        """The scores between grid values, some intervals at a time.

        place (k,): interval i lies below grid value i; mask (k,). Yields which of these are answered now,
        what has to be added to their ranks to get places among the scores, and the scores, rising.
        """
        intervals = np.unique(place[mask])
        rows = self._below[intervals] - self._up_to[intervals - 1]
        group = np.cumsum(rows) // GATHERED
        for number in np.unique(group):
            batch, n = intervals[group == number], rows[group == number]
            work = _Gather(self._grid[batch - 1], self._grid[batch])
            scores = np.sort(np.concatenate(list(self._map_over(work, self._runs))))
            shift = np.cumsum(n) - n - self._up_to[batch - 1]
            index = np.flatnonzero(mask & np.isin(place, batch))
            yield index, shift[np.searchsorted(batch, place[index])], scores


def ordered_scores(runs: Sequence[ScoreRun], rows: int, map_over: MapOver) -> tuple[OrderedScores, int]:
    """The scores of all runs, and how many of their rows are predicted positive.

    rows: of the pool, at least as many as there are scores. Whoever does the work, the answers are the same.
    """
    if held_at_once(rows):
        runs, map_over = [RunInMemory(*result) for result in map_over(_first, runs)], one_after_the_other
    if len(runs) == 1:
        scores, positives = runs[0].first()
        return ScoresInMemory(scores, rising=True), positives
    summaries = list(map_over(_Summarise(max(SUMMARY // len(runs), LEAST_OF_RUN)), runs))
    sample = np.concatenate([part.told for part in summaries])
    rows, positives = sum(part.rows for part in summaries), sum(part.positives for part in summaries)
    sample.sort()
    if len(sample) == rows:
        return ScoresInMemory(sample, rising=True), positives
    grid = np.unique(sample[np.linspace(0, len(sample) - 1, GRID_SCORES).astype(np.int64)])
    around_boundary = rows - positives + np.array([-1, 0] if 0 < positives < rows else [], np.int64)
    return ScoresByShard(runs, map_over, grid, around_boundary), positives


def held_at_once(rows: int) -> bool:
    """Whether one process holds the scores of so many rows. Otherwise runs are loaded again and again."""
    return rows <= SCORES_TOGETHER


def _first(run: ScoreRun) -> tuple[Floats, int]:
    return run.first()
