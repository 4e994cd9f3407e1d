"""A store on its way to a worker: in another process it is opened again, by its address."""

from typing import Any

from assay.evalcore.errors import BadInput
from assay.tasks.ledger.stores.address import open_store
from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.ledger.stores.s3 import S3Store


class Travelling:
    """Holds a store. Pickled, it holds the address alone: credentials come from each worker's environment."""

    __slots__ = ("store",)

    def __init__(self, store: Store) -> None:
        self.store = store

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (address(self.store),)


def address(store: Store) -> str:
    """Where other processes find the store. Raises BadInput for one that lives in the memory of this one."""
    held: Any = store
    while not isinstance(held, LocalStore | S3Store):
        held = getattr(held, "inner", None)
        if held is None:
            raise BadInput(
                f"store: other processes cannot reach {store.url!r}, which is in the memory of this one; "
                "give a folder that all of them see, or s3://bucket/prefix"
            )
    return str(held.root) if isinstance(held, LocalStore) else held.url


def _arrived(where: str) -> Travelling:
    return Travelling(open_store(where))
