"""What a kind of labels needs of the rows of a pool, the frozen pool while it is cut, and the cut that is
made of it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from assay.evalcore.json_values import JsonObject
from assay.evalcore.monitoring.profile import Beside, Profile, TrafficTally, with_what_is_beside
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import PoolWeights
from assay.evalcore.types import Array, Bools, Floats, Ints
from assay.tasks.ledger import layout
from assay.tasks.ledger.manifest import CUT, FEATURE, CellPiece
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.frozen import FrozenShard, frozen_parts
from assay.tasks.pool.scores import StoredRun
from assay.tasks.pool.shards import MapOver
from assay.tasks.spec.evaluation import Spec

NUMBER = "<u4"   # of a row in its shard, or of a place in a piece
NUMBER_BYTES = 4   # of such a number


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRows:
    """Which rows of the pool the cells hold: where the rows of each cell start in the piece of each shard,
    (C + 1, S) numbers of four bytes, C cells and S shards, and the digest and rows of each piece.

    Which rows the cells hold, in pieces by shard.

      partitions/rows-00000-<digest>   the rows of one shard, numbered within it, by cell and then by row
      partitions/<digest>.starts       (C + 1, S) where the rows of each cell start in the piece of each
                                       shard,
                                       and where those of the last cell end

    All numbers have four bytes. The rows of a cell are those of the first shard, then those of the second,
    and so on: the rank of an item in its cell does not depend on where shards begin.
    """

    starts: bytes
    pieces: tuple[CellPiece, ...]


def piece_of(cell: Ints, n_cells: int) -> bytes:
    """The piece of a shard. cell (n,): of each row of the shard, or anything that orders rows as cells do,
    below n_cells; -1 for a row in no cell."""
    rows = None if cell.min(initial=0) >= 0 else np.flatnonzero(cell >= 0)
    narrow = np.uint16 if n_cells <= 1 << 16 else np.int64   # 16 bits sort by counting
    order = np.argsort((cell if rows is None else cell[rows]).astype(narrow), kind="stable")
    return (order if rows is None else rows[order]).astype(NUMBER).tobytes()


def put_piece(to: Travelling | None, evaluation: str, shard: int, piece: bytes) -> str:
    """Put a piece, if there is a store to put it to; its digest."""
    digest = layout.digest(piece)
    if to is not None:
        to.store.put(layout.partition_rows(evaluation, shard, digest), piece)
    return digest


def cell_rows(counts: Ints, digests: Sequence[str], rows: Sequence[int]) -> CellRows:
    """Of all shards; counts (C, S): items of each cell in each shard; rows: of each shard."""
    starts = np.concatenate([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts, axis=0)])
    pieces = tuple(CellPiece(file=d, rows=n) for d, n in zip(digests, rows, strict=True))
    return CellRows(starts=starts.astype(NUMBER).tobytes(), pieces=pieces)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolToCut:
    """What the shards of a pool say before it is cut into cells."""

    evaluation: str
    store: Store
    shards: Sequence[FrozenShard]
    segments: Sequence[str]
    outcomes: Mapping[str, float]   # item -> code, known beforehand
    map_over: MapOver
    kept: bool                    # whether the rows of cells are put into the ledger, or only digested
    score_runs: Sequence[StoredRun] = ()   # of all rows, left by the freeze; none: scores are read from parts

    @property
    def n_items(self) -> int:
        """The number of items of the pool, N, over all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def part_keys(self) -> list[str]:
        """The keys in the ledger of all parts of the pool, in order of its rows."""
        return [key for shard in self.shards for key in shard.part_keys]

    @property
    def pieces_to(self) -> Travelling | None:
        """The store into which the rows of cells are put; None where they are only digested, as in a
        verification."""
        return Travelling(self.store) if self.kept else None

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """All parts in order, one at a time, with these columns."""
        return frozen_parts(self.store, self.part_keys, columns)

    def with_known(self) -> "PoolToCut":
        """With the label of each row whose outcome is known, in one byte a row.

        Where none is known, or all are, every row is in a cell; so it is with segments, whose known items
        have to be in their sample.
        """
        if self.segments or not 0 < len(self.outcomes) < self.n_items:
            return self
        return replace(self, shards=[replace(s, known=self._known(s)) for s in self.shards])

    def rows_of(self, cell: Ints, n_cells: int) -> CellRows:
        """The rows of the cells; cell (N,): of each row, -1 for one in no cell."""
        counts, digests = [], []
        for shard in self.shards:
            cells = cell[shard.first_row : shard.first_row + shard.rows]
            piece = piece_of(cells, n_cells)
            counts.append(np.bincount(cells[cells >= 0], minlength=n_cells))
            digests.append(put_piece(self.pieces_to, self.evaluation, shard.number, piece))
        return cell_rows(np.stack(counts, axis=1), digests, [shard.rows for shard in self.shards])

    def _known(self, shard: FrozenShard) -> bytes:
        ids = (table.column("item_id").to_pylist() for table, _ in shard.tables(self.store, ["item_id"]))
        labels = [self.outcomes.get(item_id, -1) for batch in ids for item_id in batch]
        return np.array(labels, np.int8).tobytes()



