"""Records: what one owner keeps under its keys, how a record is written as bytes, and how it is put and read.

A record is a frozen dataclass. It is written as JSON with sorted keys, no spaces, floats in their shortest
exact form and no NaN, or as a row of a Parquet table. It is validated when it is read: each field of its
type, none missing that has no default, and no other. What does not fit is a `DamagedRecord`, which names the
key and the field.

Parquet is written with fixed settings; the same library version gives the same bytes. Another version may
not. So a process that loses a `put` uses the winner's bytes, and versions are compared by their columns.
"""

import json
import logging
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache, lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NewType, TypeVar

import pydantic_core
from pydantic import ConfigDict, TypeAdapter, ValidationError

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.layout import KeyForm
from assay.tasks.ledger.stores.store import KeyMissing, Store, StoreError


@dataclass(frozen=True, slots=True)
class Ledger:
    """The keys of one owner in a store. It may be empty: making one reads and writes nothing.

    A ledger: what a store holds of one owner, an evaluation or a monitor.

    Its keys begin with the owner's name; `tasks.ledger.layout` spells them in full. Functions that act on one
    evaluation or monitor take its `Ledger`; those that act on a whole store take the `Store`.
    """

    store: Store
    name: str     # of an evaluation, or of a monitor as `layout.monitor_ledger` spells it

    def get(self, key: str) -> bytes:
        """The bytes under a key. Keys are given in full, with the name of their owner, here and in the
        methods below. Raises KeyMissing where nothing is there."""
        return self.store.get(key)

    def put(self, key: str, blob: bytes) -> bytes:
        """Keep bytes under a key that is free, and return what is there then: these bytes, or those that were
        put first. Nothing is ever overwritten; what the store raises is raised."""
        return self.store.put(key, blob)

    def exists(self, key: str) -> bool:
        """Whether something is under a key, given in full. The store is asked, and its value is not read;
        raises what the store raises where it cannot be reached."""
        return self.store.exists(key)

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with a prefix, in order; both are given in full, with the name of the owner.
        Empty where there are none."""
        return self.store.keys(prefix)


if TYPE_CHECKING:
    import pyarrow as pa
    from _typeshed import DataclassInstance

    from assay.evalcore.types import Array

MOST_RECORD_BYTES = 1 << 28   # of a record: a hundred times the largest partition that was ever measured
# what using a value that makes no sense may raise
NONSENSE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, NotImplementedError,
    EOFError, MemoryError, AssertionError, zlib.error,
)
_log = logging.getLogger("assay.ledger")
_Decoded = TypeVar("_Decoded")
_IN_OUR_WORDS = {"missing": "is missing", "unexpected_keyword_argument": "is not a field of this record"}


class DamagedRecord(StoreError):
    """A key of the ledger holds bytes that are not what was ever written there."""


def damaged(key: str, what: str) -> DamagedRecord:
    """The error for a key that holds something else than it must."""
    return DamagedRecord(f"{key}: {what}; restore this key from a copy of the ledger")


LATER_FIELD = "later"   # of a field that version 1.0.0 does not know: left out of the record where it is None


def encode(record: "DataclassInstance") -> bytes:
    """A record as JSON. Raises ValueError for NaN and infinities: they are never a value here. Keys are
    sorted and texts are UTF-8, so equal records have equal bytes."""
    return to_json(record)


def decode(kind: type[_Decoded], blob: bytes, key: str) -> _Decoded:
    """The record in the bytes of a key, of at most MOST_RECORD_BYTES and 200 levels. Raises DamagedRecord.
    Unknown keys, and values of another type, damage a record."""
    _refuse_large(blob, key)
    try:
        record = _adapter(kind, strict=True).validate_json(blob)
    except ValidationError as error:
        raise damaged(key, _what_is_wrong(error)) from None
    return record


def from_rows(kind: type[_Decoded], rows: object, key: str) -> _Decoded:
    """The records that rows of a table make, whose columns were found to be of their types already. One
    record a row, in order.

    Raises DamagedRecord.
    """
    try:
        record = _adapter(kind, strict=False).validate_python(rows)
    except ValidationError as error:
        raise damaged(key, _what_is_wrong(error)) from None
    return record


def plain(record: "DataclassInstance") -> Any:
    """The JSON value that a record is kept as, with every field."""
    return json.loads(encode(record))


def to_json(value: object) -> bytes:
    """Canonical JSON as bytes, with a line end: sorted keys, no spaces, times as text and records as their
    fields. Raises ValueError for NaN and infinities, and TypeError for a value of another type."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_inside
    )
    return text.encode() + b"\n"


