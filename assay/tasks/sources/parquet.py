"""Rows of a Parquet file, a batch at a time.

Column chunks are read through a buffer instead of whole, so a file that is one giant row group costs no more
memory than any other. Row groups without a wanted row are not read at all. Batches are of 32,768 rows, or of
64 MB where rows are long. How long they may be is looked up before rows are decoded: a dictionary lets a few
kilobytes stand for gigabytes of text.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assay.evalcore.errors import BadInput
from assay.tasks.sources.files.file import BATCH_ROWS, SourceFile, check_columns, unreadable


def leaf_columns(schema: pa.Schema) -> list[str]:
    """The columns, with the fields of a structure in its place."""
    return [name for field in schema for name in _leaves(field, "")]


def every_name(schema: pa.Schema) -> list[str]:
    """The names of all columns, structures among them, then of those fields of structures whose name no
    column has."""
    names = schema.names
    top_names = set(names)
    return [*names, *(name for name in leaf_columns(schema) if name not in top_names)]


def picked(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """These columns of a batch, in the order asked; a field of a missing structure is missing."""
    places = {name: place for place, name in enumerate(batch.schema.names)}
    return pa.RecordBatch.from_arrays([_column(batch, places, name) for name in columns], names=list(columns))


def column_with_field(name: str, columns: Collection[str]) -> str:
    """The column that is called so, or whose field this is."""
    pieces = name.split(".")
    beginnings = (".".join(pieces[:end]) for end in range(1, len(pieces) + 1))
    return name if name in columns else next(beginning for beginning in beginnings if beginning in columns)


def is_within(path: str, columns: Collection[str]) -> bool:
    """Whether a Parquet column, by its path in the schema, belongs to one of these. Quick for a set."""
    return path in columns or any(path[: dot.start()] in columns for dot in re.finditer(r"\.", path))


def _leaves(field: pa.Field, before: str) -> list[str]:
    name = before + field.name
    if not pa.types.is_struct(field.type):
        return [name]
    return [leaf for inner in field.type.fields for leaf in _leaves(inner, f"{name}.")]


def _column(batch: pa.RecordBatch, places: Mapping[str, int], name: str) -> pa.Array:
    if name in places:
        return batch.column(places[name])
    structure, _, fields = name.partition(".")
    while structure not in places:      # a column may have a dot in its own name
        part, _, fields = fields.partition(".")
        structure = f"{structure}.{part}"
    return pc.struct_field(batch.column(places[structure]), fields.split("."))


_DECODED_BATCH_BYTES = 64 << 20   # of a batch of rows, decoded
# Rows decoded at once where a dictionary might hold long texts that many rows repeat: a small file may then
# stand for gigabytes.
_FEW_ROWS = 1 << 10
_DECODED = 16 << 20      # bytes decoded at once, where values are long
_LONGEST_ROW = 64 << 20   # bytes of one row, as far as the file tells them
_COLUMN_BUFFER_BYTES = 4 << 20   # bytes read at once, for each column
_LITTLE = 1 << 16        # the same, where only a dictionary is looked at


def parquet_batches(
    file: SourceFile, columns: Sequence[str], numbers: Sequence[int] | None = None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns); with `numbers` rows (sorted), only around those."""
    try:
        with closing(file.open(1 << 16)) as stream:
            reader = pq.ParquetFile(stream, pre_buffer=False, buffer_size=_COLUMN_BUFFER_BYTES)
            check_columns(file.path, columns, every_name(reader.schema_arrow))
            offset = 0
            for group in range(reader.num_row_groups):
                rows = reader.metadata.row_group(group).num_rows
                if numbers is None or bisect_left(numbers, offset) < bisect_left(numbers, offset + rows):
                    start = offset
                    limit = _rows_at_once(file, stream, reader, group, columns)
                    for batch in _batches(reader, group, columns, limit):
                        if numbers is not None and start > numbers[-1]:
                            return
                        yield start, picked(batch, columns)
                        start += batch.num_rows
                offset += rows
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None