@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionCounts:
    """Of some rows, or of all; the fields are those of the manifest."""

    predicted: tuple[int, ...]                        # rows by predicted class or tag; none of numbers
    score_range: tuple[float, float] | None = None    # None where the pool has no score
    differing: Mapping[str, int] | None = None        # system -> rows it predicts otherwise than the baseline

    def plus(self, counts: "PredictionCounts") -> "PredictionCounts":
        """The counts of these rows and the other ones together: classes and differences are added, and the
        range of scores covers both."""
        scores, differing = self.score_range, self.differing
        if scores is not None and counts.score_range is not None:
            scores = min(scores[0], counts.score_range[0]), max(scores[1], counts.score_range[1])
        if differing is not None and counts.differing is not None:
            differing = {name: count + counts.differing[name] for name, count in differing.items()}
        return PredictionCounts(
            predicted=tuple(a + b for a, b in zip(self.predicted, counts.predicted, strict=True)),
            score_range=scores, differing=differing,
        )


def rows_by_part(kind: OutcomeKind, codes: Array) -> tuple[int, ...]:
    """Rows by predicted class or tag, of codes (n,); nothing of numbers."""
    if not kind.parts:
        return ()
    return tuple(kind.phi(codes.astype("f8")).sum(axis=0).astype("i8").tolist())


class CellSizes(Protocol):
    """The cells of a cut, as far as items are looked up by them."""

    @property
    def size(self) -> Ints:
        """The number of items in each cell, (C,), C cells."""
        ...

    @property
    def n_cells(self) -> int:
        """The number of cells of the cut, C."""
        ...

    @property
    def n_items(self) -> int:
        """The number of items in all cells, N."""
        ...


class FrozenCut(Protocol):
    """A pool cut into cells, as the ledger holds it under partitions/<digest>.json: what its method knows of
    the cells."""

    @property
    def cells(self) -> Any:
        """What the statistics know of the cells, which gives their sizes as `CellSizes` does; its type
        depends on the kind of outcome."""
        ...

    @property
    def weights(self) -> "PoolWeights | None":
        """What is known of the weights of all items; None where all count alike."""
        ...

    def to_json(self) -> JsonObject:
        """Plain JSON values from which `cut_from_json` makes the same cut again, to the last bit."""
        ...


class PredictionReader(Protocol):
    """What reads values out of a batch of rows, or refuses them with file, column and row."""

    def number_column(self, name: str) -> Floats:
        """A column (n,) of n finite numbers. Raises BadInput for values that are none."""
        ...

    def codes(self, name: str) -> Array:
        """A column (n,) of n class names or tags as codes. Raises BadInput for names that are no answer."""
        ...

    def gaps(self, name: str) -> Bools:
        """Which of the n rows have no value in a column, (n,)."""
        ...

    def bridged(self, name: str, gaps: Bools) -> "PredictionReader":
        """What reads this column with some value that is there in its gaps (n,)."""
        ...

    def read_as(self, predictions: "Predictions") -> "PredictionReader":
        """A reader of the same rows that reads names as these predictions spell them: each of several
        questions has names of its own."""
        ...

    def refuse(self, name: str, bad: Bools, what: str, remedy: str) -> None:
        """Raise BadInput that lists the rows marked in bad (n,), if there are any."""
        ...


