"""What every file of a source can do, wherever it is, and the errors for one that cannot be read.

Included are a seekable file over an object that is read by ranges, and the check that a file has the columns
that are needed.
"""

import io
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, BinaryIO, Protocol, cast

from assay.evalcore.errors import BadInput


class NoFile(BadInput):
    """Nothing is where a source says: no file matches it."""


class SourceFile(Protocol):
    """One file of predictions."""

    @property
    def path(self) -> str:
        """As people write it: a local path or scheme://bucket/key."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def version(self) -> str:
        """What changes when the file does: the modification time, the ETag or the generation."""
        ...

    def open(self, buffer: int) -> BinaryIO:
        """Its bytes, seekable, fetched `buffer` bytes at a time where that matters."""
        ...

    def check_unchanged(self) -> None:
        """Raise BadInput if the file is no longer the one that was listed."""
        ...


def unreadable(path: str, reason: str) -> BadInput:
    """The error for a file that cannot be read as what it should be."""
    return BadInput(f"{path}: cannot be read: {reason}; repair or remove this file, then try again")


def line_too_long(path: str, line: int, most: int) -> BadInput:
    """The error for a line that would cost too much memory."""
    return BadInput(
        f"{path}: line {line:,} is longer than {most >> 20} MB, which no row needs; shorten its texts, or "
        "store the address of a file instead"
    )


def changed_while_read(path: str) -> BadInput:
    """The error for a file that was written to while it was being read."""
    return BadInput(f"{path}: changed while it was being read; try again when nothing writes to it")


# An object in a store, read by ranges, as a seekable file.

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


def check_columns(path: str, needed: Sequence[str], present: Sequence[str]) -> None:
    """Raise BadInput naming the file, the first missing column, the nearest one and all there are."""
    there = Counter(present)
    for name in needed:
        if name not in there:
            near = get_close_matches(name, present, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise BadInput(
                f"{path}: no column {name!r}; {hint}It has: {', '.join(_short(present))}. "
                "Correct the name in the spec, or add the column"
            )
        if there[name] > 1:
            raise BadInput(f"{path}: the column {name!r} is there twice; rename or drop one")


def _short(names: Sequence[str], most: int = 40) -> list[str]:
    shown = [repr(name) for name in names[:most]]
    return shown if len(names) <= most else [*shown, f"and {len(names) - most} more"]
