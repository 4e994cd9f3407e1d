"""Files on the local disk.

The standard library lists and opens them, not fsspec: its listing gives the modification time of a symbolic
link instead of the file's, takes a link to a folder for a file, and turns relative paths into absolute ones.
"""

import os
import stat
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import BinaryIO

from assay.evalcore.errors import BadInput
from assay.tasks.operating_system import path_in_file_address, with_slashes
from assay.tasks.sources.files.names import fixed_part, hidden, in_folder, is_glob
from assay.tasks.sources.files.protocol import changed_while_read, unreadable


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