def from_json(blob: bytes, key: str) -> Any:
    """Any JSON value of at most MOST_RECORD_BYTES and 200 levels, unchecked otherwise. Raises
    DamagedRecord."""
    _refuse_large(blob, key)
    try:
        return pydantic_core.from_json(blob)
    except ValueError as error:
        raise damaged(key, f"not JSON ({error})") from None


def _refuse_large(blob: bytes, key: str) -> None:
    if len(blob) > MOST_RECORD_BYTES:
        raise damaged(key, f"{len(blob):,} bytes, where no record has more than {MOST_RECORD_BYTES:,}")


@contextmanager
def understood(owner: str) -> Iterator[None]:
    """Whatever is read of a ledger in this context and makes no sense is a DamagedRecord of its owner.

    A record is validated by itself; this is for what only its use shows, such as a number beyond any pool.
    """
    try:
        yield
    except (StoreError, BadInput):
        raise
    except NONSENSE as error:
        _log.debug("%s", owner, exc_info=True)
        raise DamagedRecord(
            f"{owner}: what its ledger holds makes no sense ({type(error).__name__}: {str(error)[:200]}); "
            f"`assay verify {owner}` names the key, to be restored from a copy of the ledger"
        ) from None


def to_parquet(
    columns: "Mapping[str, Sequence[object] | Array]", schema: "pa.Schema | None" = None,
    attached: Mapping[str, str] | None = None,
) -> bytes:
    """A table of these columns (lists or arrays), with text attached to the file.

    Without a schema the columns are NumPy arrays, and their types are those of the table.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from assay.tasks.arrow import column_from

    types = dict.fromkeys(columns) if schema is None else {column.name: column.type for column in schema}
    made = [column_from(columns[name], type) for name, type in types.items()]
    table = pa.Table.from_arrays(made, schema=schema, names=list(types) if schema is None else None)
    sink = BytesIO()
    with pq.ParquetWriter(
        sink, table.schema,
        version="2.6", data_page_version="1.0", compression="zstd", compression_level=3,
        use_dictionary=False, write_statistics=False, store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=1 << 20)
        if attached:
            writer.add_key_value_metadata(dict(attached))
    return sink.getvalue()


def from_parquet(
    blob: bytes, key: str, schema: "pa.Schema | None" = None, optional: Sequence[str] = ()
) -> tuple[dict[str, list[Any]], dict[str, str]]:
    """The columns of a table as lists, and the attached text. Raises DamagedRecord.

    With a schema, the table has exactly its columns, of its types, and nulls only where it allows them;
    the optional ones may be missing.
    """
    import pyarrow as pa

    try:
        table, attached = (_small_table if len(blob) <= _SMALL_FILE_BYTES else _table)(blob)
    except (pa.ArrowException, OSError, *NONSENSE) as error:
        raise damaged(key, f"not a Parquet file ({error})") from None
    if schema is not None:
        left_out = {name for name in optional if name not in table.column_names}
        _check_columns(table, pa.schema([field for field in schema if field.name not in left_out]), key)
    return table.to_pydict(), dict(attached)


def _table(blob: bytes) -> tuple["pa.Table", dict[str, str]]:
    """The table in these bytes, and the attached text. Raises ValueError for one that is larger than any
    record, however few bytes it has: it is read in portions, and given up where they are too many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # pq.read_table takes five times as long
    file = pq.ParquetFile(pa.BufferReader(blob))
    metadata = file.metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    if any(group.column(j).has_dictionary_page for group in groups for j in range(group.num_columns)):
        raise ValueError("its values are in a dictionary, which records have never had")
    if metadata.num_rows * max(metadata.num_columns, 1) > _MOST_VALUES:
        raise ValueError(f"{metadata.num_rows:,} rows")
    batches, size = [], 0
    for batch in file.iter_batches(_PORTION, use_threads=False):
        size += batch.nbytes
        if size > MOST_RECORD_BYTES:
            raise ValueError(f"more than {MOST_RECORD_BYTES:,} bytes of columns")
        batches.append(batch)
    table = pa.Table.from_batches(batches, file.schema_arrow)
    return table, {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}


_MOST_VALUES = MOST_RECORD_BYTES // 8   # of a table
_PORTION = 1 << 14               # rows that are decoded at once


