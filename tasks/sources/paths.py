"""Names of source files: which formats and wildcards they stand for, and what a file of a source can do."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from assay.evalcore.errors import BadInput

Format = Literal["parquet", "csv", "jsonl"]
_FORMATS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".ndjson": "jsonl",
    ".ndjson.gz": "jsonl",
}


class SourceFile(Protocol):
    """One file of predictions."""

    @property
    def path(self) -> str:
        """As people write it: a local path or s3://bucket/key."""
        ...

    @property
    def size(self) -> int:
        """Bytes."""
        ...

    @property
    def version(self) -> str:
        """What changes when the file does: the modification time, or the ETag."""
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


def changed_while_read(path: str) -> BadInput:
    """The error for a source that moved under our feet."""
    return BadInput(f"{path}: changed while it was being read; try again when nothing writes to it")


def format_of(path: str) -> Format | None:
    """The format a name promises, or None."""
    return _FORMATS.get(_suffix(path))


def is_compressed(path: str) -> bool:
    """Whether the name says gzip."""
    return path.lower().endswith(".gz")


def glob_pattern(path: str) -> re.Pattern[str]:
    """A whole-path pattern: `*`, `?` and `[...]` stay within a path segment, `**` crosses them."""
    pieces = re.split(r"(\*\*/?|\*|\?|\[[^\]/]+\])", path)
    translated = [_GLOB.get(piece, _bracket(piece)) for piece in pieces]
    return re.compile("".join(translated), re.DOTALL)


def is_glob(path: str) -> bool:
    """Whether the path has a wildcard."""
    return any(sign in path for sign in "*?[")


def fixed_part(path: str) -> str:
    """The folder, slash included, above the first wildcard."""
    return "".join(re.split(r"[*?\[]", path, maxsplit=1)[0].rpartition("/")[:2])


def in_folder(names: Iterable[str]) -> list[str]:
    """Of relative names below a folder, those that are predictions: known suffix, no hidden part."""
    return [
        name
        for name in names
        if format_of(name) and not hidden(name)
    ]


def hidden(name: str) -> bool:
    """Whether a part of the path begins with a dot or an underscore, as markers and half-written files do."""
    return any(part.startswith((".", "_")) for part in name.split("/"))


_GLOB = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def _bracket(piece: str) -> str:
    if len(piece) > 2 and piece[0] == "[" and piece[-1] == "]":
        inner = piece[1:-1].replace("\\", r"\\")
        return f"[^{inner[1:]}]" if inner[0] == "!" else f"[{inner}]"
    return re.escape(piece)


def _suffix(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def supported_formats() -> str:
    return f"give a file, a folder or a glob of {', '.join(_FORMATS)}, local or s3://bucket/key"
