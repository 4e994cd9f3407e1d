"""An object in a store, read by ranges, as a seekable file."""

import io
from collections.abc import Callable
from typing import Any, BinaryIO, cast


def open_ranges(size: int, fetch: Callable[[int, int], bytes], buffer: int) -> BinaryIO:
    """A file of `size` bytes over `fetch(start, length)`.

    Reads `buffer` bytes a request; a larger read is one request.
    """
    return cast("BinaryIO", io.BufferedReader(_Ranges(size, fetch), buffer_size=max(buffer, 1)))


class _Ranges(io.RawIOBase):
    def __init__(self, size: int, fetch: Callable[[int, int], bytes]) -> None:
        self._size = size
        self._fetch = fetch
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, into: Any) -> int:
        view = memoryview(into).cast("B")
        length = min(len(view), self._size - self._position)
        if length <= 0:
            return 0
        view[:length] = self._fetch(self._position, length)
        self._position += length
        return length
