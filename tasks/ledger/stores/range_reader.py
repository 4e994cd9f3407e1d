"""Reading part of a value: a file-like view over a store's range reads.

pyarrow reads a Parquet file's footer and then only the columns and row groups it is asked for, so a frozen
part of many megabytes in S3 costs a few small requests. Small reads fetch `block` bytes and the next ones
are answered from them; a read larger than that is fetched as it is.
"""

import io
from typing import Any, BinaryIO, cast

from assay.tasks.ledger.stores.local import LocalStore
from assay.tasks.ledger.stores.protocol import Store

BLOCK = 128 * 1024


def open_reader(store: Store, key: str) -> BinaryIO:
    """The value under key as a seekable read-only binary file, or KeyMissing. The caller closes it."""
    if isinstance(store, LocalStore):
        return store.open(key)
    return cast(BinaryIO, RangeReader(store, key))


class RangeReader(io.RawIOBase):
    """A seekable, read-only file over one value of a store. Not to be shared between threads.

    `read(n)` gives n bytes unless the value ends first. Raises KeyMissing when made, and whatever
    `store.get_range` raises later.
    """

    def __init__(self, store: Store, key: str, block: int = BLOCK) -> None:
        super().__init__()
        self._store = store
        self._key = key
        self._size = store.size(key)
        self._block = block
        self._position = 0
        self._held_from = 0
        self._held = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """Bytes from the start."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte; no request is made."""
        origins = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        if whence not in origins:
            raise ValueError(f"whence is {whence}, not 0, 1 or 2")
        position = origins[whence] + offset
        if position < 0:
            raise ValueError(f"cannot seek to byte {position}")
        self._position = position
        return position

    def read(self, size: int | None = -1) -> bytes:
        """Exactly `size` bytes, or what is left of the value (all of it for -1)."""
        if self.closed:
            raise ValueError(f"read of {self._key!r} after it was closed")
        left = max(0, self._size - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        blob = self._fetch(self._position, wanted)
        self._position += len(blob)
        return blob

    def readall(self) -> bytes:
        """The rest of the value."""
        return self.read()

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the value goes; gives the number of bytes."""
        view = memoryview(buffer).cast("B")
        blob = self.read(len(view))
        view[: len(blob)] = blob
        return len(blob)

    def _fetch(self, start: int, length: int) -> bytes:
        if length == 0:
            return b""
        if length > self._block:
            return self._store.get_range(self._key, start, length)
        if not (self._held_from <= start and start + length <= self._held_from + len(self._held)):
            # A read near the end (a footer) takes the last block, so that what precedes it is held as well.
            self._held_from = max(0, min(start, self._size - self._block))
            self._held = self._store.get_range(self._key, self._held_from, self._block)
        first = start - self._held_from
        return self._held[first : first + length]
