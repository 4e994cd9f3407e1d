"""A place: what somebody named on the command line, a local file, a local folder, or an address; and the
values that a file holds.

A file is JSON (one value, several, a list or lines), CSV, Parquet or Arrow, as text in UTF-8 or UTF-16, with
or without gzip: whichever it is says its content, and importers see rows and objects.
"""

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.records import LogEntry, name_again
from assay.tasks.secrets import refuse_secrets
from assay.tasks.sources.csv_rows import Dialect, dialect_of
from assay.tasks.sources.files.file import hidden

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_START = 1 << 17          # bytes within which every log says what it is
_LONGEST = 64 << 20       # characters of a line
_MOST_DIGITS = 300        # of a whole number that is a float, too
_GZIP, _PARQUET, _ARROW, _ZIP = b"\x1f\x8b", b"PAR1", b"ARROW1", b"PK\x03\x04"
_UNREADABLE = (OSError, EOFError, zlib.error)


@dataclass(frozen=True)
class Place:
    """A place to import from: a local file, a local folder, or an address such as mlflow:run/ID, and what
    its content shows."""

    address: str

    @property
    def path(self) -> Path:
        """On the local disk; of an address it has no meaning."""
        return Path(self.address)

    @property
    def is_address(self) -> bool:
        """Whether the place is an address of another tool: it looks like one, and no local file or folder
        has that name."""
        return _ADDRESS.match(self.address) is not None and not self.path.exists()

    @property
    def is_folder(self) -> bool:
        """Whether the place is a folder on the local disk."""
        return not self.is_address and self.path.is_dir()

    @property
    def is_archive(self) -> bool:
        """Whether the place is a zip file, by its first bytes."""
        return self._start.startswith(_ZIP)

    @property
    def is_empty(self) -> bool:
        """Whether a file holds nothing: no sign, or an empty list or object."""
        return not (self.is_address or self.is_folder or self._start.strip(b" \t\r\n[]{}"))

    @cached_property
    def names(self) -> frozenset[str]:
        """Names of what is directly in a folder; none of anything else."""
        return frozenset(inside.name for inside in self.path.iterdir()) if self.is_folder else frozenset()

    @cached_property
    def keys(self) -> frozenset[str]:
        """The names of columns, or of keys as far as they stand in the beginning: `info:trace_id` is a key of
        the object `info`, or of objects in a list of that name. None of a folder, and of what is no data.

        Raises BadInput for a file that cannot be read.
        """
        text = self._start_text.lstrip()
        if text[:1] in ("{", "["):
            paths = key_paths(text)
            return frozenset(paths | {path.removeprefix("data:") for path in paths})     # see `_objects`
        return frozenset({*self.columns, *(name.partition(".")[0] for name in self.columns)})

    @cached_property
    def columns(self) -> list[str]:
        """The names of a table's columns, in order; behind one that several have stands a number."""
        try:
            if self._is_table:
                with self._table() as (schema, _):
                    return list(schema.names)
            if self._start_text:
                rows = csv.reader(io.StringIO(self._start_text), delimiter=self._dialect.delimiter)
                return _unlike(next(rows))
        except (BadInput, csv.Error, StopIteration):
            pass
        return []

    def values(self) -> Iterator[LogEntry]:
        """Every object of a JSON file, or row of a table, as a mapping; missing values are not there.

        Of a CSV file every value is text, but for JSON objects and lists.  Raises BadInput naming the line.
        """
        if self._is_table:
            with self._table() as (_, batches):
                for row in chain.from_iterable(batch.to_pylist() for batch in batches):
                    yield {name: value for name, value in row.items() if value is not None}
            return
        with self._refusing(), self._text() as text:
            head, number = text.readline(_LONGEST + 1).lstrip("\ufeff"), 1
            while head.isspace():
                head, number = text.readline(_LONGEST + 1), number + 1
            if head.lstrip()[:1] in ("{", "["):
                yield from self._json_values(head, text, number)
            else:
                yield from self._csv_rows(chain([head], text))

    def whole(self) -> dict[str, Any]:
        """The one object of a JSON file. Raises BadInput for any other."""
        objects = self.values()
        try:
            return dict(next(objects))
        except StopIteration:
            raise BadInput(f"{self.address}: is empty; copy the file again") from None

    # How its bytes are written.

    @cached_property
    def _start(self) -> bytes:
        if self.is_address or self.is_folder:
            return b""
        try:
            with self._bytes() as opened:
                return opened.read(_START)
        except _UNREADABLE as error:
            reason = getattr(error, "strerror", None) or error
            raise BadInput(f"{self.address}: cannot be read: {reason}") from None

    @cached_property
    def _start_text(self) -> str:
        """The beginning as text; nothing of what is none."""
        try:
            if not (self.is_archive or self._is_table):
                decoder = codecs.getincrementaldecoder(self._dialect.encoding)()
                return decoder.decode(self._start).lstrip("\ufeff")
        except (ValueError, BadInput):
            pass
        return ""

    @cached_property
    def _dialect(self) -> Dialect:
        # the beginning may end within a sign
        return dialect_of(self.address, re.sub(rb"[\x80-\xff]{1,3}\Z", b"", self._start))

    def _bytes(self) -> BinaryIO:
        with self.path.open("rb") as opened:
            packed = opened.read(2) == _GZIP
        return cast("BinaryIO", gzip.open(self.path)) if packed else self.path.open("rb")

    def _text(self) -> io.TextIOWrapper:
        encoding = self._dialect.encoding
        is_json = self._start.lstrip()[:1] in (b"{", b"[")
        return io.TextIOWrapper(
            self._bytes(), encoding="utf-8" if is_json and encoding == "cp1252" else encoding, newline=""
        )

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            raise BadInput(f"{self.address}: is no text in {self._dialect.encoding.upper()} ({error}); copy "
                           "the file again, or save it as UTF-8") from None
        except _UNREADABLE as error:
            raise BadInput(f"{self.address}: cannot be read: {error}; copy the file again") from None

    # JSON.

    def _json_values(self, head: str, text: io.TextIOWrapper, number: int) -> Iterator[LogEntry]:
        """One object a line is read line by line, anything else as a whole; number: of the first line."""
        try:
            in_lines = isinstance(json.loads(head), Mapping)
        except (ValueError, RecursionError):
            in_lines = False
        if not in_lines:
            for value in self._parsed(head + text.read(), number):
                yield from self._objects(value)
            return
        lines = chain([head], iter(lambda: text.readline(_LONGEST + 1), ""))
        for place, line in enumerate(lines, number):
            if len(line) > _LONGEST:
                raise BadInput(f"{self.address}: line {place:,} is longer than {_LONGEST >> 20} MB")
            for value in self._parsed(line, place):
                yield from self._objects(value)

    def _parsed(self, text: str, line: int) -> Iterator[Any]:
        """Values that stand one after the other; line: of the first. Raises BadInput naming the line of what
        is no JSON, and of what no table can hold: half a sign of Unicode, numbers of hundreds of digits."""
        at, counted = 0, 0
        while (at := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]
            line, counted = line + text.count("\n", counted, at), at
            try:
                value, end = _DECODER.raw_decode(text, at)
                if re.search(r"\\u[dD][89a-fA-F]", text[at:end]):
                    json.dumps(value, ensure_ascii=False).encode()
            except (ValueError, RecursionError) as error:
                raise BadInput(f"{self.address}: what begins in line {line:,} is not sound JSON ({error}); "
                               "copy the file again") from None
            yield value
            at = end

    def _objects(self, value: object) -> Iterator[LogEntry]:
        """The objects of a list, and the rows of a table, in whichever way it was written."""
        if isinstance(value, Mapping) and isinstance(value.get("data"), list) and set(value) <= _LISTS:
            columns, data = value.get("columns"), value["data"]
            if isinstance(columns, list):                    # a frame of pandas, orient="split"
                with read_as(self, "the table", "a table: a row has as many values as there are columns"):
                    data = [dict(zip(map(str, columns), row, strict=True)) for row in data]
            value = data
        elif isinstance(value, Mapping) and _by_column(value):
            rows = next(iter(value.values()))
            value = [{name: column[row] for name, column in value.items()} for row in rows]
        elif isinstance(value, Mapping) and value and all(name.isdigit() for name in value):
            value = list(value.values())                     # a frame, orient="index"
        for member in value if isinstance(value, list) else [value]:
            if not isinstance(member, Mapping):
                raise BadInput(f"{self.address}: holds a {type(member).__name__} where a JSON object should "
                               "be; is the file what it should be?")
            yield member

    # Tables.

    def _csv_rows(self, lines: Iterator[str]) -> Iterator[LogEntry]:
        csv.field_size_limit(_LONGEST)
        try:
            rows = csv.reader(lines, strict=True, delimiter=self._dialect.delimiter)
            columns = _unlike(next(rows, []))
            for number, row in enumerate(filter(None, rows), 1):
                if len(row) != len(columns):
                    raise BadInput(f"{self.address}: row {number:,} has more or fewer values than the "
                                   "heading; write the file again")
                cells = zip(columns, row, strict=True)
                yield {name: _cell(text) for name, text in cells if name and text != ""}
        except csv.Error as error:
            raise BadInput(f"{self.address}: is no sound CSV file ({error}); write it again") from None

    @property
    def _is_table(self) -> bool:
        return self._start.startswith((_PARQUET, _ARROW))

    @contextmanager
    def _table(self) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """The columns and the rows of a Parquet or Arrow file. Raises BadInput for one that is not sound."""
        try:
            if self._start.startswith(_ARROW):
                with pa.ipc.open_file(self.path) as file:
                    yield file.schema, map(file.get_batch, range(file.num_record_batches))
            else:
                with pq.ParquetFile(self.path) as parquet:
                    yield parquet.schema_arrow, parquet.iter_batches(1_000)
        except (OSError, pa.ArrowException) as error:
            raise BadInput(f"{self.address}: is no sound table ({error}); export it again") from None


