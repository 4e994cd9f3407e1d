"""A record under a key: put once, and validated whenever it is read."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from assay.tasks.ledger import codec
from assay.tasks.ledger.key_pattern import KeyPattern
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import KeyMissing

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")


def put_record(ledger: Ledger, key: str, record: Record) -> Record:
    """Put a record; returns the one under the key, which another process may have put first."""
    return codec.decode(type(record), ledger.put(key, codec.encode(record)), key)


def get_record(ledger: Ledger, key: str, kind: type[Record]) -> Record:
    """The record under a key. Raises KeyMissing, or DamagedRecord."""
    return codec.decode(kind, ledger.get(key), key)


def find_record(ledger: Ledger, key: str, kind: type[Record]) -> Record | None:
    """The record under a key, or None. Raises DamagedRecord."""
    blob = find_bytes(ledger, key)
    return None if blob is None else codec.decode(kind, blob, key)


def read_records(
    ledger: Ledger, prefix: str, pattern: KeyPattern[*tuple[Any, ...]], kind: type[Record],
    keys: Iterable[str] | None = None,
) -> list[Record]:
    """The records under the keys of this pattern below a prefix, in the order of the keys.

    keys    those of the ledger, where somebody has listed them already

    Raises DamagedRecord.
    """
    listed = list(ledger.keys(prefix)) if keys is None else sorted(keys)
    return [get_record(ledger, key, kind) for key in filter(pattern.match, listed)]


def find_bytes(ledger: Ledger, key: str) -> bytes | None:
    """What is under a key, or None."""
    try:
        return ledger.get(key)
    except KeyMissing:
        return None
