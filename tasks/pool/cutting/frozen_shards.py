"""Shards of a frozen pool: runs of whole parts, the units in which it is cut.

Where they begin follows from the parts alone, never from how many workers there are. About a million rows
make a shard.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Ints
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.frozen import frozen_parts

SHARD_PARTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenShard:
    """Some parts that follow each other."""

    number: int
    part_keys: tuple[str, ...]
    first_row: int                # over the whole pool, from 0
    rows: int
    known: bytes | None = None    # label of each row, one signed byte, -1: in a cell; None: all are in cells

    def tables(self, store: Store, columns: Sequence[str]) -> Iterator[tuple[pa.Table, Ints | None]]:
        """Its parts with these columns, one at a time, and the labels (n,) known of the rows of each."""
        known = None if self.known is None else np.frombuffer(self.known, np.int8).astype(np.int64)
        start = 0
        for part in frozen_parts(store, self.part_keys, columns):
            yield part, None if known is None else known[start : start + part.num_rows]
            start += part.num_rows


def shards_of(part_keys: Sequence[str], part_rows: Sequence[int]) -> tuple[FrozenShard, ...]:
    """The shards of a frozen pool; part_rows: the rows of each part."""
    shards: list[FrozenShard] = []
    first = 0
    for i in range(0, len(part_keys), SHARD_PARTS):
        rows, keys = sum(part_rows[i : i + SHARD_PARTS]), tuple(part_keys[i : i + SHARD_PARTS])
        shards.append(FrozenShard(number=len(shards), part_keys=keys, first_row=first, rows=rows))
        first += rows
    return tuple(shards)
