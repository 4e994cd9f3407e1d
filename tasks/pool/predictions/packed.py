"""A column of the frozen parts that holds several numbers an item, gathered in a temporary file.

Memory does not grow with how many numbers an item has.
"""

from tempfile import TemporaryFile

import numpy as np
import pyarrow as pa

from assay.evalcore.types import Array
from assay.tasks.pool.frozen import packed_bytes


class PackedColumn:
    """The values of one column of the parts read so far."""

    def __init__(self, name: str, dtype: str, width: int) -> None:
        self.name, self._dtype, self._width = name, dtype, width
        # it has to outlive this method: closed when the pool is cut
        self._file = TemporaryFile()   # noqa: SIM115

    def add(self, table: pa.Table) -> None:
        """Take the rows of a part."""
        for chunk in table.column(self.name).chunks:
            self._file.write(packed_bytes(chunk))

    def table(self, rows: int) -> Array:
        """(rows, width) all values, as a memory map."""
        self._file.flush()
        return np.memmap(self._file, self._dtype, "r", shape=(rows, self._width))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


def packed(table: Array, dtype: str) -> Array:
    """(n,) the rows of a table (n, width) as fixed bytes."""
    rows = np.ascontiguousarray(table, dtype)
    size = rows.dtype.itemsize * rows.shape[1]
    # numpy takes trailing zero bytes off fixed texts: a void view keeps them
    return rows.view(f"S{size}")[:, 0].view(f"V{size}")