def _unlike(names: Iterable[str]) -> list[str]:
    """Names of columns; behind one that came up before stands a number."""
    times: Counter[str] = Counter()
    return [name and name_again(name, times) for name in names]


_SPACE = re.compile(r"[\s,]*")
_LISTS = frozenset(("data", "columns", "index", "schema", "meta", "next_cursor", "has_more", "object"))


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError("a number is too large")
    return int(digits)


_DECODER = json.JSONDecoder(parse_int=_whole)


def _by_column(value: LogEntry) -> bool:
    """Whether an object is a frame as pandas' to_json() writes it: a mapping of rows for each column."""
    rows = {tuple(column) if isinstance(column, Mapping) else () for column in value.values()}
    return len(rows) == 1 and bool(names := rows.pop()) and all(name.isdigit() for name in names)


def _cell(text: str) -> Any:
    """A list or an object that stands in a cell, as JSON or as Python prints it; any other text as it is."""
    if text[:1] in ("{", "["):
        for parsed in (json.loads, _literal):
            try:
                return parsed(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                continue
    return text


def _literal(text: str) -> Any:
    from ast import literal_eval

    return literal_eval(text)


_TOKENS = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"|\Z)|([{}\[\],:])', re.S)
_DEEPEST = 5


def key_paths(text: str) -> set[str]:
    """The keys of the beginning of a JSON text, those of inner objects behind the key that holds them.

    >>> sorted(key_paths('{"info": {"id": "x", "tags": [{"k": 1}]}, "da'))
    ['info', 'info:id', 'info:tags', 'info:tags:k']
    """
    paths: set[str] = set()
    stack: list[tuple[bool, str]] = []      # open objects and lists: whether an object, the path of its keys
    key, awaits_key = "", False
    for token in _TOKENS.finditer(text):
        string, sign = token.groups()
        is_object, path = stack[-1] if stack else (False, "")
        if string is not None:
            if is_object and awaits_key and text[token.end() - 1] == '"':
                key, awaits_key = path + string, False
                if len(stack) <= _DEEPEST:
                    paths.add(key)
            elif path == "columns:" and not is_object and len(stack) == 2:     # a frame lists its columns
                paths.add(string)
        elif sign in ("{", "["):
            inner = (key if is_object else path.rstrip(":")) if stack else ""
            if inner.rpartition(":")[2].isdigit():         # numbers of rows, as a frame by index has them
                inner = inner.rpartition(":")[0]
            stack.append((sign == "{", f"{inner}:" if inner else ""))
            awaits_key = sign == "{"
        elif sign in ("}", "]") and stack:
            stack.pop()
            awaits_key = False
        elif sign == "," and stack:
            awaits_key = stack[-1][0]
    return paths


def place_named(address: str) -> Place:
    """The place of this path or address. Raises BadInput where there is no regular file or folder, and for an
    address that holds a secret."""
    refuse_secrets(address, "what is to be imported")
    place = Place(address)
    if not place.is_address and not (place.path.is_file() or place.path.is_dir()):
        raise BadInput(f"{address}: there is no such file or folder")
    return place


def files_below(folder: Place) -> Sequence[Place]:
    """Every file below a folder, sorted by path; not those whose names begin with a dot or an underscore."""
    inside = (path for path in folder.path.rglob("*") if path.is_file())
    visible = (path for path in inside if not hidden(path.relative_to(folder.path).as_posix()))
    return [Place(str(path)) for path in sorted(visible)]


# what taking apart a value of another kind than expected raises, a number that is too large included
_UNEXPECTED = (
    KeyError, IndexError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError, EOFError,
    NotImplementedError,
)
_SHOWN = 200      # characters of what an error says


@contextmanager
def read_as(place: Place, record: str, written: str) -> Iterator[None]:
    """While a record is taken apart, whatever it lacks is BadInput.

    record: which one, for people; written: what it should be: "MLflow writes traces"
    """
    try:
        yield
    except _UNEXPECTED as error:
        says = str(error).encode(errors="backslashreplace").decode()[:_SHOWN]
        reason = f"the key {says} is missing" if isinstance(error, KeyError) else (
            f"{type(error).__name__}: {says}")
        raise BadInput(f"{place.address}: {record} is not as {written} ({reason}); is it sound, and of a "
                       "version that docs/how-to/import.md names?") from None
