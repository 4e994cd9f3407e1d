"""A frozen pool while it is cut: its shards, what is known of it beforehand, and who does the work."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Ints
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.ledger.stores.travelling import Travelling
from assay.tasks.pool.cutting.cell_rows import CellRows, cell_rows, piece_of, put_piece
from assay.tasks.pool.cutting.frozen_shards import FrozenShard
from assay.tasks.pool.cutting.score_runs import StoredRun
from assay.tasks.pool.frozen import frozen_parts
from assay.tasks.pool.mapping import MapOver


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolToCut:
    """See the top of this module."""

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
