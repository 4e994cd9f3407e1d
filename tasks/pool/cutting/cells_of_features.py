"""Cells of a positive and a negative class, cut by features: all rows at once, in memory.

A tree of features is grown from all of them, level by level, and its sums are not those of any pieces. Some
`40 + 16 D` bytes a row are held for D features.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.methods.base import Method
from assay.evalcore.pool.partition import Partition, build_partition
from assay.evalcore.types import Array, Ints
from assay.tasks.arrow import numbers_of
from assay.tasks.pool.cutting.cell_rows import CellRows
from assay.tasks.pool.cutting.cells_by_shard import NUMBERS, add_segment, stacked
from assay.tasks.pool.cutting.pool_to_cut import PoolToCut


def cut_by_features(method: Method, pool: PoolToCut, features: Sequence[str]) -> tuple[Partition, CellRows]:
    """The pool cut for a method; features: the columns of a part that hold them."""
    pool = pool.with_known()
    found: dict[str, list[Array]] = {name: [] for name in NUMBERS}
    tables: list[Array] = []
    for part in pool.parts([*NUMBERS, *features]):
        for name, chunks in found.items():
            chunks.append(numbers_of(part.column(name)))
        if features:
            tables.append(np.stack([numbers_of(part.column(name)) for name in features], axis=1))
    score, probability, prediction = (np.concatenate(found.pop(name)) for name in NUMBERS)
    table = np.concatenate(tables) if tables else None
    if pool.shards[0].known is None:
        partition, cell = build_partition(method, score, probability, prediction, table)
        return _with_segments(pool, partition, cell), pool.rows_of(cell, partition.cells.n_cells)
    known = np.concatenate([np.frombuffer(shard.known or b"", np.int8) for shard in pool.shards])
    within, out = known < 0, known >= 0
    partition, inside = build_partition(
        method, score[within], probability[within], prediction[within],
        None if table is None else table[within],
    )
    cell = np.full(pool.n_items, -1, np.int64)
    cell[within] = inside
    counts = np.zeros((2, 2), np.int64)
    np.add.at(counts, (prediction[out].astype(np.int64), known[out].astype(np.int64)), 1)
    return replace(partition, known=counts), pool.rows_of(cell, partition.cells.n_cells)


def _with_segments(pool: PoolToCut, partition: Partition, cell: Ints) -> Partition:
    """The partition with the items of every segment by cell."""
    if not pool.segments:
        return partition
    n_cells, start = partition.cells.n_cells, 0
    counts: dict[str, dict[str, Ints]] = {name: {} for name in pool.segments}
    for part in pool.parts(pool.segments):
        here = cell[start : start + part.num_rows]
        start += part.num_rows
        for name, so_far in counts.items():
            add_segment(so_far, part, name, here, n_cells)
    return replace(partition, by_segment=stacked(counts, np.arange(n_cells)))
