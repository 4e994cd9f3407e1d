"""What went wrong with S3, in words a user can act on.

boto3's errors stop here. The messages name the bucket, the endpoint and the environment variables to look
at; never the values of credentials, nor the server's own text, which may quote them. An endpoint may carry a
user and password: they are cut out.
"""

import os
from urllib.parse import urlsplit, urlunsplit

from assay.evalcore.errors import AssayError, BadInput
from assay.tasks.ledger.stores.protocol import KeyMissing, StoreError, StoreUnreachable

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
    """416: the range starts after the end of the value."""


class BrokenReply(StoreUnreachable):
    """The connection broke while a value was being read; reading again is safe."""


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
    """The endpoint the environment asks for, fit to be printed; for errors before there is a client."""
    return public_endpoint(os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"))


def explain(
    error: Exception, *, url: str, bucket: str, endpoint: str, operation: str, key: str = ""
) -> AssayError:
    """Our error for one of boto3's. `operation` is boto3's name of the call: policies are written with it."""
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
    """For a success that is not S3's. Believed, a key would count as written, or as missing."""
    return StoreUnreachable(
        f"{url}: {operation} of {key!r} got an answer that no S3 server gives; check what answers at "
        f"{endpoint}: a proxy, or a page to sign in?"
    )


def endless_listing(url: str, prefix: str, endpoint: str) -> StoreUnreachable:
    """For a page of a listing that says more pages follow, and names none or one that was read already."""
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
