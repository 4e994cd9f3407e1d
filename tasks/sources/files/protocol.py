"""What every file of a source can do, wherever it is, and the errors for one that cannot be read."""

from typing import BinaryIO, Protocol

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
