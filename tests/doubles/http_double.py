"""A server that a test plays: what it is asked, what it answers instead, and where the line is cut."""

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

Reply = tuple[int, str]


class HttpDouble(ABC):
    """Answers one request at a time, below the path `root`."""

    root = "/"

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.instead: list[Reply] = []     # what the next requests are answered with
        self.reply_headers: dict[str, str] = {}   # of those that are answered instead
        self.writes = 0
        self.cut: tuple[int, Literal["before", "after"]] | None = None   # the write without a reply
        self._lock = threading.Lock()

    def answer(self, method: str, whole: str, headers: Mapping[str, str], body: bytes) -> Reply | None:
        """Status and text; None where the line is cut, before or after the write was done."""
        with self._lock:
            parts = urlsplit(whole)
            self.requests.append((method, parts.path))
            if self.instead:
                return self.instead.pop(0)
            if (refused := self.refused(headers)) is not None:
                return refused
            self.writes += method != "GET"
            cut = self.cut[1] if method != "GET" and self.cut and self.cut[0] == self.writes else None
            path = [unquote(part) for part in parts.path.removeprefix(self.root).split("/")]
            sent = json.loads(body or b"null")
            reply = None if cut == "before" else self.routed(method, path, parse_qs(parts.query), sent)
            return None if cut else reply

    @abstractmethod
    def refused(self, headers: Mapping[str, str]) -> Reply | None:
        """What somebody without the right key is told; None for who has it."""

    @abstractmethod
    def routed(self, method: str, path: list[str], query: dict[str, list[str]], sent: Any) -> Reply:
        """The reply to a request that is let in."""


@contextmanager
def serving(double: HttpDouble) -> Iterator[str]:
    """The address of a server that answers as the double does, until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            instead = bool(double.instead)
            reply = double.answer(self.command, self.path, dict(self.headers.items()), body)
            if reply is None:
                self.close_connection = True
                return
            content = reply[1].encode()
            self.send_response(reply[0])
            for name, value in double.reply_headers.items() if instead else ():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _do   # noqa: N815 - the names that the library calls

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
