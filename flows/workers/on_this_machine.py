"""Threads and processes of this machine."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any

from assay.flows.workers.protocol import Kind, Started, TaskRunner
from assay.tasks.freeze_runner import Runner


class Threads(Kind):
    """Threads of this process: they share its memory, and take turns where Python is at work."""

    word = "threads"
    other_processes = False

    def __init__(self, asked: Runner) -> None:
        self._number = asked.workers or os.cpu_count() or 1

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
        pool = ThreadPoolExecutor(self._number, thread_name_prefix="freeze")
        try:
            yield Started(pool.submit, ())
        finally:
            pool.shutdown(cancel_futures=True)

    @contextmanager
    def task_runner(self) -> Iterator[TaskRunner]:
        """See Kind.task_runner."""
        from prefect.task_runners import ThreadPoolTaskRunner

        runner: ThreadPoolTaskRunner[Any] = ThreadPoolTaskRunner(self._number)
        with runner:
            yield TaskRunner(runner, (), _done)


class Processes(Kind):
    """New processes of this machine, each with memory of its own."""

    word = "processes"

    def __init__(self, asked: Runner) -> None:
        self._number = asked.workers or os.cpu_count() or 1

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
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
        """See Kind.task_runner."""
        from prefect.task_runners import ProcessPoolTaskRunner

        with ProcessPoolTaskRunner(self._number, initializer=_in_worker) as runner:
            yield TaskRunner(runner, (BrokenProcessPool,), _done)


def _done(future: Any) -> bool:
    return bool(future.wrapped_future.done())


def _in_worker() -> None:
    """Ctrl-C is for the process that waits for us; if that one is killed, nobody needs us any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_until_alone, daemon=True).start()


def _until_alone() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
