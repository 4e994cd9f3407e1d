"""A store in an S3 bucket (Amazon's, or any server with conditional writes): one object per key.

A key is created by PutObject with `If-None-Match: *`. 412 means that it exists, and that its value counts.
This process may have created it itself, when the reply to an earlier attempt was lost and the client library
sent the put again; so the answer to a 412 is always to read. 409 means that another conditional write was
under way and nothing is decided: it is sent again after a random pause.

Server errors, throttling and lost connections are retried by botocore (standard mode); a value whose
reading breaks off is read again here, which botocore does not do.

    <prefix>/<key>              a value
    <prefix>/.probe/<random>    written by `check` to prove that conditional writes work

Endpoint, region and credentials are found as boto3 always does: AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...
Making a client costs a tenth of a second of CPU, so stores made in the same environment share one.
"""

import os
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from assay.evalcore.errors import AssayError, BadInput, needs
from assay.tasks.effects import retrying
from assay.tasks.ledger.stores.store import (
    KeyMissing,
    StoreError,
    StoreUnreachable,
    check_discardable,
    check_folder,
    check_key,
    check_prefix,
    check_range,
    is_key,
    refuse_huge,
)
from assay.tasks.secrets import quiet_libraries

CREDENTIALS = (
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN if temporary), or AWS_PROFILE"
)
ENDPOINT = "AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL"

_REFUSED = {
    "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired",
    "InvalidSecurity", "NotSignedUp", "AuthFailure", "AuthorizationQueryParametersError",
}  # fmt: skip
_FORBIDDEN = {"AccessDenied", "AllAccessDisabled", "AccountProblem", "403", "Forbidden"}
_REGION = {
    "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301", "307",
}  # fmt: skip
_OVERLOADED = {"SlowDown", "RequestTimeout"}  # and every status of 500 or more
_NO_CREDENTIALS = (
    "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound", "CredentialRetrievalError",
    "NoAuthTokenError", "TokenRetrievalError", "SSOError", "UnauthorizedSSOTokenError", "SSOTokenLoadError",
    "ConfigParseError", "ConfigNotFound",
)  # fmt: skip


class Lost(StoreError):
    """412: somebody, perhaps an earlier attempt of our own, created the key first."""


class Conflict(StoreError):
    """409: another conditional write of this key is under way; ours decided nothing and is sent again."""


class OutOfRange(StoreError):
    """The server answered 416: the range that was asked for starts after the end of the value. A read of
    such a range is no bytes."""


class BrokenReply(StoreUnreachable):
    """The connection broke while a value was being read; reading again is safe.

    What went wrong with S3, in words a user can act on.

    boto3's errors stop here. The messages name the bucket, the endpoint and the environment variables to look
    at; never the values of credentials, nor the server's own text, which may quote them. An endpoint may
    carry a user and password: they are cut out.
    """


def public_endpoint(endpoint: str | None) -> str:
    """The endpoint without user, password or query, fit to be printed."""
    if not endpoint:
        return "AWS"
    try:
        parts = urlsplit(endpoint)
        if not (parts.scheme and parts.hostname):
            return "(not a URL)"
        host = parts.hostname
        host = f"[{host}]" if ":" in host else host
        return urlunsplit((parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, "", ""))
    except ValueError:
        return "(not a URL)"


