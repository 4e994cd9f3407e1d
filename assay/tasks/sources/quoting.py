"""Finds a quotation mark in a CSV file that takes rows for part of a value.

A value in quotation marks may hold line breaks, and texts often do. A mark too many, or one that is missing,
makes such a value of whole rows, and a reader loses them without a word. So a value that holds line breaks is
refused where

    it has no end            the file ends within it
    its end is not one       other text follows the closing mark
    it holds rows            each of its lines has as many separators as the rows it would be made of, and the
                             values between them look like those of the file's columns
"""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from assay.evalcore.errors import BadInput

NOT_CLOSED = "is not closed before the end of the file"
MOST_ROW_BYTES = 4 << 20   # of a value, and of a row
_QUOTE = b'"'[0]
_BREAKS = re.compile(rb"\r\n|\n|\r")
_SIGNS = ((re.compile(r"\d+"), "9"), (re.compile(r"[^\W\d_]+"), "a"))
_ROWS = 2_000            # of the beginning, that show what a column holds
_FEW_DIFFERENT = 20   # values, or 6 shapes of values, that a column may have to be recognised by
_SHAPES = 6   # those shapes
_ROWS_OF_VALUE = 5   # rows for each of them, at least
_TWICE = 2               # values that look like those of their columns, at least


@dataclass(frozen=True, slots=True, kw_only=True)
class Misquoted:
    """A value in quotation marks that takes in what is not its own: the line and the column where it opens,
    what is wrong with it, and how it begins."""

    line: int            # of the file, from 1, in which it opens
    column: int          # from 0
    what: str            # is wrong with it
    begins: str

    def in_words(self, row: int, names: Sequence[str]) -> str:
        """row: its number, from 1 for the first below the column names; names: of the columns."""
        column = f"column {names[self.column]!r}" if self.column < len(names) else f"value {self.column + 1}"
        return (
            f"row {row:,} (line {self.line:,}), {column}: a quotation mark opens a value that {self.what}; "
            f"it begins {self.begins!r}. Close the quotation mark, or remove it; within quotation marks it "
            "is written twice"
        )


class QuotedValues:
    """Looks at the values in quotation marks of a file, whose bytes (UTF-8) it is shown block by block."""

    def __init__(
        self, delimiter: str, start: Callable[[], str], refuse: Callable[[Misquoted], NoReturn]
    ) -> None:
        """start: gives the beginning of the file; refuse: raises the error for a value that is not sound."""
        self._delimiter, self._start, self._refuse = delimiter.encode(), start, refuse
        self._first = self._delimiter + b"\r\n"      # before a mark that opens a value
        self._ends = (b"", b"\n", b"\r", self._delimiter)      # after one that closes it
        self._before = np.frombuffer(self._first + b'"', np.uint8)
        self._left = b""             # of the last record, which has not ended
        self._lines = 0              # before it
        self._begun = False
        self._columns: _Columns | None = None

    def see(self, block: bytes) -> None:
        """Look at the next bytes of the file; an empty block says that it has ended. Calls `refuse` for a
        value that is not sound."""
        if not self._begun:
            block, self._begun = block.removeprefix(b"\xef\xbb\xbf"), True
        data, is_end = self._left + block, not block
        done = len(data) if is_end else max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
        if b'"' in data and not self._is_plain(data, done):
            done = self._looked_through(data, is_end)
        self._lines += data.count(b"\n", 0, done) or data.count(b"\r", 0, done)
        self._left = data[done:]

    def _is_plain(self, data: bytes, done: int) -> bool:
        """Whether it is certain that none of the values up to there holds a line break."""
        signs = np.frombuffer(data, np.uint8)[:done]
        quotes = np.flatnonzero(signs == _QUOTE)
        opening = quotes[::2]
        before = signs[opening[opening > 0] - 1]
        if len(quotes) % 2 or not np.isin(before, self._before).all():
            return False
        breaks = np.flatnonzero((signs == 10) | (signs == 13))
        return not (np.searchsorted(quotes, breaks) % 2).any()

    def _looked_through(self, data: bytes, is_end: bool) -> int:
        """Where the last whole record ends."""
        record = place = 0
        while (opens := self._opening(data, place)) >= 0:
            record = _after_a_break(data, place, opens, record)
            end = data.find(b'"', opens + 1)
            while end >= 0 and data[end + 1 : end + 2] == b'"':
                end = data.find(b'"', end + 2)
            if end < 0 or (end + 1 == len(data) and not is_end):
                if is_end or len(data) - opens > MOST_ROW_BYTES:
                    self._refuse(self._misquoted(data, record, opens, len(data), (
                        NOT_CLOSED if is_end
                        else f"is not closed within {MOST_ROW_BYTES >> 20} MB"
                    )))
                return record
            if data.find(b"\n", opens, end) >= 0 or data.find(b"\r", opens, end) >= 0:
                self._check(data, record, opens, end)
            place = end + 1
        return len(data) if is_end else _after_a_break(data, place, len(data) - 1, record)

    def _opening(self, data: bytes, place: int) -> int:
        """Where the next value in quotation marks opens; -1 where none does. Others are plain signs."""
        opening = data.find(b'"', place)
        while opening > 0 and data[opening - 1] not in self._first:
            opening = data.find(b'"', opening + 1)
        return opening

    def _check(self, data: bytes, record: int, opens: int, end: int) -> None:
        if data[end + 1 : end + 2] not in self._ends:
            follows = _BREAKS.split(data[end + 1 : end + 200].split(self._delimiter)[0])[0]
            if follows.strip():
                line = self._line(data, end)
                self._refuse(self._misquoted(data, record, opens, end, (
                    f"goes on to line {line:,}, where other text follows the closing mark"
                )))
        # of most texts, the separators of their first and last lines alone say that they are no rows
        sign = b"\n" if data.find(b"\n", opens, end) >= 0 else b"\r"
        count = data.count(self._delimiter, opens, data.find(sign, opens, end))
        if count + data.count(self._delimiter, data.rfind(sign, opens, end), end) != self._columns_there - 1:
            return
        pieces = _BREAKS.split(data[opens + 1 : end])
        column = self._column(data, record, opens)
        if self._columns and self._columns.are_rows(
            [piece.decode(errors="replace").split(self._delimiter.decode()) for piece in pieces], column
        ):
            self._refuse(self._misquoted(data, record, opens, end, (
                f"goes on to line {self._line(data, end):,} and takes in what looks like rows of the file"
            )))

    @property
    def _columns_there(self) -> int:
        if self._columns is None:
            self._columns = _Columns.from_beginning(self._start(), self._delimiter.decode())
        return len(self._columns.by_place)

    def _misquoted(self, data: bytes, record: int, opens: int, end: int, what: str) -> Misquoted:
        text = _BREAKS.split(data[opens + 1 : min(end, opens + 200)])[0].decode(errors="replace")
        return Misquoted(
            line=self._line(data, opens), column=self._column(data, record, opens), what=what,
            begins=text[:40],
        )

    def _line(self, data: bytes, place: int) -> int:
        return self._lines + (data.count(b"\n", 0, place) or data.count(b"\r", 0, place)) + 1

    def _column(self, data: bytes, record: int, opens: int) -> int:
        before = data[record:opens].decode(errors="replace")
        rows = csv.reader(io.StringIO(before, newline=""), delimiter=self._delimiter.decode())
        return max(len(next(rows, [""])), 1) - 1


