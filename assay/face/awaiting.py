"""Answers of coroutine functions, awaited together: in a loop of their own, or in that of the caller."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from inspect import isawaitable, iscoroutine

MOST_AT_ONCE = 16   # answers awaited together, where an argument does not say how many


async def await_limited(
    pending: Sequence[Awaitable[object]], most_at_once: int = MOST_AT_ONCE
) -> list[object]:
    """All answers in their order, of which `most_at_once` are awaited at once. Where one fails, the others
    are cancelled, and what it raised is raised."""
    free = asyncio.Semaphore(most_at_once)

    async def answer_of(answer: Awaitable[object]) -> object:
        async with free:
            return await answer

    tasks = [asyncio.ensure_future(answer_of(answer)) for answer in pending]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for answer in filter(iscoroutine, pending):
            answer.close()      # of those that nothing waited for yet


class CallersLoop:
    """The event loop of a caller, which awaits what a thread asks for, so many answers at once."""

    def __init__(self, most_at_once: int) -> None:
        """To be made in that loop."""
        self._loop, self._most = asyncio.get_running_loop(), most_at_once
        self._ended = False
        self._answers: Future[list[object]] | None = None

    def all_of(self, pending: Sequence[Awaitable[object]]) -> list[object]:
        """The answers, for a thread that waits for them. Raises CancelledError once the caller has gone."""
        if self._ended:
            for answer in filter(iscoroutine, pending):
                answer.close()
            raise asyncio.CancelledError
        if not pending:
            return []
        self._answers = asyncio.run_coroutine_threadsafe(await_limited(pending, self._most), self._loop)
        return self._answers.result()

    def end(self) -> None:
        """Cancel what is awaited, now and from now on."""
        self._ended = True
        if self._answers is not None:
            self._answers.cancel()


CALLERS_LOOP: ContextVar[CallersLoop | None] = ContextVar("callers_loop", default=None)


def awaited(labels: Mapping[object, object]) -> Mapping[object, object]:
    """The answers by item, those that a coroutine function gives among them, of which so many are awaited at
    once (16, or as `aevaluate` says, in whose loop they are awaited then)."""
    pending = {item: label for item, label in labels.items() if isawaitable(label)}
    return {**labels, **dict(zip(pending, _answers_of(list(pending.values())), strict=True))}


def _answers_of(pending: Sequence[Awaitable[object]]) -> list[object]:
    loop = CALLERS_LOOP.get()
    if loop is not None:
        return loop.all_of(pending)
    if not pending:
        return []
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(await_limited(pending))
    with ThreadPoolExecutor(1) as thread:       # as in a notebook, whose own loop runs this
        return thread.submit(asyncio.run, await_limited(pending)).result()
