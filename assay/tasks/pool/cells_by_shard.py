"""Cells of a positive and a negative class, cut by shard, whatever the strata are (`Placing`).

Every shard assigns its rows, counts and adds them up by cell, and writes which rows its cells hold. Sums are
made of the rows of a shard in order, and of the shards in order: the same bits, whoever does which shard.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import pyarrow as pa

from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState
from assay.evalcore.pool.feature_strata import SAMPLE, FeatureCut
from assay.evalcore.pool.partition import (
    Partition,
    count_by_segment,
    decision_boundary,
    pattern_of,
    without_features,
)
from assay.evalcore.pool.strata import CellSums, OrderedScores, StratumFinder, keys_of
from assay.evalcore.types import Array, Floats, Ints
from assay.tasks.arrow import numbers_of
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.pool.frozen import FrozenShard
from assay.tasks.pool.kind import CellRows, PoolToCut, cell_rows, piece_of, put_piece
from assay.tasks.pool.scores import RunOfShard, ScoreRun, held_at_once, ordered_scores

Finder = Callable[[pa.Table], Ints]     # the stratum (n,) of each row of some


class Placing(Protocol):
    """How rows are placed into strata: by score, features or predictions.

    Which stratum a row is in: by its score, by what further systems predict of it, or by its features.

    A rule is made once and travels to workers. The stratum of a row follows from the row alone.
    """

    @property
    def n_strata(self) -> int:
        """The most strata there can be; some may hold no row."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """The columns of a part that the rule looks at, beside score, probability and prediction."""
        ...

    def finder(self) -> Finder:
        """A function that gives the stratum (n,) of each of the n rows of a table; every shard makes its
        own."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ByScore:
    """Strata are the intervals between edges of the score: E edges (E,) make E + 1 strata."""

    edges: Floats
    columns: Sequence[str] = ()

    @property
    def n_strata(self) -> int:
        """The number of strata, one more than there are edges. Scores on an edge belong to the stratum above
        it, and a stratum may be empty."""
        return len(self.edges) + 1

    def finder(self) -> Finder:
        """A function that gives the stratum (n,) of each of the n rows of a table by its column `score`. The
        table of buckets behind it is made once, for all tables."""
        strata = StratumFinder(self.edges)
        return lambda table: strata.strata_of(numbers_of(table.column("score")))


@dataclass(frozen=True, slots=True)
class BySystems:
    """Items of which the further systems predict the same make a stratum."""

    columns: Sequence[str]

    @property
    def n_strata(self) -> int:
        """The number of strata, 2^S for S columns of further systems: one for each pattern of their
        predictions, whether or not an item has it."""
        return 1 << len(self.columns)

    def finder(self) -> Finder:
        """A function that gives the pattern (n,) of the further systems' predictions for each of the n rows
        of a table, as a number from 0 on."""
        return lambda table: pattern_of(_stacked(table, self.columns))[0]


@dataclass(frozen=True, slots=True, eq=False)
class ByFeatures:
    """Strata are the leaves of a cut by features: items whose features (n, F), F features, fall into the
    same leaf."""

    columns: Sequence[str]
    cut: FeatureCut
    n_strata: int

    def finder(self) -> Finder:
        """A function that gives the leaf (n,) of the cut that the features of each of the n rows of a table
        fall into, as a number from 0 on."""
        return lambda table: self.cut.leaves(_stacked(table, self.columns))


def _stacked(table: pa.Table, columns: Sequence[str]) -> Array:
    return np.stack([numbers_of(table.column(name)) for name in columns], axis=1)


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
    """What a worker does with one shard: count its rows by cell."""

    evaluation: str
    store: Travelling
    pieces_to: Travelling | None
    placing: Placing
    segments: Sequence[str]

    def __call__(self, shard: FrozenShard) -> _Counted:
        n_keys = 2 * self.placing.n_strata
        stratum_of = self.placing.finder()
        sums, keys = CellSums.none(n_keys), list[Ints]()
        known_table = np.zeros((2, 2), np.int64)
        segments: dict[str, dict[str, Ints]] = {name: {} for name in self.segments}
        for table, label in shard.tables(self.store.store, [*NUMBERS, *self.placing.columns, *self.segments]):
            score, probability, prediction = (numbers_of(table.column(name)) for name in NUMBERS)
            key = keys_of(stratum_of(table), prediction)
            if label is not None:
                out = label >= 0
                np.add.at(known_table, (prediction[out].astype(np.int64), label[out]), 1)
                key[out] = -1
            within = slice(None) if label is None else ~out
            sums.add(key[within], score[within], probability[within])
            for name, so_far in segments.items():
                add_segment(so_far, table, name, key, n_keys)
            keys.append(key)
        piece = put_piece(
            self.pieces_to, self.evaluation, shard.number, piece_of(np.concatenate(keys), n_keys)
        )
        return _Counted(sums=sums, segments=segments, known=known_table, piece=piece)


