"""Cells of a positive and a negative class, cut by shard: by score, or by what further systems predict.

Every shard assigns its rows, counts and adds them up by cell, and writes which rows its cells hold. Sums are
made of the rows of a shard in order, and of the shards in order: the same bits, whoever does which shard.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from assay.evalcore.methods.base import Method
from assay.evalcore.pool.cell_sums import CellSums, keys_of
from assay.evalcore.pool.partition import Partition, count_by_segment, decision_boundary
from assay.evalcore.pool.patterns import pattern_of
from assay.evalcore.pool.strata import assign
from assay.evalcore.types import Floats, Ints
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.cutting.cell_rows import CellRows, cell_rows, piece_of, put_piece
from assay.tasks.pool.cutting.frozen_shards import FrozenShard
from assay.tasks.pool.cutting.pool_to_cut import PoolToCut
from assay.tasks.pool.cutting.scores_by_shard import ordered_scores

NUMBERS = ("score", "probability", "prediction")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Counted:
    """What a shard comes to; cells are keys of CellSums."""

    sums: CellSums
    segments: Mapping[str, Mapping[str, Ints]]     # column -> value -> items (K,) by key
    known: Ints                                    # (2, 2) items in no cell, by prediction and known label
    piece: str                                     # digest of its rows by cell


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _CountShard:
    """The work on a shard."""

    evaluation: str
    store: Travelling
    pieces_to: Travelling | None
    n_strata: int
    edges: Floats
    systems: Sequence[str]     # columns that decide the stratum, where there are any
    segments: Sequence[str]

    def __call__(self, shard: FrozenShard) -> _Counted:
        n_keys = 2 * self.n_strata
        rows: list[tuple[Ints, Floats, Floats]] = []
        known_table = np.zeros((2, 2), np.int64)
        segments: dict[str, dict[str, Ints]] = {name: {} for name in self.segments}
        for table, known in shard.tables(self.store.store, [*NUMBERS, *self.systems, *self.segments]):
            score, probability, prediction = (np.asarray(table.column(name)) for name in NUMBERS)
            key = keys_of(self._stratum(table, score), prediction)
            if known is not None:
                out = known >= 0
                np.add.at(known_table, (prediction[out].astype(np.int64), known[out]), 1)
                key[out] = -1
            rows.append((key, score, probability))
            for name, so_far in segments.items():
                add_segment(so_far, table, name, key, n_keys)
        key, score, probability = map(np.concatenate, zip(*rows, strict=True))
        piece, within = piece_of(key, n_keys), key >= 0
        return _Counted(
            sums=CellSums.of(key[within], n_keys, score[within], probability[within]),
            segments=segments, known=known_table,
            piece=put_piece(self.pieces_to, self.evaluation, shard.number, piece),
        )

    def _stratum(self, table: pa.Table, score: Floats) -> Ints:
        if not self.systems:
            return assign(self.edges, score)
        return pattern_of(np.stack([np.asarray(table.column(name)) for name in self.systems], axis=1))[0]


def cut_by_shard(method: Method, pool: PoolToCut, systems: Sequence[str]) -> tuple[Partition, CellRows]:
    """The pool cut for a method.

    systems: the columns of further systems; where there are any, items of one pattern make a stratum.
    """
    pool = pool.with_known()
    edges: Floats = np.empty(0)
    ordered, boundary = None, 0.0
    if systems:
        n_strata = n_slots = 1 << len(systems)
    else:
        ordered, positives = ordered_scores(Travelling(pool.store), pool.shards, pool.map_over)
        edges, n_slots = method.edges(ordered, positives)
        boundary, n_strata = decision_boundary(ordered, positives), len(edges) + 1
    knows = pool.shards[0].known is not None
    work = _CountShard(
        evaluation=pool.evaluation, store=Travelling(pool.store), pieces_to=pool.pieces_to, n_strata=n_strata,
        edges=edges, systems=systems, segments=() if knows else pool.segments,
    )
    total, by_shard, digests = CellSums.none(2 * n_strata), [], []
    known = np.zeros((2, 2), np.int64)
    segments: dict[str, dict[str, Ints]] = {name: {} for name in work.segments}
    for counted in pool.map_over(work, pool.shards):
        total = total.plus(counted.sums)
        by_shard.append(counted.sums.size)
        digests.append(counted.piece)
        known += counted.known
        for name, of_value in counted.segments.items():
            for value, items in of_value.items():
                segments[name][value] = segments[name].get(value, 0) + items
    occupied = total.occupied
    partition = Partition(
        edges=edges, cells=total.cells(max(n_slots, n_strata), boundary=boundary, ordered=ordered),
        known=known if knows else None, by_segment=stacked(segments, occupied),
    )
    counts = np.stack(by_shard, axis=1)[occupied]
    return partition, cell_rows(counts, digests, [shard.rows for shard in pool.shards])


def add_segment(so_far: dict[str, Ints], table: pa.Table, name: str, cell: Ints, n_cells: int) -> None:
    """Add the rows of a table to the items (n_cells,) of each value of a segment; cell (n,): of each row."""
    codes = table.column(name).combine_chunks().dictionary_encode()
    values = codes.dictionary.to_pylist()
    found = count_by_segment(cell, n_cells, np.array(codes.indices), len(values))
    for value, row in zip(values, found, strict=True):
        so_far[value] = so_far.get(value, 0) + row


def stacked(segments: Mapping[str, Mapping[str, Ints]], cells: Ints) -> dict[str, Ints]:
    """Column -> (S, C) items by value, in order, and cell."""
    return {
        name: np.stack([of_value[value][cells] for value in sorted(of_value)])
        for name, of_value in segments.items()
    }
