"""Items added up by group and score: all that a cut of groups by score needs to know of them.

    G    different pairs of a group and a score, rising by group and then by score; -0.0 is 0.0
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from assay.evalcore.types import Array, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Keys:
    """Pairs of a group and a score."""

    group: Ints      # (G,)
    score: Floats    # (G,)

    def __len__(self) -> int:
        return len(self.group)

    def up_to(self, group: Ints, score: Floats) -> Ints:
        """How many of the keys (k,) are not above each pair of these groups and scores (k,)."""
        found: Ints = np.zeros(len(group), np.int64)
        for one in np.unique(group).tolist():
            first, end = np.searchsorted(self.group, [one, one + 1])
            here = group == one
            found[here] = first + np.searchsorted(self.score[first:end], score[here], side="right")
        return found

    @property
    def last(self) -> Array:
        """(G,) whether a key is the last of its group."""
        return np.asarray(np.diff(self.group, append=-1) != 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally(Keys):
    """What items of each pair come to."""

    items: Ints      # (G,)
    weight: Floats   # (G,) sum of their weights, in the order of the items
    first: Floats    # (G,) the weight of the first item

    @property
    def sums(self) -> Floats:
        """(G + 1, 2) items and weight below each key, and at the end of all."""
        return np.concatenate([
            np.zeros((1, 2)), np.cumsum(np.stack([self.items, self.weight], axis=1), axis=0, dtype=np.float64)
        ])

    def at(self, which: Array) -> "Tally":
        """These pairs alone."""
        return Tally(**{f.name: getattr(self, f.name)[which] for f in fields(self)})


def tally(group: Ints, score: Floats, weight: Floats) -> Tally:
    """Of some items; each (n,), at least one item."""
    return _added(Tally(
        group=group, score=score + 0.0, items=np.ones(len(group), np.int64), weight=weight, first=weight
    ))


def together(tallies: Sequence[Tally]) -> Tally:
    """Of the items of all; those of the first come first."""
    return _added(Tally(**{
        f.name: np.concatenate([getattr(one, f.name) for one in tallies]) for f in fields(Tally)
    }))


def _added(found: Tally) -> Tally:
    """With the same pairs put together."""
    if not len(found):
        return found
    order = np.lexsort((found.score, found.group))    # stable: of alike pairs the first one stays first
    found = found.at(order)
    new = (np.diff(found.group, prepend=-1) != 0) | (np.diff(found.score, prepend=np.nan) != 0)
    starts = np.flatnonzero(new)
    return Tally(
        group=found.group[starts], score=found.score[starts], items=np.add.reduceat(found.items, starts),
        weight=np.add.reduceat(found.weight, starts), first=found.first[starts],
    )
