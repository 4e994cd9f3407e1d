"""Rows of a table of Delta Lake as one version of it has them.

The log of the table says which Parquet files a version has, and which of their rows are deleted. They are
read as other files of Parquet are, in the order of their paths; so the same version gives the same pool
everywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from assay.evalcore.errors import BadInput, needs
from assay.evalcore.json_values import JsonMapping
from assay.tasks.secrets import refuse_secrets
from assay.tasks.sources.parquet import parquet_batches, parquet_schema
from assay.tasks.sources.tables.table import FileAt, Table
from assay.tasks.table_address import TableAddress


class _DataFile(NamedTuple):
    path: str
    partition: JsonMapping     # column -> value, of the folders that it lies in
    kept: pa.BooleanArray | None     # whether each of its rows is still there; None: all are


@dataclass(frozen=True, slots=True)
class DeltaRows(Table):
    """One version of a table of Delta Lake."""

    path: str
    version: str
    asked: TableAddress

    @staticmethod
    def at(asked: TableAddress) -> "DeltaRows":
        """The version that is asked for, else the newest. Raises BadInput where there is none."""
        version = _opened(asked).version()
        pinned = TableAddress(kind=asked.kind, place=asked.place, state=version)
        return DeltaRows(path=str(pinned), version=f"version {version}", asked=pinned)

    def schema(self) -> pa.Schema:
        """The types of the columns. Raises BadInput."""
        return pa.schema(_opened(self.asked).schema().to_arrow())

    def rows(self, fields: pa.Schema, file_at: FileAt) -> Iterator[pa.RecordBatch]:
        """These columns, file by file; what a file was written without is missing. Raises BadInput."""
        for data in _data_files(_opened(self.asked)):
            file = file_at(data.path)
            stored = parquet_schema(file).names
            own = [name for name in fields.names if name in stored]
            for start, batch in parquet_batches(file, own or stored[:1]):
                rows = pa.RecordBatch.from_arrays(
                    [
                        batch.column(field.name).cast(field.type) if field.name in own
                        else pa.repeat(pa.scalar(data.partition.get(field.name), field.type), batch.num_rows)
                        for field in fields
                    ],
                    schema=fields,
                )
                yield rows if data.kept is None else _left(rows, data.kept.slice(start, batch.num_rows))


def _opened(asked: TableAddress) -> Any:
    """The table of the package deltalake."""
    refuse_secrets(asked.place, "the address of the predictions")
    with needs("delta", "tables of Delta Lake"):
        deltalake = import_module("deltalake")
    try:
        table = deltalake.DeltaTable(asked.place.removeprefix("file://"), version=asked.state)
    except (deltalake.exceptions.DeltaError, OSError, ValueError, OverflowError) as error:
        state = "" if asked.state is None else f" of version {asked.state}"
        raise BadInput(
            f"pool.source: {asked.place}: no table of Delta Lake{state} can be read there "
            f"({' '.join(str(error).split())}); correct the address or the version"
        ) from None
    needed = set(table.protocol().reader_features or ()) - _READ
    if table.metadata().configuration.get(_MAPPING, "none") != "none":
        needed.add("columnMapping")     # of which version 2 of the protocol has no word
    if needed:
        raise BadInput(
            f"pool.source: {asked.place}: the table needs {', '.join(sorted(needed))} of its readers, which "
            "is not known here; export the rows as Parquet, or copy them into a table without it"
        )
    return table


_MAPPING = "delta.columnMapping.mode"
# Features that change nothing, or that are heeded: deleted rows, types that became wider, columns of JSON.
_READ = {
    "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "typeWidening",
    "typeWidening-preview", "variantType", "variantType-preview", "columnMapping",
}


def _data_files(table: Any) -> list[_DataFile]:
    """The files of a version, sorted by path. Raises BadInput for one whose folders are not in the log."""
    vectors = pa.table(table.deletion_vectors())
    kept = {
        unquote(path.as_py().removeprefix("file://")): vector.values
        for path, vector in zip(vectors.column(0), vectors.column(1), strict=True)
    }
    actions: dict[str, list[tuple[str, JsonMapping]]] = {}
    for action in pa.table(table.get_add_actions(flatten=False)).to_pylist():
        path = unquote(action["path"])
        actions.setdefault(PurePosixPath(path).name, []).append((path, action.get("partition") or {}))
    files = []
    for path in sorted(table.file_uris()):
        for end, partition in actions.get(PurePosixPath(path).name, ()):
            if path.endswith(f"/{end}") or path == end:
                files.append(_DataFile(path, partition, kept.get(unquote(path), kept.get(path))))
                break
        else:
            raise BadInput(
                f"pool.source: {path}: is a file of the table by another name than in its log; export the "
                "rows as Parquet"
            )
    return files


def _left(rows: pa.RecordBatch, kept: pa.BooleanArray) -> pa.RecordBatch:
    """The rows that are still there; a vector may end before the rows that follow its last deletion."""
    if len(kept) < rows.num_rows:
        kept = pa.concat_arrays([kept, pa.array([True] * (rows.num_rows - len(kept)))])
    return rows.filter(kept)
