"""What the replies of a server where people label mean: their JSON, or an error in words to act on.

Of what the server says only the status and its own short words are repeated, never headers, and never the
token, which some servers send back.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TypedDict, Unpack
from urllib.parse import quote
from urllib.request import getproxies, proxy_bypass

import httpx
import tenacity

from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import Json
from assay.tasks.desks.desk import AmbiguousPost, DeskRefused, DeskUnreachable
from assay.tasks.secrets import refuse_secrets

NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)   # of a request: it had no effect
FIRST_PAUSE = 0.5      # seconds before a read is tried again, drawn between 0 and this, which then doubles
LONGEST_PAUSE = 8.0   # seconds before a request is tried again
LONGEST_ASKED = 60.0   # seconds, of a pause the server itself asks for (Retry-After)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The program behind a desk, as messages name it, and the variable that holds a token for it."""

    name: str             # Label Studio
    token_variable: str   # the environment variable
    tokens: str           # where somebody gets a token: Account & Settings
    plain: bool = False   # whether it says no in plain text, and not in JSON


class NotThere(DeskRefused):
    """404: the project or the item does not exist (any more)."""


class Busy(DeskUnreachable):
    """The server did not do a read that may succeed later; nothing was lost. `seconds` is the pause that it
    asked for (Retry-After), at most a minute, or 0."""

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class Replies:
    """Turns the replies of one server into their JSON or into one of our errors, with words that people can
    act on. It knows the token only to leave it out of messages, in every spelling."""

    def __init__(self, product: Product, url: str, *tokens: str) -> None:
        """`tokens` are only here to be left out of what is said, in every form in which they may be
        written."""
        self._product, self._url = product, url
        written = {
            form for token in tokens
            for form in (token, repr(token)[1:-1], json.dumps(token)[1:-1], quote(token, safe=""))
        }
        self._secrets = sorted(written - {""}, key=len, reverse=True)

    def answer(self, response: httpx.Response) -> Json:
        """The JSON of a reply, None if it has none. DeskRefused or NotThere if the server said no."""
        status = response.status_code
        if 300 <= status < 400:
            to = httpx.URL(response.headers.get("location", "")).copy_with(query=None, userinfo=b"")
            raise DeskRefused(
                f"{self._url} redirects to {to}; put the address that {self._product.name} really has into "
                "desk.url"
            )
        if status >= 400:
            body = _body(response)
            raise self.refusal(status, response.text if self._product.plain and body is None else body)
        if status == 204 or not response.content:
            return None
        body = _body(response)
        if body is None:
            raise DeskRefused(
                f"{self._url} answered with a page instead of JSON; is desk.url {self._product.name}'s?"
            )
        return body

    def busy(self, response: httpx.Response) -> Busy:
        """The error for a read that may be tried again: it tells the status and the server's own short
        words, and holds the pause in seconds that the reply asks for (0 without one)."""
        return Busy(
            f"{self._product.name} at {self._url} answered {response.status_code}"
            f"{self._said(_body(response))}; nothing was lost: try again later",
            _asked_pause(response),
        )

    def refusal(self, status: int, body: object) -> DeskRefused:
        """The error for a status of 400 or more, for the caller to raise: something between is to blame
        (407, or 401 and 403 without an object of JSON), the token (401, 403), a missing object (NotThere,
        of 404), else the request was refused."""
        reason = self._said(body)
        if status == 407 or (
            status in (401, 403) and not isinstance(body, str if self._product.plain else dict)
        ):
            return DeskRefused(
                f"{self._url}: something between here and {self._product.name} answered {status}, for it is "
                f"no answer of {self._product.name}'s{self._proxy()}; let it pass requests to this address "
                "on, or name the host in NO_PROXY"
            )
        if status in (401, 403):
            return DeskRefused(
                f"{self._product.name} at {self._url} refused the token ({status}{reason}); put a valid "
                f"access token into the environment variable {self._product.token_variable} "
                f"({self._product.name}: {self._product.tokens})"
            )
        if status == 404:
            return NotThere(f"{self._product.name} at {self._url} has no such object (404{reason})")
        return DeskRefused(f"{self._product.name} at {self._url} refused ({status}{reason})")

    def strange(self, path: str) -> DeskRefused:
        """The error for JSON of another shape than the server gives for this path; it is not repeated."""
        name = self._product.name
        return DeskRefused(
            f"{self._url} answered {path} with JSON that {name} does not give there; is desk.url {name}'s, "
            "or does something between answer in its place?"
        )

    def unreachable(self, error: Exception) -> DeskUnreachable:
        """The error for a request that got no reply: it names the address, the reason without the token, and
        the proxy on the way where the environment sets one."""
        return DeskUnreachable(
            f"{self._product.name} at {self._url} could not be reached "
            f"({self._masked(str(error)) or type(error).__name__}){self._proxy()}; "
            "check desk.url and that the server is up, then run the same command again"
        )

    def ambiguous(self, what: str) -> AmbiguousPost:
        """The error for a write that may or may not have happened, because its reply was lost. `what` says
        what went wrong; the desk is looked at before anything is sent twice."""
        return AmbiguousPost(
            f"{self._product.name} at {self._url}: {what}, so what was sent may or may not have happened; "
            "it is looked at again before anything is sent twice"
        )

    def _proxy(self) -> str:
        """`; requests to it go through the proxy HOST`, where the environment names one for this address."""
        url = httpx.URL(self._url)
        proxy = getproxies().get(url.scheme) or getproxies().get("all")
        if not proxy or proxy_bypass(url.host):
            return ""
        return f"; requests to it go through the proxy {httpx.URL(proxy).host or 'that is set'}"

    def _said(self, body: object) -> str:
        """The server's own words, short; never its headers."""
        if isinstance(body, str):
            return f": {self._masked(body.strip())[:300]}" if body.strip() and "<" not in body else ""
        if not isinstance(body, dict):
            return ""
        words = next(filter(None, map(body.get, ("detail", "validation_errors", "message", "code"))), None)
        return f": {self._masked(str(words))[:300]}" if words else ""

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


