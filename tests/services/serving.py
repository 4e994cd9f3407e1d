"""`assay serve` on a port of its own, in a thread."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from assay.flows.serve.server import Served, serve_pages
from assay.flows.serve.stores import Access, ServedStore, access_to


@contextmanager
def serving(
    stores: Mapping[str, ServedStore], access: Access | None = None, host: str = "127.0.0.1"
) -> Iterator[str]:
    """Its address, until the block ends."""
    ports: list[int] = []
    ready, stop = threading.Event(), threading.Event()

    def take(port: int) -> None:
        ports.append(port)
        ready.set()

    served = Served(stores=dict(stores), access=access or access_to(stores, "", None), host=host, port=0)
    thread = threading.Thread(target=lambda: serve_pages(served, ready=take, stop=stop))
    thread.start()
    try:
        assert ready.wait(150)
        yield f"http://127.0.0.1:{ports[0]}"
    finally:
        stop.set()
        thread.join(150)
        assert not thread.is_alive()
