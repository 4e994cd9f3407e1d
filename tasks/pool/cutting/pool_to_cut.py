"""A frozen pool while it is cut: its shards, what is known beforehand, who does the work, and which rows the
cells hold.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Ints
from assay.tasks.ledger import layout
from assay.tasks.ledger.manifest import CellPiece
from assay.tasks.ledger.stores.opening import Travelling
from assay.tasks.ledger.stores.store import Store
from assay.tasks.pool.cutting.scores import StoredRun
from assay.tasks.pool.frozen import FrozenShard, frozen_parts
from assay.tasks.pool.mapping import MapOver

# Which rows the cells hold, in pieces by shard.
#
#   partitions/rows-00000-<digest>   the rows of one shard, numbered within it, by cell and then by row
#   partitions/<digest>.starts       (C + 1, S) where the rows of each cell start in the piece of each shard,
#                                    and where those of the last cell end
#
# All numbers have four bytes. The rows of a cell are those of the first shard, then those of the second, and
# so on: the rank of an item in its cell does not depend on where shards begin.

NUMBER = "<u4"   # of a row in its shard, or of a place in a piece
BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRows:
    """The rows of all cells."""

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
    outcomes: Mapping[str, int]   # item -> label, known beforehand
    map_over: MapOver
    kept: bool                    # whether the rows of cells are put into the ledger, or only digested
    score_runs: Sequence[StoredRun] = ()   # of all rows, left by the freeze; none: scores are read from parts

    @property
    def n_items(self) -> int:
        """N."""
        return sum(shard.rows for shard in self.shards)

    @property
    def part_keys(self) -> list[str]:
        """Of all parts, in order."""
        return [key for shard in self.shards for key in shard.part_keys]

    @property
    def pieces_to(self) -> Travelling | None:
        """Where the rows of cells are put."""
        return Travelling(self.store) if self.kept else None

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """All parts in order, one at a time, with these columns."""
        return frozen_parts(self.store, self.part_keys, columns)

    def with_known(self) -> "PoolToCut":
        """With the label of each row whose outcome is known, in one byte a row.

        Where none is known, or all are, every row is in a cell.
        """
        if not 0 < len(self.outcomes) < self.n_items:
            return self
        return replace(self, shards=[replace(s, known=self._known(s)) for s in self.shards])

    def rows_of(self, cell: Ints, n_cells: int) -> CellRows:
        """The rows of the cells; cell (N,): of each row, -1 for one in no cell."""
        counts, digests = [], []
        for shard in self.shards:
            here = cell[shard.first_row : shard.first_row + shard.rows]
            piece = piece_of(here, n_cells)
            counts.append(np.bincount(here[here >= 0], minlength=n_cells))
            digests.append(put_piece(self.pieces_to, self.evaluation, shard.number, piece))
        return cell_rows(np.stack(counts, axis=1), digests, [shard.rows for shard in self.shards])

    def _known(self, shard: FrozenShard) -> bytes:
        ids = (table.column("item_id").to_pylist() for table, _ in shard.tables(self.store, ["item_id"]))
        found = [self.outcomes.get(item_id, -1) for some in ids for item_id in some]
        return np.array(found, np.int8).tobytes()
