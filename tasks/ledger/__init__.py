"""The ledger: write-once keys in a local folder or in S3. `open_store(url)` is the way in."""

from tasks.ledger.address import open_store
from tasks.ledger.range_reader import open_reader

__all__ = ["open_reader", "open_store"]
