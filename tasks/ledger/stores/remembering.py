"""A store that reads each key once: what is under a key of the evidence never changes.

For the length of one call of `advance`. It remembers what it read and what it put, and is told at the start
what a checkpoint holds. Inside a folder that was looked around in, it also knows which keys are not there, as
of that moment; who needs to know it as of now looks away first.
"""

from collections.abc import Iterator, Mapping

from assay.tasks.ledger.stores.key_check import is_discardable
from assay.tasks.ledger.stores.protocol import KeyMissing, Store

LARGEST = 1 << 20   # bytes of a value that is remembered


class Remembering:
    """A Store of the same values as `inner`."""

    def __init__(self, inner: Store, known: Mapping[str, bytes] | None = None) -> None:
        self.url = inner.url
        self.inner = inner
        self.known: dict[str, bytes] = dict(known or {})
        self._listed: dict[str, set[str]] = {}    # prefix -> the keys that were below it

    def look_around(self, prefix: str) -> None:
        """List the keys below a prefix, unless that was done: everything that asks for them goes by it."""
        if prefix not in self._listed:
            self._listed[prefix] = set(self.inner.keys(prefix))

    def look_away(self) -> None:
        """From now on everything is listed anew."""
        self._listed.clear()

    def put(self, key: str, blob: bytes) -> bytes:
        """See Store.put."""
        won = self.inner.put(key, blob)
        self._remember(key, won)
        for prefix, keys in self._listed.items():
            if key.startswith(prefix):
                keys.add(key)
        return won

    def get(self, key: str) -> bytes:
        """See Store.get."""
        if key in self.known:
            return self.known[key]
        if self._is_absent(key):
            raise KeyMissing(f"{self.url}: there is nothing under {key!r}")
        blob = self.inner.get(key)
        self._remember(key, blob)
        return blob

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """See Store.get_range."""
        return self.inner.get_range(key, start, length)

    def size(self, key: str) -> int:
        """See Store.size."""
        return self.inner.size(key)

    def exists(self, key: str) -> bool:
        """See Store.exists."""
        if key in self.known:
            return True
        listed = self._listing_of(key)
        return key in listed if listed is not None else self.inner.exists(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """See Store.keys."""
        listed = self._listing_of(prefix)
        if listed is None:
            return self.inner.keys(prefix)
        return iter(sorted(key for key in listed if key.startswith(prefix)))

    def folders(self, prefix: str = "") -> Iterator[str]:
        """See Store.folders."""
        return self.inner.folders(prefix)

    def discard(self, key: str) -> None:
        """See Store.discard."""
        self.inner.discard(key)

    def check(self) -> None:
        """See Store.check."""
        self.inner.check()

    def _remember(self, key: str, blob: bytes) -> None:
        if not is_discardable(key) and len(blob) <= LARGEST:
            self.known[key] = blob

    def _listing_of(self, key: str) -> set[str] | None:
        return next((keys for prefix, keys in self._listed.items() if key.startswith(prefix)), None)

    def _is_absent(self, key: str) -> bool:
        listed = self._listing_of(key)
        return listed is not None and key not in listed