def first_misquoted(text: str, delimiter: str) -> Misquoted | None:
    """The first value of a whole file that is not sound; None where all are."""
    misquotes: list[Misquoted] = []

    def refuse(misquote: Misquoted) -> NoReturn:
        misquotes.append(misquote)
        raise BadInput(misquote.what)

    values = QuotedValues(delimiter, lambda: text, refuse)
    try:
        values.see(text.encode())
        values.see(b"")
    except BadInput:
        return misquotes[0]
    return None


def _after_a_break(data: bytes, start: int, end: int, otherwise: int) -> int:
    """Where the last line begins that begins in data[start:end + 1]."""
    last_break = max(data.rfind(b"\n", start, end + 1), data.rfind(b"\r", start, end))
    return last_break + 1 if last_break >= 0 else otherwise


@dataclass(frozen=True, slots=True)
class _Column:
    """What the values of a column look like; None where they are of too many kinds."""

    values: frozenset[str] | None
    shapes: frozenset[str] | None

    def knows(self, value: str) -> bool | None:
        """Whether a value looks like one of the column; None where nobody can tell, as of an empty one."""
        if not value:
            return None
        if self.values is not None:
            return value in self.values
        return None if self.shapes is None else _shape(value) in self.shapes


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the columns of a file hold, by its first rows."""

    by_place: tuple[_Column, ...]

    @staticmethod
    def from_beginning(start: str, delimiter: str) -> "_Columns":
        """From the beginning of a file, its line of column names included."""
        records = _plain_records(start, delimiter)
        header = next(records, [])
        rows = [row for row in records if len(row) == len(header)]
        return _Columns(tuple(
            _Column(
                _few([row[i] for row in rows], _FEW_DIFFERENT),
                _few([_shape(row[i]) for row in rows], _SHAPES)
            )
            for i in range(len(header))
        ))

    def are_rows(self, pieces: Sequence[Sequence[str]], column: int) -> bool:
        """Whether the lines of a value of this column, cut at separators, are parts of rows."""
        head, *between, tail = pieces
        columns = self.by_place
        if (len(head), len(tail)) != (len(columns) - column, column + 1):
            return False
        if any(len(line) != len(columns) for line in between):
            return False
        cells = [
            *zip(columns[column:], head, strict=True), *zip(columns[: column + 1], tail, strict=True),
            *(cell for line in between for cell in zip(columns, line, strict=True)),
        ]
        verdicts = [kind.knows(value.strip()) for kind, value in cells]
        return False not in verdicts and verdicts.count(True) >= _TWICE


def _plain_records(start: str, delimiter: str) -> Iterator[list[str]]:
    """The first records without line breaks in a value."""
    reader = csv.reader(io.StringIO(start, newline=""), delimiter=delimiter)
    try:
        for row, _ in zip(reader, range(_ROWS), strict=False):
            if row and not any("\n" in value or "\r" in value for value in row):
                yield [value.strip() for value in row]
    except csv.Error:
        return


def _few(values: Sequence[str], limit: int) -> frozenset[str] | None:
    different = frozenset(values)
    most = min(limit, max(1, len(values) // _ROWS_OF_VALUE))
    return different if values and len(different) <= most else None


def _shape(value: str) -> str:
    """9.9 of 0.25, a9 of m17."""
    for pattern, sign in _SIGNS:
        value = pattern.sub(sign, value)
    return value
