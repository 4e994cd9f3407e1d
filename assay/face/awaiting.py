"""Answers of coroutine functions, awaited together."""

import asyncio
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from inspect import isawaitable


def awaited(labels: Mapping[Hashable, object]) -> Mapping[Hashable, object]:
    """The answers by item, those that a coroutine function gives among them: all are awaited at once."""
    pending = {item: label for item, label in labels.items() if isawaitable(label)}
    if not pending:
        return labels

    async def of_all() -> list[object]:
        answers: list[object] = await asyncio.gather(*pending.values())
        return answers

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        answers = asyncio.run(of_all())
    else:       # as in a notebook, whose own loop runs this
        with ThreadPoolExecutor(1) as thread:
            answers = thread.submit(asyncio.run, of_all()).result()
    return {**labels, **dict(zip(pending, answers, strict=True))}
