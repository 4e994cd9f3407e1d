"""A proxy before a real S3 server that misbehaves once, on demand, where a network would.

    with faulty_proxy(s3.endpoint) as proxy:
        proxy.next("PUT", drop_reply)          # the server does the put; the client never hears of it
        store.put("key", b"value")

Requests pass through byte for byte (signatures cover the Host header, which the client set to the proxy's
address and the server checks as it finds it).
"""

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

Fault = Callable[["_Handler"], None]


@dataclass
class FaultyProxy:
    """Its address, what it will do wrong, and how many requests of each method came by."""

    endpoint: str = ""
    seen: dict[str, int] = field(default_factory=dict)
    _faults: list[tuple[str, Fault]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, method: str, *faults: Fault) -> None:
        """Meet the next requests of this method with these faults, one each."""
        with self._lock:
            self._faults += [(method, fault) for fault in faults]

    def take(self, method: str) -> Fault | None:
        """The fault for a request that just came in, counted."""
        with self._lock:
            self.seen[method] = self.seen.get(method, 0) + 1
            for waiting in self._faults:
                if waiting[0] == method:
                    self._faults.remove(waiting)
                    return waiting[1]
        return None


@contextmanager
def faulty_proxy(upstream: str) -> Iterator[FaultyProxy]:
    """Listen on a free loopback port and pass requests on to `upstream` until the block ends."""
    proxy = FaultyProxy()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.proxy = proxy  # type: ignore[attr-defined]
    server.upstream = urlsplit(upstream).netloc  # type: ignore[attr-defined]
    proxy.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def drop_reply(handler: "_Handler") -> None:
    """Let the server do it, then hang up without a word."""
    handler.pass_on()
    handler.hang_up()


def cut_reply(handler: "_Handler") -> None:
    """Send the headers and half of the body, then hang up."""
    status, headers, body = handler.pass_on()
    handler.reply(status, headers, body, upto=len(body) // 2)
    handler.hang_up()


def answer(status: int, code: str) -> Fault:
    """Answer in the server's stead, as S3 words its errors, without passing the request on."""
    body = f"<Error><Code>{code}</Code><Message>as the test asked</Message></Error>".encode()

    def fault(handler: "_Handler") -> None:
        handler.reply(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))], body)

    return fault


def claim_success(handler: "_Handler") -> None:
    """Answer as a server that does not know If-None-Match would answer a put."""
    handler.reply(200, [("ETag", '"0"'), ("Content-Length", "0")], b"")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _any(self) -> None:
        self.request_body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.proxy.take(self.command)  # type: ignore[attr-defined]
        with suppress(BrokenPipeError, ConnectionResetError):
            if fault:
                fault(self)
            else:
                self.reply(*self.pass_on())

    do_GET = do_PUT = do_HEAD = do_DELETE = _any  # noqa: N815

    def pass_on(self) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection(self.server.upstream, timeout=30)  # type: ignore[attr-defined]
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("expect", "connection"):
                    connection.putheader(name, value)
            connection.endheaders(self.request_body)
            response = connection.getresponse()
            dropped = ("transfer-encoding", "connection")
            kept = [(name, value) for name, value in response.getheaders() if name.lower() not in dropped]
            return response.status, kept, response.read()
        finally:
            connection.close()

    def reply(
        self, status: int, headers: list[tuple[str, str]], body: bytes, upto: int | None = None
    ) -> None:
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
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        pass
