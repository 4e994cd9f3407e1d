"""Which files a source means, and how their bytes are read.

A source is one file, a folder (everything below it, except names that begin with a dot or an underscore) or
a glob (`*` and `?` stop at slashes, `**` does not), on the local disk or on S3. Files come sorted by path,
compared by code point, so that the same files give the same pool from both places.

A file is read as it was when it was listed: one that changes meanwhile is an error, not a mixture.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from evalcore.errors import BadInput

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A file on the local disk."""

    path: str
    size: int
    version: str

    @staticmethod
    def at(path: str) -> "LocalFile":
        """The file as it is now. Raises BadInput when it cannot be looked at."""
        try:
            status = os.stat(path)
        except FileNotFoundError as error:
            if os.path.isabs(path):
                raise unreadable(path, error.strerror or str(error)) from None
            raise BadInput(
                f"{path}: there is no such file in {os.getcwd()}; restore it, or run this where it is: a "
                "relative path starts in the folder a process runs in. What several processes read (sweeps, "
                "the receiver) is best given by an absolute path"
            ) from None
        except OSError as error:
            raise unreadable(path, error.strerror or str(error)) from None
        return LocalFile(path=path, size=status.st_size, version=f"mtime-ns:{status.st_mtime_ns}")

    def open(self, buffer: int) -> BinaryIO:
        """Open for reading; the operating system's own read-ahead does the rest."""
        try:
            return open(self.path, "rb", buffering=min(buffer, 1 << 20))
        except OSError as error:
            raise unreadable(self.path, error.strerror or str(error)) from None

    def check_unchanged(self) -> None:
        """Compare size and modification time with the listing."""
        if LocalFile.at(self.path) != self:
            raise changed_while_read(self.path)


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


def file_at(path: str) -> SourceFile:
    """The one file at a path, as it is now. Raises BadInput when there is none."""
    if path.startswith("s3://"):
        from tasks.sources.s3_files import S3File

        return S3File.at(path)
    return LocalFile.at(path)


def list_files(source: str) -> list[SourceFile]:
    """The files a source means, sorted, all of one format.

    Raises BadInput when nothing matches, when a single file has no known suffix, or when formats are mixed.
    """
    if source.startswith("s3://"):
        from tasks.sources.s3_files import list_s3

        found = list_s3(source)
    else:
        found = _list_local(source)
    if not found:
        raise BadInput(f"pool.source: no file matches {source!r}; {_supported()}")
    by_format = {format_of(file.path): file.path for file in reversed(found)}
    if None in by_format:
        raise BadInput(f"pool.source: {by_format[None]}: unknown kind of file; {_supported()}")
    if len(by_format) > 1:
        raise BadInput(
            f"pool.source: {source!r} mixes formats: {', '.join(by_format.values())}; "
            "narrow the source down to files of one format"
        )
    return found


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


def _list_local(source: str) -> list[SourceFile]:
    source = os.path.expanduser(source.removeprefix("file://"))
    path = Path(source)
    if path.is_file():
        return [LocalFile.at(source)]
    if path.is_dir():
        names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
        return [LocalFile.at(os.path.join(source, name)) for name in sorted(in_folder(names))]
    if not is_glob(source):
        return []
    fixed = len(fixed_part(source))
    names = (name for name in glob(source, recursive=True) if not hidden(name[fixed:]))
    return [LocalFile.at(name) for name in sorted(names) if os.path.isfile(name)]


def _suffix(path: str) -> str:
    suffixes = [s.lower() for s in Path(path).suffixes]
    return "".join(suffixes[-2:]) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def _supported() -> str:
    return f"give a file, a folder or a glob of {', '.join(_FORMATS)}, local or s3://bucket/key"