def parquet_schema(file: SourceFile) -> pa.Schema:
    """The types of a Parquet file's columns. Raises BadInput if it cannot be read."""
    try:
        with closing(file.open(1 << 16)) as stream:
            return pq.ParquetFile(stream, pre_buffer=False).schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None


def group_rows(file: SourceFile) -> list[int]:
    """The rows of each row group, as the end of the file says. Raises BadInput where it cannot be read."""
    try:
        with closing(file.open(1 << 16)) as stream:
            about = pq.ParquetFile(stream, pre_buffer=False).metadata
            return [about.row_group(group).num_rows for group in range(about.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file.path, f"not a sound Parquet file ({error})") from None


def _batches(
    reader: pq.ParquetFile, group: int, columns: Sequence[str], rows: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a row group, decoded `rows` at once, joined as far as memory allows."""
    held: list[pa.RecordBatch] = []
    many = much = 0
    for batch in reader.iter_batches(rows, row_groups=[group], columns=list(columns)):
        held.append(batch)
        many, much = many + batch.num_rows, much + batch.nbytes
        if many >= BATCH_ROWS or much >= _DECODED_BATCH_BYTES:
            yield _joined(held)
            held, many, much = [], 0, 0
    if held:
        yield _joined(held)


def _rows_at_once(
    file: SourceFile, stream: BinaryIO, reader: pq.ParquetFile, group: int, columns: Sequence[str]
) -> int:
    """How many rows of a row group can be decoded in bounded memory. Raises BadInput for rows too long."""
    about = reader.metadata.row_group(group)
    limit, longest_row, names = BATCH_ROWS, 0, frozenset(columns)
    for i in range(about.num_columns):
        chunk = about.column(i)
        name = chunk.path_in_schema
        if not is_within(name, names):
            continue
        longest = _bytes_a_row(chunk, about.num_rows)
        if chunk.physical_type == "BYTE_ARRAY":
            size, length = chunk.total_uncompressed_size, 0
            if chunk.has_dictionary_page and size * BATCH_ROWS > _DECODED_BATCH_BYTES:
                length = _longest_in_dictionary(stream, reader, group, name)
                longest = max(longest, length)
            # what a dictionary does not repeat is no more than the pages hold
            if size > _DECODED_BATCH_BYTES or (size * BATCH_ROWS > _DECODED_BATCH_BYTES and not length):
                limit = _FEW_ROWS
        if longest > _LONGEST_ROW:
            raise BadInput(
                f"{file.path}: column {name!r} has values of {longest >> 20:,} MB, more than the "
                f"{_LONGEST_ROW >> 20} MB that a row may have; shorten them, or store the address of a file"
            )
        longest_row += longest
    return max(1, min(limit, _DECODED // max(longest_row, 1)))


def _bytes_a_row(chunk: pq.ColumnChunkMetaData, rows: int) -> int:
    """On average, as the pages hold them; of lists, the numbers of all their elements."""
    elements = 8 * chunk.num_values if chunk.num_values > rows else 0
    return int(max(chunk.total_uncompressed_size, elements) // max(rows, 1))


def _longest_in_dictionary(stream: BinaryIO, reader: pq.ParquetFile, group: int, name: str) -> int:
    """Bytes of the longest value that the dictionary of a column holds; 0 for values inside lists."""
    dict_reader = pq.ParquetFile(
        stream, metadata=reader.metadata, read_dictionary=[name], pre_buffer=False, buffer_size=_LITTLE
    )
    field = dict_reader.schema_arrow.get_field_index(name)
    if field < 0 or not pa.types.is_dictionary(dict_reader.schema_arrow.field(field).type):
        return 0
    for batch in dict_reader.iter_batches(1, row_groups=[group], columns=[name]):
        return pc.max(pc.binary_length(batch.column(0).dictionary)).as_py() or 0
    return 0


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
