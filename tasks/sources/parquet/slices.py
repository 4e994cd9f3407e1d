"""Rows from the middle of a giant row group of Parquet, without those before them.

The pages of each column that hold the rows are a small file by themselves (see `small_file`). Columns
have pages of different lengths, so each is read by itself, and their batches are put side by side.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.files.protocol import SourceFile
from assay.tasks.sources.parquet.columns_of_file import ColumnsOfFile, NotByPages, pages
from assay.tasks.sources.parquet.rows import parquet_batches
from assay.tasks.sources.parquet.small_file import SmallFile, small_file

_FAR = 1 << 16        # rows; to fewer, a row group is read from its start
_HEADER = 1 << 12     # bytes read at once where the header of a page is
_CANNOT = (
    NotByPages, ValueError, LookupError, TypeError, RuntimeError, StopIteration, OSError, pa.ArrowException
)


def sliced_batches(
    file: SourceFile, columns: Sequence[str], wanted: Sequence[int] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """As `parquet_batches`; `wanted` are consecutive rows, and may begin far inside a row group."""
    if wanted and wanted[0]:
        first, end = wanted[0], wanted[-1] + 1
        found = _far_inside(file, columns, first, end)
        if found:
            stop, streams = found
            for arrays in _side_by_side([_rows_of(*one) for one in streams]):
                yield first, pa.RecordBatch.from_arrays(arrays, names=list(columns))
                first += len(arrays[0])
            wanted = range(stop, end)
    if wanted is None or wanted:
        yield from parquet_batches(file, columns, wanted)


def can_be_sliced(file: SourceFile) -> bool:
    """Whether rows far inside a row group can be read without those before them: there are no lists."""
    try:
        with closing(file.open(1 << 16)) as stream:
            return not ColumnsOfFile(stream, file.size).has_lists
    except _CANNOT:
        return False


_Stream = tuple[SmallFile, str, int, int]     # pages of a column, its name, the first row among theirs, rows


def _far_inside(
    file: SourceFile, columns: Sequence[str], first: int, end: int
) -> tuple[int, list[_Stream]] | None:
    """Where the row group of the first row ends, or the rows do, and the pages of each column up to there.

    None where reading by pages does not pay, or is not possible.
    """
    try:
        with closing(file.open(_HEADER)) as stream:
            reader = pq.ParquetFile(stream, pre_buffer=False)
            start = group = rows = 0
            for group in range(reader.num_row_groups):
                rows = reader.metadata.row_group(group).num_rows
                if first < start + rows:
                    break
                start += rows
            stop = min(start + rows, end)
            if first - start < _FAR or first >= stop:
                return None
            here = range(first - start, stop - start)
            return stop, _streams(file, stream, reader.schema_arrow, group, columns, here)
    except _CANNOT:
        return None      # what is wrong with the file is told where it is read from the start


def _streams(
    file: SourceFile, stream: BinaryIO, schema: pa.Schema, group: int, columns: Sequence[str], rows: range
) -> list[_Stream]:
    """The pages of each column that hold some rows of a row group. Raises one of _CANNOT."""
    of_file = ColumnsOfFile(stream, file.size)
    found = []
    for name in columns:
        column = of_file.column(group, name)
        held = [
            page for page in pages(stream, column, rows)
            if page.is_dictionary or (page.first < rows.stop and page.first + page.rows > rows.start)
        ]
        first = next(page.first for page in held if not page.is_dictionary)
        if first > rows.start or first + sum(page.rows for page in held) < rows.stop:
            raise NotByPages
        small = small_file(file, of_file.footer, schema, column, held)
        found.append((small, name, rows.start - first, len(rows)))
    return found


def _rows_of(small: SmallFile, name: str, first: int, rows: int) -> Iterator[pa.Array]:
    end = first + rows
    for start, batch in parquet_batches(small, [name], range(first, end)):
        before = max(first - start, 0)
        here = batch.column(0).slice(before, max(end - start - before, 0))
        if len(here):
            yield here


def _side_by_side(streams: Sequence[Iterator[pa.Array]]) -> Iterator[list[pa.Array]]:
    """Arrays of equal lengths from streams of as many rows in all."""
    held: list[Any] = [next(stream, None) for stream in streams]
    while all(array is not None for array in held):
        rows = min(len(array) for array in held)
        yield [array.slice(0, rows) for array in held]
        held = [
            array.slice(rows) if len(array) > rows else next(stream, None)
            for array, stream in zip(held, streams, strict=True)
        ]
