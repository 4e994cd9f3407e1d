"""Some pages of a Parquet file, as a small Parquet file of one column.

The pages stay where they are. What is made is a footer that says that there are no others; with it they
are a Parquet file like any other, and PyArrow decodes it.
"""

import base64
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from assay.tasks.sources.files.protocol import SourceFile
from assay.tasks.sources.files.ranges import open_ranges
from assay.tasks.sources.parquet.columns_of_file import Column, Page
from assay.tasks.sources.parquet.compact_thrift import BINARY, I32, I64, LIST, STRUCT, Struct, thrift_bytes

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
