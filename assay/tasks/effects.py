"""Effects: calls that change the world or may fail because it is away.

A function marked with `effect` is called like any other, and tried again while store or desk is away. What
people look at one by one in Prefect says what it is called there (`shown`): inside a flow the whole of it,
retries included, is one Prefect task of that name, and a window of a monitor is a run of its own
(`as_subflow`). Everything else, and everything anywhere else (the command line, tests, inside another task),
is a plain call. Either way:

- only errors that mean "away, try again" are retried (`Unreachable`), with jitter;
- an effect that must not be repeated blindly says `retries=0`: posting to a desk does;
- a retry is a line in the log, which Prefect shows with the run;
- every attempt can be followed from outside, in the log below;
- Prefect itself repeats nothing, caches nothing and stores no result: the ledger is the record.

The arguments travel to the task inside one opaque value. Prefect would otherwise walk through every store
and every list of items looking for futures, and show them, and it has no business with a desk's token.

Prefect is never imported from here unless somebody else has: `assay status` should not cost two seconds.
"""

import functools
import logging
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from assay.evalcore.errors import Unreachable
from assay.tasks.operating_system import NOT_INHERITED, NOT_WAITING

if TYPE_CHECKING:   # imported when a call has failed
    from tenacity import RetryCallState, Retrying


def retrying(
    expected: type[Exception], attempts: int, wait: "Callable[[RetryCallState], float] | None" = None
) -> "Retrying":
    """Call it with a function and its arguments: they are called up to `attempts` times.

    expected   the error after which a call is made again; any other is raised at once, and so is the last
    wait       pauses; unless given, random ones of up to 0.05 s, then twice as long each time, up to 2 s
    """
    from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

    return Retrying(
        retry=retry_if_exception_type(expected),
        stop=stop_after_attempt(attempts),
        wait=wait or wait_random_exponential(multiplier=0.05, max=2),
        reraise=True,
    )


RETRIES = 3   # of an effect that fails, where nothing else is said
FIRST_WAIT = 0.5    # seconds before the first retry; doubled for each further one, with jitter
LONGEST_WAIT = 20.0   # seconds before a further retry

_log = logging.getLogger("assay.effects")
P = ParamSpec("P")
T = TypeVar("T")


class _Call:
    """The arguments of one call, hidden from whoever looks into a task's parameters."""

    __slots__ = ("named", "positional")   # no dataclass: Prefect looks into those

    def __init__(self, positional: tuple[object, ...], keywords: dict[str, object]) -> None:
        self.positional = positional
        self.named = keywords

    def __repr__(self) -> str:
        return "(not shown)"


