"""Rows of a table of Iceberg as one snapshot of it has them.

A table is named by its folder, by the address of one of its metadata files, or by its name in a catalog that
PyIceberg is told of (`~/.pyiceberg.yaml`, or variables `PYICEBERG_CATALOG__…`). Its data files are read in
the order of their paths, one at a time, without the rows that the snapshot has deleted.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pyarrow as pa

from assay.evalcore.errors import BadInput, needs
from assay.tasks.secrets import refuse_secrets
from assay.tasks.sources.tables.table import FileAt, Table
from assay.tasks.table_address import TableAddress

_METADATA = re.compile(r"v?(\d+)[^/]*\.metadata\.json")


@dataclass(frozen=True, slots=True)
class IcebergRows(Table):
    """One snapshot of a table of Iceberg."""

    path: str
    version: str
    asked: TableAddress

    @staticmethod
    def at(asked: TableAddress) -> "IcebergRows":
        """The snapshot that is asked for, else the newest. Raises BadInput where there is none."""
        table = _opened(asked)
        snapshot = table.current_snapshot() if asked.state is None else table.snapshot_by_id(asked.state)
        if snapshot is None:
            which = "" if asked.state is None else f" {asked.state}"
            there = ", ".join(str(one.snapshot_id) for one in table.snapshots()[-5:])
            raise BadInput(f"pool.source: {asked.place}: the table has no snapshot{which}; "
                           f"{f'the newest are {there}' if there else 'nothing was written to it'}")
        pinned = TableAddress(
            kind=asked.kind, place=asked.place, state=snapshot.snapshot_id, catalog=asked.catalog
        )
        return IcebergRows(path=str(pinned), version=f"snapshot {snapshot.snapshot_id}", asked=pinned)

    def schema(self) -> pa.Schema:
        """The types of the columns. Raises BadInput."""
        return _opened(self.asked).scan(snapshot_id=self.asked.state).projection().as_arrow()

    def rows(self, fields: pa.Schema, file_at: FileAt) -> Iterator[pa.RecordBatch]:
        """These columns, file by file. Raises BadInput for a data file that is gone or is not sound."""
        table = _opened(self.asked)
        scan = table.scan(snapshot_id=self.asked.state, selected_fields=tuple(fields.names))
        reading = import_module("pyiceberg.io.pyarrow").ArrowScan(
            table.metadata, table.io, scan.projection(), scan.row_filter
        )
        try:
            for data in sorted(scan.plan_files(), key=lambda data: data.file.file_path):
                for batch in reading.to_record_batches([data]):
                    yield pa.RecordBatch.from_arrays(
                        [batch.column(field.name).cast(field.type) for field in fields], schema=fields
                    )
        except (OSError, pa.ArrowException, ValueError) as error:
            raise BadInput(
                f"{self.path}: the table cannot be read: {' '.join(str(error).split())}; repair it, or name "
                "a snapshot "
                "that is whole"
            ) from None


def _opened(asked: TableAddress) -> Any:
    """The table of the package pyiceberg."""
    refuse_secrets(asked.place, "the address of the predictions")
    with needs("iceberg", "tables of Iceberg"):
        catalogs, tables = import_module("pyiceberg.catalog"), import_module("pyiceberg.table")
    try:
        if asked.catalog is not None:
            return catalogs.load_catalog(asked.catalog).load_table(asked.place)
        return tables.StaticTable.from_metadata(_metadata_file(asked.place), _access())
    except BadInput:
        raise
    except Exception as error:
        said = f" ({' '.join(str(error).split())})" if asked.catalog is None else f" ({type(error).__name__})"
        where = "" if asked.catalog is None else f" in the catalog {asked.catalog!r}"
        raise BadInput(
            f"pool.source: {asked.place}: no table of Iceberg can be read there{where}{said}; correct the "
            "address, or set the catalog up for PyIceberg"
        ) from None


def _metadata_file(place: str) -> str:
    """The newest metadata file of a table's folder; a metadata file is itself. Raises BadInput."""
    if place.endswith(".metadata.json"):
        return place
    reading = import_module("pyiceberg.io.pyarrow").PyArrowFileIO(_access())
    scheme, host, path = reading.parse_location(place)
    below = import_module("pyarrow.fs").FileSelector(f"{path.rstrip('/')}/metadata", allow_not_found=True)
    system = reading.fs_by_scheme(scheme, host)
    matches = [_METADATA.fullmatch(file.base_name) for file in system.get_file_info(below)]
    numbers = {match[0]: int(match[1]) for match in matches if match}
    if not numbers:
        raise BadInput(
            f"pool.source: {place}: is no table of Iceberg: there is no metadata/*.metadata.json below it; "
            "name the table's folder or a metadata file, or name its catalog"
        )
    newest = max(numbers, key=lambda name: (numbers[name], name))
    return f"{place.rstrip('/')}/metadata/{newest}"


def _access() -> dict[str, str]:
    """What PyIceberg is told of object storage: where boto3 would find it too."""
    names = {
        "s3.endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
        "s3.region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    }
    return {
        setting: value for setting, variables in names.items()
        if (value := next(filter(None, map(os.environ.get, variables)), None))
    }
