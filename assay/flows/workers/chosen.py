"""Which workers are asked for: threads and processes of this machine, tasks of Prefect, or a cluster. Nothing
is imported or started until a pool needs them.
"""

import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from contextvars import Context, copy_context
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TYPE_CHECKING

import pyarrow as pa

from assay.evalcore.errors import BadInput, needs
from assay.flows.workers.clusters import Dask, Ray
from assay.flows.workers.mapped import Kind, OnWorkers, Promised, Started, TaskRunner, Workers
from assay.tasks.operating_system import keep_freed_memory
from assay.tasks.pool.shards import MapOver, one_after_the_other
from assay.tasks.settings import SERIAL, SETTING, Runner, read_runner

if TYPE_CHECKING:
    from concurrent.futures import Future

    from prefect.futures import PrefectFuture, PrefectWrappedFuture


class Threads(Kind):
    """Threads of this process: they share its memory, and take turns where Python is at work."""

    word = "threads"
    other_processes = False

    def __init__(self, runner: Runner) -> None:
        self._number = runner.workers or os.cpu_count() or 1

    @contextmanager
    def started(self) -> Iterator[Started]:
        pool = ThreadPoolExecutor(self._number, thread_name_prefix="freeze")
        try:
            yield Started(pool.submit, ())
        finally:
            pool.shutdown(cancel_futures=True)

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner]:
        from prefect.task_runners import ThreadPoolTaskRunner

        runner: ThreadPoolTaskRunner[object] = ThreadPoolTaskRunner(self._number)
        with runner:
            yield TaskRunner(runner, (), _done)


class Processes(Kind):
    """New processes of this machine, each with memory of its own."""

    word = "processes"

    def __init__(self, runner: Runner) -> None:
        self._number = runner.workers or os.cpu_count() or 1

    @contextmanager
    def started(self) -> Iterator[Started]:
        # fork would copy threads that hold locks: those of Arrow, and of boto3
        pool = ProcessPoolExecutor(
            self._number, mp_context=get_context("spawn"), initializer=_in_worker
        )
        try:
            yield Started(pool.submit, (BrokenProcessPool,))
        finally:
            pool.shutdown(cancel_futures=True)

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner]:
        from prefect.task_runners import ProcessPoolTaskRunner

        with ProcessPoolTaskRunner(self._number, initializer=_in_worker) as runner:
            yield TaskRunner(runner, (BrokenProcessPool,), _done)


def _done(future: "PrefectWrappedFuture[object, Future[object]]") -> bool:
    return bool(future.wrapped_future.done())


def _in_worker() -> None:
    """Ctrl-C is for the process that waits for us; if that one is killed, nobody needs us any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()
    pa.set_memory_pool(pa.system_memory_pool())     # what Arrow frees is used again too
    Thread(target=_until_alone, daemon=True).start()


def _until_alone() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class Prefect(Workers):
    """Workers that run every shard as a task of Prefect, on threads, processes or a cluster of the kind they
    are made with. They need the API of a Prefect server, and raise BadInput without it.

    Shards as tasks of Prefect, on one of its task runners: its pages show each of them.

    Every step of a task is told to the API of Prefect, so there has to be one. Without it each process would
    start a temporary server of its own.

    A task is given one value that Prefect does not look into, and knows which flow run it belongs to. The
    arguments of that flow and of the task `freeze-pool` stay where they are: a frame may be among them, or a
    token.
    """

    word = "prefect"

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.other_processes = kind.other_processes  # type: ignore[misc]

    @contextmanager
    def started(self) -> Iterator[Started]:
        with needs("service", f"{SETTING}: tasks of Prefect"):
            from prefect import task
            from prefect.cache_policies import NO_CACHE
            from prefect.settings import PREFECT_API_URL

        if not PREFECT_API_URL.value():
            raise BadInput(
                f"{SETTING}: prefect:{self._kind.word} needs the API of a Prefect server, and "
                f"PREFECT_API_URL is not set; set it, or leave Prefect out: {self._kind.word}"
            )
        context = _of_the_flow_run()
        with self._kind.task_runner() as started:

            def submit(function: Callable[..., object], work: object, piece: object) -> Promised[object]:
                name = _name(work)
                run = task(
                    name=name, task_run_name=f"{name}-{getattr(piece, 'number', '')}".strip("-"), retries=0,
                    cache_policy=NO_CACHE, persist_result=False,
                )(_do)
                arguments = {"piece": _Piece(function, work, piece)}
                return _Future(context.run(started.runner.submit, run, arguments), started)

            yield Started(submit, started.lost)


class _Piece:
    """A function and its arguments, hidden from whoever looks into a task's parameters."""

    __slots__ = ("function", "given")   # no dataclass: Prefect looks into those

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self.function, self.given = function, arguments

    def __repr__(self) -> str:
        return "(not shown)"


class _Future:
    """A future of Prefect, as the others are."""

    def __init__(self, future: "PrefectFuture[object]", runner: TaskRunner) -> None:
        self._future, self._runner = future, runner

    def result(self) -> object:
        return self._future.result()

    def done(self) -> bool:
        return self._runner.done(self._future)


def _do(piece: _Piece) -> object:
    return piece.function(*piece.given)


def _name(work: object) -> str:
    """`freeze-shard`, of FreezeShard."""
    name = getattr(work, "__name__", type(work).__name__).strip("_")
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", "-", name).lower()


def _of_the_flow_run() -> Context:
    """What tasks inherit: the flow run, without its parameters and without the task that is at work here."""
    from prefect.context import FlowRunContext, TaskRunContext

    def leave_out() -> None:
        TaskRunContext.__var__.set(None)  # type: ignore[arg-type]
        flow_run = FlowRunContext.get()
        if flow_run is not None:
            FlowRunContext.__var__.set(flow_run.model_copy(update={"parameters": {}}))

    context = copy_context()
    context.run(leave_out)
    return context


KINDS: dict[str, type[Kind]] = {kind.word: kind for kind in (Threads, Processes, Dask, Ray)}


@contextmanager
def chosen_workers(setting: str) -> Iterator[MapOver]:
    """A context whose value maps work over pieces as the setting says: one after the other, on threads, on
    processes, through Prefect or on a cluster. Workers end with the context. Raises BadInput for a
    setting that means nothing."""
    runner = read_runner(setting)
    if runner.word == SERIAL:
        yield one_after_the_other
        return
    with closing(OnWorkers(_workers(runner))) as map_over:
        yield map_over


def _workers(runner: Runner) -> Workers:
    kind = KINDS[runner.word](runner)
    return Prefect(kind) if runner.in_prefect else kind
