"""Clusters of Dask and of Ray: one that is there, or one of this machine for as long as it is needed.

Workers need Assay, the address of the store and of the predictions, and credentials in their environment.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from socket import create_connection
from types import ModuleType
from typing import Protocol
from weakref import WeakSet

from assay.evalcore.errors import Unreachable, needs
from assay.flows.workers.mapped import Kind, Promised, Started, TaskRunner
from assay.tasks.settings import SETTING, Runner

DASK_NEED = f"{SETTING}: clusters of Dask"
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


class DaskFuture(Protocol):
    """The result of one piece of work on a Dask cluster."""

    def done(self) -> bool: ...
    def result(self, timeout: float | None = None) -> object: ...


class DaskScheduler(Protocol):
    """Who hands out the work of a Dask cluster."""

    address: str


class DaskClient(Protocol):
    """What is used of a client of a Dask cluster: `distributed.Client` says less of its types."""

    status: str
    scheduler: DaskScheduler

    def submit(self, function: object, *arguments: object, pure: bool) -> DaskFuture: ...
    def cancel(self, futures: list[DaskFuture]) -> object: ...
    def scheduler_info(self) -> Mapping[str, Mapping[str, object]]: ...


class Dask(Kind):
    """Workers of a Dask cluster: the one whose scheduler is at the given address, else one started on this
    machine for as long as it is needed. Raises Unreachable where no scheduler answers."""

    word = "dask"

    def __init__(self, runner: Runner) -> None:
        self._address = runner.address

    @contextmanager
    def started(self) -> Iterator[Started]:
        with self._cluster() as (client, lost):
            futures: WeakSet[DaskFuture] = WeakSet()    # a result that was fetched is not to be made again

            def submit(function: object, *arguments: object) -> Promised[object]:
                future = client.submit(function, *arguments, pure=False)
                futures.add(future)
                return _Awaited(future, client)

            try:
                yield Started(submit, lost)
            finally:
                if client.status == "running":
                    client.cancel(list(futures))

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner]:
        with needs(self.word, DASK_NEED):
            from prefect_dask.task_runners import DaskTaskRunner
        with (
            self._cluster() as (client, lost),
            DaskTaskRunner(address=client.scheduler.address) as runner,
        ):
            yield TaskRunner(runner, lost, lambda future: future.wrapped_future.done())

    @contextmanager
    def _cluster(self) -> Iterator[tuple[DaskClient, tuple[type[BaseException], ...]]]:
        """Who reaches the cluster, and what says that a worker died."""
        with needs(self.word, DASK_NEED):
            from dask import config
            from distributed import CancelledError, Client, KilledWorker
            from distributed.comm.core import CommClosedError
            from distributed.scheduler import NoWorkerError
        with config.set({} if self._address else _OF_OURS), self._client(Client) as client:
            yield client, (KilledWorker, NoWorkerError, CancelledError, CommClosedError)

    def _client(
        self, connect: Callable[..., AbstractContextManager[DaskClient]]
    ) -> AbstractContextManager[DaskClient]:
        if self._address is None:
            return connect(
                threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0",
                set_as_default=False,
            )
        try:
            return connect(self._address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            text = str(error) or type(error).__name__
            raise Unreachable(
                f"{SETTING}: no Dask scheduler answers at {self._address!r} ({text[:200]}); start it, or "
                "correct the address (tcp://host:8786)"
            ) from None


@dataclass(frozen=True, slots=True)
class _Awaited:
    """A result of a cluster. Its scheduler keeps work for which there is no worker, for ever and silently."""

    future: DaskFuture
    client: DaskClient

    def done(self) -> bool:
        return bool(self.future.done())

    def result(self) -> object:
        """Raises Unreachable where there is nobody to do the work."""
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
            address, moment = self.client.scheduler.address, time.monotonic()
            alone = alone or moment
            if moment - alone >= _NO_WORKERS:
                raise Unreachable(
                    f"{SETTING}: the Dask scheduler at {address} has had no worker for {_NO_WORKERS} "
                    f"seconds; start some (dask worker {address}), and run again: what is done is kept"
                )
            _log.warning("the Dask scheduler at %s has no worker; work waits until one comes", address)


RAY_NEED = f"{SETTING}: clusters of Ray"
_RAY_PATIENCE = 15    # seconds until the head node has to answer


class RayReference(Protocol):
    """What Ray calls the result of one piece of work that is on its way."""

    def future(self) -> Promised[object]: ...


class Ray(Kind):
    """Workers of a Ray cluster: the one at the given address, else one started on this machine for as long
    as it is needed. Raises Unreachable where none answers or starts."""

    word = "ray"

    def __init__(self, runner: Runner) -> None:
        self._address = runner.address

    @contextmanager
    def started(self) -> Iterator[Started]:
        with self._cluster() as (ray, lost):
            refs: list[RayReference] = []

            def submit(function: object, *arguments: object) -> Promised[object]:
                # a worker that dies is replaced three times; pieces are safe to repeat
                refs.append(ray.remote(max_retries=3)(function).remote(*arguments))
                return refs[-1].future()

            try:
                yield Started(submit, lost)
            finally:
                for ref in refs:
                    ray.cancel(ref)

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner]:
        with needs(self.word, RAY_NEED):
            from prefect_ray import RayTaskRunner
        with self._cluster() as (_, lost), RayTaskRunner() as runner:    # it uses the cluster that is there
            yield TaskRunner(runner, lost, lambda future: future.wrapped_future.future().done())

    @contextmanager
    def _cluster(self) -> Iterator[tuple[ModuleType, tuple[type[BaseException], ...]]]:
        """The library, connected to the cluster, and what says that a worker died."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # work that asks for no graphics card is left alone, as later versions of Ray do
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        with needs(self.word, RAY_NEED):
            import ray
        ours = not ray.is_initialized()
        if ours:
            self._connect(ray)
        try:
            yield ray, (ray.exceptions.RaySystemError, ray.exceptions.WorkerCrashedError)
        finally:
            if ours:
                ray.shutdown()

    def _start(self, ray: ModuleType) -> None:
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

    def _connect(self, ray: ModuleType) -> None:
        if self._address is None:
            self._start(ray)
            return
        try:
            _refuse_unreachable(self._address)
            ray.init(address=self._address, log_to_driver=False, configure_logging=False)
        except (OSError, ValueError, RuntimeError) as error:
            text = (str(error) or type(error).__name__).splitlines()[0]
            raise Unreachable(
                f"{SETTING}: no Ray cluster answers at {self._address!r} ({text[:200]}); start it, or "
                "correct the address (host:6379, or ray://host:10001)"
            ) from None


def _refuse_unreachable(address: str) -> None:
    """Raise OSError or ValueError where nobody listens: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:        # `auto` means the cluster of this machine
        create_connection((host, int(port)), _RAY_PATIENCE).close()
