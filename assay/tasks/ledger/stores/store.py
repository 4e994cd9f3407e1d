"""What a store is, and stores in memory.

Storage is write-once, and a folder and S3 look the same behind it. A key is created exclusively. There is no
update and no delete of evidence: the first writer of a key wins, and every later `put` of that key is told
what won, so that a loser carries on with the winner's bytes.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Protocol, runtime_checkable

from assay.evalcore.errors import AssayError, BadInput, Unreachable


class StoreError(AssayError):
    """The store did not do what was asked; the message names the store, the key and the reason."""


class StoreUnreachable(StoreError, Unreachable):
    """The store could not be reached, or it refused the credentials. Nothing is known to be wrong with what
    it holds, so effects try again."""


class KeyMissing(StoreError):
    """There is nothing under this key: it was never put or, of an index, it was removed."""


MOST_READ = 1 << 30     # bytes under one key that are read at once: what is larger, nobody here has written


def refuse_huge(url: str, key: str, size: int) -> None:
    """Raise StoreError for a value of so many bytes, before they are read."""
    if size > MOST_READ:
        raise StoreError(
            f"{url}: {key} has {size:,} bytes, where nothing that is read at once has more than "
            f"{MOST_READ:,}; restore this key from a copy of the ledger"
        )


class BadKey(BadInput):
    """A key that is not a plain relative path, as key_check says, or that would be a folder of another key.

    The second is refused by folders and by MemoryStore; S3 cannot tell, so a layout must never rely on it.
    """


@runtime_checkable
class Store(Protocol):
    """A write-once store of values, which are bytes, under keys, which are relative POSIX paths. The first
    writer of a key wins; a folder, a bucket of S3 and memory look the same behind it."""

    url: str  # as given: file:///path, ./path or s3://bucket/prefix

    def put(self, key: str, blob: bytes) -> bytes:
        """Create key exclusively. Returns the bytes now under it: `blob` if we won, the winner's if not.
        Raises BadKey for a key of the wrong form, and StoreError."""
        ...

    def get(self, key: str) -> bytes:
        """All bytes under a key. Raises KeyMissing where nothing is there, and StoreError for more bytes than
        MOST_READ. Raises StoreUnreachable where nothing answers."""
        ...

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """`length` bytes from byte `start` (fewer at the end of the value), or KeyMissing."""
        ...

    def size(self, key: str) -> int:
        """The number of bytes under a key. Raises KeyMissing where nothing is there."""
        ...

    def exists(self, key: str) -> bool:
        """Whether there is something under the key: whether it was ever put and, of an index, not removed
        since. Raises StoreUnreachable where nothing answers."""
        ...

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Every key that starts with the prefix, sorted by code point; every key for the empty prefix. Raises
        StoreUnreachable where nothing answers."""
        ...

    def folders(self, prefix: str = "") -> Iterator[str]:
        """The names of the folders directly below one (`""`, or ending in a slash), sorted.

        Lists folders, not what is in them. Some that hold no key may be among them.
        """
        ...

    def discard(self, key: str) -> None:
        """Remove a key that is an index and not evidence (`index/...`); a missing key is no error. Raises
        BadKey for evidence, which is never removed."""
        ...

    def check(self) -> None:
        """Raise StoreUnreachable (or BadInput for a missing bucket) unless keys can be written and listed. A
        key of the index is written and removed for it."""
        ...


MAX_KEY_BYTES = 700   # of a key: with the longest prefix it is below the 1,024 bytes of S3
MAX_PART_BYTES = 255   # of a part between two slashes: file systems take names of as many
DISCARDABLE = "index/"  # the one folder that holds no evidence
FLEETING = "index/freezing/"   # of them, what is kept while a pool is frozen


def check_key(key: str) -> str:
    """The key itself, or BadKey saying what is wrong with it.

    What may be a key: one rule for every store, so that a ledger can be copied from one to another.

    A key is a relative POSIX path in UTF-8. Parts that start with a dot are kept for the stores' own
    temporary files and probes; that also rules out `.` and `..`. The lengths fit a file name (255 bytes a
    part) and, with a prefix in front, an S3 key (1,024 bytes).
    """
    wrong = _wrong_with(key)
    if wrong:
        raise BadKey(f"{key!r} cannot be a key: {wrong}")
    return key


def is_key(key: str) -> bool:
    """Whether check_key would accept it. Whatever else lies in a store's folder is not listed. Nothing of the
    store is read."""
    return not _wrong_with(key)


def check_prefix(prefix: str) -> str:
    """The prefix itself, or BadKey if no key could start with it. It may be empty, or end within a part.
    Called by every store, so that all refuse alike."""
    wrong = _wrong_with(prefix.removesuffix("/")) if prefix else None
    if wrong:
        raise BadKey(f"{prefix!r} cannot be the start of a key: {wrong}")
    return prefix


def check_folder(prefix: str) -> str:
    """The prefix itself, or BadKey if it is no folder: empty, or ending in a slash. Called by every store, so
    that all refuse alike."""
    if prefix and not prefix.endswith("/"):
        raise BadKey(f"{prefix!r} is not a folder of keys: end it with '/'")
    return check_prefix(prefix)


def is_discardable(key: str) -> bool:
    """Whether a key is an index and no evidence (`index/...`), so that it may be removed and made again.
    Everything else is written once and stays."""
    return key.startswith(DISCARDABLE)


def is_fleeting(key: str) -> bool:
    """Whether a key is kept only while a pool is frozen (`index/freezing/...`): whoever goes on from it after
    a cut compares digests and makes anew what is damaged, so that it need not survive one."""
    return key.startswith(FLEETING)


