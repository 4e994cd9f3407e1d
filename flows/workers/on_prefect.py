"""Shards as tasks of Prefect, on one of its task runners: its pages show each of them.

Every step of a task is told to the API of Prefect, so there has to be one. Without it each process would
start a temporary server of its own.

A task is given one value that Prefect does not look into, and knows which flow run it belongs to. The
arguments of that flow and of the task `freeze-pool` stay where they are: a frame may be among them, or a
token.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from typing import Any

from assay.evalcore.errors import BadInput, needs
from assay.flows.workers.protocol import Kind, Promised, Started, TaskRunner, Workers
from assay.tasks.freeze_runner import SETTING


class Prefect(Workers):
    """See the top of this module."""

    word = "prefect"

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.other_processes = kind.other_processes  # type: ignore[misc]

    @contextmanager
    def started(self) -> Iterator[Started]:
        """See Workers.started."""
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

            def submit(function: Callable[..., Any], work: Any, one: Any) -> Promised:
                name = _name(work)
                run = task(
                    name=name, task_run_name=f"{name}-{getattr(one, 'number', '')}".strip("-"), retries=0,
                    cache_policy=NO_CACHE, persist_result=False,
                )(_do)
                given = {"piece": _Piece(function, work, one)}
                return _Future(context.run(started.runner.submit, run, given), started)

            yield Started(submit, started.lost)


class _Piece:
    """A function and its arguments, hidden from whoever looks into a task's parameters."""

    __slots__ = ("function", "given")   # no dataclass: Prefect looks into those

    def __init__(self, function: Callable[..., Any], *given: Any) -> None:
        self.function, self.given = function, given

    def __repr__(self) -> str:
        return "(not shown)"


class _Future:
    """A future of Prefect, as the others are."""

    def __init__(self, future: Any, runner: TaskRunner) -> None:
        self._future, self._runner = future, runner

    def result(self) -> Any:
        """See Promised.result."""
        return self._future.result()

    def done(self) -> bool:
        """See Promised.done."""
        return self._runner.done(self._future)


def _do(piece: _Piece) -> Any:
    return piece.function(*piece.given)


def _name(work: Any) -> str:
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
