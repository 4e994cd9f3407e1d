"""Files in Google Cloud Storage (gs://) and Azure Blob Storage (az://), listed and read with fsspec.

The packages that speak to them are the extras `gcs` and `azure`. They find endpoints and credentials in their
own environment variables. `memory://`, fsspec's own, serves tests.

An object is read by ranges. Google's are read from the generation that was listed. Azure's client cannot be
given such a condition, so here, and for Google's too, the version is compared again when all is read.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Literal, NotRequired, Protocol, TypedDict

from assay.evalcore.errors import AssayError, BadInput, missing_extra, needs
from assay.tasks.ledger.stores.store import StoreUnreachable
from assay.tasks.secrets import quiet_libraries
from assay.tasks.sources.files.file import (
    changed_while_read,
    fixed_part,
    hidden,
    in_folder,
    is_glob,
    open_ranges,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Storage:
    package: str        # that fsspec needs for it
    extra: str          # of assay, that installs the package
    credentials: str    # where the package looks for them


SCHEMES: Mapping[str, _Storage] = {
    "gs": _Storage(
        package="gcsfs", extra="gcs",
        credentials="GOOGLE_APPLICATION_CREDENTIALS, or sign in with `gcloud auth application-default login`",
    ),
    "az": _Storage(
        package="adlfs", extra="azure",
        credentials="AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT_NAME with "
                    "AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or sign in with `az login`",
    ),
    "memory": _Storage(package="fsspec", extra="", credentials=""),
}  # fmt: skip


class _ObjectInfo(TypedDict):
    name: str                       # bucket/key
    type: str                       # "file" for an object that can be read
    size: int
    generation: NotRequired[str]    # of Google Cloud Storage
    etag: NotRequired[str]          # of Azure Blob Storage


class _FileSystem(Protocol):
    """What is used of a file system of fsspec."""

    def isfile(self, path: str) -> bool: ...

    def info(self, path: str) -> _ObjectInfo: ...

    def glob(self, path: str, *, detail: Literal[True]) -> Mapping[str, _ObjectInfo]: ...

    def find(self, path: str, *, detail: Literal[True]) -> Mapping[str, _ObjectInfo]: ...

    def modified(self, path: str) -> datetime: ...

    def cat_file(self, path: str, *, start: int, end: int, **condition: str) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudFile:
    """An object in Google Cloud Storage or Azure Blob Storage, read with fsspec: its address, its size in
    bytes, and the version that changes when it is written again."""

    path: str                    # scheme://bucket/key
    size: int
    version: str                 # "generation:", "etag:" or "modified:" and its value

    @staticmethod
    def at(path: str) -> "CloudFile":
        """The object as it is now. Raises BadInput when there is none."""
        scheme, name = _split(path)
        with _explained(path):
            files = _filesystem(scheme)
            info = files.info(name)
            if info["type"] == "file":
                return _file(files, scheme, info)
        raise BadInput(f"{path}: there is no such object; correct pool.source or restore it")

    def open(self, buffer: int) -> BinaryIO:
        """Read `buffer` bytes a request; a larger read is one request."""
        return open_ranges(self.size, self._fetch, buffer)

    def check_unchanged(self) -> None:
        """Raise BadInput where the object is no longer the version that was listed."""
        if CloudFile.at(self.path) != self:
            raise changed_while_read(self.path)

    def _fetch(self, start: int, length: int) -> bytes:
        scheme, name = _split(self.path)
        kind, _, value = self.version.partition(":")
        condition = {"generation": value} if kind == "generation" else {}
        with _explained(self.path):
            try:
                blob = _filesystem(scheme).cat_file(
                    name, start=start, end=start + length, **condition
                )
            except FileNotFoundError:        # it was there when it was listed
                raise changed_while_read(self.path) from None
        if len(blob) != length:
            raise changed_while_read(self.path)
        return blob


def list_cloud(source: str) -> list[CloudFile]:
    """The objects a source means, sorted by path; none where there is no such bucket."""
    scheme, name = _split(source)
    with _explained(source):
        files = _filesystem(scheme)
        try:
            infos = _glob(files, name) if is_glob(name) and not files.isfile(name) else _below(files, name)
        except FileNotFoundError:
            return []
        return sorted((_file(files, scheme, info) for info in infos), key=lambda file: file.path)


def _glob(files: _FileSystem, pattern: str) -> list[_ObjectInfo]:
    """What is known of each object that fits, except hidden ones."""
    start = len(fixed_part(pattern))
    return [
        info
        for name, info in files.glob(pattern, detail=True).items()
        if info["type"] == "file" and not hidden(name.lstrip("/")[start:])
    ]


def _below(files: _FileSystem, name: str) -> list[_ObjectInfo]:
    """What is known of the object itself or, if it is a folder, of each prediction file below it."""
    info = files.info(name)
    if info["type"] == "file":
        return [info]
    folder = info["name"].strip("/") + "/"
    below = {path.lstrip("/").removeprefix(folder): i for path, i in files.find(name, detail=True).items()}
    return [below[path] for path in in_folder(below)]


def _filesystem(scheme: str) -> _FileSystem:
    storage = SCHEMES[scheme]
    what = f"predictions in {scheme}://"
    with needs(storage.extra, what):
        import fsspec

    quiet_libraries()
    try:
        # fsspec keeps one for each thread
        files: _FileSystem = fsspec.filesystem(scheme, use_listings_cache=False)
    except ImportError:
        raise missing_extra(storage.extra, what, storage.package) from None
    return files
    return files


def _file(files: _FileSystem, scheme: str, info: _ObjectInfo) -> CloudFile:
    return CloudFile(
        path=f"{scheme}://{info['name'].lstrip('/')}", size=info["size"], version=_version(files, info)
    )


def _version(files: _FileSystem, info: _ObjectInfo) -> str:
    for kind in ("generation", "etag"):
        if version := info.get(kind):
            return f"{kind}:{version}"
    return f"modified:{files.modified(info['name']).isoformat()}"


def _split(path: str) -> tuple[str, str]:
    scheme, _, name = path.partition("://")
    if not name.strip("/"):
        raise BadInput(f"{path}: no bucket; write {scheme}://bucket/key")
    return scheme, name


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Library errors stop here: their text may quote the request, so only their type and status are told."""
    try:
        yield
    except AssayError:
        raise
    except FileNotFoundError:
        raise BadInput(f"{path}: there is no such object; correct pool.source or restore it") from None
    except Exception as error:
        storage = SCHEMES[_split(path)[0]]
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        what = type(error).__name__ + (f", status {status}" if status else "")
        raise StoreUnreachable(
            f"{path}: {storage.package} could not read it ({what}). Check the network and the credentials: "
            f"{storage.credentials}"
        ) from None
