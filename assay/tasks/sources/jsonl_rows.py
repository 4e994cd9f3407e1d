"""Rows of a JSON Lines file: one object a line, blank lines ignored.

The standard library's parser is used, not Arrow's: Arrow guesses types block by block, takes text that looks
like a date for one, and gives up when a later block disagrees.
"""

import json
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import Json, JsonObject
from assay.tasks.sources.csv_rows import opened
from assay.tasks.sources.files.file import (
    BATCH_ROWS,
    SourceFile,
    check_columns,
    is_compressed,
    line_too_long,
    unreadable,
)
from assay.tasks.sources.marks import CountedRows, Mark
from assay.tasks.sources.values import of_python

NO_NAMES = {b"values": b"no names"}     # of a column, the values of which name nothing
_LINES_BUFFER_BYTES = 8 << 20   # read at once
_LINES_BATCH_BYTES = 128 << 20   # of lines, where they are long
_LONGEST_LINE = 16 << 20   # bytes


def jsonl_batches(
    file: SourceFile, columns: Sequence[str], numbers: Sequence[int] | None = None, mark: Mark | None = None
) -> Generator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns); with `numbers` rows, up to the last of them.

    It begins at a mark, if one is given: a batch begins there, so all batches are those of the whole file.
    A key that a row lacks is a missing value; one that no row of the first batch has is a missing column.
    """
    return record_batches(file, _batches(file, mark), columns, numbers, mark.row if mark else 0)


def record_batches(
    file: SourceFile, batches: Iterable[list[JsonObject]], columns: Sequence[str],
    wanted: Sequence[int] | None, first: int = 0,
) -> Generator[tuple[int, pa.RecordBatch]]:
    """Rows of JSON as batches of these columns, with the number of the first row of each, from `first` on.

    With `wanted` rows, up to the last of them.
    """
    for rows in batches:
        if wanted is not None and (not wanted or first > wanted[-1]):
            return
        if first == 0:
            check_columns(file.path, columns, keys_of_rows(rows))
        values = [[row.get(name) for row in rows] for name in columns]
        arrays = [_column(file, *one) for one in zip(columns, values, strict=True)]
        fields = [
            pa.field(name, array.type, metadata=NO_NAMES if _no_names(given) else None)
            for name, array, given in zip(columns, arrays, values, strict=True)
        ]
        yield first, pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))
        first += len(rows)


def keys_of_rows(rows: list[JsonObject]) -> list[str]:
    """Every key of some rows, in the order they come up."""
    return list(dict.fromkeys(key for row in rows for key in row))


def first_keys(file: SourceFile) -> list[str]:
    """The keys of the rows of the first batch, in the order they come up."""
    with closing(_batches(file)) as batches:
        return keys_of_rows(next(batches, []))


def count_jsonl_rows(file: SourceFile) -> CountedRows:
    """How many rows the file has, and marks where batches begin; the objects themselves are not looked at."""
    rows = in_batch = held = 0      # of the file, of the batch; bytes of its lines
    marks = []
    with closing(_lines(file)) as lines:
        for number, byte, line in lines:
            if is_full_batch(in_batch, held):
                in_batch = held = 0
                marks.append(Mark(row=rows, byte=byte, line=number - 1))
            rows, in_batch, held = rows + 1, in_batch + 1, held + len(line)
    return CountedRows(rows=rows, marks=() if is_compressed(file.path) else tuple(marks))


def _batches(file: SourceFile, mark: Mark | None = None) -> Generator[list[JsonObject]]:
    rows: list[JsonObject] = []
    held = 0
    with closing(_lines(file, mark)) as lines:
        for number, _, line in lines:
            rows.append(_row(file, number, line))
            held += len(line)
            if is_full_batch(len(rows), held):
                yield rows
                rows, held = [], 0
        if rows:
            yield rows


def is_full_batch(rows: int, held: int) -> bool:
    """Whether a batch of so many rows, and bytes of lines, takes no more."""
    return rows == BATCH_ROWS or held >= _LINES_BATCH_BYTES


def _lines(file: SourceFile, mark: Mark | None = None) -> Generator[tuple[int, int, bytes]]:
    """The lines that hold rows, from a mark on: (number from 1, byte at which it begins, line)."""
    number, byte = (mark.line, mark.byte) if mark else (0, 0)
    try:
        with closing(file.open(_LINES_BUFFER_BYTES)) as raw, closing(opened(file, raw)) as stream:
            if mark:
                raw.seek(byte)
            for line in iter(lambda: stream.readline(_LONGEST_LINE + 1), b""):
                number, start, byte = number + 1, byte, byte + len(line)
                if len(line) > _LONGEST_LINE and not line.endswith(b"\n"):
                    raise line_too_long(file.path, number, _LONGEST_LINE)
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line and not line.isspace():
                    yield number, start, line
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file.path, str(error) or type(error).__name__) from None


def _row(file: SourceFile, number: int, line: bytes) -> JsonObject:
    try:
        row = DECODER.decode(line.decode())
    except RecursionError:
        raise unreadable(file.path, f"line {number} is nested too deeply") from None
    except UnicodeDecodeError:
        raise BadInput(
            f"{file.path}: line {number} is not UTF-8, so it is not JSON Lines; save the file as UTF-8"
        ) from None
    except ValueError as error:
        if number == 1 and line.lstrip().startswith(b"["):
            raise _an_array(file) from None
        raise unreadable(file.path, f"line {number} is not JSON ({getattr(error, 'msg', error)})") from None
    if isinstance(row, dict):
        return row
    if number == 1 and isinstance(row, list):
        raise _an_array(file)
    raise BadInput(
        f"{file.path}: line {number} is {str(row)[:40]!r}, not an object; "
        "JSON Lines has one object a line"
    )


def _an_array(file: SourceFile) -> BadInput:
    return BadInput(
        f"{file.path}: is one JSON array; JSON Lines has one object a line. Name the file .json, which may "
        "be an array"
    )


def _each_key_once(pairs: list[tuple[str, Json]]) -> JsonObject:
    row = dict(pairs)
    if len(row) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"the key {twice!r} is there twice; keep one")
    for key in row:
        try:
            key.encode()
        except UnicodeEncodeError:      # half a surrogate pair: "\\ud800" is legal JSON and no text
            raise ValueError(f"the key {key!r} is not Unicode; write another") from None
    return row


DECODER = json.JSONDecoder(object_pairs_hook=_each_key_once)


def _no_names(values: Sequence[Json]) -> bool:
    """Whether values are objects or arrays, or some are true or false and others not."""
    kinds = {type(value) for value in values if value is not None}
    return bool(kinds & {dict, list}) or (bool in kinds and len(kinds) > 1)


def _column(file: SourceFile, name: str, values: Sequence[Json]) -> pa.Array:
    try:
        return of_python(values)
    except ValueError:  # half a surrogate pair: "\\ud800" is legal JSON and no text
        raise unreadable(file.path, f"the column {name!r} holds text that is not Unicode") from None
