"""Which rows lie at some ranks of the cells, read from the ledger by ranges."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from assay.evalcore.types import Ints
from assay.tasks.ledger.codec import DamagedRecord
from assay.tasks.ledger.manifest import Manifest
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.cutting.cell_rows import BYTES, NUMBER

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
