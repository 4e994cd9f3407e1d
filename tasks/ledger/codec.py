"""Bytes of the ledger: one way to write a value, so that equal values are equal bytes.

JSON is written with sorted keys, no spaces, floats in their shortest exact form and no NaN. Parquet is
written with fixed settings; the same library version gives the same bytes. Another version may not: whoever
loses a `put` carries on with the winner's bytes, and comparisons across versions are of columns, not files.
"""

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

from assay.tasks.ledger.stores.protocol import StoreError


class DamagedRecord(StoreError):
    """A key of the ledger holds bytes that are not what was ever written there."""


def to_json(value: Any) -> bytes:
    """Canonical JSON. Raises ValueError for NaN and infinities: they are never a value here."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode() + b"\n"


def from_json(blob: bytes, key: str) -> Any:
    """The value, or DamagedRecord naming the key."""
    try:
        return json.loads(blob)
    except ValueError as error:
        raise DamagedRecord(
            f"{key}: not JSON ({error}); restore this key from a copy of the ledger"
        ) from None


def to_parquet(columns: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> bytes:
    """A table of named Arrow arrays, with text attached to the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(dict(columns))
    sink = BytesIO()
    with pq.ParquetWriter(
        sink, table.schema,
        version="2.6", data_page_version="1.0", compression="zstd", compression_level=3,
        use_dictionary=False, write_statistics=False, store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=1 << 20)
        if metadata:
            writer.add_key_value_metadata(dict(metadata))
    return sink.getvalue()


def from_parquet(blob: bytes, key: str) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """Columns as lists of Python values, and the attached text; DamagedRecord names the key."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(BytesIO(blob), use_threads=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise DamagedRecord(
            f"{key}: not a Parquet file ({error}); restore this key from a copy of the ledger"
        ) from None
    metadata = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    return {name: table.column(name).to_pylist() for name in table.column_names}, metadata
