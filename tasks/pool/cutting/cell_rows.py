"""Which rows the cells hold, in pieces by shard.

    partitions/rows-00000-<digest>   the rows of one shard, numbered within it, by cell and then by row
    partitions/<digest>.starts       (C + 1, S) where the rows of each cell start in the piece of each shard,
                                     and where those of the last cell end

All numbers have four bytes. The rows of a cell are those of the first shard, then those of the second, and so
on: the rank of an item in its cell does not depend on where shards begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.types import Ints
from assay.tasks.ledger import layout
from assay.tasks.ledger.manifest import CellPiece
from assay.tasks.ledger.stores.travelling import Travelling

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
