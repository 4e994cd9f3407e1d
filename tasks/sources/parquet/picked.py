"""Some rows of a Parquet file, read by the pages that hold them: a few scattered ones, or a run of many.

PyArrow reads a row group from its start, so a row far behind in a group of a million costs as much as the
group. Where a group is long, only the pages with wanted rows are read here, a column at a time. A file that
cannot be read so is read from the start of the group, as all rows are; what is wrong with it is told there.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.files.protocol import SourceFile, check_columns, unreadable
from assay.tasks.sources.parquet.pages import ColumnsOfFile, NotByPages, Page, SmallFile, pages, small_file
from assay.tasks.sources.parquet.rows import every_name, parquet_batches

_LONG_GROUP = 1 << 15       # rows; a shorter group is one batch
_HEADER_BYTES = 1 << 12           # bytes read at once where a header is
_AT_ONCE = 8                # columns of row groups
_NOT_BY_PAGES = (NotByPages, ValueError, LookupError, TypeError, RuntimeError, pa.ArrowException)


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
            concerned = list(_concerned(reader.metadata, wanted))
            by_pages = _ByPages(file, stream, reader.schema_arrow)
            picked = by_pages.rows([one for one in concerned if one.rows > _LONG_GROUP], columns)
        for one in concerned:
            rows = picked.get(one.group)
            if rows is None:
                yield from parquet_batches(file, columns, [one.first + row for row in one.wanted])
            else:
                yield from ((one.first + row, rows.slice(i, 1)) for i, row in enumerate(one.wanted))
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None


@dataclass(frozen=True, slots=True)
class _Concerned:
    """A row group with wanted rows."""

    group: int
    first: int            # its first row in the file
    rows: int
    wanted: list[int]     # counted in the row group, sorted


def _concerned(about: pq.FileMetaData, wanted: Sequence[int]) -> Iterator[_Concerned]:
    first = 0
    for group in range(about.num_row_groups):
        rows = about.row_group(group).num_rows
        here = wanted[bisect_left(wanted, first) : bisect_left(wanted, first + rows)]
        if here:
            yield _Concerned(group, first, rows, [row - first for row in here])
        first += rows


class _ByPages:
    """Reads rows of one file by pages."""

    def __init__(self, file: SourceFile, stream: BinaryIO, schema: pa.Schema) -> None:
        self._file, self._stream, self._schema = file, stream, schema

    def rows(self, groups: Sequence[_Concerned], columns: Sequence[str]) -> dict[int, pa.RecordBatch]:
        """Row group -> its wanted rows, of those that can be read so. Several columns are read at once."""
        if not groups:
            return {}
        try:
            of_file = ColumnsOfFile(self._stream, self._file.size)
        except _NOT_BY_PAGES:
            return {}
        pieces = [(of_file, one, name) for one in groups for name in columns]
        with ThreadPoolExecutor(_AT_ONCE) as threads:     # where files are far away, they wait
            arrays = threads.map(lambda piece: self._column(*piece), pieces)
            found = {one.group: [next(arrays) for _ in columns] for one in groups}
        return {
            group: pa.RecordBatch.from_arrays(read, names=list(columns))
            for group, read in found.items() if all(array is not None for array in read)
        }

    def _column(self, of_file: ColumnsOfFile, one: _Concerned, name: str) -> pa.Array | None:
        try:
            column = of_file.column(one.group, name)
            with closing(self._file.open(_HEADER_BYTES)) as stream:
                found, places = _holding(pages(stream, column, one.wanted), one.wanted)
            small = small_file(self._file, of_file.footer, self._schema, column, found)
            read = []
            for first, batch in parquet_batches(small, [name], places):
                here = places[bisect_left(places, first) : bisect_left(places, first + batch.num_rows)]
                read.append(batch.column(0).take(pa.array([place - first for place in here], pa.int64())))
            return pa.concat_arrays(read)
        except _NOT_BY_PAGES:
            return None


def _holding(found: Iterable[Page], wanted: Sequence[int]) -> tuple[list[Page], list[int]]:
    """The dictionary and the pages that hold wanted rows, and which rows of theirs the wanted ones are.

    Raises NotByPages where one is in none of them.
    """
    holding: list[Page] = []
    places: list[int] = []
    passed = 0
    for page in found:
        here = wanted[bisect_left(wanted, page.first) : bisect_left(wanted, page.first + page.rows)]
        if here or page.is_dictionary:
            holding.append(page)
            places += [passed + row - page.first for row in here]
            passed += page.rows
    if len(places) < len(wanted):
        raise NotByPages
    return holding, places


# Rows from the middle of a giant row group, without those before them.
#
# The pages of each column that hold the rows are a small file by themselves (`small_file`). Columns
# have pages of different lengths, so each is read by itself, and their batches are put side by side.

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
