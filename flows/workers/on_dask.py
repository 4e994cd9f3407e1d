"""A cluster of Dask: one that is there, or one of this machine for as long as it is needed.

Workers need Assay, the address of the store and of the predictions, and credentials in their environment.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from assay.evalcore.errors import Unreachable, needs
from assay.flows.workers.protocol import Kind, Started, TaskRunner
from assay.tasks.freeze_runner import SETTING, Runner

NEED = f"{SETTING}: clusters of Dask"
_PATIENCE = 15    # seconds until the scheduler has to answer
_LOOK = 15        # seconds between two looks whether there are workers
_NO_WORKERS = 600    # seconds without any, until it is an error: a cluster that grows takes minutes
# Of our own cluster. A killed worker is started again. Dask gives it 15 seconds, and then goes on without it
# for good: too short on a busy machine, where a freeze waited for ever once each worker had been killed.
_OF_OURS = {
    "distributed.deploy.lost-worker-timeout": "1 day",
    "distributed.scheduler.no-workers-timeout": "3 minutes",    # then work fails as lost, and is done again
}

_log = logging.getLogger("assay.workers")


class Dask(Kind):
    """See the top of this module."""

    word = "dask"

    def __init__(self, asked: Runner) -> None:
        self._address = asked.address

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
        with self._cluster() as (client, lost):
            futures: WeakSet[Any] = WeakSet()    # a result that was fetched is not to be made again

            def submit(function: Any, *given: Any) -> Any:
                future = client.submit(function, *given, pure=False)
                futures.add(future)
                return _Awaited(future, client)

            try:
                yield Started(submit, lost)
            finally:
                if client.status == "running":
                    client.cancel(list(futures))

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner]:
        """See Kind.task_runner."""
        with needs(self.word, NEED):
            from prefect_dask.task_runners import DaskTaskRunner
        with (
            self._cluster() as (client, lost),
            DaskTaskRunner(address=client.scheduler.address) as runner,
        ):
            yield TaskRunner(runner, lost, lambda future: future.wrapped_future.done())

    @contextmanager
    def _cluster(self) -> Iterator[tuple[Any, tuple[type[BaseException], ...]]]:
        """Who reaches the cluster, and what says that a worker died."""
        with needs(self.word, NEED):
            from dask import config
            from distributed import CancelledError, Client, KilledWorker
            from distributed.comm.core import CommClosedError
            from distributed.scheduler import NoWorkerError
        with config.set({} if self._address else _OF_OURS), self._client(Client) as client:
            yield client, (KilledWorker, NoWorkerError, CancelledError, CommClosedError)

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
                f"{SETTING}: no Dask scheduler answers at {self._address!r} ({said[:200]}); start it, or "
                "correct the address (tcp://host:8786)"
            ) from None


@dataclass(frozen=True, slots=True)
class _Awaited:
    """A result of a cluster. Its scheduler keeps work for which there is no worker, for ever and silently."""

    future: Any
    client: Any

    def done(self) -> bool:
        """See Promised.done."""
        return bool(self.future.done())

    def result(self) -> Any:
        """See Promised.result. Raises Unreachable where there is nobody to do the work."""
        alone = 0.0    # since when there has been no worker
        while True:
            try:
                return self.future.result(timeout=_LOOK)
            except TimeoutError:
                if self.future.done():    # meanwhile, or the error is the work's own
                    return self.future.result()
            if self.client.scheduler_info()["workers"]:
                alone = 0.0
                continue
            address, now = self.client.scheduler.address, time.monotonic()
            alone = alone or now
            if now - alone >= _NO_WORKERS:
                raise Unreachable(
                    f"{SETTING}: the Dask scheduler at {address} has had no worker for {_NO_WORKERS} "
                    f"seconds; start some (dask worker {address}), and run again: what is done is kept"
                )
            _log.warning("the Dask scheduler at %s has no worker; work waits until one comes", address)
