"""Where a ledger is, as others are told."""

from pathlib import Path

from assay.tasks.addresses import secret_in
from assay.tasks.ledger.stores.protocol import Store


def address_of_store(store: Store) -> str | None:
    """The address of a store, a folder in full; None where it holds a secret, or there is only memory."""
    if secret_in(store.url) or store.url.startswith("memory"):
        return None
    return store.url if "://" in store.url else str(Path(store.url).resolve())
