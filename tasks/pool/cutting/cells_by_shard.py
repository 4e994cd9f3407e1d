"""Cells of a positive and a negative class, cut by shard: by score, or by what further systems predict.

Every shard assigns its rows, counts and adds them up by cell, and writes which rows its cells hold. Sums are
made of the rows of a shard in order, and of the shards in order: the same bits, whoever does which shard.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from assay.evalcore.methods.base import Method
from assay.evalcore.pool.cell_sums import CellSums, keys_of
from assay.evalcore.pool.ordered_scores import OrderedScores
from assay.evalcore.pool.partition import Partition, count_by_segment, decision_boundary
from assay.evalcore.pool.patterns import pattern_of
from assay.evalcore.pool.stratum_finder import StratumFinder
from assay.evalcore.types import Floats, Ints
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.cutting.cell_rows import CellRows, cell_rows, piece_of, put_piece
from assay.tasks.pool.cutting.frozen_shards import FrozenShard
from assay.tasks.pool.cutting.pool_to_cut import PoolToCut
from assay.tasks.pool.cutting.score_runs import RunOfShard, ScoreRun
from assay.tasks.pool.cutting.scores_by_shard import held_at_once, ordered_scores

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
        strata = StratumFinder(self.edges)
        sums, keys = CellSums.none(n_keys), list[Ints]()
        known_table = np.zeros((2, 2), np.int64)
        segments: dict[str, dict[str, Ints]] = {name: {} for name in self.segments}
        for table, known in shard.tables(self.store.store, [*NUMBERS, *self.systems, *self.segments]):
            score, probability, prediction = (numbers_of(table.column(name)) for name in NUMBERS)
            stratum = self._pattern(table) if self.systems else strata.of(score)
            key = keys_of(stratum, prediction)
            if known is not None:
                out = known >= 0
                np.add.at(known_table, (prediction[out].astype(np.int64), known[out]), 1)
                key[out] = -1
            within = slice(None) if known is None else ~out
            sums.add(key[within], score[within], probability[within])
            for name, so_far in segments.items():
                add_segment(so_far, table, name, key, n_keys)
            keys.append(key)
        piece = put_piece(
            self.pieces_to, self.evaluation, shard.number, piece_of(np.concatenate(keys), n_keys)
        )
        return _Counted(sums=sums, segments=segments, known=known_table, piece=piece)

    def _pattern(self, table: pa.Table) -> Ints:
        return pattern_of(np.stack([numbers_of(table.column(name)) for name in self.systems], axis=1))[0]


def cut_by_shard(method: Method, pool: PoolToCut, systems: Sequence[str]) -> tuple[Partition, CellRows]:
    """The pool cut for a method.

    systems: the columns of further systems; where there are any, items of one pattern make a stratum.
    """
    pool = pool.with_known()
    if systems:
        n_strata = 1 << len(systems)
        return _cells(pool, _work(pool, n_strata, np.empty(0), systems), n_strata, boundary=0.0, ordered=None)
    with _score_runs(pool) as runs:
        ordered, positives = ordered_scores(runs, pool.n_items, pool.map_over)
        edges, n_slots = method.edges(ordered, positives)
        return _cells(
            pool, _work(pool, len(edges) + 1, edges), n_slots,
            boundary=decision_boundary(ordered, positives), ordered=ordered,
        )


@contextmanager
def _score_runs(pool: PoolToCut) -> Iterator[Sequence[ScoreRun]]:
    """The runs left by the freeze; or those of shards, in a folder if they are not all held at once."""
    if pool.score_runs and pool.shards[0].known is None:
        yield pool.score_runs
        return
    with nullcontext() if held_at_once(pool.n_items) else TemporaryDirectory(prefix="assay-") as folder:
        store = Travelling(pool.store)
        yield [RunOfShard(store=store, shard=shard, folder=folder) for shard in pool.shards]


def _work(pool: PoolToCut, n_strata: int, edges: Floats, systems: Sequence[str] = ()) -> _CountShard:
    return _CountShard(
        evaluation=pool.evaluation, store=Travelling(pool.store), pieces_to=pool.pieces_to, n_strata=n_strata,
        edges=edges, systems=systems, segments=() if pool.shards[0].known is not None else pool.segments,
    )


def _cells(
    pool: PoolToCut, work: _CountShard, n_slots: int, *, boundary: float, ordered: OrderedScores | None
) -> tuple[Partition, CellRows]:
    total, by_shard, digests = CellSums.none(2 * work.n_strata), [], []
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
        edges=work.edges,
        cells=total.cells(max(n_slots, work.n_strata), boundary=boundary, ordered=ordered),
        known=None if pool.shards[0].known is None else known, by_segment=stacked(segments, occupied),
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
