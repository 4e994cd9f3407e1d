"""How the same work is done for every shard of a pool: here one after the other, elsewhere on workers."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class MapOver(Protocol):
    """Does `work` for each of `over`; the results come in the order of `over`, whatever ends first.

    `work`, what it is given and what it returns are pickled where other processes do the work: a function of
    a module or a dataclass that can be called, paths and small results. It may run more than once for the
    same shard, so it has to be safe to repeat.
    """

    def __call__(self, work: Callable[[A], B], over: Sequence[A]) -> Iterator[B]:
        """Raises what `work` raises, of the first shard that fails."""
        ...


def one_after_the_other(work: Callable[[A], B], over: Sequence[A]) -> Iterator[B]:
    """In this process: a `MapOver`."""
    return map(work, over)


@contextmanager
def stopping(results: Iterator[B]) -> Iterator[Iterator[B]]:
    """The results of a `MapOver`; whoever goes away before the last one sends the workers home."""
    try:
        yield results
    finally:
        if isinstance(results, Generator):
            results.close()
