"""Answers of coroutine functions, awaited together."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from inspect import isawaitable
from typing import Any


def awaited(labels: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The answers by item, those that a coroutine function gives among them: all are awaited at once."""
    pending = {item: label for item, label in labels.items() if isawaitable(label)}
    if not pending:
        return labels

    async def of_all() -> list[Any]:
        return await asyncio.gather(*pending.values())

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        answers = asyncio.run(of_all())
    else:       # as in a notebook, whose own loop runs this
        with ThreadPoolExecutor(1) as thread:
            answers = thread.submit(asyncio.run, of_all()).result()
    return {**labels, **dict(zip(pending, answers, strict=True))}
