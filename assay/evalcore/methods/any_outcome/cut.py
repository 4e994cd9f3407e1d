"""Cutting a pool into cells by how far the label of an item may move the measures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import starmap

import numpy as np

from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.measured_pool import (
    Assign,
    By,
    Expecting,
    Further,
    ItemProfile,
    MeasuredPool,
    Summed,
    summed,
)
from assay.evalcore.methods.any_outcome.state import OutcomeCells
from assay.evalcore.methods.method import Method
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.feature_strata import SAMPLE, FeatureCut
from assay.evalcore.pool.partition import without_features
from assay.evalcore.pool.strata import assign
from assay.evalcore.reproducible import steady
from assay.evalcore.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Keys:
    """Sorted pairs of a group and a score, (G,) each: the places along which a pool is cut into cells."""

    group: Ints      # (G,)
    score: Floats    # (G,)

    def __len__(self) -> int:
        return len(self.group)

    def up_to(self, group: Ints, score: Floats) -> Ints:
        """How many of the keys (k,) are not above each pair of these groups and scores (k,)."""
        counts: Ints = np.zeros(len(group), np.int64)
        for group_number in np.unique(group).tolist():
            start, end = np.searchsorted(self.group, [group_number, group_number + 1])
            in_group = group == group_number
            counts[in_group] = start + np.searchsorted(self.score[start:end], score[in_group], side="right")
        return counts

    @property
    def last(self) -> Array:
        """Whether each pair is the last one of its group, (G,)."""
        return np.asarray(np.diff(self.group, append=-1) != 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally(Keys):
    """What the items of each pair of group and score come to: how many they are, the sum of their weights,
    and the weight of the first item, (G,) each. Tallies of shards add up."""

    items: Ints      # (G,)
    weight: Floats   # (G,) sum of their weights, in the order of the items
    first_weight: Floats    # (G,) the weight of the first item

    @property
    def sums(self) -> Floats:
        """(G + 1, 2) items and weight below each key, and at the end of all."""
        return np.concatenate([
            np.zeros((1, 2)), np.cumsum(np.stack([self.items, self.weight], axis=1), axis=0, dtype=np.float64)
        ])

    def at(self, which: Array) -> "Tally":
        """The tally of the pairs at these positions alone, in their order."""
        return Tally(**{f.name: getattr(self, f.name)[which] for f in fields(self)})


def tally_scores(group: Ints, score: Floats, weight: Floats) -> Tally:
    """The tally of at least one item: pairs of group and score in rising order, each once, with the number
    of items and the sum of weights. The group, score and weight of each item are (n,)."""
    return _added(Tally(
        group=group, score=score + 0.0, items=np.ones(len(group), np.int64), weight=weight,
        first_weight=weight
    ))


def sum_of_tallies(tallies: Sequence[Tally]) -> Tally:
    """Of the items of all; those of the first come first."""
    return _added(Tally(**{
        f.name: np.concatenate([getattr(tally, f.name) for tally in tallies]) for f in fields(Tally)
    }))


def _added(tally: Tally) -> Tally:
    """With the same pairs put together."""
    if not len(tally):
        return tally
    order = np.lexsort((tally.score, tally.group))    # stable: of alike pairs the first one stays first
    tally = tally.at(order)
    new = (np.diff(tally.group, prepend=-1) != 0) | (np.diff(tally.score, prepend=np.nan) != 0)
    starts = np.flatnonzero(new)
    return Tally(
        group=tally.group[starts], score=tally.score[starts], items=np.add.reduceat(tally.items, starts),
        weight=np.add.reduceat(tally.weight, starts), first_weight=tally.first_weight[starts],
    )


TOLD_PAIRS = 1 << 18   # pairs that all shards tell together,
LEAST_OF_SHARD = 1 << 11  # and that a shard tells at least
GRID_PAIRS = 1 << 16   # pairs up to which items are added up

# of the items of a shard their group, score and weight (n,), which are positive
Weighed = Callable[[Stack, Items], tuple[Ints, Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Share:
    """The share of a cut that items take, in cells: a part by weight, a part by how many they are.

    Where groups of items are cut by score, of items that nobody holds together.

    A group is cut where the cumulative weight of its items rises by equal steps, in the order of their
    scores. Items of one score stay together, in the step in which the first of them lies (`cells_by_number`
    is the same of items in memory).  Three passes over the pool find the same edges:

        summary     every shard tells every k-th of its pairs of a group and a score, and the last of each
                    group
        grid        of these about GRID_PAIRS are chosen.  Every shard adds up its items up to each of them
        gathering   an edge lies where the steps before the last interval of the grid and after this one are
                    different.  What both hold is gathered, a hundredth of all, and walked through
    """

    by_weight: float   # cells that a weight of 1 takes
    by_item: float     # cells that an item takes

    def steps(self, items: Floats | Ints, weight: Floats) -> Ints:
        """(k,) whole cells that are full after so many items of this weight, within a group."""
        return np.floor(items * self.by_item + weight * self.by_weight - 1e-9).astype(np.int64)


def find_edges(pool: MeasuredPool, of: Weighed, n_cells: int, even: float) -> Keys:
    """The lowest score of each cell with its group, rising; of the first cell of a group -inf.

    even: weight of an item beside its own, in units of the mean.
    """
    pairs_of_shard = max(TOLD_PAIRS // pool.n_shards, LEAST_OF_SHARD)
    summaries = list(pool.measured(_Summarise(of, pairs_of_shard)))
    total = sum(weight for _, weight in summaries)
    per_cell = n_cells / (1 + even)
    share = Share(by_weight=per_cell / total, by_item=per_cell * even / len(pool))
    grid = _grid(sum_of_tallies([keys for keys, _ in summaries]))
    sums: Floats = np.zeros((len(grid), 2))
    for shard_sums in pool.measured(_AddUp(of, grid)):
        sums = sums + shard_sums
    # what lies before the group of each key, and before its interval
    starts = np.flatnonzero(np.diff(grid.group, prepend=-1))
    before = np.concatenate([np.zeros((1, 2)), sums[:-1]])
    base = np.repeat(before[starts], np.diff([*starts, len(grid)]), axis=0)
    end = share.steps(*(sums - base).T)
    # an edge needs another step than that of the first item of the score before, which may be long before
    place = np.arange(len(grid)) - np.repeat(starts, np.diff([*starts, len(grid)]))
    changed = end != np.where(place > 1, np.roll(end, 2), -1)
    intervals = np.flatnonzero(changed | (np.roll(changed, -1) & (np.roll(place, -1) > 0)))
    gathered = sum_of_tallies(list(pool.measured(_Gather(of, grid, intervals))))
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


def _grid(tally: Tally) -> Keys:
    """About GRID_PAIRS of the tallied keys, and the last of each group."""
    chosen = tally.last
    chosen[np.linspace(0, len(tally) - 1, min(GRID_PAIRS, len(tally))).astype(np.int64)] = True
    return Keys(group=tally.group[chosen], score=tally.score[chosen])


def _steps(tally: Tally, before: Floats, share: Share) -> Ints:
    """The step in which the first item of each pair of an interval lies; before (2,): what its group comes to
    below it."""
    items, weight = (tally.sums[:-1] + before).T
    return share.steps(items + 1, weight + tally.first_weight)


@dataclass(frozen=True, slots=True)
class _Summarise:
    of: Weighed
    pairs_of_shard: int    # pairs told of a shard, beside the last of each group

    def __call__(self, stack: Stack, items: Items) -> tuple[Tally, float]:
        tally = tally_scores(*self.of(stack, items))
        chosen = tally.last
        ranks = np.arange(0, len(items), -(-len(items) // self.pairs_of_shard))
        chosen[np.searchsorted(tally.sums[1:, 0], ranks)] = True
        return tally.at(chosen), float(tally.weight.sum())


@dataclass(frozen=True, slots=True)
class _AddUp:
    of: Weighed
    grid: Keys

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(G, 2) items and weight up to each key."""
        tally = tally_scores(*self.of(stack, items))
        return tally.sums[tally.up_to(self.grid.group, self.grid.score)]


