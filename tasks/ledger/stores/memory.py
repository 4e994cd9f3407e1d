"""A store in memory: the double that tests use, and simulations that need no record.

It is as strict as the strictest real store (no key inside another key, as in a folder), so what works on it
works on both.
"""

import threading
from collections.abc import Iterator

from assay.tasks.ledger.stores.key_check import (
    check_discardable,
    check_folder,
    check_key,
    check_prefix,
    check_range,
)
from assay.tasks.ledger.stores.protocol import BadKey, KeyMissing


class MemoryStore:
    """A Store that lives as long as the object does. Safe to share between threads."""

    def __init__(self) -> None:
        self.url = "memory"
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, key: str, blob: bytes) -> bytes:
        """See Store.put."""
        check_key(key)
        with self._lock:
            if key not in self._values:
                self._refuse_clash(key)
                self._values[key] = bytes(blob)
            return self._values[key]

    def get(self, key: str) -> bytes:
        """See Store.get."""
        check_key(key)
        with self._lock:
            try:
                return self._values[key]
            except KeyError:
                raise KeyMissing(f"{self.url}: there is nothing under {key!r}") from None

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See Store.get_range."""
        check_range(start, length)
        return self.get(key)[start : start + length]

    def size(self, key: str) -> int:
        """See Store.size."""
        return len(self.get(key))

    def exists(self, key: str) -> bool:
        """See Store.exists."""
        check_key(key)
        with self._lock:
            return key in self._values

    def keys(self, prefix: str = "") -> Iterator[str]:
        """See Store.keys."""
        check_prefix(prefix)
        with self._lock:
            return iter(sorted(key for key in self._values if key.startswith(prefix)))

    def folders(self, prefix: str = "") -> Iterator[str]:
        """See Store.folders."""
        check_folder(prefix)
        below = (key.removeprefix(prefix) for key in self.keys(prefix))
        return iter(sorted({key.partition("/")[0] for key in below if "/" in key}))

    def discard(self, key: str) -> None:
        """See Store.discard."""
        check_discardable(key)
        with self._lock:
            self._values.pop(key, None)

    def check(self) -> None:
        """Memory is always there."""

    def _refuse_clash(self, key: str) -> None:
        for other in self._values:
            if key.startswith(other + "/") or other.startswith(key + "/"):
                raise BadKey(f"{key!r} cannot be a key beside {other!r}: one would be a folder of the other")
