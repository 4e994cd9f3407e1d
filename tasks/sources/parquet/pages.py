"""The pages of a Parquet file: which of them hold some rows, and those as a small Parquet file of one column.

A column of a row group is a run of pages, each compressed by itself, of some thousand rows. Each has a header
that says how long it is and how many values it holds. So the pages with wanted rows are found without
decompressing the others; where the file has an index of offsets, without looking at the others.

Lists are not read in this way: headers count their elements, not their rows. Numbers of fields are those of
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
"""

import base64
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from assay.tasks.sources.files.protocol import SourceFile, open_ranges
from assay.tasks.sources.parquet.compact_thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    Struct,
    read_struct,
    thrift_bytes,
)

_MOST_FOOTER = 1 << 20       # bytes; reading a longer one takes longer than pages save
_HEADERS = (1 << 10, 1 << 16, 1 << 22)    # bytes in which a header is looked for, one after the other
_LONGEST_PAGE = 64 << 20     # decompressed
_REPEATED = 2                # a list, among the kinds of fields
_BY_DICTIONARY = (2, 8)      # of the encodings
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3       # kinds of pages
_HEADER_OF = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}     # where the header has what belongs to its kind
_ENCODING_OF = {_DATA: 2, _DICTIONARY: 2, _DATA_V2: 4}   # and where that has the encoding


class NotByPages(Exception):
    """These rows have to be read with those before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page of a column; lengths are in bytes, with its header."""

    first: int              # its first row, counted in the row group
    rows: int               # 0 for a dictionary
    start: int              # where it is in the file
    length: int
    decompressed: int
    is_dictionary: bool
    needs_dictionary: bool


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one row group."""

    way: list[Struct]       # elements of the schema, from the root to it
    about: Struct           # its ColumnMetaData
    index: tuple[int, int] | None     # place and length of its index of offsets

    @property
    def names(self) -> list[str]:
        """Its name, after those of the structures around it."""
        return [element[4][1].decode() for element in self.way[1:]]

    @property
    def dictionary(self) -> int | None:
        """Where the page of its dictionary begins, as far as the footer tells."""
        return self.about[11][1] if 11 in self.about and self.about[11][1] > 0 else None


class ColumnsOfFile:
    """The columns of one Parquet file.

    Beside what is said, all of this may raise ValueError, LookupError, TypeError or RuntimeError for a file
    that is not as it should be.
    """

    def __init__(self, stream: BinaryIO, size: int) -> None:
        """size: of the file, in bytes. Raises NotByPages where the footer is very long."""
        length = int.from_bytes(_read(stream, size - 8, 4), "little")
        if length > _MOST_FOOTER:
            raise NotByPages
        self.footer, _ = read_struct(_read(stream, size - 8 - length, length))
        self._ways = list(_ways(iter(self.footer[2][1][1]), []))

    @property
    def has_lists(self) -> bool:
        """Whether a column is a list, or inside one."""
        return any(_is_repeated(element) for way in self._ways for element in way)

    def column(self, group: int, name: str) -> Column:
        """A column of a row group. Raises NotByPages for one of structures or lists."""
        chunks = self.footer[4][1][1][group][1][1][1]
        for way, chunk in zip(self._ways, chunks, strict=True):
            index = (chunk[4][1], chunk[5][1]) if 4 in chunk and 5 in chunk else None
            column = Column(way, chunk[3][1], index)
            if ".".join(column.names) == name and not any(_is_repeated(element) for element in way):
                return column
        raise NotByPages


def pages(stream: BinaryIO, column: Column, wanted: Sequence[int]) -> Iterator[Page]:
    """The dictionary, if there is one, and at least the pages with wanted rows (sorted), in order.

    Raises NotByPages for a page too long to be decompressed at once; and what ColumnsOfFile raises.
    """
    places = [place for place in (column.about[9][1], column.dictionary) if place is not None]
    if column.index is not None:
        if column.dictionary is not None:
            yield _page(stream, column.dictionary, 0)
        for start, first in _located(stream, *column.index, wanted):
            yield _page(stream, start, first)
        return
    start, end, first = min(places), min(places) + column.about[7][1], 0
    while start < end and first <= wanted[-1]:
        page = _page(stream, start, first)
        yield page
        start, first = start + page.length, first + page.rows


def _located(stream: BinaryIO, start: int, length: int, wanted: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(place, first row) of the pages with wanted rows, by an index of offsets."""
    index, _ = read_struct(_read(stream, start, length))
    located = [(one[1][1], one[3][1]) for one in index[1][1][1]]
    ends = [*(first for _, first in located[1:]), wanted[-1] + 1]
    for (place, first), end in zip(located, ends, strict=True):
        if bisect_left(wanted, first) < bisect_left(wanted, end):
            yield place, first


def _page(stream: BinaryIO, start: int, first: int) -> Page:
    header, length = _header(stream, start)
    kind, decompressed, compressed = (header[field][1] for field in (1, 2, 3))
    about = header[_HEADER_OF[kind]][1]
    if compressed < 0 or not 0 <= decompressed <= _LONGEST_PAGE or about[1][1] < 0:
        raise NotByPages
    is_dictionary = kind == _DICTIONARY
    return Page(
        first=first, rows=0 if is_dictionary else about[1][1], start=start, length=length + compressed,
        decompressed=length + decompressed, is_dictionary=is_dictionary,
        needs_dictionary=not is_dictionary and about[_ENCODING_OF[kind]][1] in _BY_DICTIONARY,
    )


