"""A cluster of Ray: one that is there, or one of this machine for as long as it is needed.

Workers need Assay, the address of the store and of the predictions, and credentials in their environment.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_connection
from typing import Any

from assay.evalcore.errors import Unreachable, needs
from assay.flows.workers.protocol import Kind, Started, TaskRunner
from assay.tasks.freeze_runner import SETTING, Runner

NEED = f"{SETTING}: clusters of Ray"
_PATIENCE = 15    # seconds until the head node has to answer


class Ray(Kind):
    """See the top of this module."""

    word = "ray"

    def __init__(self, asked: Runner) -> None:
        self._address = asked.address

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
        with self._cluster() as (ray, lost):
            refs: list[Any] = []

            def submit(function: Any, *given: Any) -> Any:
                # a worker that dies is replaced three times; pieces are safe to repeat
                refs.append(ray.remote(max_retries=3)(function).remote(*given))
                return refs[-1].future()

            try:
                yield Started(submit, lost)
            finally:
                for ref in refs:
                    ray.cancel(ref)

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner]:
        """See Kind.task_runner."""
        with needs(self.word, NEED):
            from prefect_ray import RayTaskRunner
        with self._cluster() as (_, lost), RayTaskRunner() as runner:    # it uses the cluster that is there
            yield TaskRunner(runner, lost, lambda future: future.wrapped_future.future().done())

    @contextmanager
    def _cluster(self) -> Iterator[tuple[Any, tuple[type[BaseException], ...]]]:
        """The library, connected to the cluster, and what says that a worker died."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # work that asks for no graphics card is left alone, as later versions of Ray do
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        with needs(self.word, NEED):
            import ray
        ours = not ray.is_initialized()
        if ours:
            self._connect(ray)
        try:
            yield ray, (ray.exceptions.RaySystemError, ray.exceptions.WorkerCrashedError)
        finally:
            if ours:
                ray.shutdown()

    def _start(self, ray: Any) -> None:
        # by default its workers yield to everybody else; here they do the work that is waited for
        os.environ.setdefault("RAY_worker_niceness", "0")
        try:
            ray.init(address="local", include_dashboard=False, log_to_driver=False, configure_logging=False)
        except Exception as error:    # its class says nothing: a node has 30 seconds to start
            ray.shutdown()
            raise Unreachable(
                f"{SETTING}: Ray did not start on this machine ({str(error).splitlines()[0][:200]}); try "
                "again when it is less busy, or use processes:N"
            ) from None

    def _connect(self, ray: Any) -> None:
        if self._address is None:
            self._start(ray)
            return
        try:
            _knock(self._address)
            ray.init(address=self._address, log_to_driver=False, configure_logging=False)
        except (OSError, ValueError, RuntimeError) as error:
            said = (str(error) or type(error).__name__).splitlines()[0]
            raise Unreachable(
                f"{SETTING}: no Ray cluster answers at {self._address!r} ({said[:200]}); start it, or "
                "correct the address (host:6379, or ray://host:10001)"
            ) from None


def _knock(address: str) -> None:
    """Raise OSError or ValueError where nobody listens: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:        # `auto` means the cluster of this machine
        create_connection((host, int(port)), _PATIENCE).close()
