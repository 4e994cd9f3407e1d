"""What stands before every page: who may look, which methods and hosts there are, and every answer's headers.

    400   a length beside a transfer encoding: a proxy in front may read the request otherwise than we do
    401   no token, or none that opens anything; or no header of the proxy
    405   any method but GET and HEAD, of any path
    421   a host that is not this server, where no token is asked for: a page elsewhere that has a browser
          look here under a name of its own (DNS rebinding) sees nothing
"""

import base64
import binascii
import logging
from collections.abc import Callable, Iterable
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from assay.flows.listen.receiver import is_own_host
from assay.flows.serve.stores import Access

SEES = "assay.sees"        # in the scope of a request: the aliases that it may see
ASKS = "assay.asks"        # and who asks: a digest of the token and of the proxy's user
FREE = ("/healthz",)       # answered to everybody
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
_log = logging.getLogger("assay.serve")


class Guard:
    """An ASGI application that stands before another one: it refuses methods, hosts and people that may not
    pass, tells the inner application what its caller sees, and sets the headers of every answer."""

    def __init__(self, app: ASGIApp, access: Access, refuse: Callable[[Scope, int, str], ASGIApp]) -> None:
        """refuse: makes the answer that says why, with this status."""
        self._app, self._access, self._refuse = app, access, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        send = _with_headers(send)
        refused = self._why_not(scope)
        if refused is not None:
            status, message = refused
            await self._refuse(scope, status, message)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _why_not(self, scope: Scope) -> tuple[int, str] | None:
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "This service only shows: it takes GET and HEAD. `assay begin` begins evaluations."
        headers = _headers_of(scope["headers"])
        if "transfer-encoding" in headers and "content-length" in headers:
            return 400, "A request has a length or a transfer encoding, not both: two readers would differ."
        if self._access.open_to_all and not is_own_host(headers.get("host", "")):
            return 421, (
                "Without a token this service answers to 127.0.0.1 and localhost alone. Start it with a "
                "token or --trust-header to reach it by another name."
            )
        if scope["path"] in FREE:
            return None
        name = (self._access.header or "").lower()
        aliases = self._access.seen_by(token_of(headers.get("authorization", "")), headers.get(name))
        if aliases is None:
            return 401, "A token is needed: `Authorization: Bearer TOKEN`, or the password of a browser."
        scope[SEES] = aliases
        who = f"{token_of(headers.get('authorization', ''))}\n{headers.get(name)}"
        scope[ASKS] = "" if self._access.open_to_all else sha256(who.encode("utf-8", "replace")).hexdigest()
        return None


def token_of(authorization: str) -> str | None:
    """The token of a request: behind `Bearer`, or the password behind `Basic`, which browsers ask for. None
    where neither is there, or it is not written as it should be."""
    scheme, _, value = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(value.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return decoded.partition(":")[2]


def _headers_of(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Names in small letters; of one that comes twice, nothing: who sent the second one is not known."""
    headers: dict[str, str] = {}
    twice = set()
    for name, value in raw:
        key = name.decode("latin-1").lower()
        if key in headers:
            twice.add(key)
        headers[key] = value.decode("latin-1")
    return {key: "" if key in twice else value for key, value in headers.items()}


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            have = {name.lower() for name, _ in headers}
            headers += [
                (name.encode(), value.encode()) for name, value in _HEADERS if name.encode() not in have
            ]
            message = {**message, "headers": headers}
        await send(message)

    return send_with_headers
