"""A cluster of Ray: one that is there, or one of this machine for as long as it is needed.

Workers need Assay, the address of the store and of the predictions, and credentials in their environment.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_connection
from typing import Any

from assay.evalcore.errors import Unreachable
from assay.flows.workers.protocol import VARIABLE, Started, Workers, not_installed

_PATIENCE = 15    # seconds until the head node has to answer


class Ray(Workers):
    """See the top of this module."""

    word, usage = "ray", "ray or ray:ADDRESS"

    def __init__(self, rest: str | None) -> None:
        self._address = rest

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # work that asks for no graphics card is left alone, as later versions of Ray do
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        try:
            import ray
        except ImportError:
            raise not_installed(self.word) from None
        ours = not ray.is_initialized()
        if ours:
            self._connect(ray)
        refs: list[Any] = []

        def submit(function: Any, *given: Any) -> Any:
            # a worker that dies is replaced three times; pieces are safe to repeat
            refs.append(ray.remote(max_retries=3)(function).remote(*given))
            return refs[-1].future()

        try:
            yield Started(submit, (ray.exceptions.RaySystemError, ray.exceptions.WorkerCrashedError))
        finally:
            for ref in refs:
                ray.cancel(ref)
            if ours:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        if self._address is None:
            ray.init(address="local", include_dashboard=False, log_to_driver=False, configure_logging=False)
            return
        try:
            _knock(self._address)
            ray.init(address=self._address, log_to_driver=False, configure_logging=False)
        except (OSError, ValueError, RuntimeError) as error:
            said = (str(error) or type(error).__name__).splitlines()[0]
            raise Unreachable(
                f"{VARIABLE}: no Ray cluster answers at {self._address!r} ({said[:200]}); start it, or "
                "correct the address (host:6379, or ray://host:10001)"
            ) from None


def _knock(address: str) -> None:
    """Raise OSError or ValueError where nobody listens: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:        # `auto` means the cluster of this machine
        create_connection((host, int(port)), _PATIENCE).close()
