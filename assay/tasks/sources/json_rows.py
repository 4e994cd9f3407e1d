"""Rows of a file of JSON that is one array of objects, or one object after the other, in bounded memory.

    [{"id": "a", "score": 0.5},
     {"id": "b", "score": 0.25}]

Warehouses and notebooks write either under the name `.json`. The text is decoded as it comes, and an object
is parsed as soon as all of it is there, by the same parser and with the same meaning of values as JSON Lines.
"""

import codecs
import json
import re
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import BinaryIO, NoReturn

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import JsonObject
from assay.tasks.sources.csv_rows import opened
from assay.tasks.sources.files.file import SourceFile, unreadable
from assay.tasks.sources.jsonl_rows import DECODER, is_full_batch, keys_of_rows, record_batches

_JSON_CHUNK_BYTES = 1 << 20   # bytes read at once
_LONGEST_JSON_ROW = 16 << 20   # characters
_KEY_CHARACTERS = 60   # characters of keys in a message
_SPACE = re.compile(r"[ \t\r\n]*")


def json_batches(
    file: SourceFile, columns: Sequence[str], wanted: Sequence[int] | None = None
) -> Generator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns); with `wanted` rows, up to the last of them."""
    return record_batches(file, _batches(file), columns, wanted)


def first_json_keys(file: SourceFile) -> list[str]:
    """The keys of the rows of the first batch, in the order they come up."""
    with closing(_batches(file)) as batches:
        return keys_of_rows(next(batches, []))


def count_json_rows(file: SourceFile) -> int:
    """How many rows the file has; all of it is parsed."""
    return sum(map(len, _batches(file)))


def _batches(file: SourceFile) -> Generator[list[JsonObject]]:
    rows: list[JsonObject] = []
    held, passed = 0, False
    try:
        with closing(file.open(_JSON_CHUNK_BYTES)) as raw, closing(opened(file, raw)) as stream:
            for row, length in _Text(file, stream).rows():
                rows.append(row)
                held += length
                if is_full_batch(len(rows), held):
                    yield rows
                    rows, held, passed = [], 0, True
    except (OSError, EOFError, zlib.error) as error:
        raise unreadable(file.path, str(error) or type(error).__name__) from None
    except UnicodeDecodeError:
        raise BadInput(f"{file.path}: is not UTF-8, so it is not JSON; save the file as UTF-8") from None
    if len(rows) == 1 and not passed and all(isinstance(value, dict | list) for value in rows[0].values()):
        raise BadInput(
            f"{file.path}: is one object ({', '.join(rows[0])[:_KEY_CHARACTERS]}) that holds all rows; a "
            'file of JSON is an array of objects, [{"id": …}, {"id": …}], as pandas writes it '
            'with orient="records"'
        )
    if rows:
        yield rows


class _Text:
    """The text of a file, of which only what is not parsed yet is held."""

    def __init__(self, file: SourceFile, stream: BinaryIO) -> None:
        self._file, self._stream = file, stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._place, self._ended = "", 0, False

    def rows(self) -> Iterator[tuple[JsonObject, int]]:
        """Each object, and the characters it has. Raises BadInput for what is no array of objects."""
        number, is_array = 0, self._sign() == "["
        self._place += is_array
        while True:
            sign = self._sign()
            if sign == ("]" if is_array else ""):
                break
            if is_array and number:
                if sign != ",":
                    self._refuse(f"behind row {number:,} there is {sign!r} and no comma" if sign else
                                 f"it ends behind row {number:,}, in the middle of the array")
                self._place += 1
                self._sign()
            number += 1
            start = self._place
            row = self._value(number)
            yield row, max(self._place - start, 1)
        self._place += is_array
        if self._sign():
            self._refuse("there is more behind the end of the array")

    def _sign(self) -> str:
        """The next character that is no space, which is left there; "" at the end."""
        while True:
            spaces = _SPACE.match(self._text, self._place)
            self._place = spaces.end() if spaces else self._place
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more(_JSON_CHUNK_BYTES):
                return ""

    def _more(self, size: int) -> bool:
        """Read on; whether there was anything."""
        if self._ended:
            return False
        given = self._stream.read(size)
        self._ended = not given
        self._text, self._place = self._text[self._place:] + self._decode(given, self._ended), 0
        return not self._ended

    def _value(self, number: int) -> JsonObject:
        """The object that begins here; a part of one is read on, twice as far each time."""
        while True:
            try:
                row, self._place = DECODER.raw_decode(self._text, self._place)
            except RecursionError:
                self._refuse(f"row {number:,} is nested too deeply")
            except ValueError as error:
                length = len(self._text) - self._place
                if length > _LONGEST_JSON_ROW:
                    limit = f"{_LONGEST_JSON_ROW >> 20} MB"
                    self._refuse(f"row {number:,} is not JSON, or is longer than {limit}")
                if not self._more(max(length, _JSON_CHUNK_BYTES)):
                    said = error.msg if isinstance(error, json.JSONDecodeError) else error
                    self._refuse(f"row {number:,} is not JSON ({said})")
            else:
                if not isinstance(row, dict):
                    raise BadInput(
                        f"{self._file.path}: row {number:,} is {str(row)[:40]!r}, not an object; a file of "
                        'JSON is an array of objects, [{"id": …}, {"id": …}]'
                    )
                return row

    def _refuse(self, why: str) -> NoReturn:
        raise unreadable(self._file.path, why)
