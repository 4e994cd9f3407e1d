"""Answers of coroutine functions, awaited together: in a loop of their own, or in the caller's."""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isawaitable, iscoroutine
from typing import Any


def awaited(answers: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The answers by item, those that a coroutine function gives among them: all are awaited at once, or in
    the caller's loop (`CallersLoop`), as many at once as it was asked for.

    Raises CancelledError where the caller has given up.
    """
    pending = {item: answer for item, answer in answers.items() if isawaitable(answer)}
    callers = _CALLERS.get()
    if callers is not None and callers.ended:
        _close(pending.values())
        raise CancelledError
    if not pending:
        return answers
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        replies = callers.from_thread(pending) if callers is not None else asyncio.run(_of_all(pending))
    else:       # as in a notebook, whose own loop runs this
        with ThreadPoolExecutor(1) as thread:
            replies = thread.submit(asyncio.run, _of_all(pending)).result()
    return {**answers, **replies}


async def _of_all(pending: Mapping[Any, Any]) -> dict[Any, Any]:
    return dict(zip(pending, await asyncio.gather(*pending.values()), strict=True))


def _close(answers: Any) -> None:
    """Coroutines that nothing waits for any more."""
    for answer in filter(iscoroutine, answers):
        answer.close()


class CallersLoop:
    """The event loop of whoever calls `aevaluate`, in which coroutines are awaited, at most so many at once,
    while the evaluation itself runs in threads."""

    def __init__(self, concurrency: int) -> None:
        """Of the loop that runs now."""
        self._loop, self._free = asyncio.get_running_loop(), asyncio.Semaphore(concurrency)
        self.ended = False

    async def all(self, answers: Mapping[Any, Any]) -> dict[Any, Any]:
        """The answers by item; what one raises ends all, and those that are awaited then are cancelled."""
        tasks = [asyncio.ensure_future(self._one(answer)) for answer in answers.values()]
        try:
            return dict(zip(answers, await asyncio.gather(*tasks), strict=True))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            _close(answers.values())     # of those that nothing waited for yet

    async def _one(self, answer: object) -> Any:
        async with self._free:
            return await answer if isawaitable(answer) else answer

    def from_thread(self, answers: Mapping[Any, Any]) -> dict[Any, Any]:
        """The same, for a thread that waits for it."""
        return asyncio.run_coroutine_threadsafe(self.all(answers), self._loop).result()

    @contextmanager
    def of_threads(self) -> Iterator[None]:
        """Within this, what `awaited` is given in threads of the caller is awaited in this loop."""
        before = _CALLERS.set(self)
        try:
            yield
        finally:
            self.ended = True
            _CALLERS.reset(before)


_CALLERS: ContextVar[CallersLoop | None] = ContextVar("the loop of whoever calls", default=None)
