"""The ledger: write-once keys in a local folder or in S3. `open_store(url)` is the way in."""

from assay.tasks.ledger.stores.address import open_store
from assay.tasks.ledger.stores.range_reader import open_reader

__all__ = ["open_reader", "open_store"]
