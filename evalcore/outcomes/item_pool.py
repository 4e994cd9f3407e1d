"""The items of a pool, as far as a cut asks for them: in shards, one after the other or on several workers.

A cut needs little of all items together: sums, and scores in rank order.  `ItemPool` is that much and no
more, so that a cut can be made of items that nobody holds together.  Work on a shard is a function that can
be pickled, such as a dataclass that can be called.  What it returns comes in the order of the shards, so
sums have the same bits whoever does which shard, and whoever ends first.
"""

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from assay.evalcore.outcomes.items import Items

B = TypeVar("B")


class ItemPool(Protocol):
    """N items in shards."""

    def __len__(self) -> int:
        """N."""
        ...

    @property
    def n_shards(self) -> int:
        """How many shards there are; one where all items are in memory."""
        ...

    @property
    def none(self) -> Items:
        """No item, with the columns that the items have."""
        ...

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        """What the work makes of the items of each shard, in the order of the shards."""
        ...


class OneShard:
    """An `ItemPool` of items in memory."""

    n_shards = 1

    def __init__(self, items: Items) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    @property
    def none(self) -> Items:
        """See ItemPool.none."""
        return self.items.at(slice(0, 0))

    def over(self, work: Callable[[Items], B]) -> Iterator[B]:
        """See ItemPool.over."""
        yield work(self.items)
