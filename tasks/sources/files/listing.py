"""Which files a source means.

A source is one file, a folder (everything below it, except names that begin with a dot or an underscore) or
a glob (`*` and `?` stop at slashes, `**` does not), on the local disk, on S3, or in another object storage
that fsspec reads. Files come sorted by path, compared by code point, so that the same files give the same
pool from every place.

A file is read as it was when it was listed: one that changes meanwhile is an error, not a mixture.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from assay.evalcore.errors import BadInput
from assay.tasks.sources.files.cloud import SCHEMES, CloudFile, list_cloud
from assay.tasks.sources.files.local import LocalFile, list_local
from assay.tasks.sources.files.names import format_of, no_predictions, supported_formats
from assay.tasks.sources.files.protocol import NoFile, SourceFile
from assay.tasks.sources.files.s3 import S3File, list_s3

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