@dataclass(frozen=True, slots=True)
class _Gather:
    of: Weighed
    grid: Keys
    intervals: Ints    # intervals: above the key before, up to this key

    def __call__(self, stack: Stack, items: Items) -> Tally:
        tally = tally_scores(*self.of(stack, items))
        ends = np.concatenate([[0], tally.up_to(self.grid.group, self.grid.score)])
        places = list(starmap(np.arange, zip(ends[self.intervals], ends[self.intervals + 1], strict=True)))
        return tally.at(np.concatenate([np.zeros(0, np.int64), *places]))


PASSIVE_SIZE = 0.3      # weight of an item beside its spread when a group is cut
_LEAST_WEIGHT = 1e-12   # weight that every item has
_IRRELEVANT = 1 << 32   # added to the groups of items that are not relevant: they come last


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """A pool in cells: the cells with their sums, and the number of the cell that each of the N items is in,
    (N,).

    Cutting a pool into cells by how far the label of an item may move the measures.

    Passes over the pool, by shard and in pieces: the first sums what the guesses expect, which gives the risk
    R and the slopes J expected before any label; the second guesses for every item the variance of its pull,

        s_i² = Σ_q Var(J_q·ℓ(x_i, y))/target_q²        over the numbers that drive the sampling,

    under the first weights of the guesses (`measured_pool`).  Items are sorted by group
    (`OutcomeKind.places`: the predicted class) and by s inside it, and every group is cut where the
    cumulative sum of s rises by equal steps: many items of little influence make one cell, few of great
    influence another. Items of one s stay together, in the step in which the first of them lies: five
    different s, of many items each, make five cells. Where the pool has more than one shard, nobody sorts all
    items: the first part of this chapter finds where groups are cut, and the cell of an item follows from its
    own group and s.
    """

    cells: OutcomeCells
    cell: Ints          # (N,) the cell of each item


