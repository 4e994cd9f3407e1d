"""The rows that a database answers a query with.

A result has no order of its own. Its rows are sorted by the column of ids where that is known: numbers by
size, texts by code point, so that the same rows are the same pool on every server. The query is asked anew
for each pass, and nothing says whether its answer is still that of yesterday; the digest of the frozen pool
does.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from assay.evalcore.errors import BadInput
from assay.tasks.sources.files.file import check_columns
from assay.tasks.sources.tables.connections import ROWS_LOOKED_AT, Database, database_connection
from assay.tasks.sources.tables.table import FileAt, Table, plain_schema
from assay.tasks.sources.values import kind
from assay.tasks.table_address import QueryAddress


@dataclass(frozen=True, slots=True)
class QueryRows(Table):
    """The answer to a query."""

    path: str
    version: str
    asked: QueryAddress

    @staticmethod
    def at(asked: QueryAddress) -> "QueryRows":
        """The answer that a database would give now; it is not asked yet."""
        return QueryRows(path=str(asked), version=f"asked-ns:{time.time_ns()}", asked=asked)

    def schema(self) -> pa.Schema:
        """The types of the columns, from a few rows. Raises BadInput where the query cannot be asked."""
        with database_connection(self.asked.connection) as database:
            return plain_schema(database.reader(self._from(f"LIMIT {ROWS_LOOKED_AT}")).schema)

    def rows(self, fields: pa.Schema, file_at: FileAt) -> Iterator[pa.RecordBatch]:
        """These columns, sorted. Raises BadInput for rows out of order, and for what the database says."""
        order, last, names, is_text = self.asked.order, None, list(fields.names), False
        every: list[tuple[str, bool]] = []
        if order is not None:
            schema = fields if order in names else self.schema()
            check_columns(self.path, [order], schema.names)
            is_text = kind(schema.field(order).type) == "text"
            names += [] if order in names else [order]
        else:       # columns may be read in several passes: only rows that are alike change places
            schema = self.schema()
            every = [(field.name, kind(field.type) == "text") for field in schema
                     if schema.names.count(field.name) == 1]
        with database_connection(self.asked.connection) as database:
            sorted_by = [(order, is_text)] if order is not None else every
            behind = ", ".join(
                database.in_order(_quoted(database, name), text, self._rows) for name, text in sorted_by
            )
            behind = f"ORDER BY {behind}" if behind else ""
            selected = ", ".join(_quoted(database, name) for name in names)
            for batch in database.reader(self._from(behind, selected)):
                if order is not None and batch.num_rows:
                    last = self._in_order(last, batch.column(order))
                yield batch

    def _from(self, behind: str, selected: str = "*") -> str:
        return f"SELECT {selected} FROM {self._rows} {behind}"  # noqa: S608 - the query is the user's own

    @property
    def _rows(self) -> str:
        return f"(\n{self.asked.query}\n) AS assay_rows"

    def _in_order(self, last: pa.Array | None, ids: pa.Array) -> pa.Array:
        """The last id. Raises BadInput where one comes before the one behind it."""
        if isinstance(ids.type, pa.BaseExtensionType):
            ids = ids.storage
        if pa.types.is_null(ids.type):      # none of the rows has one, which the check of rows says
            return pa.array([], ids.type) if last is None else last
        ids = ids.drop_null()
        every = ids if last is None else pa.concat_arrays([last, ids])
        if pc.any(pc.greater(every[:-1], every[1:])).as_py():
            raise BadInput(
                f"{self.path}: the database sorts the column {self.asked.order!r} otherwise than by code "
                "point or by size, so rows have no order that is the same everywhere; cast it to text"
            )
        return every[-1:]


def _quoted(database: Database, name: str) -> str:
    mark = database.quote
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"
