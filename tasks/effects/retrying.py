"""The one way to try a call again: for the errors that say it may help, with growing random pauses."""

from collections.abc import Callable

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_random_exponential,
)

Wait = Callable[[RetryCallState], float]
_SHORT = wait_random_exponential(multiplier=0.05, max=2)


def retrying(expected: type[Exception], attempts: int, wait: Wait = _SHORT) -> Retrying:
    """Call it with a function and its arguments: they are called up to `attempts` times.

    expected   the error after which a call is made again; any other is raised at once, and so is the last
    wait       pauses; unless given, random ones of up to 0.05 s, then twice as long each time, up to 2 s
    """
    return Retrying(
        retry=retry_if_exception_type(expected),
        stop=stop_after_attempt(attempts),
        wait=wait,
        reraise=True,
    )
