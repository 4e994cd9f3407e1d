"""The ledger: write-once keys in a local folder or in S3. `open_store(url)` is the way in."""

from assay.tasks.ledger.stores.opening import open_reader, open_store

__all__ = ["open_reader", "open_store"]
