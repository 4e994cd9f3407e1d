"""A few rows of a Parquet file, by the pages that hold them.

PyArrow reads a row group from its start, so a row far behind in a group of a million costs as much as the
group. Where a group is long, only the pages with wanted rows are read here, a column at a time. A file that
cannot be read so is read from the start of the group, as all rows are; what is wrong with it is told there.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.columns import check_columns
from assay.tasks.sources.files.protocol import SourceFile, unreadable
from assay.tasks.sources.nested import every_name
from assay.tasks.sources.pages.columns_of_file import ColumnsOfFile, NotByPages, Page
from assay.tasks.sources.pages.small_file import small_file
from assay.tasks.sources.parquet_rows import parquet_batches

_LONG_GROUP = 1 << 15       # rows; a shorter group is one batch
_CANNOT = (NotByPages, ValueError, LookupError, TypeError, RuntimeError, pa.ArrowException)


def picked_batches(
    file: SourceFile, columns: Sequence[str], wanted: Sequence[int] | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns): batches that hold the wanted rows (sorted).

    Without `wanted`, as `parquet_batches`.
    """
    if wanted is None:
        yield from parquet_batches(file, columns)
        return
    try:
        with closing(file.open(1 << 16)) as stream:
            reader = pq.ParquetFile(stream, pre_buffer=False)
            check_columns(file.path, columns, every_name(reader.schema_arrow))
            first, pages = 0, _ByPages(file, stream, reader.schema_arrow)
            for group in range(reader.num_row_groups):
                rows = reader.metadata.row_group(group).num_rows
                here = wanted[bisect_left(wanted, first) : bisect_left(wanted, first + rows)]
                if here and rows <= _LONG_GROUP:
                    yield from parquet_batches(file, columns, here)
                elif here:
                    picked = pages.rows(group, columns, [row - first for row in here])
                    if picked is None:
                        yield from parquet_batches(file, columns, here)
                    else:
                        yield from ((row, picked.slice(place, 1)) for place, row in enumerate(here))
                first += rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None


class _ByPages:
    """Reads rows of one file by pages."""

    def __init__(self, file: SourceFile, stream: BinaryIO, schema: pa.Schema) -> None:
        self._file, self._stream, self._schema = file, stream, schema
        self._columns: ColumnsOfFile | None = None     # looked up when it is first needed

    def rows(self, group: int, columns: Sequence[str], wanted: Sequence[int]) -> pa.RecordBatch | None:
        """The wanted rows (sorted, counted in the row group); None where they cannot be read so."""
        try:
            arrays = [self._column(group, name, wanted) for name in columns]
            return pa.RecordBatch.from_arrays(arrays, names=list(columns))
        except _CANNOT:
            return None

    def _column(self, group: int, name: str, wanted: Sequence[int]) -> pa.Array:
        self._columns = self._columns or ColumnsOfFile(self._stream, self._file.size)
        column = self._columns.column(group, name)
        pages: list[Page] = []
        places: list[int] = []      # of the wanted rows, among those of the pages
        passed = 0
        for page in self._columns.pages(column, wanted):
            here = wanted[bisect_left(wanted, page.first) : bisect_left(wanted, page.first + page.rows)]
            if here or page.is_dictionary:
                pages.append(page)
                places += [passed + row - page.first for row in here]
                passed += page.rows
        if len(places) < len(wanted):
            raise NotByPages
        small = small_file(self._file, self._columns.footer, self._schema, column, pages)
        found = []
        for first, batch in parquet_batches(small, [name], places):
            here = places[bisect_left(places, first) : bisect_left(places, first + batch.num_rows)]
            found.append(batch.column(0).take(pa.array([place - first for place in here], pa.int64())))
        return pa.concat_arrays(found)
