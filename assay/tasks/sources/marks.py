"""Places in a file of text at which a row begins, so that it can be read from there.

They are found while the rows are counted. A file that is compressed has none, and neither has one of which it
is not certain where rows begin.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.evalcore.types import Bools, Ints

_Bytes = npt.NDArray[np.uint8]
_EVERY = 1 << 16         # rows between two marks of a CSV file
_QUOTE, _LINE_FEED, _RETURN = b'"'[0], b"\n"[0], b"\r"[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place in a text file where a row begins: the number of that row, its byte, and the lines before it,
    for messages."""

    row: int      # from 0, a header not counted
    byte: int
    line: int     # lines before it


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRows:
    """What counting the rows of a file found: how many there are, and the places from which it can be read,
    none where rows cannot be told apart for certain."""

    rows: int
    marks: tuple[Mark, ...] = ()     # none at row 0


class CsvMarks:
    """Finds marks in the bytes of a CSV file, which it is shown block by block.

    A line break within quotation marks ends no row. Which are within is told by counting quotation marks, as
    long as each that opens a value is the first sign of the value. Where one is not, or where a line ends in
    a carriage return alone, there are no marks at all.
    """

    def __init__(self, delimiter: str = ",") -> None:
        # what may be before a quotation mark that opens a value
        self._before_quoted = np.frombuffer(f'{delimiter}"\n'.encode(), np.uint8)
        self._certain, self._within = True, False
        self._begun = 0             # records that ended so far, the header among them
        self._bytes = self._lines = 0
        self._start = 0             # where the record begins that has not ended
        self._last = _LINE_FEED     # the byte before this block
        self._first = _LINE_FEED    # the first byte of the record that has not ended
        self._marks: list[Mark] = []

    def see(self, block: bytes) -> None:
        """Look at the next bytes of the file, in order. Once it is not certain where rows begin, nothing
        more is looked at."""
        if self._bytes == 0 and block.startswith(b"\xef\xbb\xbf"):
            block, self._bytes, self._start = block[3:], 3, 3
        if not self._certain or not block:
            return
        data = np.frombuffer(block, np.uint8)
        before = np.concatenate([np.array([self._last], np.uint8), data[:-1]])
        quotes, breaks = np.flatnonzero(data == _QUOTE), np.flatnonzero(data == _LINE_FEED)
        opening = quotes[int(self._within) :: 2]
        outside = (np.searchsorted(quotes, breaks) + self._within) % 2 == 0
        self._certain = bool(np.isin(before[opening], self._before_quoted).all())
        self._certain &= self._returns_are_followed(data, before, quotes)
        if self._certain:
            self._count(data, breaks, outside)
            self._within ^= bool(len(quotes) % 2)
            self._bytes, self._lines = self._bytes + len(data), self._lines + len(breaks)
            self._last = int(data[-1])

    def found(self, rows: int) -> CountedRows:
        """The marks, if as many rows were found as the file has."""
        ended = self._begun + (self._bytes > self._start and not self._is_empty(self._bytes))
        certain = self._certain and not self._within and ended == rows + 1
        return CountedRows(rows=rows, marks=tuple(m for m in self._marks if m.row < rows) if certain else ())

    def _returns_are_followed(self, data: _Bytes, before: _Bytes, quotes: Ints) -> bool:
        """Whether every carriage return outside quotation marks is followed by a line feed."""
        after = np.flatnonzero(before == _RETURN)
        outside = (np.searchsorted(quotes, after) + self._within) % 2 == 0
        return bool((data[after[outside]] == _LINE_FEED).all())

    def _count(self, data: _Bytes, breaks: Ints, outside: Bools) -> None:
        ends = breaks[outside]
        if not len(ends):
            if self._start == self._bytes:
                self._first = int(data[0])
            return
        starts = np.concatenate([[self._start - self._bytes], ends[:-1] + 1])
        first_bytes = np.concatenate([[self._first if starts[0] < 0 else int(data[0])], data[starts[1:]]])
        length = ends - starts
        full = (length > 1) | ((length == 1) & (first_bytes != _RETURN))
        done = self._begun + np.cumsum(full)
        for place in np.flatnonzero(full & (done % _EVERY == 1) & (done > 1)).tolist():
            end = int(ends[place])
            line = self._lines + int(np.searchsorted(breaks, end)) + 1
            self._marks.append(Mark(row=int(done[place]) - 1, byte=self._bytes + end + 1, line=line))
        self._begun, self._start = int(done[-1]), self._bytes + int(ends[-1]) + 1
        if self._start < self._bytes + len(data):
            self._first = int(data[ends[-1] + 1])

    def _is_empty(self, end: int) -> bool:
        return end - self._start == 1 and self._first == _RETURN
