"""Stores in memory: a double of the real ones, and one that reads each key of another store only once.

The double serves tests, and simulations that need no record. It is as strict as the strictest real store (no
key inside another key, as in a folder), so what works on it works on both.
"""

import threading
from collections.abc import Iterator, Mapping

from assay.tasks.ledger.stores.protocol import (
    BadKey,
    KeyMissing,
    Store,
    check_discardable,
    check_folder,
    check_key,
    check_prefix,
    check_range,
    is_discardable,
)


class MemoryStore:
    """A Store that lives as long as the object does. Safe to share between threads."""

    def __init__(self) -> None:
        self.url = "memory"
        self._values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, key: str, blob: bytes) -> bytes:
        check_key(key)
        with self._lock:
            if key not in self._values:
                self._refuse_clash(key)
                self._values[key] = bytes(blob)
            return self._values[key]

    def get(self, key: str) -> bytes:
        check_key(key)
        with self._lock:
            try:
                return self._values[key]
            except KeyError:
                raise KeyMissing(f"{self.url}: there is nothing under {key!r}") from None

    def get_range(self, key: str, start: int, length: int) -> bytes:
        check_range(start, length)
        return self.get(key)[start : start + length]

    def size(self, key: str) -> int:
        return len(self.get(key))

    def exists(self, key: str) -> bool:
        check_key(key)
        with self._lock:
            return key in self._values

    def keys(self, prefix: str = "") -> Iterator[str]:
        check_prefix(prefix)
        with self._lock:
            return iter(sorted(key for key in self._values if key.startswith(prefix)))

    def folders(self, prefix: str = "") -> Iterator[str]:
        check_folder(prefix)
        below = (key.removeprefix(prefix) for key in self.keys(prefix))
        return iter(sorted({key.partition("/")[0] for key in below if "/" in key}))

    def discard(self, key: str) -> None:
        check_discardable(key)
        with self._lock:
            self._values.pop(key, None)

    def check(self) -> None:
        """Memory is always there."""

    def _refuse_clash(self, key: str) -> None:
        folder = key + "/"
        for other in self._values:
            if other.startswith(folder) or (key.startswith(other) and key[len(other)] == "/"):
                raise BadKey(f"{key!r} cannot be a key beside {other!r}: one would be a folder of the other")


# A store that reads each key once: what is under a key of the evidence never changes.
#
# For the length of one call of `advance`. It remembers what it read and what it put, and is told at the start
# what a checkpoint holds. Inside a folder that was looked around in, it also knows which keys are not there,
# as of that moment; who needs to know it as of now looks away first.

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
        won = self.inner.put(key, blob)
        self._remember(key, won)
        for prefix, keys in self._listed.items():
            if key.startswith(prefix):
                keys.add(key)
        return won

    def get(self, key: str) -> bytes:
        if key in self.known:
            return self.known[key]
        if self._is_absent(key):
            raise KeyMissing(f"{self.url}: there is nothing under {key!r}")
        blob = self.inner.get(key)
        self._remember(key, blob)
        return blob

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self.inner.get_range(key, start, length)

    def size(self, key: str) -> int:
        return self.inner.size(key)

    def exists(self, key: str) -> bool:
        if key in self.known:
            return True
        listed = self._listing_of(key)
        return key in listed if listed is not None else self.inner.exists(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        listed = self._listing_of(prefix)
        if listed is None:
            return self.inner.keys(prefix)
        return iter(sorted(key for key in listed if key.startswith(prefix)))

    def folders(self, prefix: str = "") -> Iterator[str]:
        return self.inner.folders(prefix)

    def discard(self, key: str) -> None:
        self.inner.discard(key)

    def check(self) -> None:
        self.inner.check()

    def _remember(self, key: str, blob: bytes) -> None:
        if not is_discardable(key) and len(blob) <= LARGEST:
            self.known[key] = blob

    def _listing_of(self, key: str) -> set[str] | None:
        return next((keys for prefix, keys in self._listed.items() if key.startswith(prefix)), None)

    def _is_absent(self, key: str) -> bool:
        listed = self._listing_of(key)
        return listed is not None and key not in listed
