"""The items of a frozen pool, a shard at a time, for the cut of any kind of outcome.

Every pass reads the parts of a shard again and keeps nothing, whoever does it; a pool of one shard is read
once. What is read of an item, and the measures, are made anew by each worker from the spec.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.measured_pool import expected_by_part
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.strata import OrderedScores, ScoresInMemory
from assay.evalcore.types import Floats, Ints
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import FrozenShard, frozen_parts
from assay.tasks.pool.kind import CellRows, PoolToCut, cell_rows, piece_of, put_piece
from assay.tasks.pool.scores import ordered_scores, rising

B = TypeVar("B")


class Gathering(Protocol):
    """What gathers the columns that a cut needs from the rows of a pool; `RowsSoFar` and `SystemsSoFar` do
    so for their kinds of predictions."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a part that are gathered; the others need not be read."""
        ...

    def add(self, table: pa.Table) -> None:
        """Take the next rows of the pool, in their order."""
        ...

    def items(self) -> Items:
        """The items of all rows gathered so far, as arrays with one row for each item."""
        ...

    def close(self) -> None:
        """Free the memory and files of the rows that were taken."""
        ...


@dataclass(frozen=True, slots=True)
class _OnShard:
    """Work on a shard: what it makes of the shard's number and items."""

    store: Travelling
    gather: Callable[[], Gathering]

    def __call__(self, task: tuple[FrozenShard, Callable[[int, Items], B]]) -> B:
        shard, work = task
        with _gathered(self.gather, self.store.store, shard) as items:
            return work(shard.number, items)


class ItemsByShard:
    """The items of a frozen pool, an `ItemPool`: work is done shard by shard, by whoever `map_over` sends it
    to. A pool of one shard is held in memory."""

    def __init__(self, pool: PoolToCut, gather: Callable[[], Gathering]) -> None:
        """gather: begins to gather rows; it is pickled for workers."""
        self.pool, self.gather = pool, gather
        self._held = ExitStack()
        rows = None if self.n_shards == 1 else 1
        items = self._held.enter_context(_gathered(gather, pool.store, pool.shards[0], rows))
        self._whole = items if self.n_shards == 1 else None
        self.none = items.at(slice(0, 0))

    def __len__(self) -> int:
        return self.pool.n_items

    @property
    def n_shards(self) -> int:
        return len(self.pool.shards)

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        return self.of_shards([_Plain(work)] * self.n_shards)

    def of_shards(self, works: Sequence[Callable[[int, Items], B]]) -> Iterator[B]:
        """What each piece of work makes of its shard, of the first ones where there are fewer."""
        if self._whole is not None:
            yield works[0](0, self._whole)
            return
        pairs = list(zip(self.pool.shards[: len(works)], works, strict=True))
        yield from self.pool.map_over(_OnShard(Travelling(self.pool.store), self.gather), pairs)

    def close(self) -> None:
        """Free the memory and the files that are held of a pool of one shard."""
        self._held.close()


class MeasuredShards:
    """The items of a frozen pool with its measures, a `MeasuredPool`: work on a shard gets the stack of
    measures and the shard's items."""

    def __init__(self, items: ItemsByShard, measures: Callable[[], Stack]) -> None:
        """measures: makes them; it is pickled for workers."""
        self._items, self._measures, self.stack = items, measures, measures()
        self.n_shards, self.none = items.n_shards, items.none
        self._placed: list[_PlacedShard] = []

    def __len__(self) -> int:
        return len(self._items)

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        return self._items.over(work)

    def measured(self, work: Callable[[Stack, Items], B]) -> Iterator[B]:
        return self.each([work] * self.n_shards)

    def in_first(self, work: Callable[[Stack, Items], B]) -> B:
        return next(self.each([work]))

    def each(self, works: list[Callable[[Stack, Items], B]]) -> Iterator[B]:
        return self._items.of_shards([_Measured(self._measures, work) for work in works])

    def placed(self, work: Callable[[Stack, Items], tuple[Ints, B]], n_cells: int) -> Iterator[B]:
        pool = self._items.pool
        put = _Place(_Measured(self._measures, work), pool.evaluation, pool.pieces_to, n_cells)
        self._placed = []
        for placed_shard, result in self._items.of_shards([put] * self.n_shards):
            self._placed.append(placed_shard)
            yield result

    def ordered(self, number: Callable[[Stack, Items], Floats]) -> OrderedScores:
        if self.n_shards == 1:
            return ScoresInMemory(self.in_first(number))
        pool, work = self._items.pool, _Measured(self._measures, number)
        store = Travelling(pool.store)
        runs = [_NumbersOfShard(store, shard, self._items.gather, work) for shard in pool.shards]
        return ordered_scores(runs, len(self), pool.map_over)[0]

    def expected_by_segment(self) -> dict[str, Floats]:
        """Column -> (S, D + D_k) by value, in order: the mean losses that guesses expect of the items of a
        segment before any label, and those that are known."""
        pool = self._items.pool
        if not pool.segments:
            return {}
        work = _ExpectedBySegment(self._measures, Travelling(pool.store), pool.shards, pool.segments)
        totals: dict[str, dict[str, Floats]] = {name: {} for name in pool.segments}
        for shard_sums in self._items.of_shards([work] * self.n_shards):
            for name, of_value in shard_sums.items():
                for value, sums in of_value.items():
                    totals[name][value] = totals[name].get(value, 0.0) + sums
        stacked = {
            name: np.stack([of_value[value] for value in sorted(of_value)])
            for name, of_value in totals.items()
        }
        return {name: sums[:, :-1] / sums[:, -1:] for name, sums in stacked.items()}

    def rows(self) -> CellRows:
        """The rows of all cells, once the items of every shard have been placed into cells."""
        counts = np.stack([shard.counts for shard in self._placed], axis=1)
        rows = [shard.rows for shard in self._items.pool.shards]
        return cell_rows(counts, [shard.digest for shard in self._placed], rows)


