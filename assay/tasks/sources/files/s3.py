"""Files on S3, read by ranges with boto3.

boto3 is the one S3 client of the project: the ledger needs it, and it takes its endpoint, region and
credentials from the usual environment (`AWS_ENDPOINT_URL` included), which pyarrow's own S3 client honours
only in part. s3fs was tried: it reads on condition of the ETag as well, but took half as long again to twice
as long for the same bytes, says nothing of a bucket that is not there when a glob is listed, and needs an
older botocore than boto3 does.

A whole-file stream that breaks cannot be resumed; a ranged read can be asked again. So a file is read a block
at a time, every block on condition that the ETag is still the one that was listed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO

from assay.evalcore.errors import BadInput, needs
from assay.tasks.effects import retrying
from assay.tasks.ledger.stores.s3 import BrokenReply, configured_endpoint, explain
from assay.tasks.secrets import quiet_libraries
from assay.tasks.sources.files.file import (
    changed_while_read,
    fixed_part,
    glob_pattern,
    hidden,
    in_folder,
    is_glob,
    open_ranges,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_READ_ATTEMPTS = 5   # of one request, and to read on where a reply broke off
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
    retries: Any = {"mode": "standard", "total_max_attempts": _READ_ATTEMPTS}
    return boto3.session.Session().client("s3", config=Config(retries=retries))


@contextmanager
def _explained(path: str, operation: str) -> Iterator[None]:
    """Library errors stop here: their text may quote the request."""
    with needs("s3", "predictions in S3"):
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
    """An object on S3: its address, its size in bytes, and the ETag on condition of which it is read."""

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
        return open_ranges(self.size, self.fetch, buffer)

    def check_unchanged(self) -> None:
        """Nothing to do: every read was made on condition of the ETag."""

    def fetch(self, start: int, length: int) -> bytes:
        """The bytes of one ranged read, `length` of them from `start` on. A read that breaks off is made
        again; raises BrokenReply where it breaks off every time."""
        return retrying(BrokenReply, _READ_ATTEMPTS)(self._fetch_once, start, length)

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
            f"{self.path}: reading {length} bytes from byte {start} broke off {_READ_ATTEMPTS} times; "
            f"check the network between here and {configured_endpoint()}"
        )


def list_s3(source: str) -> list[S3File]:
    """The objects a source means, sorted by key. Raises BadInput for a bucket that is not there."""
    bucket, path = _split(source)
    exact = [file for file in _listed(bucket, path) if file.path == source]
    if exact:       # a key may have brackets and asterisks of its own
        return exact
    if not is_glob(path):
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
    files = []
    with _explained(f"s3://{bucket}/{prefix}", "list_objects_v2"):
        for page in _s3().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for entry in page.get("Contents", []):
                if not entry["Key"].endswith("/"):
                    path = f"s3://{bucket}/{entry['Key']}"
                    files.append(S3File(path=path, size=entry["Size"], version=f"etag:{entry['ETag']}"))
    return files


def _split(path: str) -> tuple[str, str]:
    bucket, _, key = path.removeprefix("s3://").partition("/")
    if not bucket:
        raise BadInput(f"{path}: no bucket; write s3://bucket/key")
    return bucket, key