def cut(
    pool: MeasuredPool, expectation: Expecting, by: By, n_cells: int, further: Further | None = None
) -> Summed:
    """Cells of items alike in group, then in score: about `n_cells`, at least one a group.

    by: group and score of items, and the pull that counts.  Every cell holds relevant items only, or
    irrelevant ones only.
    """
    assign, found_cells = assigned(pool, by, n_cells)
    return summed(pool, expectation, assign, found_cells, further)


def assigned(pool: MeasuredPool, by: By, n_cells: int) -> tuple[Assign, int]:
    """What says the cell of an item, and how many cells there are."""
    by = _Steady(by)
    if pool.n_shards > 1:
        edges = find_edges(pool, _Weighed(by), n_cells, PASSIVE_SIZE)
        return _ByEdges(by, edges), len(edges)
    item_profile = pool.in_first(by)
    cell = cells_by_number(item_profile, n_cells)
    return _Known(cell, item_profile.relevant), int(cell.max()) + 1


def cells_by_number(item_profile: ItemProfile, n_cells: int) -> Ints:
    """The cell (N,) of each item of a pool in memory; the same is found by shard above."""
    groups = np.unique(_groups(item_profile), return_inverse=True)[1].ravel()
    score = item_profile.score
    order = np.lexsort((np.arange(len(score)), score, groups))
    mass = item_profile.pull[order] + _LEAST_WEIGHT
    mass = mass / mass.sum() + PASSIVE_SIZE / len(mass)
    mass = mass / mass.sum()
    step = np.cumsum(mass) * n_cells
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    begin = np.repeat(step[starts] - mass[starts] * n_cells, np.diff([*starts, len(order)]))
    piece = np.floor(step - begin - 1e-9).astype(np.int64)
    other_group = np.diff(groups[order], prepend=-1) != 0
    # items of one score stay together: in the piece in which the first of them lies
    run = np.flatnonzero(other_group | (np.diff(score[order], prepend=np.nan) != 0))
    new = other_group
    new[run] |= np.diff(piece[run], prepend=0) != 0
    number = np.cumsum(new) - 1
    cell = np.empty(len(order), np.int64)
    cell[order] = number
    return cell