@dataclass(frozen=True, slots=True)
class _Measured(Generic[B]):
    measures: Callable[[], Stack]
    work: Callable[[Stack, Items], B]

    def __call__(self, shard: int, items: Items) -> B:
        return self.work(self.measures(), items)


@dataclass(frozen=True, slots=True)
class _ExpectedBySegment:
    """Column -> value -> what `expected_by_part` sums up over a shard, whose parts are read again for it."""

    measures: Callable[[], Stack]
    store: Travelling
    shards: Sequence[FrozenShard]
    names: Sequence[str]

    def __call__(self, shard: int, items: Items) -> dict[str, dict[str, Floats]]:
        stack, by_column = self.measures(), {}
        table = pa.concat_tables(frozen_parts(self.store.store, self.shards[shard].part_keys, self.names))
        for name in self.names:
            coded = table.column(name).combine_chunks().dictionary_encode()
            values = coded.dictionary.to_pylist()
            sums = expected_by_part(stack, items, numbers_of(coded.indices).astype(np.int64), len(values))
            by_column[name] = dict(zip(values, sums, strict=True))
        return by_column


@dataclass(frozen=True, slots=True)
class _NumbersOfShard:
    """A `ScoreRun` of a number that is computed of each item of a shard; none is predicted positive."""

    store: Travelling
    shard: FrozenShard
    gather: Callable[[], Gathering]
    number_of: _Measured[Floats]

    def first(self) -> tuple[Floats, int]:
        return self.again(), 0

    def again(self) -> Floats:
        with _gathered(self.gather, self.store.store, self.shard) as items:
            return rising([np.asarray(self.number_of(self.shard.number, items))])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _PlacedShard:
    counts: Ints    # (C,) items
    digest: str     # of its piece


@dataclass(frozen=True, slots=True)
class _Plain(Generic[B]):
    work: Callable[[Items], B]

    def __call__(self, shard: int, items: Items) -> B:
        return self.work(items)


@dataclass(frozen=True, slots=True)
class _Place(Generic[B]):
    """Puts the rows of the cells of a shard."""

    work: _Measured[tuple[Ints, B]]
    evaluation: str
    to: Travelling | None
    n_cells: int

    def __call__(self, shard: int, items: Items) -> tuple[_PlacedShard, B]:
        cell, result = self.work(shard, items)
        digest = put_piece(self.to, self.evaluation, shard, piece_of(cell, self.n_cells))
        return _PlacedShard(counts=np.bincount(cell, minlength=self.n_cells), digest=digest), result


@contextmanager
def _gathered(
    gather: Callable[[], Gathering], store: Store, shard: FrozenShard, rows: int | None = None
) -> Iterator[Items]:
    """The items of a shard, or some of the first."""
    gathering, keys = gather(), shard.part_keys if rows is None else shard.part_keys[:1]
    try:
        for part in frozen_parts(store, keys, gathering.columns):
            gathering.add(part if rows is None else part.slice(0, rows))
        yield gathering.items()
    finally:
        gathering.close()
