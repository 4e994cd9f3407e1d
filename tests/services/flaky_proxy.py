"""A real HTTP proxy before a real server, which loses replies, delays requests or answers by itself.

    with flaky_proxy(server_url) as proxy:
        proxy.next_post = "lose the reply"
        client.post(proxy.url + ...)
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import httpx

Fault = Literal["", "lose the reply", "commit late", "502 after commit", "502", "429", "html", "redirect"]


class FlakyProxy:
    """`next_post` happens to the next POST whose path ends in `at`, `next_gets` to so many GETs."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.url = ""
        self.at = "/import"
        self.next_post: Fault = ""
        self.next_gets: list[Fault] = []
        self.posts = 0                 # POSTs to `at` that came in
        self._late: list[tuple[str, str, dict[str, str], bytes]] = []

    def commit_what_is_late(self) -> None:
        """Let the requests through that nobody waits for any more."""
        for request in self._late:
            self.forward(*request)
        self._late.clear()

    def fault_for(self, method: str, path: str) -> Fault:
        if method == "POST" and path.split("?")[0].endswith(self.at):
            self.posts += 1
            fault, self.next_post = self.next_post, ""
            return fault
        if method == "GET" and self.next_gets:
            return self.next_gets.pop(0)
        return ""

    def forward(self, method: str, path: str, headers: dict[str, str], body: bytes) -> httpx.Response:
        with httpx.Client(timeout=60, trust_env=False) as client:
            return client.request(method, self.target + path, headers=headers, content=body)

    def keep(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self._late.append((method, path, headers, body))


@contextmanager
def flaky_proxy(target: str) -> Iterator[FlakyProxy]:
    proxy = FlakyProxy(target)

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {
                name: value for name, value in self.headers.items()
                if name.lower() in ("authorization", "content-type", "accept")
            }
            fault = proxy.fault_for(self.command, self.path)
            request = (self.command, self.path, headers, body)
            if fault == "commit late":
                proxy.keep(*request)
            if fault in ("commit late", "lose the reply"):
                if fault == "lose the reply":
                    proxy.forward(*request)
                self.close_connection = True
                return   # no reply at all
            if fault in ("502", "429"):
                self.reply(int(fault), b"bad gateway", "text/plain")
            elif fault == "html":
                self.reply(200, b"<html>sign in</html>", "text/html")
            elif fault == "redirect":
                self.reply(302, b"", "text/html", location="https://elsewhere.example/?token=secret")
            else:
                answer = proxy.forward(*request)
                if fault == "502 after commit":
                    self.reply(502, b"bad gateway", "text/plain")
                else:
                    kind = answer.headers.get("content-type", "application/json")
                    self.reply(answer.status_code, answer.content, kind)

        do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815

        def reply(self, status: int, body: bytes, kind: str, location: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
