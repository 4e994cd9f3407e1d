"""Write-once storage: the seam behind which a local folder and S3 look the same.

A key is created exclusively. There is no update and no delete of evidence: the first writer of a key wins,
and every later `put` of that key is told what won, so that a loser carries on with the winner's bytes.
"""

from collections.abc import Iterator
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