def check_discardable(key: str) -> str:
    """The key itself, or BadKey if it is evidence: only keys under `index/` may be removed. Called by every
    store, so that all refuse alike."""
    if not is_discardable(check_key(key)):
        raise BadKey(f"{key!r} is evidence and is never removed; only keys under {DISCARDABLE!r} may be")
    return key


def check_range(start: int, length: int) -> None:
    """ValueError unless both are 0 or more: a caller's mistake, not a user's."""
    if start < 0 or length < 0:
        raise ValueError(f"a range of bytes cannot start at {start} or be {length} long")


_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")


def _wrong_with(key: str) -> str | None:
    # what most keys are made of: a store of many thousand is listed again and again
    return None if len(key) <= MAX_PART_BYTES and _PLAIN.fullmatch(key) else _wrong_with_rare(key)


@lru_cache(1 << 12)
def _wrong_with_rare(key: str) -> str | None:
    if not key:
        return "it is empty"
    if key.startswith("/"):
        return "it is absolute (starts with '/')"
    if "\\" in key:
        return "it has a backslash"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in key):
        return "it has a control character or half of a surrogate pair"
    parts = key.split("/")
    if "" in parts:
        return "it has an empty part ('//' or a '/' at the end)"
    if any(part.startswith(".") for part in parts):
        return "a part of it starts with '.'"
    if max(len(part.encode()) for part in parts) > MAX_PART_BYTES:
        return f"a part of it is longer than {MAX_PART_BYTES} bytes"
    if len(key.encode()) > MAX_KEY_BYTES:
        return f"it is longer than {MAX_KEY_BYTES} bytes"
    return None


class MemoryStore:
    """A Store that lives as long as the object does. Safe to share between threads.

    In memory: a double of the real stores, and one that reads each key of another store only once.

    The double serves tests, and simulations that need no record. It is as strict as the strictest real store
    (no key inside another key, as in a folder), so what works on it works on both.
    """

    def __init__(self) -> None:
        self.url = "memory"
        self._values: dict[str, bytes] = {}
        self._folders: set[str] = set()     # that the first `_counted` keys are in
        self._counted = 0
        self._lock = threading.Lock()

    def put(self, key: str, blob: bytes) -> bytes:
        check_key(key)
        with self._lock:
            if key not in self._values:
                self._refuse_clash(key)
                self._values[key] = bytes(blob)
                self._folders.update(_folders_of(key))
                self._counted += 1
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
        """Do nothing: memory can always be read and written."""

    def _refuse_clash(self, key: str) -> None:
        if self._counted != len(self._values):      # keys were discarded
            self._folders = {folder for name in self._values for folder in _folders_of(name)}
            self._counted = len(self._values)
        clash = next((folder for folder in _folders_of(key) if folder in self._values), None)
        if clash is None and key in self._folders:
            clash = next((name for name in self._values if name.startswith(key + "/")), None)
        if clash is not None:
            raise BadKey(f"{key!r} cannot be a key beside {clash!r}: one would be a folder of the other")


def _folders_of(key: str) -> Iterator[str]:
    """The folders that a key is in."""
    end = key.find("/")
    while end >= 0:
        yield key[:end]
        end = key.find("/", end + 1)


class ReadOnly:
    """A Store of the same values as `inner`; whatever would write is refused."""

    def __init__(self, inner: Store) -> None:
        self.url = inner.url
        self.inner = inner

    def put(self, key: str, blob: bytes) -> bytes:
        raise StoreError(f"{key!r} is not written: the store is only looked at")

    def get(self, key: str) -> bytes:
        return self.inner.get(key)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self.inner.get_range(key, start, length)

    def size(self, key: str) -> int:
        return self.inner.size(key)

    def exists(self, key: str) -> bool:
        return self.inner.exists(key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        return self.inner.keys(prefix)

    def folders(self, prefix: str = "") -> Iterator[str]:
        return self.inner.folders(prefix)

    def discard(self, key: str) -> None:
        raise StoreError(f"{key!r} is not removed: the store is only looked at")

    def check(self) -> None:
        """Raise what the inner store raises unless its keys can be listed. Whether it can be written to is
        not asked, because nothing is."""
        next(iter(self.inner.keys("index/")), None)


REMEMBERED_BYTES = 1 << 20   # bytes of a value that is remembered


class Remembering:
    """A store of the same values as `inner` that reads each key of the evidence once: it remembers values of
    up to 1 MiB that it read or put, and listings that it was told to make. It is made for one call of
    `advance`.

    A store that reads each key once: what is under a key of the evidence never changes.

    For the length of one call of `advance`. It remembers what it read and what it put, and is told at the
    start what a checkpoint holds. Inside a folder that was looked around in, it also knows which keys are not
    there, as of that moment; who needs to know it as of now looks away first.
    """

    def __init__(self, inner: Store, blobs: Mapping[str, bytes] | None = None) -> None:
        self.url = inner.url
        self.inner = inner
        self.known: dict[str, bytes] = dict(blobs or {})
        self._listed: dict[str, set[str]] = {}    # prefix -> the keys that were below it

    def list_once(self, prefix: str) -> None:
        """List the keys below a prefix, unless that was done: everything that asks for them goes by it. One
        listing takes the place of many questions whether a key is there."""
        if prefix not in self._listed:
            self._listed[prefix] = set(self.inner.keys(prefix))

    def forget_listings(self) -> None:
        """Forget which keys there were: they are listed and looked for anew from now on. Values stay
        remembered, since evidence never changes."""
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
        if not is_discardable(key) and len(blob) <= REMEMBERED_BYTES:
            self.known[key] = blob

    def _listing_of(self, key: str) -> set[str] | None:
        return next((keys for prefix, keys in self._listed.items() if key.startswith(prefix)), None)

    def _is_absent(self, key: str) -> bool:
        listed = self._listing_of(key)
        return listed is not None and key not in listed