class Watching:
    """The predictions of a window, read once for its profile, before anything is frozen.

    By default nothing is said of the predictions themselves.
    """

    def __init__(self) -> None:
        self._rows = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Take a batch of checked rows; here they are only counted."""
        self._rows += rows.num_rows

    def profile(self, beside: Beside, like: Profile | None) -> Profile:
        """Of all rows; beside: their other columns; like: an earlier profile, to be compared with."""
        return with_what_is_beside(Profile(rows=self._rows), beside, like)


class Tallying(Protocol):
    """The predictions of a large window, counted by shard for its profile; travels to workers."""

    column: ClassVar[str]    # of checked rows: the one whose values are counted between edges
    bins: ClassVar[int]

    def tally_rows(self, rows: pa.Table, edges: Sequence[float]) -> TrafficTally:
        """What checked rows add up to: counts of values between the edges of bins, and whatever the profile
        needs beside."""
        ...

    def profile(self, tally: TrafficTally, edges: tuple[float, ...]) -> Profile:
        """The profile of a window from the tally of all its rows, without what its other columns say."""
        ...


def cut_columns(spec: Spec) -> list[str]:
    """What a part calls the features that a pool is cut by: a column may be a feature and a segment, and move
    a judge too."""
    prefix = FEATURE if spec.labels.by_cell else CUT
    return [prefix + name for name in spec.pool.features or ()]


class Predictions(ABC):
    """What the parts of a frozen pool hold of its predictions."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    @property
    @abstractmethod
    def source_columns(self) -> Sequence[str]:
        """The columns of the source that are read for the predictions."""

    @property
    @abstractmethod
    def fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The columns of a part that come after `item_id`, before the segments."""

    @property
    def cut_fields(self) -> Sequence[tuple[str, pa.DataType]]:
        """The columns that decide cells and nothing later, after the segments: features, and what a kind
        adds."""
        return [(name, pa.float64()) for name in cut_columns(self._spec)]

    def features(self, rows: PredictionReader) -> list[Array]:
        """The values of the features that the pool is cut by."""
        return [rows.number_column(name) for name in self._spec.pool.features or ()]

    missing_code: ClassVar[int] = -1   # the code of a missing prediction; -1 where there must be one

    def code_of(self, value: str) -> int:
        """The code of what a prediction may say, however it is written; -1 where it is no answer."""
        answers = self._spec.labels.answers
        answer = answers.spelled(value)
        return -1 if answer is None else int(answers.code(answer))

    @property
    def no_class(self) -> tuple[str, str]:
        """What is wrong with values that are no class, and the remedy."""
        return "are no answers as under `labels`", "correct either"

    @property
    def ranked(self) -> str | None:
        """The column of numbers that all rows are cut by in order of rank; None where there is none."""
        return None

    @property
    @abstractmethod
    def method(self) -> str:
        """The method that the pool is cut for, `auto` with its meaning before the pool is counted."""

    def method_for(self, predicted: tuple[int, ...]) -> str:
        """The method that a pool of so many items by predicted class is cut for."""
        return self.method

    @abstractmethod
    def arrays(self, rows: PredictionReader) -> list[Array]:
        """The values of a batch of rows, (n,) each: first the columns of `fields`, then those of
        `cut_fields`, in order."""

    @property
    @abstractmethod
    def counted_columns(self) -> list[str]:
        """The columns of a part that `counts` needs."""

    @abstractmethod
    def counts(self, table: pa.Table) -> PredictionCounts:
        """What the manifest says of the predictions of some rows, one at least: rows by predicted class, the
        range of scores, and how often systems differ."""

    @abstractmethod
    def cut(self, method: str, pool: PoolToCut) -> tuple[FrozenCut, CellRows]:
        """The pool cut for this method, and the rows of its cells."""

    def watching(self) -> Watching:
        """A fresh watcher of a window's rows, which has seen none yet; here it says nothing of predictions.
        """
        return Watching()

    def tallying(self) -> Tallying | None:
        """How a large window is counted by shard; None where it is read in one place."""
        return None

    @abstractmethod
    def cut_from_json(self, data: Mapping[str, object]) -> FrozenCut:
        """The cut that `FrozenCut.to_json` wrote as these values. Raises KeyError, TypeError or ValueError
        where they are none."""
