"""Files on S3, read by ranges with boto3.

boto3 is the one S3 client of the project: it takes its endpoint, region and credentials from the usual
environment (`AWS_ENDPOINT_URL` included), which pyarrow's own S3 client honours only in part. A whole-file
stream that breaks cannot be resumed; a ranged read can simply be asked again. So a file is read a block at a
time, every block on condition that the ETag is still the one that was listed.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from assay.evalcore.errors import BadInput
from assay.tasks.effects.retrying import retrying
from assay.tasks.ledger.stores.s3_errors import BrokenReply, configured_endpoint, explain
from assay.tasks.quiet_libraries import quiet_libraries
from assay.tasks.sources.paths import changed_while_read, fixed_part, glob_pattern, hidden, in_folder, is_glob

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from assay.tasks.sources.paths import SourceFile


_ATTEMPTS = 5
_ENVIRONMENT = (
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_PROFILE",
    "AWS_REGION", "AWS_DEFAULT_REGION",
)  # fmt: skip


def _s3() -> "S3Client":
    return _client(tuple(os.environ.get(name) for name in _ENVIRONMENT))


@lru_cache(maxsize=4)
def _client(environment: tuple[str | None, ...]) -> "S3Client":
    import boto3
    from botocore.config import Config

    quiet_libraries()
    del environment  # the key of the cache: another endpoint or identity is another client
    retries: Any = {"mode": "standard", "total_max_attempts": _ATTEMPTS}
    return boto3.session.Session().client("s3", config=Config(retries=retries))


@contextmanager
def _explained(path: str, operation: str) -> Iterator[None]:
    """Library errors stop here: their text may quote the request."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (ClientError, BotoCoreError, ValueError) as error:
        code = str((getattr(error, "response", None) or {}).get("Error", {}).get("Code", ""))
        if code == "NoSuchBucket":
            raise BadInput(f"{path}: there is no such bucket; correct pool.source") from None
        if code in ("NoSuchKey", "NotFound", "404"):
            raise BadInput(f"{path}: there is no such object; correct pool.source or restore it") from None
        if code in ("PreconditionFailed", "412"):
            raise changed_while_read(path) from None
        bucket, key = _split(path)
        raise explain(
            error, url=path, bucket=bucket, endpoint=configured_endpoint(), operation=operation, key=key
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class S3File:
    """An object on S3."""

    path: str
    size: int
    version: str  # "etag:" and the ETag

    @staticmethod
    def at(path: str) -> "S3File":
        """The object as it is now. Raises BadInput when there is none."""
        bucket, key = _split(path)
        with _explained(path, "head_object"):
            head = _s3().head_object(Bucket=bucket, Key=key)
        return S3File(path=path, size=head["ContentLength"], version=f"etag:{head['ETag']}")

    def open(self, buffer: int) -> BinaryIO:
        """Read `buffer` bytes a request; a larger read is one request."""
        return cast("BinaryIO", io.BufferedReader(_Ranges(self), buffer_size=max(buffer, 1)))

    def check_unchanged(self) -> None:
        """Nothing to do: every read was made on condition of the ETag."""

    def fetch(self, start: int, length: int) -> bytes:
        """One ranged read, made again where it breaks off half-way."""
        return retrying(BrokenReply, _ATTEMPTS)(self._fetch_once, start, length)

    def _fetch_once(self, start: int, length: int) -> bytes:
        from botocore.exceptions import BotoCoreError
        from urllib3.exceptions import HTTPError

        bucket, key = _split(self.path)
        with _explained(self.path, "get_object"):
            body = _s3().get_object(
                Bucket=bucket,
                Key=key,
                Range=f"bytes={start}-{start + length - 1}",
                IfMatch=self.version.removeprefix("etag:"),
            )["Body"]
        with suppress(BotoCoreError, HTTPError, OSError):
            blob = body.read()
            if len(blob) == length:
                return blob
        raise BrokenReply(
            f"{self.path}: reading {length} bytes from byte {start} broke off {_ATTEMPTS} times; "
            f"check the network between here and {configured_endpoint()}"
        )


class _Ranges(io.RawIOBase):
    """An S3 object as a seekable raw file; a buffered reader on top decides how much is fetched at once."""

    def __init__(self, file: S3File) -> None:
        self._file = file
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._file.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, into: Any) -> int:
        view = memoryview(into).cast("B")
        length = min(len(view), self._file.size - self._position)
        if length <= 0:
            return 0
        view[:length] = self._file.fetch(self._position, length)
        self._position += length
        return length


def list_s3(source: str) -> "list[SourceFile]":
    """The objects a source means, sorted by key. Raises BadInput for a bucket that is not there."""
    bucket, path = _split(source)
    if not is_glob(path):
        exact = [file for file in _listed(bucket, path) if file.path == source]
        if exact:
            return list(exact)
        folder = path if not path or path.endswith("/") else path + "/"
        below = {file.path.removeprefix(f"s3://{bucket}/{folder}"): file for file in _listed(bucket, folder)}
        return [below[name] for name in sorted(in_folder(below))]
    pattern = glob_pattern(path)
    folder = fixed_part(path)
    start = len(f"s3://{bucket}/")
    return [
        file
        for file in sorted(_listed(bucket, folder), key=lambda f: f.path)
        if pattern.fullmatch(file.path[start:]) and not hidden(file.path[start + len(folder) :])
    ]


def _listed(bucket: str, prefix: str) -> list[S3File]:
    found = []
    with _explained(f"s3://{bucket}/{prefix}", "list_objects_v2"):
        for page in _s3().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page.get("Contents", []):
                if not entry["Key"].endswith("/"):
                    path = f"s3://{bucket}/{entry['Key']}"
                    found.append(S3File(path=path, size=entry["Size"], version=f"etag:{entry['ETag']}"))
    return found


def _split(path: str) -> tuple[str, str]:
    bucket, _, key = path.removeprefix("s3://").partition("/")
    if not bucket:
        raise BadInput(f"{path}: no bucket; write s3://bucket/key")
    return bucket, key
