"""A proxy before a real server that misbehaves on demand, where a network or a server would.

    with faulty_proxy(server.url) as proxy:
        proxy.next("POST", drop_reply, at="/import")   # the server does it; the client never hears of it
        client.post(proxy.url + ...)

Requests pass through byte for byte (S3's signatures cover the Host header, which the client set to the
proxy's address and the server checks as it finds it). `choose` decides for every request instead of a queue.
"""

import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

Fault = Callable[["Exchange"], None]
Reply = tuple[int, list[tuple[str, str]], bytes]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What came in."""

    method: str
    path: str       # without the query
    whole: str      # with it
    headers: list[tuple[str, str]]
    body: bytes


@dataclass
class FaultyProxy:
    """Its address, what it will do wrong, and what came by."""

    upstream: str                     # http://HOST:PORT; may change while it runs
    url: str = ""
    seen: Counter[str] = field(default_factory=Counter)           # requests by method
    requests: list[str] = field(default_factory=list)             # "METHOD path", in order
    choose: Callable[[Request], Fault | None] | None = None       # asked where the queue has nothing
    heard: Callable[[Request, Reply], None] | None = None         # told what the server did, late or not
    _faults: list[tuple[str, str, Fault]] = field(default_factory=list)
    _kept: list[Request] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, method: str, *faults: Fault, at: str = "") -> None:
        """Meet the next requests of this method whose path ends in `at` with these faults, one each."""
        with self._lock:
            self._faults += [(method, at, fault) for fault in faults]

    def take(self, request: Request) -> Fault | None:
        """The fault for a request that just came in, counted."""
        with self._lock:
            self.seen[request.method] += 1
            self.requests.append(f"{request.method} {request.path}")
            for waiting in self._faults:
                method, at, fault = waiting
                if method == request.method and request.path.endswith(at):
                    self._faults.remove(waiting)
                    return fault
        return self.choose(request) if self.choose else None

    def keep(self, request: Request) -> None:
        """Put aside a request nobody waits for any more."""
        with self._lock:
            self._kept.append(request)

    @property
    def late(self) -> bool:
        """Whether anything was put aside."""
        return bool(self._kept)

    def commit_what_is_late(self) -> int:
        """Let the server have what was put aside; how many requests that were."""
        with self._lock:
            late, self._kept = self._kept, []
        for request in late:
            self.forward(request)
        return len(late)

    def forward(self, request: Request) -> Reply:
        """Let the server have a request, as it came."""
        connection = http.client.HTTPConnection(urlsplit(self.upstream).netloc, timeout=150)
        try:
            connection.putrequest(request.method, request.whole, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in ("expect", "connection"):
                    connection.putheader(name, value)
            connection.endheaders(request.body)
            response = connection.getresponse()
            dropped = ("transfer-encoding", "connection")
            kept = [(name, value) for name, value in response.getheaders() if name.lower() not in dropped]
            reply = response.status, kept, response.read()
        finally:
            connection.close()
        if self.heard:
            self.heard(request, reply)
        return reply


@contextmanager
def faulty_proxy(upstream: str) -> Iterator[FaultyProxy]:
    """Listen on a free loopback port and pass requests on to `upstream` until the block ends."""
    proxy = FaultyProxy(upstream)
    server = _Server(("127.0.0.1", 0), Exchange)
    server.proxy = proxy  # type: ignore[attr-defined]
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that died or hung up is nothing to report."""


# --- faults -----------------------------------------------------------------------------------------------


def drop_reply(exchange: "Exchange") -> None:
    """Let the server do it, then hang up without a word."""
    exchange.pass_on()
    exchange.hang_up()


def drop_request(exchange: "Exchange") -> None:
    """Hang up; the server never hears of it."""
    exchange.hang_up()


def cut_reply(exchange: "Exchange") -> None:
    """Send the headers and half of the body, then hang up."""
    status, headers, body = exchange.pass_on()
    exchange.reply(status, headers, body, upto=len(body) // 2)
    exchange.hang_up()


def commit_late(exchange: "Exchange") -> None:
    """Hang up, and keep the request until `commit_what_is_late`."""
    exchange.proxy.keep(exchange.request)
    exchange.hang_up()


def then_what_is_late(exchange: "Exchange") -> None:
    """Let the server do it, and after it what had been kept: that is how copies are made."""
    reply = exchange.pass_on()
    exchange.proxy.commit_what_is_late()
    exchange.reply(*reply)


def hang(seconds: float, then: Fault | None = None) -> Fault:
    """Say nothing for so long; then hang up, or do `then`."""

    def fault(exchange: "Exchange") -> None:
        time.sleep(seconds)
        (then or drop_request)(exchange)

    return fault


def say(status: int, body: bytes = b"", kind: str = "text/plain", after: bool = False, **more: str) -> Fault:
    """Answer in the server's stead; `after` it has done what was asked. `more` are headers: Retry_After."""

    def fault(exchange: "Exchange") -> None:
        if after:
            exchange.pass_on()
        headers = {name.replace("_", "-"): value for name, value in more.items()}
        exchange.reply(status, [("Content-Type", kind), *headers.items()], body)

    return fault


def s3_error(status: int, code: str) -> Fault:
    """Answer as S3 words its errors, without passing the request on."""
    body = f"<Error><Code>{code}</Code><Message>as the test asked</Message></Error>".encode()
    return say(status, body, "application/xml")


def claim_success(exchange: "Exchange") -> None:
    """Answer as a server that does not know If-None-Match would answer a put."""
    exchange.reply(200, [("ETag", '"0"'), ("Content-Length", "0")], b"")


def posted_items(request: Request, reply: Reply) -> list[Mapping[str, str]]:
    """The data of the items Label Studio has just imported; empty for every other request."""
    if request.method != "POST" or not request.path.endswith("/import") or reply[0] >= 300:
        return []
    return [task["data"] for task in json.loads(request.body)]


class Exchange(BaseHTTPRequestHandler):
    """One request and what becomes of it."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True    # a body that waits for the receipt of its headers waits for 40 ms
    request: Request  # type: ignore[assignment]
    proxy: FaultyProxy

    def _any(self) -> None:
        self.proxy = self.server.proxy  # type: ignore[attr-defined]
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:   # the client died while sending
            return self.hang_up()
        self.request = Request(
            method=self.command, path=urlsplit(self.path).path, whole=self.path,
            headers=list(self.headers.items()), body=body,
        )
        with suppress(BrokenPipeError, ConnectionResetError):
            fault = self.proxy.take(self.request)
            if fault:
                fault(self)
            else:
                self.reply(*self.pass_on())
        return None

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = do_PATCH = _any  # noqa: N815

    def pass_on(self) -> Reply:
        """Let the server do it. When the server itself is away, a gateway says 502."""
        try:
            return self.proxy.forward(self.request)
        except (OSError, http.client.HTTPException):
            return 502, [("Content-Type", "text/plain")], b"bad gateway"

    def reply(
        self, status: int, headers: list[tuple[str, str]], body: bytes, upto: int | None = None
    ) -> None:
        """Answer the client."""
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:upto])
        self.wfile.flush()

    def hang_up(self) -> None:
        """Close the connection without another word."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""