def cut_by_score(method: CountingMethod[MethodState], pool: PoolToCut) -> tuple[Partition, CellRows]:
    """The pool cut for a method, at edges between its scores."""
    pool = pool.with_known()
    with _score_runs(pool) as runs:
        ordered, positives = ordered_scores(runs, pool.n_items, pool.map_over)
        edges, n_slots = method.edges(ordered, positives)
        boundary = decision_boundary(ordered, positives)
        return _cells(pool, ByScore(edges), n_slots, edges=edges, boundary=boundary, ordered=ordered)


def cut_by_systems(pool: PoolToCut, systems: Sequence[str]) -> tuple[Partition, CellRows]:
    """The pool cut by what further systems predict; systems: their columns."""
    placing = BySystems(tuple(systems))
    return _cells(pool, placing, placing.n_strata)


def cut_by_features(
    method: CountingMethod[MethodState], pool: PoolToCut, features: Sequence[str]
) -> tuple[Partition, CellRows]:
    """The pool cut for a method by its features; features: the columns of a part that hold them.

    Raises BadInput where there are none.
    """
    if not features or method.feature_tree is None:
        raise without_features(method.name)
    pool = pool.with_known()
    sample = np.concatenate(list(pool.map_over(_Sample(
        store=Travelling(pool.store), features=features, step=-(-pool.n_items // SAMPLE)
    ), pool.shards)))
    tree = method.feature_tree
    placing = ByFeatures(tuple(features), tree.grown(sample), tree.n_leaves)
    return _cells(pool, placing, tree.n_leaves)


@contextmanager
def _score_runs(pool: PoolToCut) -> Iterator[Sequence[ScoreRun]]:
    """The runs left by the freeze; or those of shards, in a folder if they are not all held at once."""
    if pool.score_runs and pool.shards[0].known is None:
        yield pool.score_runs
        return
    with nullcontext() if held_at_once(pool.n_items) else TemporaryDirectory(prefix="assay-") as folder:
        store = Travelling(pool.store)
        yield [RunOfShard(store=store, shard=shard, folder=folder) for shard in pool.shards]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Every so many rows of a shard that are in cells."""

    store: Travelling
    features: Sequence[str]
    step: int

    def __call__(self, shard: FrozenShard) -> Floats:
        """Their features (n, D)."""
        features, before = [], 0
        for table, label in shard.tables(self.store.store, self.features):
            rows = np.stack([numbers_of(table.column(name)) for name in self.features], axis=1)
            rows = rows if label is None else rows[label < 0]
            features.append(rows[-before % self.step :: self.step])
            before += len(rows)
        return np.concatenate(features)


def _cells(
    pool: PoolToCut, placing: Placing, n_slots: int, *, edges: Floats | None = None, boundary: float = 0.0,
    ordered: OrderedScores | None = None,
) -> tuple[Partition, CellRows]:
    work = _CountShard(
        evaluation=pool.evaluation, store=Travelling(pool.store), pieces_to=pool.pieces_to, placing=placing,
        segments=pool.segments,
    )
    total, by_shard, digests = CellSums.none(2 * placing.n_strata), [], []
    known_table = np.zeros((2, 2), np.int64)
    segments: dict[str, dict[str, Ints]] = {name: {} for name in work.segments}
    for counted in pool.map_over(work, pool.shards):
        total = total.plus(counted.sums)
        by_shard.append(counted.sums.size)
        digests.append(counted.piece)
        known_table += counted.known
        for name, of_value in counted.segments.items():
            for value, items in of_value.items():
                segments[name][value] = segments[name].get(value, 0) + items
    occupied = total.occupied
    partition = Partition(
        edges=np.empty(0) if edges is None else edges,
        cells=total.cells(max(n_slots, placing.n_strata), boundary=boundary, ordered=ordered),
        known=None if pool.shards[0].known is None else known_table, by_segment=stacked(segments, occupied),
    )
    counts = np.stack(by_shard, axis=1)[occupied]
    return partition, cell_rows(counts, digests, [shard.rows for shard in pool.shards])


def add_segment(so_far: dict[str, Ints], table: pa.Table, name: str, cell: Ints, n_cells: int) -> None:
    """Add the rows of a table to the items (n_cells,) of each value of a segment; cell (n,): of each row."""
    codes = table.column(name).combine_chunks().dictionary_encode()
    values = codes.dictionary.to_pylist()
    counts = count_by_segment(cell, n_cells, numbers_of(codes.indices), len(values))
    for value, row in zip(values, counts, strict=True):
        so_far[value] = so_far.get(value, 0) + row


def stacked(segments: Mapping[str, Mapping[str, Ints]], cells: Ints) -> dict[str, Ints]:
    """Column -> (S, C) items by value, in order, and cell."""
    return {
        name: np.stack([of_value[value][cells] for value in sorted(of_value)])
        for name, of_value in segments.items()
    }
