"""Finds the item at a rank of a cell, and the fields of it that people see.

Statistics address an item by its cell and its place in the cell; the ledger holds which row that is, and the
frozen parts what the row is. Both are read by ranges, and so is what people see: a round costs what its items
cost, whatever the size of the pool.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Ints
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import PART_ROWS, FrozenRow, frozen_row, read_part_rows
from assay.tasks.pool.kind import BYTES, NUMBER, CellSizes
from assay.tasks.pool.shown import shown_of
from assay.tasks.spec.evaluation import Spec

_MANY_PARTS = 4    # that are worth threads
_AT_ONCE = 8


class PoolIndex:
    """The items of one frozen pool, by cell and rank."""

    def __init__(self, ledger: Ledger, manifest: Manifest, cells: CellSizes) -> None:
        """`cells` of the partition that the manifest names."""
        self._ledger = ledger
        self._manifest = manifest
        self._sizes = cells.size
        self._finder = RowFinder(ledger.store, manifest, cells.size)
        self._segments = manifest.segment_names

    def rows(self, cells: Ints, ranks: Ints) -> list[FrozenRow]:
        """The items at (cell, rank), in the order asked; the same item may be asked for twice.

        Raises ValueError for a cell or rank that is not there, DamagedRecord if the ledger is not whole.
        """
        cells, ranks = np.asarray(cells, np.int64), np.asarray(ranks, np.int64)
        if len(cells) == 0:
            return []
        if cells.min() < 0 or cells.max() >= len(self._sizes):
            raise ValueError(f"cells must lie in 0..{len(self._sizes) - 1}")
        if (ranks < 0).any() or (ranks >= self._sizes[cells]).any():
            raise ValueError("a rank must be at least 0 and below the size of its cell")
        numbers = self._finder.rows(cells, ranks)
        of_part: defaultdict[int, list[int]] = defaultdict(list)
        for number in sorted(set(numbers.tolist())):
            of_part[number // PART_ROWS].append(number)
        found: dict[int, FrozenRow] = {}
        for wanted, read in zip(of_part.values(), self._read(of_part), strict=True):
            for number, values in zip(wanted, read.to_pylist(), strict=True):
                found[number] = frozen_row(number, values, self._segments)
        return [found[number] for number in numbers.tolist()]

    def _read(self, of_part: Mapping[int, Sequence[int]]) -> Iterator[pa.Table]:
        """The rows of each part, numbered over the whole pool. Many parts are read at once: a store waits."""
        part_keys = self._manifest.part_keys

        def read(part: int) -> pa.Table:
            return read_part_rows(
                self._ledger.store, part_keys[part], [number % PART_ROWS for number in of_part[part]]
            )

        if len(of_part) < _MANY_PARTS:
            yield from map(read, of_part)
            return
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            yield from threads.map(read, of_part)

    def shown(self, spec: Spec, rows: Sequence[FrozenRow]) -> list[dict[str, str]]:
        """What people see of these items: display column -> text, in the order of the spec.

        Raises DamagedRecord if the ledger is not whole.
        """
        return shown_of(self._ledger.store, self._manifest, spec.pool.display, rows)


# Which rows lie at some ranks of the cells, read from the ledger by ranges.

BRIDGED = 65_536       # numbers that it is cheaper to read than to skip with another request
_RESTORE = "restore this key from a copy of the ledger"


class RowFinder:
    """The rows of the cells of one frozen pool."""

    def __init__(self, store: Store, manifest: Manifest, sizes: Ints) -> None:
        """sizes (C,): items in each cell."""
        self._store, self._sizes = store, sizes
        self._starts_key, self._piece_keys = manifest.partition_keys[1], manifest.piece_keys
        self._rows = np.array([piece.rows for piece in manifest.partition.pieces], np.int64)
        self._first = np.cumsum(self._rows) - self._rows

    def rows(self, cells: Ints, ranks: Ints) -> Ints:
        """The rows (n,) at these cells and ranks (n,), which are there.

        Raises DamagedRecord naming a key that does not hold them.
        """
        shard, place = self._places(cells, ranks)
        found = np.empty(len(cells), np.int64)
        for number in np.unique(shard):
            here, key = shard == number, self._piece_keys[number]
            rows = self._numbers(key, place[here])
            if rows.max() >= self._rows[number]:
                raise DamagedRecord(f"{key}: names rows the pool does not have; {_RESTORE}")
            found[here] = rows + self._first[number]
        return found

    def _places(self, cells: Ints, ranks: Ints) -> tuple[Ints, Ints]:
        """The shard (n,) of each item, and its place (n,) in the piece of the shard."""
        n_shards = len(self._piece_keys)
        distinct, which = np.unique(cells, return_inverse=True)
        wanted = distinct[:, None] * n_shards + np.arange(2 * n_shards)
        read = self._numbers(self._starts_key, wanted.ravel()).reshape(len(distinct), 2, n_shards)
        starts, counts = read[:, 0], read[:, 1] - read[:, 0]
        if (counts < 0).any() or (counts.sum(axis=1) != self._sizes[distinct]).any():
            raise DamagedRecord(f"{self._starts_key}: its cells are not those of the partition; {_RESTORE}")
        ends = np.cumsum(counts, axis=1)[which]
        shard = (ends <= ranks[:, None]).sum(axis=1)
        before = np.take_along_axis(ends - counts[which], shard[:, None], axis=1)[:, 0]
        return shard, np.take_along_axis(starts[which], shard[:, None], axis=1)[:, 0] + ranks - before

    def _numbers(self, key: str, places: Ints) -> Ints:
        """The numbers at these places of a key."""
        wanted = np.unique(places)
        found = np.empty(len(wanted), np.int64)
        for first, last in _close(wanted):
            start, end = int(wanted[first]), int(wanted[last - 1]) + 1
            blob = self._store.get_range(key, start * BYTES, (end - start) * BYTES)
            if len(blob) != (end - start) * BYTES:
                raise DamagedRecord(f"{key}: too short; {_RESTORE}")
            found[first:last] = np.frombuffer(blob, NUMBER)[wanted[first:last] - start]
        return found[np.searchsorted(wanted, places)]


def _close(places: Ints) -> Iterator[tuple[int, int]]:
    """Slices of the sorted places that are close enough to be read at once."""
    breaks = np.flatnonzero(np.diff(places) > BRIDGED) + 1
    yield from pairwise([0, *breaks.tolist(), len(places)])
