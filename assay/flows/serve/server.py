"""The server: an address and a port, and clients that are cut off when they are slow.

Off this machine's loopback it starts only with a token, or behind a proxy that says who asks. A client that
does not send its headers, or does not take its answer, is cut off.
"""

import threading
from asyncio import TimerHandle
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn

from assay.evalcore.errors import BadInput
from assay.flows.listen.connections import PunctualProtocol, run_beside
from assay.flows.listen.receiver import is_loopback
from assay.flows.listen.seldom import seldom
from assay.flows.serve.app import Service
from assay.flows.serve.stores import TOKEN_VARIABLE_OF_PAGES, Access, ServedStore
from assay.tasks.operating_system import share_memory_of_threads

TAKE_SECONDS = 30.0     # within which a client takes what it was sent, as long as more is waiting for it
MOST_CONNECTIONS = 256   # beyond which the slowest client gives way


class TakingProtocol(PunctualProtocol):
    """HTTP/1.1 for clients that may also be slow to take an answer."""

    most_open = MOST_CONNECTIONS
    _full: TimerHandle | None = None       # ends the wait for a client that takes nothing

    def pause_writing(self) -> None:
        """Stop writing, because more waits for the client than the buffer should hold, and cut the
        connection unless the client takes enough of it within TAKE_SECONDS (30)."""
        super().pause_writing()
        if self._full is None:
            self._full = self.loop.call_later(TAKE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on writing, because the client has taken enough, and stop its clock."""
        super().resume_writing()
        self._stop_counting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop both clocks of a connection that either side has closed; `exc` is None where it was closed in
        order. The server calls it once for each connection."""
        self._stop_counting()
        super().connection_lost(exc)

    def _stop_counting(self) -> None:
        if self._full is not None:
            self._full.cancel()
            self._full = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a web service serves: its stores by alias, who may see which, and the address and port where it
    listens."""

    stores: dict[str, ServedStore]
    access: Access
    host: str = "127.0.0.1"
    port: int = 8090


def serve_pages(
    served: Served, *, ready: Callable[[int], None] | None = None, stop: threading.Event | None = None
) -> None:
    """Answer until the process is told to end (SIGINT, SIGTERM), or `stop` is set.

    ready: told the port, once requests are answered. Raises BadInput for an address that others can reach
    where nobody is asked who they are.
    """
    if served.access.open_to_all and not (served.host == "localhost" or is_loopback(served.host)):
        raise BadInput(
            f"--host {served.host} can be reached from other machines: put a token into "
            f"{TOKEN_VARIABLE_OF_PAGES} or --token-file, or name the header of a proxy that asks who it is "
            "(--trust-header X-Forwarded-User)"
        )
    share_memory_of_threads()
    ended = stop or threading.Event()
    service = Service(served.stores, served.access)
    server = uvicorn.Server(uvicorn.Config(
        service.app(), host=served.host, port=served.port,
        log_level="warning", access_log=False, timeout_keep_alive=5, server_header=False, lifespan="off",
        http=TakingProtocol, ws="none", proxy_headers=False, timeout_graceful_shutdown=3,
    ))
    service.ends = lambda: server.should_exit
    helper = threading.Thread(target=_watch, args=(server, ended, ready), name="serve", daemon=True)
    with seldom("uvicorn.error", "assay.serve"):
        run_beside(server, helper, ended)


def _watch(server: uvicorn.Server, ended: threading.Event, ready: Callable[[int], None] | None) -> None:
    while not server.started and not ended.wait(0.02):
        pass
    if ready and server.started:
        ready(server.servers[0].sockets[0].getsockname()[1])
    ended.wait()
    server.should_exit = True
