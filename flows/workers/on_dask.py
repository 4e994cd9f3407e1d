"""A cluster of Dask: one that is there, or one of this machine for as long as it is needed.

Workers need Assay, the address of the store and of the predictions, and credentials in their environment.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assay.evalcore.errors import Unreachable
from assay.flows.workers.protocol import VARIABLE, Started, Workers, not_installed

_PATIENCE = 15    # seconds until the scheduler has to answer


class Dask(Workers):
    """See the top of this module."""

    word, usage = "dask", "dask or dask:ADDRESS"

    def __init__(self, rest: str | None) -> None:
        self._address = rest

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
        try:
            from distributed import CancelledError, Client, KilledWorker
            from distributed.comm.core import CommClosedError
        except ImportError:
            raise not_installed(self.word) from None

        with self._client(Client) as client:
            futures: list[Any] = []

            def submit(function: Any, *given: Any) -> Any:
                futures.append(client.submit(function, *given, pure=False))
                return futures[-1]

            try:
                yield Started(submit, (KilledWorker, CancelledError, CommClosedError))
            finally:
                if client.status == "running":
                    client.cancel(futures)

    def _client(self, connect: Any) -> Any:
        if self._address is None:
            return connect(
                threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
                set_as_default=False,
            )
        try:
            return connect(self._address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            said = str(error) or type(error).__name__
            raise Unreachable(
                f"{VARIABLE}: no Dask scheduler answers at {self._address!r} ({said[:200]}); start it, or "
                "correct the address (tcp://host:8786)"
            ) from None
