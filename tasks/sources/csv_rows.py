"""Rows of a CSV file, a block at a time.

Nothing is guessed: every column is read as text, so an id 007 keeps its zeros and NA is a word. The first
line names the columns; one without a name is called by its place, `column 1`. Quoted values may hold line
breaks; empty lines are no rows.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.csv as pacsv

from assay.evalcore.errors import BadInput
from assay.tasks.sources.bounded_lines import BoundedLines
from assay.tasks.sources.columns import check_columns
from assay.tasks.sources.files.names import is_compressed
from assay.tasks.sources.files.protocol import SourceFile, unreadable
from assay.tasks.sources.marks import CountedRows, CsvMarks, Mark

_BLOCK = 4 << 20         # also the longest row there may be
_LONGEST_LINE = 2 * _BLOCK   # a longer one does not fit however blocks fall
_BUFFER = 8 << 20        # bytes a request on S3
_MOST_HEADER = 1 << 20


def csv_batches(
    file: SourceFile,
    columns: Sequence[str],
    wanted: Sequence[int] | None = None,
    mark: Mark | None = None,
    marks: CsvMarks | None = None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns as text); with `wanted` rows, up to the last.

    It begins at a mark, if one is given. `marks` sees all bytes that are read.
    """
    try:
        with _bounded(file, marks=marks) as stream:
            names = _header(file, stream)
            check_columns(file.path, columns, _named(names))
            if not any(end in stream.peek(_MOST_HEADER) for end in (b"\n", b"\r")):
                return  # column names and nothing else
            if mark is None:
                yield from _batches(file, stream, names, columns, wanted)
                return
        with _bounded(file, mark) as stream:
            yield from _batches(file, stream, names, columns, wanted, mark)
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file.path, str(error) or type(error).__name__) from None


def _batches(
    file: SourceFile,
    stream: io.BufferedReader,
    names: list[str],
    columns: Sequence[str],
    wanted: Sequence[int] | None,
    mark: Mark | None = None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    first = mark.row if mark else 0
    there = [names[_named(names).index(column)] for column in columns]
    try:
        rows = pacsv.open_csv(
            stream,
            read_options=pacsv.ReadOptions(block_size=_BLOCK, column_names=names if mark else None),
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                include_columns=there, column_types=dict.fromkeys(there, pa.string())
            ),
        )
        with rows:
            for batch in rows:
                if wanted is not None and (not wanted or first > wanted[-1]):
                    return
                yield first, pa.RecordBatch.from_arrays(batch.columns, names=list(columns))
                first += batch.num_rows
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise BadInput(
                f"{file.path}: a row after row {first:,} is longer than {_BLOCK >> 20} MB, or a quotation "
                "mark is not closed; shorten its texts, or correct the quotation marks"
            ) from None
        raise unreadable(file.path, f"not a sound CSV file ({error})") from None


def count_rows(file: SourceFile, column: str) -> CountedRows:
    """How many rows the file has, by one of its columns. Raises BadInput where it cannot be read."""
    marks = None if is_compressed(file.path) else CsvMarks()
    rows = sum(batch.num_rows for _, batch in csv_batches(file, [column], marks=marks))
    return marks.found(rows) if marks else CountedRows(rows=rows)


def header(file: SourceFile) -> list[str]:
    """The column names. Raises BadInput for a file without any."""
    try:
        with closing(file.open(_BUFFER)) as raw, closing(opened(file, raw)) as stream:
            return _named(_header(file, stream))
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file.path, str(error) or type(error).__name__) from None


def opened(file: SourceFile, raw: BinaryIO) -> io.BufferedReader:
    """The file's text as bytes: decompressed if its name says so."""
    return io.BufferedReader(cast("io.RawIOBase", _text(file, raw)), buffer_size=_MOST_HEADER)


def _text(file: SourceFile, raw: BinaryIO) -> BinaryIO:
    return cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if is_compressed(file.path) else raw


@contextmanager
def _bounded(
    file: SourceFile, mark: Mark | None = None, marks: CsvMarks | None = None
) -> Iterator[io.BufferedReader]:
    """The file's text from a mark on, in lines of bounded length."""
    with closing(file.open(_BUFFER)) as raw, closing(_text(file, raw)) as text:
        if mark:
            raw.seek(mark.byte)
        passed, see = mark.line if mark else 0, marks.see if marks else None
        lines = BoundedLines(file, text, _LONGEST_LINE, passed, see)
        try:
            yield io.BufferedReader(lines, buffer_size=_MOST_HEADER)
        finally:
            lines.stop()     # Arrow reads ahead in a thread, and goes on with a file that it refused


def _named(names: list[str]) -> list[str]:
    """The names, with one for the column without a name that data frames write their index into."""
    if names.count("") != 1 or (called := f"column {names.index('') + 1}") in names:
        return names
    return [name or called for name in names]


def _header(file: SourceFile, stream: io.BufferedReader) -> list[str]:
    """The column names, without moving the stream."""
    start = stream.peek(_MOST_HEADER)
    text = start.decode("utf-8-sig", errors="replace")
    try:
        names = next((row for row in csv.reader(io.StringIO(text, newline="")) if row), [])
    except csv.Error as error:
        raise unreadable(file.path, f"its first line is not a line of column names ({error})") from None
    if not names:
        raise BadInput(f"{file.path}: empty; a CSV file begins with a line of column names")
    return names