def _header(stream: BinaryIO, start: int) -> tuple[Struct, int]:
    """The header of a page, and its length."""
    for most in _HEADERS[:-1]:
        try:
            return read_struct(_read(stream, start, most))
        except IndexError:
            continue
    return read_struct(_read(stream, start, _HEADERS[-1]))


def _read(stream: BinaryIO, start: int, length: int) -> bytes:
    stream.seek(start)
    return stream.read(length)


def _ways(elements: Iterator[Struct], above: list[Struct]) -> Iterator[list[Struct]]:
    """Of each column the elements of the schema from the root to it."""
    element = next(elements)
    way = [*above, element]
    children = element.get(5, (I32, 0))[1]
    if not children:
        yield way
    for _ in range(children):
        yield from _ways(elements, way)


def _is_repeated(element: Struct) -> bool:
    return bool(element.get(3, (I64, 0))[1] == _REPEATED)


# Some pages of a Parquet file, as a small Parquet file of one column.
#
# The pages stay where they are. What is made is a footer that says that there are no others; with it they
# are a Parquet file like any other, and PyArrow decodes it.

_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallFile:
    """Ranges of a file between the magic word and a footer of our own."""

    path: str
    version: str
    size: int
    whole: SourceFile
    ranges: tuple[tuple[int, int], ...]     # (place in the whole file, length)
    end: bytes

    def open(self, buffer: int) -> BinaryIO:
        """Its bytes."""
        return open_ranges(self.size, self._fetch, buffer)

    def check_unchanged(self) -> None:
        """Raise BadInput if the whole file changed."""
        self.whole.check_unchanged()

    def _fetch(self, start: int, length: int) -> bytes:
        pieces, passed = [_MAGIC[start : start + length]], len(_MAGIC)
        for place, size in self.ranges:
            low, high = max(start - passed, 0), min(start + length - passed, size)
            if low < high:
                with closing(self.whole.open(max(high - low, 2))) as stream:
                    stream.seek(place + low)
                    pieces.append(stream.read(high - low))
            passed += size
        pieces.append(self.end[max(start - passed, 0) : max(start + length - passed, 0)])
        return b"".join(pieces)


def small_file(
    file: SourceFile, footer: Struct, schema: pa.Schema, column: Column, pages: Sequence[Page]
) -> SmallFile:
    """Pages of a column as a file; footer: of the whole file, and `schema` as PyArrow reads it."""
    if not any(page.needs_dictionary for page in pages):
        pages = [page for page in pages if not page.is_dictionary]
    rows, length = sum(page.rows for page in pages), sum(page.length for page in pages)
    size = sum(page.decompressed for page in pages)
    start = len(_MAGIC)
    data = start + sum(page.length for page in pages if page.is_dictionary)
    about: Struct = {field: column.about[field] for field in (1, 2, 3, 4)}
    about |= {5: (I64, rows), 6: (I64, size), 7: (I64, length), 9: (I64, data)}
    if data > start:
        about[11] = I64, start
    chunk: Struct = {2: (I64, 0), 3: (STRUCT, about)}
    group: Struct = {1: (LIST, (STRUCT, [chunk])), 2: (I64, size), 3: (I64, rows)}
    said: Struct = {1: (BINARY, b"ARROW:schema"), 2: (BINARY, _arrow_schema(schema, column.names))}
    elements = [*(one | {5: (I32, 1)} for one in column.way[:-1]), column.way[-1]]
    made = thrift_bytes({
        1: footer[1], 2: (LIST, (STRUCT, elements)), 3: (I64, rows), 4: (LIST, (STRUCT, [group])),
        5: (LIST, (STRUCT, [said])),
    })
    end = made + len(made).to_bytes(4, "little") + _MAGIC
    return SmallFile(
        path=file.path, version=file.version, size=start + length + len(end), whole=file,
        ranges=_ranges(pages), end=end,
    )


def _ranges(pages: Sequence[Page]) -> tuple[tuple[int, int], ...]:
    """Where pages are, (place, length), those that follow each other as one."""
    ranges: list[tuple[int, int]] = []
    for page in pages:
        if ranges and sum(ranges[-1]) == page.start:
            ranges[-1] = ranges[-1][0], ranges[-1][1] + page.length
        else:
            ranges.append((page.start, page.length))
    return tuple(ranges)


def _arrow_schema(schema: pa.Schema, names: Sequence[str]) -> bytes:
    """The type that PyArrow gives to a column, with no other fields in the structures around it."""
    fields = [schema.field(names[0])]
    for name in names[1:]:
        fields.append(fields[-1].type.field(name))
    found = fields.pop()
    for around in reversed(fields):
        found = pa.field(around.name, pa.struct([found]), around.nullable)
    return base64.b64encode(pa.schema([found]).serialize())
