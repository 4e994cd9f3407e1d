"""A stream that refuses a line that is too long, before the line is held.

A few megabytes of gzip can be one line of gigabytes, and whoever looks for its end would hold all of it.
"""

import io
from collections.abc import Callable
from threading import Lock
from typing import Any, BinaryIO

from assay.tasks.sources.files.protocol import SourceFile, line_too_long


class BoundedLines(io.RawIOBase):
    """The bytes of `inner`; raises BadInput at a line of more than `longest` bytes. `see` gets all of them.

    Another thread may read ahead. After `stop`, it finds the end, whatever is left.
    """

    def __init__(
        self, file: SourceFile, inner: BinaryIO, longest: int, lines: int = 0,
        see: Callable[[bytes], None] | None = None,
    ) -> None:
        """lines: of the file, that were passed before."""
        self._file, self._inner, self._longest, self._see = file, inner, longest, see
        self._lines, self._open = lines, 0      # lines that ended; bytes of the one that did not
        self._stopped = False
        self._reading = Lock()

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, into: Any) -> int:
        """Read some bytes, at most as many as there is room for."""
        with self._reading:
            if self._stopped:
                return 0
            block = self._inner.read(min(len(into), self._longest))
            self._count(block)
            if self._see:
                self._see(block)
            into[: len(block)] = block
            return len(block)

    def stop(self) -> None:
        """Read nothing more. Returns when no other thread is reading."""
        with self._reading:
            self._stopped = True

    def _count(self, block: bytes) -> None:
        if self._open + len(block) > self._longest:
            ends = [place for end in (b"\n", b"\r") if (place := block.find(end)) >= 0]
            first = min(ends, default=len(block))
            if self._open + first > self._longest:
                raise line_too_long(self._file.path, self._lines + 1, self._longest)
        last = block.rfind(b"\n")
        if last < 0:
            last = block.rfind(b"\r")
        self._open = self._open + len(block) if last < 0 else len(block) - 1 - last
        self._lines += block.count(b"\n") or block.count(b"\r")
