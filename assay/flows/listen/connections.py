"""Connections of the receiver: how many may be open, and how long a client may take to say what it wants.

uvicorn waits for the headers of a request without end, and answers 503 to everybody once too many connections
are open. Here a connection without a request is closed after some seconds; and where too many are open, the
one whose client has been slowest gives way to a new one, whether headers or a body are missing.
"""

import asyncio
import threading
from typing import Any

import uvicorn
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from assay.evalcore.errors import AssayError
from assay.tasks.desks.desk import SECRET_HEADER

MOST_OPEN = 64   # connections, beyond which the slowest client gives way
HEADER_SECONDS = 5.0   # within which a client sends the head of a request
_ONCE = (b"authorization", b"idempotency-key", SECRET_HEADER.lower().encode())


class PunctualProtocol(H11Protocol):
    """A connection of HTTP/1.1 for uvicorn that is closed when its client takes longer than HEADER_SECONDS
    to send a request. Beyond `most_open` connections the slowest client gives way to a new one."""

    most_open = MOST_OPEN
    since = 0.0                                # when a request was first waited for, by the loop's clock
    _late: asyncio.TimerHandle | None = None   # ends the wait

    @property
    def idle(self) -> bool:
        """Whether no request is being answered on this connection: none has come, or the last response is
        complete. Such a connection may be closed without cutting off an answer."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def waits(self) -> bool:
        """Whether the client still has something to send: the headers of a request, or more of its body.
        Only such a connection may give way to a new one."""
        return self.idle or self.cycle.more_body

    @property
    def is_open(self) -> bool:
        """Whether neither side has closed it; the loop hears of a close a moment later."""
        return not self.transport.is_closing()

    def connection_made(self, transport: Any) -> None:
        """Begin to watch a new connection. Where more than `most_open` are open, the one whose client has
        been slowest to send its request is closed, or this one if no other waits for its client."""
        super().connection_made(transport)
        self._watch()
        clients = [c for c in self.connections if isinstance(c, PunctualProtocol) and c.is_open]
        if len(clients) > self.most_open:
            slow = [c for c in clients if c.waits and c is not self]
            min(slow, key=lambda c: c.since, default=self).transport.close()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request in, and stop the clock of the client once the headers are complete; the
        first part that comes after an answer starts it again."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock of a connection that either side has closed; `exc` is None where it was closed in
        order. The server calls it once for each connection."""
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Give the client its time, from the first byte of a request that is not there yet."""
        if not self.idle:
            self._stop_watching()
        elif self._late is None:
            self.since = self.loop.time()
            self._late = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class OneReading:
    """An ASGI application before another one: it refuses, with 400, requests that a proxy in front may read
    otherwise than this process does: a length beside a transfer encoding, or two tokens, two secrets or two
    names of one request."""

    def __init__(self, app: ASGIApp) -> None:
        """`app` answers all other requests."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        names = [name.lower() for name, _ in scope.get("headers", ())]
        if {b"content-length", b"transfer-encoding"} <= {*names} or any(names.count(n) > 1 for n in _ONCE):
            await Response(status_code=400)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def run_beside(server: uvicorn.Server, helper: threading.Thread, ended: threading.Event) -> None:
    """Run a server until it ends, and the thread `helper` beside it until `ended` is set, as it is then.

    Raises AssayError where its address cannot be listened on.
    """
    helper.start()
    failed = False
    try:
        server.run()
    except SystemExit:   # uvicorn's way to say that it cannot start
        failed = True
    finally:
        ended.set()
        helper.join()
    if failed:
        raise AssayError(
            f"cannot listen on {server.config.host}:{server.config.port}: choose a free --port, and a --host "
            "of this machine"
        )