def configured_endpoint() -> str:
    """The endpoint the environment asks for, fit to be printed; for errors before there is a client. Without
    one it is that of Amazon's own service."""
    return public_endpoint(os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"))


def explain(
    error: Exception, *, url: str, bucket: str, endpoint: str, operation: str, key: str = ""
) -> AssayError:
    """Our error for one of boto3's. `operation` is boto3's name of the call: policies are written with it.
    StoreUnreachable where trying again may help, BadInput for what people have to mend."""
    response = getattr(error, "response", None) or {}
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    place = f"bucket {bucket!r} at {endpoint}"
    about = f" of {key!r}" if key else ""
    what = f"{url}: {operation}{about} failed ({code or type(error).__name__})"
    if not code:
        return _explain_client_side(error, what, place, endpoint)
    if code == "NoSuchBucket":
        return BadInput(f"{url}: there is no {place}; create it, or correct the address of the store")
    if code in ("NoSuchKey", "404"):
        return KeyMissing(f"{url}: there is nothing under {key!r}")
    if status == 412:
        return Lost(f"{what}: the key exists in {place}")
    if code in ("ConditionalRequestConflict", "OperationAborted"):
        return Conflict(f"{what}: other writers kept {place} busy with this key; try again")
    if status == 416:
        return OutOfRange(f"{what}: the range is outside the value")
    if code == "RequestTimeTooSkewed":
        return StoreUnreachable(f"{what}: this machine's clock differs too much from that of {place}; set it")
    if code in _REFUSED:
        return StoreUnreachable(f"{what}: {place} refused the credentials; check {CREDENTIALS}")
    if code in _FORBIDDEN:
        return StoreUnreachable(
            f"{what}: {place} refused access; check {CREDENTIALS}, and that they may list the bucket and "
            "get, put and delete objects in it"
        )
    if code in _REGION:
        return StoreUnreachable(f"{what}: {place} is in another region; set AWS_DEFAULT_REGION to it")
    if code == "NotImplemented":
        return StoreError(
            f"{what}: {place} does not offer this; the ledger needs conditional writes (If-None-Match)"
        )
    if code in _OVERLOADED or status >= 500:
        return StoreUnreachable(f"{what}: {place} is overloaded or failing; try again later")
    return StoreError(f"{what}: {place} answered HTTP {status}")


def no_s3_reply(url: str, operation: str, key: str, endpoint: str) -> StoreUnreachable:
    """For a success that is not S3's. Believed, a key would count as written, or as missing. The message
    names the call, the key and the endpoint."""
    return StoreUnreachable(
        f"{url}: {operation} of {key!r} got an answer that no S3 server gives; check what answers at "
        f"{endpoint}: a proxy, or a page to sign in?"
    )


def endless_listing(url: str, prefix: str, endpoint: str) -> StoreUnreachable:
    """For a page of a listing that says more pages follow, and names none or one that was read already. Read
    on, it would never end."""
    return StoreUnreachable(
        f"{url}: the listing of {prefix!r} has no end: {endpoint} says that more keys follow, and not where; "
        "check this server"
    )


def _explain_client_side(error: Exception, what: str, place: str, endpoint: str) -> AssayError:
    if any(cause.__name__ in _NO_CREDENTIALS for cause in type(error).__mro__):
        return StoreUnreachable(f"{what}: no usable credentials for {place}; set {CREDENTIALS}")
    if isinstance(error, ValueError):  # boto3 refuses an endpoint or region it cannot parse
        return BadInput(
            f"{what}: boto3 cannot use the endpoint {endpoint}, or the region; check {ENDPOINT} (a "
            "whole URL, such as http://127.0.0.1:8333) and AWS_DEFAULT_REGION"
        )
    return StoreUnreachable(
        f"{what}: no answer from {place}; check {ENDPOINT}, and that the server can be reached from here"
    )


if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import ListObjectsV2OutputTypeDef

REQUEST_ATTEMPTS = 6   # of one request, by botocore: about a second when nothing listens, more if throttled
READ_ATTEMPTS = 4       # of reading a value whose connection breaks off
CONFLICT_ATTEMPTS = 10  # of a put that met another one
CONNECT_SECONDS = 10   # until a connection stands
S3_READ_SECONDS = 60   # without a byte of a reply
_OF_ONE_VALUE = ("get_object", "head_object", "put_object")
T = TypeVar("T")


class S3Store:
    """A Store in `bucket`, under `prefix`. Safe to share between threads.

    Nothing is sent when it is made. The first call looks at the bucket, so that a missing one, wrong
    credentials or an unreachable server are told before anything is written (some servers create a bucket
    that is merely written to).
    """

    def __init__(self, bucket: str, prefix: str = "", *, url: str | None = None) -> None:
        self.bucket = bucket
        self.prefix = prefix.strip("/")
        self.url = url or f"s3://{bucket}/{self.prefix}"
        self._before = f"{self.prefix}/" if self.prefix else ""
        self._endpoint = configured_endpoint()
        self._lock = threading.Lock()
        self._client: S3Client | None = None

    def put(self, key: str, blob: bytes) -> bytes:
        check_key(key)
        return retrying(Conflict, CONFLICT_ATTEMPTS)(self._put_or_read, key, blob)

    def get(self, key: str) -> bytes:
        return self._read(check_key(key))

    def get_range(self, key: str, start: int, length: int) -> bytes:
        check_key(key)
        check_range(start, length)
        if length == 0:  # not expressible as an HTTP range
            self.size(key)
            return b""
        try:
            return self._read(key, Range=f"bytes={start}-{start + length - 1}")[:length]
        except OutOfRange:
            return b""

    def size(self, key: str) -> int:
        return int(self._call("head_object", check_key(key))["ContentLength"])

    def exists(self, key: str) -> bool:
        try:
            self.size(key)
        except KeyMissing:
            return False
        return True

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Sorted here: not every server lists in the order of the protocol."""
        check_prefix(prefix)
        keys = (entry["Key"] for page in self._pages(prefix) for entry in page.get("Contents", []))
        below = {key.removeprefix(self._before) for key in keys if key.startswith(self._before + prefix)}
        return iter(sorted(filter(is_key, below)))

    def folders(self, prefix: str = "") -> Iterator[str]:
        check_folder(prefix)
        pages = self._pages(prefix, Delimiter="/")
        prefixes = (entry["Prefix"] for page in pages for entry in page.get("CommonPrefixes", []))
        names = {key.removeprefix(self._before + prefix).rstrip("/") for key in prefixes}
        return iter(sorted(filter(is_key, names)))

    def _pages(self, prefix: str, **arguments: str) -> "Iterator[ListObjectsV2OutputTypeDef]":
        """The pages of a listing."""
        continued: dict[str, str] = {}
        tokens: set[str | None] = {None}
        while True:
            page = self._call("list_objects_v2", prefix, name="Prefix", **arguments, **continued)
            if "IsTruncated" not in page:
                raise no_s3_reply(self.url, "list_objects_v2", prefix, self._endpoint)
            yield page
            if not page["IsTruncated"]:
                return
            token = page.get("NextContinuationToken")
            if token in tokens:
                raise endless_listing(self.url, prefix, self._endpoint)
            tokens.add(token)
            continued = {"ContinuationToken": token}

    def discard(self, key: str) -> None:
        self._call("delete_object", check_discardable(key))

    def check(self) -> None:
        """Also proves that the server refuses a second put: some ignore If-None-Match."""
        probe = f".probe/{uuid.uuid4().hex}"
        overwritten = self._create(probe, b"first") and self._create(probe, b"second")
        self._call("delete_object", probe)
        if overwritten:
            raise StoreError(
                f"{self.url}: the server at {self._endpoint} ignores If-None-Match, so one writer would "
                "silently overwrite another; the ledger needs a server with conditional writes"
            )

    def _create(self, key: str, blob: bytes) -> bool:
        """Whether the key was created now. Conflict if the server has not decided."""
        try:
            self._call("put_object", key, Body=blob, IfNoneMatch="*")
        except Lost:
            return False
        return True

    def _put_or_read(self, key: str, blob: bytes) -> bytes:
        if self._create(key, blob):
            return blob
        try:
            return self.get(key)
        except KeyMissing:
            raise Conflict(
                f"{self.url}: {key!r} could neither be created nor read: others keep discarding it, or it is "
                "a folder of other keys"
            ) from None

    def _read(self, key: str, **arguments: str) -> bytes:
        return retrying(BrokenReply, READ_ATTEMPTS)(self._read_once, key, **arguments)

    def _read_once(self, key: str, **arguments: str) -> bytes:
        from botocore.exceptions import BotoCoreError
        from urllib3.exceptions import HTTPError

        reply = self._call("get_object", key, **arguments)
        body = reply["Body"]
        try:
            refuse_huge(self.url, key, int(reply.get("ContentLength", 0)))
            return bytes(body.read())
        except (BotoCoreError, HTTPError, OSError) as error:
            raise BrokenReply(
                f"{self.url}: reading {key!r} broke off {READ_ATTEMPTS} times ({type(error).__name__}); "
                f"check the network between here and {self._endpoint}"
            ) from None
        finally:
            body.close()

    def _call(self, operation: str, key: str, *, name: str = "Key", **arguments: object) -> Any:
        """One request about one key. Errors are ours; boto3's are not chained, they may quote the request."""
        client = self._connected()
        reply = self._explained(
            lambda: getattr(client, operation)(Bucket=self.bucket, **{name: self._before + key}, **arguments),
            operation,
            key,
        )
        if operation in _OF_ONE_VALUE and "ETag" not in reply:
            raise no_s3_reply(self.url, operation, key, self._endpoint)
        return reply

    def _connected(self) -> "S3Client":
        with self._lock:
            if self._client is None:
                client = self._explained(lambda: _shared_client(os.getpid(), _environment()), "connecting")
                self._endpoint = public_endpoint(client.meta.endpoint_url)
                try:
                    self._explained(
                        lambda: client.list_objects_v2(Bucket=self.bucket, Prefix=self._before, MaxKeys=1),
                        "list_objects_v2",
                    )
                except AssayError:
                    _shared_client.cache_clear()  # its credentials may have been replaced in their file
                    raise
                self._client = client
            return self._client

    def _explained(self, call: Callable[[], T], operation: str, key: str = "") -> T:
        with needs("s3", "stores in S3"):
            from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call()
        except (ClientError, BotoCoreError, ValueError) as error:
            raise explain(
                error, url=self.url, bucket=self.bucket, endpoint=self._endpoint, operation=operation, key=key
            ) from None


def _environment() -> bytes:
    """A digest of all that boto3 reads from the environment; secrets stay where they are."""
    relevant = sorted(item for item in os.environ.items() if item[0] == "HOME" or item[0].startswith("AWS_"))
    return sha256(repr(relevant).encode(errors="surrogateescape")).digest()


@lru_cache(maxsize=4)
def _shared_client(process: int, environment: bytes) -> "S3Client":
    """A client is safe to share between threads; after a fork its connections are not, hence `process`."""
    del process, environment  # only there to tell clients apart
    import boto3
    from botocore.config import Config

    quiet_libraries()
    # A session of its own: the default one is shared by the process and is not safe to use from threads.
    return boto3.session.Session().client(
        "s3",
        config=Config(
            retries={"mode": "standard", "total_max_attempts": REQUEST_ATTEMPTS},
            connect_timeout=CONNECT_SECONDS,
            read_timeout=S3_READ_SECONDS,
        ),
    )
