"""Whether the receiver lives, told on a port and by a thread of its own: floods of the other do not matter.

    GET /health    200 while the receiver's loop runs; 503 once it has stood still for a minute
"""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from assay.evalcore.errors import AssayError

STANDS_STILL = 60.0   # seconds without a sign of life
READ_SECONDS = 5.0


class Pulse:
    """The signs of life of the receiver's loop."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    async def beat(self) -> None:
        """A sign of life."""
        self._last = time.monotonic()

    @property
    def alive(self) -> bool:
        """Whether the last one was lately."""
        return time.monotonic() - self._last < STANDS_STILL


@contextmanager
def health_server(pulse: Pulse, host: str, port: int) -> Iterator[int]:
    """Answer on this port until the block ends; yields the port. AssayError if it is taken."""

    class Answer(http.server.BaseHTTPRequestHandler):
        timeout = READ_SECONDS

        def do_GET(self) -> None:
            status = 404 if self.path != "/health" else 200 if pulse.alive else 503
            body = json.dumps({"status": {200: "up", 503: "stands still"}.get(status, "not found")}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

        def version_string(self) -> str:
            return "assay"

    try:
        server = http.server.ThreadingHTTPServer((host, port), Answer)
    except OSError as error:
        raise AssayError(
            f"cannot listen on {host}:{port} ({error.strerror}): choose a free --health-port"
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