def inflate(packed: bytes) -> bytes:
    """The bytes that zlib has packed. Raises ValueError for more than MOST_RECORD_BYTES and for what is cut
    off, and zlib.error. So a small key cannot fill the memory of who reads it."""
    unpacker = zlib.decompressobj()
    blob = unpacker.decompress(packed, MOST_RECORD_BYTES)
    if not unpacker.eof:
        raise ValueError(f"cut off, or more than {MOST_RECORD_BYTES:,} bytes")
    return blob


# What a round holds is read again whenever its evaluation is looked at.
_SMALL_FILE_BYTES = 1 << 16   # bytes of a file
_small_table = lru_cache(128)(_table)


def attached_text(attached: Mapping[str, str], name: str, key: str) -> bytes:
    """One text that is attached to a table. Raises DamagedRecord if it is not there. Parquet keeps such texts
    in the file's metadata."""
    if name not in attached:
        raise damaged(key, f"nothing is attached as {name}")
    return attached[name].encode()


def _check_columns(table: "pa.Table", schema: "pa.Schema", key: str) -> None:
    if table.column_names != schema.names:
        raise damaged(key, f"its columns are {', '.join(table.column_names)}, not {', '.join(schema.names)}")
    for field in schema:
        column = table.column(field.name)
        if column.type != field.type:
            raise damaged(key, f"{field.name}: {column.type} instead of {field.type}")
        if column.null_count and not field.nullable:
            raise damaged(key, f"{field.name}: a value is missing")


def _adapter(kind: type[_Decoded], *, strict: bool) -> TypeAdapter[_Decoded]:
    hashable: Any = kind
    return _built(hashable, strict)


@cache
def _built(kind: Any, strict: bool) -> TypeAdapter[Any]:
    # a new type takes the settings, which a dataclass of the core cannot carry, and hands them down
    settled = NewType("settled", kind)  # type: ignore[valid-newtype]
    return TypeAdapter(settled, config=ConfigDict(extra="forbid", strict=strict, allow_inf_nan=False))


def _what_is_wrong(error: ValidationError) -> str:
    """The first thing that does not fit, with its place in the record."""
    problem, *remainder = error.errors(include_url=False)
    place = ".".join(map(str, problem["loc"]))
    message = _IN_OUR_WORDS.get(problem["type"]) or problem["msg"][:1].lower() + problem["msg"][1:]
    suffix = f" (and {len(remainder)} more)" if remainder else ""
    return f"{place}: {message}{suffix}" if place else f"{message}{suffix}"


def _inside(value: object) -> object:
    """A value that JSON does not know: a time as text, a record as its fields."""
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {
            field.name: part for field in fields(value)
            if (part := getattr(value, field.name)) is not None or not field.metadata.get(LATER_FIELD)
        }
    raise TypeError(f"{type(value).__name__} is no value of the ledger")


if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from assay.evalcore.types import Array

Record = TypeVar("Record", bound="DataclassInstance")


def put_record(ledger: Ledger, key: str, record: Record) -> Record:
    """Put a record; returns the one under the key, which another process may have put first. Raises
    DamagedRecord where that cannot be read."""
    return decode(type(record), ledger.put(key, encode(record)), key)


def get_record(ledger: Ledger, key: str, kind: type[Record]) -> Record:
    """The record under a key, validated as one of this type. Raises KeyMissing where nothing is there, and
    DamagedRecord where something else is."""
    return decode(kind, ledger.get(key), key)


def find_record(ledger: Ledger, key: str, kind: type[Record]) -> Record | None:
    """The record under a key, validated as one of this type; None where nothing is there. Raises
    DamagedRecord where something else is."""
    blob = find_bytes(ledger, key)
    return None if blob is None else decode(kind, blob, key)


def read_records(
    ledger: Ledger, prefix: str, pattern: KeyForm, kind: type[Record],
    keys: Iterable[str] | None = None,
) -> list[Record]:
    """The records under the keys of this pattern below a prefix, in the order of the keys.

    keys    those of the ledger, where somebody has listed them already

    Raises DamagedRecord.
    """
    listed = list(ledger.keys(prefix)) if keys is None else sorted(keys)
    return [get_record(ledger, key, kind) for key in filter(pattern.values_in, listed)]


def find_bytes(ledger: Ledger, key: str) -> bytes | None:
    """The bytes under a key, unchecked; None where nothing is there. Other errors of the store are raised.
    For derived files, whose readers check them by themselves."""
    try:
        return ledger.get(key)
    except KeyMissing:
        return None
