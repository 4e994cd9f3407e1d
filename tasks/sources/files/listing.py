"""Which files a source means.

A source is one file, a folder (everything below it, except names that begin with a dot or an underscore) or
a glob (`*` and `?` stop at slashes, `**` does not), on the local disk, on S3, or in another object storage
that fsspec reads. Files come sorted by path, compared by code point, so that the same files give the same
pool from every place.

A file is read as it was when it was listed: one that changes meanwhile is an error, not a mixture.
"""

import os
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import BinaryIO, NamedTuple

from assay.evalcore.errors import BadInput
from assay.tasks.operating_system import path_in_file_address, with_slashes
from assay.tasks.sources.files.cloud import SCHEMES, CloudFile, list_cloud
from assay.tasks.sources.files.file import (
    NoFile,
    SourceFile,
    changed_while_read,
    fixed_part,
    format_of,
    hidden,
    in_folder,
    is_glob,
    no_predictions,
    supported_formats,
    unreadable,
)
from assay.tasks.sources.files.s3 import S3File, list_s3

# Files on the local disk.
#
# The standard library lists and opens them, not fsspec: its listing gives the modification time of a symbolic
# link instead of the file's, takes a link to a folder for a file, and turns relative paths into absolute
# ones.

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
        if not stat.S_ISREG(status.st_mode):
            raise unreadable(path, "not a regular file, but a folder, a pipe or a device")
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


def list_local(source: str) -> list[LocalFile]:
    """The files a source means, sorted by path."""
    if source.startswith("file://"):
        source = path_in_file_address(source.removeprefix("file://"))
    source = with_slashes(os.path.expanduser(source))
    path = Path(source)
    if path.is_file():
        return [LocalFile.at(source)]
    if path.is_dir():
        names = (p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())
        return [LocalFile.at(with_slashes(os.path.join(source, name))) for name in sorted(in_folder(names))]
    if path.exists():
        raise BadInput(
            f"pool.source: {source}: a pipe, a socket or a device, which cannot be read twice; write the "
            "predictions into a file"
        )
    if not is_glob(source):
        return []
    fixed = len(fixed_part(source))
    names = (name for name in map(with_slashes, glob(source, recursive=True)) if not hidden(name[fixed:]))
    return [LocalFile.at(name) for name in sorted(names) if os.path.isfile(name)]


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


class _Place(NamedTuple):
    listed: Callable[[str], Sequence[SourceFile]]
    at: Callable[[str], SourceFile]


_LOCAL = _Place(list_local, LocalFile.at)
_PLACES: Mapping[str, _Place] = {
    "": _LOCAL,
    "file": _LOCAL,
    "s3": _Place(list_s3, S3File.at),
    **dict.fromkeys(SCHEMES, _Place(list_cloud, CloudFile.at)),
}


def file_at(path: str) -> SourceFile:
    """The one file at a path, as it is now. Raises BadInput when there is none."""
    return _place(path).at(path)


def list_files(source: str) -> list[SourceFile]:
    """The files a source means, sorted, all of one format.

    Raises NoFile when nothing matches, BadInput when a single file has no known suffix, or when formats are
    mixed.
    """
    found = list(_place(source).listed(source))
    if not found:
        raise NoFile(f"pool.source: no file matches {source!r}; {supported_formats()}")
    by_format = {format_of(file.path): file.path for file in reversed(found)}
    if None in by_format:
        unknown = no_predictions(by_format[None])
        raise BadInput(
            f"pool.source: {unknown or f'{by_format[None]}: unknown kind of file; {supported_formats()}'}"
        )
    if len(by_format) > 1:
        raise BadInput(
            f"pool.source: {source!r} mixes formats: {', '.join(by_format.values())}; "
            "narrow the source down to files of one format"
        )
    return found


def is_there(source: str) -> bool:
    """Whether a source has a file by now. Raises BadInput where it can have none."""
    return bool(_place(source).listed(source))


def is_local(source: str) -> bool:
    """Whether a source is on the local disk."""
    return _PLACES.get(_scheme(source)) is _LOCAL


def _place(path: str) -> _Place:
    scheme = _scheme(path)
    if scheme not in _PLACES:
        raise BadInput(f"pool.source: {path}: cannot read from {scheme}://; {supported_formats()}")
    return _PLACES[scheme]


def _scheme(path: str) -> str:
    found = _SCHEME.match(path)
    return found[1] if found else ""
