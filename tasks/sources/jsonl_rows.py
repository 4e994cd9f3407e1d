"""Rows of a JSON Lines file: one object a line, blank lines ignored.

The standard library's parser is used, not Arrow's: Arrow guesses types block by block, takes text that looks
like a date for one, and gives up when a later block disagrees.
"""

import json
import zlib
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.types import JsonObject
from assay.tasks.sources.columns import check_columns
from assay.tasks.sources.csv_rows import opened
from assay.tasks.sources.files.protocol import SourceFile, line_too_long, unreadable
from assay.tasks.sources.values import of_python

_BATCH_ROWS = 1 << 15
_BUFFER = 8 << 20
_BATCH_BYTES = 128 << 20     # of lines, where they are long
_LONGEST_LINE = 16 << 20


def jsonl_batches(
    file: SourceFile, columns: Sequence[str], wanted: Sequence[int] | None = None
) -> Generator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns); with `wanted` rows, up to the last of them.

    A key that a row lacks is a missing value; one that no row of the first batch has is a missing column.
    """
    first = 0
    for rows in _batches(file):
        if wanted is not None and (not wanted or first > wanted[-1]):
            return
        if first == 0:
            check_columns(file.path, columns, list(dict.fromkeys(key for row in rows for key in row)))
        arrays = [_column(file, name, [row.get(name) for row in rows]) for name in columns]
        yield first, pa.RecordBatch.from_arrays(arrays, names=list(columns))
        first += len(rows)


def first_keys(file: SourceFile) -> list[str]:
    """The keys of the rows of the first batch, in the order they come up."""
    with closing(_batches(file)) as batches:
        return list(dict.fromkeys(key for row in next(batches, []) for key in row))


def count_rows(file: SourceFile) -> int:
    """How many rows the file has; the objects themselves are not looked at."""
    with closing(_lines(file)) as lines:
        return sum(1 for _ in lines)


def _batches(file: SourceFile) -> Generator[list[JsonObject]]:
    rows: list[JsonObject] = []
    held = 0
    with closing(_lines(file)) as lines:
        for number, line in lines:
            rows.append(_row(file, number, line))
            held += len(line)
            if len(rows) == _BATCH_ROWS or held >= _BATCH_BYTES:
                yield rows
                rows, held = [], 0
        if rows:
            yield rows


def _lines(file: SourceFile) -> Generator[tuple[int, bytes]]:
    """The lines that hold rows, each with its number from 1."""
    try:
        with closing(file.open(_BUFFER)) as raw, closing(opened(file, raw)) as stream:
            for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE + 1), b""), start=1):
                if len(line) > _LONGEST_LINE and not line.endswith(b"\n"):
                    raise line_too_long(file.path, number, _LONGEST_LINE)
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line and not line.isspace():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file.path, str(error) or type(error).__name__) from None


def _row(file: SourceFile, number: int, line: bytes) -> JsonObject:
    try:
        row = json.loads(line)
    except RecursionError:
        raise unreadable(file.path, f"line {number} is nested too deeply") from None
    except ValueError as error:
        raise unreadable(file.path, f"line {number} is not JSON ({getattr(error, 'msg', error)})") from None
    if not isinstance(row, dict):
        raise BadInput(
            f"{file.path}: line {number} is {str(row)[:40]!r}, not an object; "
            "JSON Lines has one object a line"
        )
    return row


def _column(file: SourceFile, name: str, values: list[Any]) -> pa.Array:
    try:
        return of_python(values)
    except ValueError:  # half a surrogate pair: "\\ud800" is legal JSON and no text
        raise unreadable(file.path, f"the column {name!r} holds text that is not Unicode") from None