def _groups(item_profile: ItemProfile) -> Ints:
    """(n,) with irrelevant items in groups of their own."""
    return np.where(item_profile.relevant, item_profile.group, item_profile.group + _IRRELEVANT)


# the stratum (n,) of each item of a shard
Stratum = Callable[[Stack, Items], Ints]


@dataclass(frozen=True, slots=True, eq=False)
class BetweenEdges:
    """The stratum of each item as the place of a number between rising edges. Called with the measures and
    the items of a shard; it can be pickled."""

    edges: Floats     # rising
    number: Callable[[Stack, Items], Floats]

    def __call__(self, stack: Stack, items: Items) -> Ints:
        """Of the items of a shard."""
        return assign(self.edges, self.number(stack, items))


def by_features(pool: MeasuredPool, method: Method) -> Stratum | None:
    """The strata of the method's cut by features; None where it cuts by score.  Raises BadArgument for a pool
    without features. Its tree is grown on every so-many-th item, about `SAMPLE` of them at most."""
    tree = method.feature_tree
    if tree is None:
        return None
    if pool.none.feature is None:
        raise without_features(method.written)
    sampled = np.concatenate(list(pool.over(_EverySo(-(-len(pool) // SAMPLE)))))
    return _Leaf(tree.grown(sampled))


@dataclass(frozen=True, slots=True, eq=False)
class _Leaf:
    cut: FeatureCut

    def __call__(self, stack: Stack, items: Items) -> Ints:
        return self.cut.leaves(_features(items))


@dataclass(frozen=True, slots=True)
class _EverySo:
    """The features (n, F) of every so many items of a shard."""

    step: int

    def __call__(self, items: Items) -> Floats:
        return np.asarray(_features(items)[:: self.step])


def _features(items: Items) -> Floats:
    if items.feature is None:
        raise ValueError("the pool is cut by features, and these items have none")
    return items.feature


@dataclass(frozen=True, slots=True)
class _Steady:
    """Items that matter alike have the same score, however their sums were rounded."""

    by: By

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        item_profile = self.by(stack, items)
        return replace(item_profile, score=steady(item_profile.score))


@dataclass(frozen=True, slots=True)
class _Weighed:
    by: By

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Floats, Floats]:
        item_profile = self.by(stack, items)
        return _groups(item_profile), item_profile.score, item_profile.pull + _LEAST_WEIGHT


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    cell: Ints
    relevant: Bools

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        return self.cell, self.relevant


@dataclass(frozen=True, slots=True, eq=False)
class _ByEdges:
    by: By
    edges: Keys

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        item_profile = self.by(stack, items)
        return self.edges.up_to(_groups(item_profile), item_profile.score) - 1, item_profile.relevant


OCTAVES = 4      # of weights on either side of the mean: beyond them all are alike


def weight_octave(stack: Stack, items: Items) -> Ints:
    """(n,) how often the weight is halved or doubled from the mean, from 0."""
    if stack.weights is None:
        raise ValueError("the items have no weights")
    weight = stack.weights.relative_weights(items)
    twos = np.frexp(steady(np.where(weight > 0, weight, 1.0)))[1] - 1      # 2^twos is not above it
    return np.clip(twos, -OCTAVES, OCTAVES - 1).astype(np.int64) + OCTAVES
