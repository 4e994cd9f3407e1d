"""Where groups of items are cut by score, of items that nobody holds together.

A group is cut where the cumulative weight of its items rises by equal steps, in the order of their scores.
Items of one score stay together, in the step in which the first of them lies
(`outcome_methods.cut.numbered` is the same of items in memory).  Three passes over the pool find the same
edges:

    summary     every shard tells every k-th of its pairs of a group and a score, and the last of each group
    grid        of these about GRID are chosen.  Every shard adds up its items up to each of them
    gathering   an edge lies where the steps before the last interval of the grid and after this one are
                different.  What both hold is gathered, a hundredth of all, and walked through
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import starmap

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.tallies import Keys, Tally, tally, together
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints

TOLD = 1 << 18          # pairs that all shards tell together,
LEAST_OF_SHARD = 1 << 11  # and that a shard tells at least
GRID = 1 << 16          # pairs up to which items are added up

# of the items of a shard their group, score and weight (n,), which are positive
Weighed = Callable[[Stack, Items], tuple[Ints, Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Share:
    """The share of a cut that items take, in cells: a part by weight, a part by how many they are."""

    by_weight: float   # cells that a weight of 1 takes
    by_item: float     # cells that an item takes

    def steps(self, items: Floats | Ints, weight: Floats) -> Ints:
        """(k,) whole cells that are full after so many items of this weight, within a group."""
        return np.floor(items * self.by_item + weight * self.by_weight - 1e-9).astype(np.int64)


def find_edges(pool: MeasuredPool, of: Weighed, n_cells: int, even: float) -> Keys:
    """The lowest score of each cell with its group, rising; of the first cell of a group -inf.

    even: weight of an item beside its own, in units of the mean.
    """
    most = max(TOLD // pool.n_shards, LEAST_OF_SHARD)
    told = list(pool.measured(_Summarise(of, most)))
    total = sum(weight for _, weight in told)
    each = n_cells / (1 + even)
    share = Share(by_weight=each / total, by_item=each * even / len(pool))
    grid = _grid(together([keys for keys, _ in told]))
    sums: Floats = np.zeros((len(grid), 2))
    for found in pool.measured(_AddUp(of, grid)):
        sums = sums + found
    # what lies before the group of each key, and before its interval
    starts = np.flatnonzero(np.diff(grid.group, prepend=-1))
    before = np.concatenate([np.zeros((1, 2)), sums[:-1]])
    base = np.repeat(before[starts], np.diff([*starts, len(grid)]), axis=0)
    end = share.steps(*(sums - base).T)
    # an edge needs another step than that of the first item of the score before, which may be long before
    place = np.arange(len(grid)) - np.repeat(starts, np.diff([*starts, len(grid)]))
    changed = end != np.where(place > 1, np.roll(end, 2), -1)
    wanted = np.flatnonzero(changed | (np.roll(changed, -1) & (np.roll(place, -1) > 0)))
    gathered = together(list(pool.measured(_Gather(of, grid, wanted))))
    which = grid.up_to(gathered.group, np.nextafter(gathered.score, -np.inf))   # the interval of each
    step = np.empty(len(gathered), np.int64)
    for piece in np.split(np.arange(len(gathered)), np.flatnonzero(np.diff(which)) + 1):
        interval = which[piece[0]]
        step[piece] = _steps(gathered.at(piece), before[interval] - base[interval], share)
    # where the group begins, a cell begins anyway
    new = (np.diff(step, prepend=0) != 0) & (np.diff(gathered.group, prepend=-1) == 0)
    new &= np.diff(which, prepend=-1) <= 1
    group = np.concatenate([grid.group[starts], gathered.group[new]])
    score = np.concatenate([np.full(len(starts), -np.inf), gathered.score[new]])
    order = np.lexsort((score, group))
    return Keys(group=group[order], score=score[order])


def _grid(told: Tally) -> Keys:
    """About GRID of the keys told, and the last of each group."""
    chosen = told.last
    chosen[np.linspace(0, len(told) - 1, min(GRID, len(told))).astype(np.int64)] = True
    return Keys(group=told.group[chosen], score=told.score[chosen])


def _steps(found: Tally, before: Floats, share: Share) -> Ints:
    """The step in which the first item of each pair of an interval lies; before (2,): what its group comes to
    below it."""
    items, weight = (found.sums[:-1] + before).T
    return share.steps(items + 1, weight + found.first)


@dataclass(frozen=True, slots=True)
class _Summarise:
    of: Weighed
    most: int    # pairs told of a shard, beside the last of each group

    def __call__(self, stack: Stack, items: Items) -> tuple[Tally, float]:
        found = tally(*self.of(stack, items))
        chosen = found.last
        ranks = np.arange(0, len(items), -(-len(items) // self.most))
        chosen[np.searchsorted(found.sums[1:, 0], ranks)] = True
        return found.at(chosen), float(found.weight.sum())


@dataclass(frozen=True, slots=True)
class _AddUp:
    of: Weighed
    grid: Keys

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(G, 2) items and weight up to each key."""
        found = tally(*self.of(stack, items))
        return found.sums[found.up_to(self.grid.group, self.grid.score)]


@dataclass(frozen=True, slots=True)
class _Gather:
    of: Weighed
    grid: Keys
    wanted: Ints    # intervals: above the key before, up to this key

    def __call__(self, stack: Stack, items: Items) -> Tally:
        found = tally(*self.of(stack, items))
        ends = np.concatenate([[0], found.up_to(self.grid.group, self.grid.score)])
        places = list(starmap(np.arange, zip(ends[self.wanted], ends[self.wanted + 1], strict=True)))
        return found.at(np.concatenate([np.zeros(0, np.int64), *places]))
