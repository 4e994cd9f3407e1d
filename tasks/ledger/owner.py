"""A ledger: what a store holds of one owner, an evaluation or a monitor.

Its keys begin with the owner's name; `tasks.ledger.layout` spells them in full. Functions that act on one
evaluation or monitor take its `Ledger`; those that act on a whole store take the `Store`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.tasks.ledger.stores.protocol import Store


@dataclass(frozen=True, slots=True)
class Ledger:
    """The keys of one owner in a store. It may be empty: making one reads and writes nothing."""

    store: Store
    name: str     # of an evaluation, or of a monitor as `layout.monitor` spells it

    def get(self, key: str) -> bytes:
        """See Store.get. Keys are in full, here and below."""
        return self.store.get(key)

    def put(self, key: str, blob: bytes) -> bytes:
        """See Store.put."""
        return self.store.put(key, blob)

    def exists(self, key: str) -> bool:
        """See Store.exists."""
        return self.store.exists(key)

    def keys(self, prefix: str) -> Iterator[str]:
        """See Store.keys."""
        return self.store.keys(prefix)
