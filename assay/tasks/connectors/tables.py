"""Rows of a table to the file of a pool: its columns as they are, and numbers of the rows where none names
them.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.evalcore.errors import BadInput
from assay.tasks.connectors.records import Written

ID = "item_id"


def write_table(batches: Iterator[pa.RecordBatch], to: Path) -> Written:
    """Write the rows. Batches after the first must have its columns.

    A column `item_id` with the numbers of the rows is put in front where there is none.
    Raises BadInput where there is no row, and where later rows have other columns.
    """
    first_batch = next(batches, None)
    if first_batch is None:
        raise BadInput("there is no row to import: the table is empty")
    schema, numbered = first_batch.schema.remove_metadata(), ID not in first_batch.schema.names
    if numbered:
        schema = schema.insert(0, pa.field(ID, pa.string()))
    rows = write_parquet(_aligned(chain([first_batch], batches), schema, numbered), schema, to)
    return Written(path=to, rows=rows, columns=tuple(schema.names))


def _aligned(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, numbered: bool
) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        columns = batch.columns
        if numbered:
            columns = [pa.array(map(str, range(done, done + len(batch))), pa.string()), *columns]
        names = [ID, *batch.schema.names] if numbered else batch.schema.names
        if names != schema.names:
            raise BadInput(
                f"rows from {done + 1:,} on have the columns {', '.join(names)}, and those before have "
                f"{', '.join(schema.names)}; import what has the same columns together"
            )
        try:
            columns = [c.cast(field.type) for c, field in zip(columns, schema, strict=True)]
        except pa.ArrowInvalid as error:
            raise BadInput(f"rows from {done + 1:,} on hold other kinds of values: {error}") from None
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        done += len(batch)


def refuse_existing_pool(to: Path) -> None:
    """Raises BadInput where something is there already, and for a name that no pool has."""
    if to.suffix != ".parquet":
        raise BadInput(f"--to {to}: a pool is written as Parquet; give it a name that ends in .parquet")
    if to.exists():
        raise BadInput(f"{to} exists; choose another name, or remove it first")
    if not to.absolute().parent.is_dir():
        raise BadInput(f"cannot write {to}: there is no folder {to.parent}; make it first")


def columns_of_pool(pool: Path) -> tuple[str, ...]:
    """The names of the columns of a pool's Parquet file, in order; no row is read."""
    return tuple(pq.read_schema(pool).names)


def write_parquet(batches: Iterable[pa.RecordBatch], schema: pa.Schema, to: Path) -> int:
    """Write these rows; how many there were. Raises BadInput where the place cannot be written to."""
    part = to.with_name(f".{to.name}.part")
    rows = 0
    try:
        with pq.ParquetWriter(part, schema, compression="zstd") as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
        part.rename(to)
    except OSError as error:
        raise BadInput(f"cannot write {to}: {error.strerror or error}; choose another place") from None
    finally:
        part.unlink(missing_ok=True)
    return rows
