"""A few rows of a Parquet file, by the pages that hold them.

PyArrow reads a row group from its start, so a row far behind in a group of a million costs as much as the
group. Where a group is long, only the pages with wanted rows are read here, a column at a time. A file that
cannot be read so is read from the start of the group, as all rows are; what is wrong with it is told there.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from assay.tasks.sources.columns import check_columns
from assay.tasks.sources.files.protocol import SourceFile, unreadable
from assay.tasks.sources.nested import every_name
from assay.tasks.sources.parquet.columns_of_file import ColumnsOfFile, NotByPages, Page, pages
from assay.tasks.sources.parquet.rows import parquet_batches
from assay.tasks.sources.parquet.small_file import small_file

_LONG_GROUP = 1 << 15       # rows; a shorter group is one batch
_HEADER = 1 << 12           # bytes read at once where a header is
_AT_ONCE = 8                # columns of row groups
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
        except _CANNOT:
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
            with closing(self._file.open(_HEADER)) as stream:
                found, places = _holding(pages(stream, column, one.wanted), one.wanted)
            small = small_file(self._file, of_file.footer, self._schema, column, found)
            read = []
            for first, batch in parquet_batches(small, [name], places):
                here = places[bisect_left(places, first) : bisect_left(places, first + batch.num_rows)]
                read.append(batch.column(0).take(pa.array([place - first for place in here], pa.int64())))
            return pa.concat_arrays(read)
        except _CANNOT:
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
