"""A pool with the measures that are asked of it, while it is cut into cells."""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.item_pool import ItemPool, OneShard
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.ordered_scores import OrderedScores, ScoresInMemory
from assay.evalcore.types import Floats, Ints

B = TypeVar("B")


class MeasuredPool(ItemPool, Protocol):
    """An `ItemPool` with measures.  Work is what `ItemPool` says; measures are not pickled with it."""

    @property
    def stack(self) -> Stack:
        """The measures."""
        ...

    def measured(self, work: Callable[[Stack, Items], B]) -> Iterator[B]:
        """What the work makes of each shard, in the order of the shards."""
        ...

    def in_first(self, work: Callable[[Stack, Items], B]) -> B:
        """What it makes of the first shard alone."""
        ...

    def each(self, works: list[Callable[[Stack, Items], B]]) -> Iterator[B]:
        """The same with a piece of work for each shard."""
        ...

    def placed(self, work: Callable[[Stack, Items], tuple[Ints, B]], n_cells: int) -> Iterator[B]:
        """The same; the work gives the cell (n,) of each item beside, which is kept for the pool."""
        ...

    def ordered(self, number: Callable[[Stack, Items], Floats]) -> OrderedScores:
        """A number (n,) of each item, over the pool in rank order."""
        ...


class MeasuredItems(OneShard):
    """A `MeasuredPool` of items in memory."""

    def __init__(self, stack: Stack, items: Items) -> None:
        super().__init__(items)
        self.stack = stack
        self.cell: Ints = np.zeros(0, np.int64)   # (N,) of each item, when they are placed

    def measured(self, work: Callable[[Stack, Items], B]) -> Iterator[B]:
        """See MeasuredPool.measured."""
        yield work(self.stack, self.items)

    def in_first(self, work: Callable[[Stack, Items], B]) -> B:
        """See MeasuredPool.in_first."""
        return work(self.stack, self.items)

    def each(self, works: list[Callable[[Stack, Items], B]]) -> Iterator[B]:
        """See MeasuredPool.each."""
        yield works[0](self.stack, self.items)

    def placed(self, work: Callable[[Stack, Items], tuple[Ints, B]], n_cells: int) -> Iterator[B]:
        """See MeasuredPool.placed."""
        self.cell, found = work(self.stack, self.items)
        yield found

    def ordered(self, number: Callable[[Stack, Items], Floats]) -> OrderedScores:
        """See MeasuredPool.ordered."""
        return ScoresInMemory(number(self.stack, self.items))