class ClientOptions(TypedDict, total=False):
    """What a server asks of a client beside its time limits."""

    headers: Mapping[str, str]
    limits: httpx.Limits


def client_of(product: Product, timeout: float, **options: Unpack[ClientOptions]) -> httpx.Client:
    """A client for requests to a server of the product; `timeout` in seconds for one reply. Redirects are not
    followed: a POST would silently become a GET. Raises BadInput where the environment's proxy cannot be
    used."""
    try:
        return httpx.Client(timeout=httpx.Timeout(timeout, connect=10.0), follow_redirects=False, **options)
    except (ValueError, ImportError):
        raise BadInput(
            "the environment's proxy (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY) cannot be used; give it as "
            f"http://HOST:PORT, or name the host of {product.name} in NO_PROXY"
        ) from None


def pause(state: tenacity.RetryCallState) -> float:
    """Seconds before the next attempt: random and growing, and no less than the server asked for."""
    drawn = tenacity.wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE)(state)
    error = state.outcome.exception() if state.outcome else None
    return max(drawn, error.seconds) if isinstance(error, Busy) else drawn


def checked_token(product: Product, token: str) -> str:
    """The token, if it can be sent in a header. DeskRefused otherwise; the message does not hold it."""
    if not token or not (token.isascii() and token.isprintable()) or " " in token:
        raise DeskRefused(
            f"the access token in the environment variable {product.token_variable} is no token: it is "
            "empty, or holds a space, a line break or a character that is not ASCII; copy it again "
            f"({product.name}: {product.tokens})"
        )
    return token


def checked_address(url: str) -> str:
    """The address of a server without a slash at its end. BadInput if it is none, or holds a password."""
    refuse_secrets(url, "desk.url")
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise BadInput(f"desk.url: {url!r} is not an address ({error}); use http://HOST:PORT") from None
    if parts.scheme not in ("http", "https") or not parts.host:
        raise BadInput(f"desk.url: {url!r} is not an address; use http://HOST:PORT or https://HOST")
    return url.rstrip("/")


def _body(response: httpx.Response) -> Json:
    """The JSON; None if it is none, as with NaN, numbers beyond all bounds, or nesting without end.

    Half characters are replaced, for they could not be kept: whoever answers may send them.
    """
    try:
        body: Json = json.loads(response.content, parse_constant=_finite, parse_float=_finite)
        if b"\\ud" in response.content.lower():
            text = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
            body = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return body


def _finite(written: str) -> float:
    number = float(written)
    if not isfinite(number):
        raise ValueError(written)
    return number


def _asked_pause(response: httpx.Response) -> float:
    """The Retry-After of a reply in seconds, 0 if there is none or it is a date."""
    header = response.headers.get("retry-after", "")
    return min(float(header), LONGEST_ASKED) if header.isascii() and header.isdigit() else 0.0
