"""Rows of what is no file, a batch at a time: what a result of SQL and a table have in common."""

from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa

from assay.evalcore.errors import BadInput
from assay.tasks.arrow import texts_of
from assay.tasks.sources.files.file import BATCH_ROWS, SourceFile, check_columns
from assay.tasks.sources.parquet import column_with_field, every_name, picked

FileAt = Callable[[str], SourceFile]    # the file at a path; a table reads its own files so


class Table:
    """What gives rows without being a file, in the place of a `SourceFile`.

    It has no bytes of its own: it is one shard, and is read in one pass.
    """

    path: str       # its address, which names one state of it
    version: str    # that state
    size = 0

    def open(self, buffer: int) -> BinaryIO:
        """Raises BadInput: there are no bytes."""
        raise BadInput(f"{self.path}: is no file")

    def check_unchanged(self) -> None:
        """Nothing: one state of a table, and one answer of a database, do not change while they are read."""

    def schema(self) -> pa.Schema:
        """The types of the columns. Raises BadInput where it cannot be read."""
        raise NotImplementedError

    def rows(self, fields: pa.Schema, file_at: FileAt) -> Iterator[pa.RecordBatch]:
        """Every row in a fixed order, with at least these fields of its schema. Raises BadInput."""
        raise NotImplementedError


def table_batches(
    table: Table, columns: Sequence[str], wanted: Sequence[int] | None, file_at: FileAt
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """(number of its first row, batch of these columns); with `wanted` rows (sorted), up to the last of
    them."""
    schema, first = table.schema(), 0
    check_columns(table.path, columns, every_name(schema))
    needed = dict.fromkeys(column_with_field(name, schema.names) for name in columns)
    for batch in table.rows(pa.schema([schema.field(name) for name in needed]), file_at):
        rows = picked(_plain(batch), columns)
        for place in range(0, rows.num_rows, BATCH_ROWS):
            yield first + place, rows.slice(place, BATCH_ROWS)
        first += rows.num_rows
        if wanted is not None and (not wanted or first > wanted[-1]):
            return


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Types without what a database says of them beside: a UUID is its text."""
    empty = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], names=schema.names)
    return _plain(empty).schema


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    plain = [_without_extension(column) for column in batch.columns]
    return pa.RecordBatch.from_arrays(plain, batch.schema.names)


def _without_extension(column: pa.Array) -> pa.Array:
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    if column.type.extension_name == "arrow.uuid":
        return texts_of([None if value is None else str(value) for value in column.to_pylist()])
    return column.storage
