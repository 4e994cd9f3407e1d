"""Which files a source means, and how their bytes are read.

A source is one file, a folder (everything below it, except names that begin with a dot or an underscore) or
a glob (`*` and `?` stop at slashes, `**` does not), on the local disk or on S3. Files come sorted by path,
compared by code point, so that the same files give the same pool from both places.

A file is read as it was when it was listed: one that changes meanwhile is an error, not a mixture.
"""

import os
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import BinaryIO

from assay.evalcore.errors import BadInput
from assay.tasks.sources.paths import (
    SourceFile,
    changed_while_read,
    fixed_part,
    format_of,
    hidden,
    in_folder,
    is_glob,
    supported_formats,
    unreadable,
)


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


def file_at(path: str) -> SourceFile:
    """The one file at a path, as it is now. Raises BadInput when there is none."""
    if path.startswith("s3://"):
        from assay.tasks.sources.s3_files import S3File

        return S3File.at(path)
    return LocalFile.at(path)


def list_files(source: str) -> list[SourceFile]:
    """The files a source means, sorted, all of one format.

    Raises BadInput when nothing matches, when a single file has no known suffix, or when formats are mixed.
    """
    if source.startswith("s3://"):
        from assay.tasks.sources.s3_files import list_s3

        found = list_s3(source)
    else:
        found = _list_local(source)
    if not found:
        raise BadInput(f"pool.source: no file matches {source!r}; {supported_formats()}")
    by_format = {format_of(file.path): file.path for file in reversed(found)}
    if None in by_format:
        raise BadInput(f"pool.source: {by_format[None]}: unknown kind of file; {supported_formats()}")
    if len(by_format) > 1:
        raise BadInput(
            f"pool.source: {source!r} mixes formats: {', '.join(by_format.values())}; "
            "narrow the source down to files of one format"
        )
    return found


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
