"""Entries of a zip archive, one at a time, each of bounded size.

Some tools compress with Zstandard, which the standard library cannot read before Python 3.14; Arrow can.
"""

import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from assay.evalcore.errors import BadInput

_LARGEST = 256 << 20      # bytes of an entry, when it is not compressed
_ZSTD = 93
_HEADER = struct.Struct("<4s5H3I2H")     # of an entry, before its name


class Zipped:
    """An archive that is open for reading."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        self.names = archive.namelist()

    def read(self, name: str) -> bytes:
        """An entry. Raises BadInput for one that is damaged or too large."""
        try:
            info = self._archive.getinfo(name)
            if info.compress_type == _ZSTD:
                data = self._zstd(info)
            else:
                with self._archive.open(info) as entry:
                    data = entry.read(_LARGEST + 1)
        except (zipfile.BadZipFile, pa.ArrowException, OSError, NotImplementedError, struct.error) as error:
            raise BadInput(f"{self._path}: the entry {name} cannot be read: {error}") from None
        if len(data) > _LARGEST:
            raise BadInput(f"{self._path}: the entry {name} is larger than {_LARGEST >> 20} MB")
        return data

    def _zstd(self, info: zipfile.ZipInfo) -> bytes:
        with self._path.open("rb") as raw:
            raw.seek(info.header_offset)
            *_, name, extra = _HEADER.unpack(raw.read(_HEADER.size))
            raw.seek(name + extra, 1)
            packed = raw.read(min(info.compress_size, _LARGEST))
        with pa.input_stream(pa.BufferReader(packed), compression="zstd") as stream:
            data: bytes = stream.read(_LARGEST + 1)
        return data


@contextmanager
def zipped(path: Path) -> Iterator[Zipped]:
    """Open an archive. Raises BadInput for a file that is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield Zipped(path, archive)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise BadInput(f"{path}: is no sound archive ({error}); copy it again") from None
