"""The file of a pool, there as a whole or not at all."""

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.evalcore.errors import BadInput


def refuse_to_replace(to: Path) -> None:
    """Raises BadInput where something is there already, and for a name that no pool has."""
    if to.suffix != ".parquet":
        raise BadInput(f"--to {to}: a pool is written as Parquet; give it a name that ends in .parquet")
    if to.exists():
        raise BadInput(f"{to} exists; choose another name, or remove it first")
    if not to.absolute().parent.is_dir():
        raise BadInput(f"cannot write {to}: there is no folder {to.parent}; make it first")


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
