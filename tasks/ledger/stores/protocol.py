"""Write-once storage: the seam behind which a local folder and S3 look the same.

A key is created exclusively. There is no update and no delete of evidence: the first writer of a key wins,
and every later `put` of that key is told what won, so that a loser carries on with the winner's bytes.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Protocol, runtime_checkable

from assay.evalcore.errors import AssayError, BadInput, Unreachable


class StoreError(AssayError):
    """The store did not do what was asked; the message names the store, the key and the reason."""


class StoreUnreachable(StoreError, Unreachable):
    """The store could not be reached, or refused the credentials."""


class KeyMissing(StoreError):
    """There is nothing under this key."""


class BadKey(BadInput):
    """A key that is not a plain relative path, as key_check says, or that would be a folder of another key.

    The second is refused by folders and by MemoryStore; S3 cannot tell, so a layout must never rely on it.
    """


@runtime_checkable
class Store(Protocol):
    """Keys are relative POSIX paths; values are bytes."""

    url: str  # as given: file:///path, ./path or s3://bucket/prefix

    def put(self, key: str, blob: bytes) -> bytes:
        """Create key exclusively. Returns the bytes now under it: `blob` if we won, the winner's if not."""
        ...

    def get(self, key: str) -> bytes:
        """The bytes under key, or KeyMissing."""
        ...

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """`length` bytes from byte `start` (fewer at the end of the value), or KeyMissing."""
        ...

    def size(self, key: str) -> int:
        """The number of bytes under key, or KeyMissing."""
        ...

    def exists(self, key: str) -> bool:
        """Whether key was ever put."""
        ...

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Every key that starts with prefix, sorted by code point."""
        ...

    def folders(self, prefix: str = "") -> Iterator[str]:
        """The names of the folders directly below one (`""`, or ending in a slash), sorted.

        Lists folders, not what is in them. Some that hold no key may be among them.
        """
        ...

    def discard(self, key: str) -> None:
        """Remove a key that is an index and not evidence (`index/...`); a missing key is no error."""
        ...

    def check(self) -> None:
        """Raise StoreUnreachable (or BadInput for a missing bucket) unless keys can be written and listed."""
        ...


# What may be a key: one rule for every store, so that a ledger can be copied from one to another.
#
# A key is a relative POSIX path in UTF-8. Parts that start with a dot are kept for the stores' own temporary
# files and probes; that also rules out `.` and `..`. The lengths fit a file name (255 bytes a part) and, with
# a prefix in front, an S3 key (1,024 bytes).

MAX_KEY_BYTES = 700
MAX_PART_BYTES = 255
DISCARDABLE = "index/"  # the one folder that holds no evidence


def check_key(key: str) -> str:
    """The key itself, or BadKey saying what is wrong with it."""
    wrong = _wrong_with(key)
    if wrong:
        raise BadKey(f"{key!r} cannot be a key: {wrong}")
    return key


def is_key(key: str) -> bool:
    """Whether check_key would accept it. Whatever else lies in a store's folder is not listed."""
    return not _wrong_with(key)


def check_prefix(prefix: str) -> str:
    """The prefix itself, or BadKey if no key could start with it. It may be empty, or end within a part."""
    wrong = _wrong_with(prefix.removesuffix("/")) if prefix else None
    if wrong:
        raise BadKey(f"{prefix!r} cannot be the start of a key: {wrong}")
    return prefix


def check_folder(prefix: str) -> str:
    """The prefix itself, or BadKey if it is no folder: empty, or ending in a slash."""
    if prefix and not prefix.endswith("/"):
        raise BadKey(f"{prefix!r} is not a folder of keys: end it with '/'")
    return check_prefix(prefix)


def is_discardable(key: str) -> bool:
    """Whether a key is no evidence, and may be removed."""
    return key.startswith(DISCARDABLE)


def check_discardable(key: str) -> str:
    """The key itself, or BadKey if it is evidence: only keys under `index/` may be removed."""
    if not is_discardable(check_key(key)):
        raise BadKey(f"{key!r} is evidence and is never removed; only keys under {DISCARDABLE!r} may be")
    return key


def check_range(start: int, length: int) -> None:
    """ValueError unless both are 0 or more: a caller's mistake, not a user's."""
    if start < 0 or length < 0:
        raise ValueError(f"a range of bytes cannot start at {start} or be {length} long")


@lru_cache(1 << 12)     # every step looks at the same keys again
def _wrong_with(key: str) -> str | None:
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
