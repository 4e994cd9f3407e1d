"""Effects: calls that change the world or may fail because it is away.

A function marked with `effect` is called like any other. Inside a Prefect flow each call is a Prefect task,
with its name in the UI and Prefect's retries; anywhere else (the command line, tests, inside another task) it
is a plain call with the same retries by tenacity. Either way:

- only errors that mean "away, try again" are retried (`Unreachable`), with jitter;
- an effect that must not be repeated blindly says `retries=0`: posting to a desk does;
- nothing is cached and no result is stored: the ledger is the record (`cache_policy=NO_CACHE`,
  `persist_result=False`);
- every attempt can be followed from outside, in the log that `tasks.effects.log` writes.

The arguments travel to the task inside one opaque value. Prefect would otherwise walk through every store
and every list of items looking for futures, and show them, and it has no business with a desk's token.

Prefect is never imported from here unless somebody else has: `assay status` should not cost two seconds.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_exponential_jitter

from assay.evalcore.errors import Unreachable
from assay.tasks.effects.log import logged

RETRIES = 3
FIRST_WAIT = 0.5    # seconds before the first retry; doubled for each further one, with jitter
LONGEST_WAIT = 20.0

P = ParamSpec("P")
T = TypeVar("T")


class _Call:
    """The arguments of one call, hidden from whoever looks into a task's parameters."""

    __slots__ = ("named", "positional")   # no dataclass: Prefect looks into those

    def __init__(self, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.positional = positional
        self.named = named

    def __repr__(self) -> str:
        return "(not shown)"


def effect(name: str, retries: int = RETRIES) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Mark a function as an effect; `name` is what the Prefect UI calls it."""

    def decorate(plain: Callable[P, T]) -> Callable[P, T]:
        function = logged(name, plain)

        @functools.wraps(plain)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            if not in_flow_run():
                return _with_retries(retries)(function, *args, **kwargs)
            task = _as_task(function, name, retries)
            result: T = task(_Call(args, kwargs))
            return result

        return call

    return decorate


def retried(function: Callable[P, T]) -> Callable[P, T]:
    """For reads too small and too many to be worth a line in the UI: the same retries, never a task."""
    once = logged(getattr(function, "__name__", "call").strip("_").replace("_", "-"), function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return _with_retries(RETRIES)(once, *args, **kwargs)

    return call


def in_flow_run() -> bool:
    """Whether this code runs directly in a Prefect flow run (and not in a task of one)."""
    if "prefect.context" not in sys.modules:
        return False
    from prefect.context import FlowRunContext, TaskRunContext

    return FlowRunContext.get() is not None and TaskRunContext.get() is None


def _with_retries(retries: int) -> Retrying:
    return Retrying(
        retry=retry_if_exception_type(Unreachable),
        stop=stop_after_attempt(retries + 1),
        wait=wait_exponential_jitter(initial=FIRST_WAIT, max=LONGEST_WAIT, jitter=FIRST_WAIT),
        reraise=True,
    )


@functools.cache
def _as_task(function: Callable[..., Any], name: str, retries: int) -> Any:
    from prefect import task
    from prefect.cache_policies import NO_CACHE
    from prefect.tasks import exponential_backoff

    def run(arguments: _Call) -> Any:
        return function(*arguments.positional, **arguments.named)

    run.__name__, run.__qualname__ = function.__name__, function.__qualname__
    run.__module__, run.__doc__ = function.__module__, function.__doc__
    return task(
        name=name,
        retries=retries,
        retry_delay_seconds=exponential_backoff(FIRST_WAIT) if retries else None,
        retry_jitter_factor=1.0 if retries else None,
        retry_condition_fn=_is_retried,
        cache_policy=NO_CACHE,
        persist_result=False,
    )(run)


def _is_retried(_task: Any, _run: Any, state: Any) -> bool:
    try:
        state.result()
    except Unreachable:
        return True
    except BaseException:
        return False
    return False