def effect(
    name: str, retries: int = RETRIES, shown: Callable[..., str] | None = None
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a function as an effect.

    name    what the log of effects calls it, and Prefect its task
    shown   of the arguments of a call: what Prefect's page calls the task run, such as `ask spam, round 2`;
            None: nobody looks at it by itself, and it is no task run
    """

    def decorate(plain: Callable[P, T]) -> Callable[P, T]:
        function = _tried_again(name, plain, retries)

        @functools.wraps(plain)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            if shown is None or not in_flow_run():
                return function(*args, **kwargs)
            task = _as_task(function, name).with_options(task_run_name=_plain(shown(*args, **kwargs)))
            result: T = task(_Call(args, kwargs))
            return result

        return call

    return decorate


def as_subflow(flow_name: str, label: str, work: Callable[[], T]) -> T:
    """Do the work; inside a flow run as a run below it, which Prefect's page calls `label`."""
    if not in_flow_run():
        return work()
    from prefect import flow
    from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    def run() -> T:
        return work()

    # the run above it sends heartbeats, and to end a second thread of them takes a second a run
    with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
        result: T = flow(
            name=flow_name, flow_run_name=_plain(label), persist_result=False, validate_parameters=False
        )(run)()
    return result


def _plain(label: str) -> str:
    """A label that Prefect takes as it is: it fills in what stands in braces."""
    return label.replace("{", "(").replace("}", ")")


def retried(function: Callable[P, T]) -> Callable[P, T]:
    """For reads too small and too many to be worth a line in the UI: the same retries, never a task."""
    name = getattr(function, "__name__", "call").strip("_").replace("_", "-")
    return _tried_again(name, function, RETRIES)


def in_flow_run() -> bool:
    """Whether this code runs directly in a Prefect flow run (and not in a task of one)."""
    if "prefect.context" not in sys.modules:
        return False
    from prefect.context import FlowRunContext, TaskRunContext

    return FlowRunContext.get() is not None and TaskRunContext.get() is None


def flow_run_id() -> str:
    """The id of the Prefect flow run that this code is a part of, in whatever thread; nothing elsewhere."""
    if "prefect.context" in sys.modules:
        from prefect.context import FlowRunContext, TaskRunContext

        of_flow, of_task = FlowRunContext.get(), TaskRunContext.get()
        if of_flow is not None and of_flow.flow_run is not None:
            return str(of_flow.flow_run.id)
        if of_task is not None and of_task.task_run.flow_run_id is not None:
            return str(of_task.task_run.flow_run_id)
    return os.environ.get("PREFECT__FLOW_RUN_ID", "")   # which workers set for the process of a run


def _tried_again(name: str, function: Callable[P, T], retries: int) -> Callable[P, T]:
    """The function with its retries, every attempt in the effect log under this name."""
    once = logged(name, function)

    def tell(state: "RetryCallState") -> None:
        error = state.outcome.exception() if state.outcome else None
        _log.warning("%s: %s; trying again in %.1f s", name, error, state.upcoming_sleep)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return once(*args, **kwargs)
        except Unreachable as error:
            return again(error, *args, **kwargs)

    def again(error: Unreachable, /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The attempts after the first, which ended with this error."""
        from tenacity import wait_exponential_jitter

        failed = [error]

        def attempt() -> T:
            if failed:
                raise failed.pop()
            return once(*args, **kwargs)

        wait = wait_exponential_jitter(initial=FIRST_WAIT, max=LONGEST_WAIT, jitter=FIRST_WAIT)
        return retrying(Unreachable, retries + 1, wait).copy(before_sleep=tell)(attempt)

    return call


@functools.cache
def _as_task(function: Callable[..., object], name: str) -> Any:
    from prefect import task
    from prefect.cache_policies import NO_CACHE

    def run(arguments: _Call) -> object:
        return function(*arguments.positional, **arguments.named)

    run.__name__, run.__qualname__ = function.__name__, function.__qualname__
    run.__module__, run.__doc__ = function.__module__, function.__doc__
    return task(name=name, retries=0, cache_policy=NO_CACHE, persist_result=False)(run)


VARIABLE = "ASSAY_EFFECT_LOG"
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOT_WAITING | NOT_INHERITED   # a pipe may have no reader


def logged(name: str, function: Callable[P, T]) -> Callable[P, T]:
    """The function, with a line before and after every call while the log is on.

    The effect log: which effects a process is in, written as they begin and end, for after a crash.

    Off unless ASSAY_EFFECT_LOG names a file or a named pipe. Then every effect appends a line when it begins
    and one when it has ended, well or not:

        + 4711 write-plan
        - 4711 write-plan

    A process that is killed inside an effect leaves a + without its -. Only names are written, never
    arguments. The log is no part of the record: where it cannot be written, nothing else changes.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        path = os.environ.get(VARIABLE)
        if not path:
            return function(*args, **kwargs)
        _append(path, f"+ {os.getpid()} {name}\n")
        try:
            return function(*args, **kwargs)
        finally:
            _append(path, f"- {os.getpid()} {name}\n")

    return call


def _append(path: str, line: str) -> None:
    """One line in one write: lines of several processes do not mix."""
    with suppress(OSError):
        log = os.open(path, _FLAGS, 0o600)
        try:
            os.write(log, line.encode())
        finally:
            os.close(log)
