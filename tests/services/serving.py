"""Servers on a port of their own, in a thread: `assay serve`, or any that tells its port and stops."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from assay.flows.serve.server import Served, serve_pages
from assay.flows.serve.stores import Access, ServedStore, access_to


@contextmanager
def beside(server: Callable[..., Any]) -> Iterator[str]:
    """The address of a server, which takes `ready` and `stop`, until the block ends."""
    ports: list[int] = []
    ready, stop = threading.Event(), threading.Event()

    def take(port: int) -> None:
        ports.append(port)
        ready.set()

    thread = threading.Thread(target=lambda: server(ready=take, stop=stop))
    thread.start()
    try:
        assert ready.wait(150)
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        stop.set()
        thread.join(150)
        assert not thread.is_alive()


@contextmanager
def serving(
    stores: Mapping[str, ServedStore], access: Access | None = None, host: str = "127.0.0.1"
) -> Iterator[str]:
    """The address of `assay serve`, until the block ends."""
    served = Served(stores=dict(stores), access=access or access_to(stores, "", None), host=host, port=0)
    with beside(lambda **told: serve_pages(served, **told)) as url:
        yield url
