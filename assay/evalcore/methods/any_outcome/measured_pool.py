"""A pool that nobody holds together, while it is cut into cells: what is asked of its shards, and what
follows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.state import LEAST_PULL_SPREAD, OutcomeCells, columns_beside, expect
from assay.evalcore.outcomes.base import Likely
from assay.evalcore.outcomes.items import CHUNK, ItemPool, Items, OneShard, Places, by_mean
from assay.evalcore.pool.strata import OrderedScores, ScoresInMemory
from assay.evalcore.types import Bools, Floats, Ints

B = TypeVar("B")


class MeasuredPool(ItemPool, Protocol):
    """An `ItemPool` with measures.  Work is what `ItemPool` says; measures are not pickled with it."""

    @property
    def stack(self) -> Stack:
        """The measures of the question, side by side; they are not pickled with pieces of work."""
        ...

    def measured(self, work: Callable[[Stack, Items], B]) -> Iterator[B]:
        """What the work makes of each shard, in the order of the shards."""
        ...

    def in_first(self, work: Callable[[Stack, Items], B]) -> B:
        """What the work, called with the measures and the items of the first shard, returns; no other shard
        is read."""
        ...

    def each(self, works: list[Callable[[Stack, Items], B]]) -> Iterator[B]:
        """What a list of work returns, one piece for each shard, in the order of the shards."""
        ...

    def placed(self, work: Callable[[Stack, Items], tuple[Ints, B]], n_cells: int) -> Iterator[B]:
        """The same; the work gives the cell (n,) of each item beside, which is kept for the pool."""
        ...

    def ordered(self, number: Callable[[Stack, Items], Floats]) -> OrderedScores:
        """A number (n,) of each item, over the pool in rank order."""
        ...


class MeasuredItems(OneShard):
    """A `MeasuredPool` of items that are all in memory, as a single shard. After a cut it knows the cell of
    each item."""

    def __init__(self, stack: Stack, items: Items) -> None:
        super().__init__(items)
        self.stack = stack
        self.cell: Ints = np.zeros(0, np.int64)   # (N,) of each item, when they are placed

    def measured(self, work: Callable[[Stack, Items], B]) -> Iterator[B]:
        yield work(self.stack, self.items)

    def in_first(self, work: Callable[[Stack, Items], B]) -> B:
        return work(self.stack, self.items)

    def each(self, works: list[Callable[[Stack, Items], B]]) -> Iterator[B]:
        yield works[0](self.stack, self.items)

    def placed(self, work: Callable[[Stack, Items], tuple[Ints, B]], n_cells: int) -> Iterator[B]:
        self.cell, result = work(self.stack, self.items)
        yield result

    def ordered(self, number: Callable[[Stack, Items], Floats]) -> OrderedScores:
        return ScoresInMemory(number(self.stack, self.items))


LEAST_RELEVANT_VARIANCE = 1e-3   # of the variance under outcomes all alike: no relevant item counts for less
NUMBERS_IN_CACHE = 1 << 18   # numbers that are made at once: they stay in the processor's cache
FEWEST_AT_ONCE = 64   # items: with fewer the calls take longer than what they compute
HELD = 1 << 23      # numbers that are kept until they are added up: more are slow to come by


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Expecting:
    """What is expected of a pool before any label: the weights of the guesses and the slopes of the measures
    at the expected means. With it the guessed spread of any item's pull can be computed."""

    guess_weights: Floats        # (B,) weights of the guesses
    slopes: Floats       # (Q, D) J
    likely: Likely | None = None   # outcomes by which losses of several systems are guessed together


def at_once(stack: Stack, guesses: int) -> int:
    """Of how many items the guesses and what they expect are made at once."""
    return min(
        CHUNK, max(FEWEST_AT_ONCE, 1 + NUMBERS_IN_CACHE // (guesses * max(stack.kind.width, stack.size)))
    )


def held(stack: Stack, guesses: int) -> int:
    """Of how many items the losses that the guesses expect are held until they are added up."""
    return min(CHUNK, 1 + HELD // (guesses * max(stack.size, 1)))


def guessed_spread(
    stack: Stack, items: Items, guesses: Floats, expectation: Expecting
) -> tuple[Floats, Floats]:
    """(n, Q) guessed variances, and those if all outcomes were alike likely; guesses (n, B, P)."""
    phi = np.einsum("b,nbp->np", expectation.guess_weights[: guesses.shape[1]], guesses)
    spread, flat = stack.spreads(items, [phi, stack.even(len(phi))], expectation.slopes, expectation.likely)
    if items.deviation is not None:
        # half on trust, as squares of errors would go by its square: labels tell the rest
        spread, flat = spread * items.deviation, flat * items.deviation
    return np.maximum(spread, LEAST_RELEVANT_VARIANCE * flat), flat


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemProfile:
    """What the two passes over a pool find of each of N items: how far its label may pull, whether it can
    matter at all, its group, and the score by which the group is cut.

    What is found of a pool and of each item before it is cut: how far its label may move the measures.

    The first pass sums what the guesses expect, which gives the risk R and the slopes J expected before any
    label.  The variance of the pull of any item follows from these (`Beforehand`).  Where groups are ordered,
    or nothing pulls in the first shard, a second pass looks at all items; in one shard what it finds is kept.
    """

    pull: Floats        # (N,) s
    relevant: Bools     # (N,)
    group: Ints         # (N,)
    score: Floats       # (N,) what a group is cut by


By = Callable[[Stack, Items], ItemProfile]   # what the items of a shard are cut by


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beforehand(Expecting):
    """What the first passes find of a pool, from which the profile of any item follows."""

    places: Places
    even: bool = False             # nothing pulls (a measure with no value before labels): everything may
    rank: Ints | None = None       # of groups that are put in order
    profile_of_all: ItemProfile | None = None   # of all items, where the pool is one shard

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of some items."""
        return self.profile_of_all or self.profile(items, *self.pulls(stack, items))

    def pulls(self, stack: Stack, items: Items) -> tuple[Floats, Bools]:
        """How far the label of each item may move the measures, (n,): the root of the guessed variances of
        its pull, weighted over the numbers; and whether the label can matter at all, (n,). Where nothing
        pulls all are 1 and all matter."""
        pull, relevant = np.ones(len(items)), np.ones(len(items), np.bool_)
        if not self.even:
            for rows, piece in items.chunks(at_once(stack, len(self.guess_weights))):
                spread, flat = guessed_spread(stack, piece, stack.guesses(piece), self)
                pull[rows] = np.sqrt(spread @ stack.weight)
                relevant[rows] = (flat > 0).any(axis=1)
        return pull, relevant

    def profile(self, items: Items, pull: Floats, relevant: Bools) -> ItemProfile:
        """The profile of items whose pull and relevance are known: with their groups (in rank order where
        groups are ranked) and the scores inside them."""
        group = self.places.group(items)
        return ItemProfile(
            pull=pull, relevant=relevant, group=group if self.rank is None else self.rank[group],
            score=self.places.score(items, pull),
        )


def profile(pool: MeasuredPool) -> Beforehand:
    """The first two passes; `cut` makes the others.

    Raises BadInput for an empty pool, or one that lacks what a measure needs.
    """
    if not len(pool):
        raise BadInput("the pool has no items")
    stack, none = pool.stack, pool.none
    stack.check(none)
    guess_weights = np.append(stack.kind.first_weights(none), np.zeros(columns_beside(stack, none)))
    sizes = stack.known_sizes(none)
    total: Floats = np.zeros(stack.size + sum(sizes))
    for shard_total in pool.measured(_Expected(guess_weights)):
        total = total + shard_total
    slopes = stack.slopes(total / len(pool), sizes)
    beforehand = Beforehand(
        guess_weights=guess_weights, slopes=slopes, likely=stack.kind.likely(pool), places=stack.places(pool)
    )
    return _looked_at(pool, beforehand)


def _looked_at(pool: MeasuredPool, pool_profile: Beforehand) -> Beforehand:
    """With what has to be known of all items: whether anything pulls, and the order of the groups."""
    groups, look = (
        pool_profile.places.ranked,
        _Look(pool_profile=pool_profile, keeps_pulls=pool.n_shards == 1),
    )
    looks = [pool.in_first(look)]
    if pool.n_shards > 1 and (groups or not looks[0].relevant):
        looks = list(pool.measured(look))
    even = not any(look_of_shard.relevant for look_of_shard in looks)
    rank = None
    if groups:
        sizes = np.sum([look_of_shard.sizes for look_of_shard in looks], axis=0)
        totals: Floats = np.zeros(groups)
        for look_of_shard in looks:
            totals = totals + look_of_shard.totals
        rank = by_mean(sizes, sizes.astype(np.float64) if even else totals)
    pool_profile = replace(pool_profile, even=even, rank=rank)
    if pool.n_shards > 1:
        return pool_profile
    return replace(pool_profile, profile_of_all=pool.in_first(_Whole(pool_profile, looks[0])))


@dataclass(frozen=True, slots=True)
class _Expected:
    guess_weights: Floats

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(D + D_k,) sums over a shard of the losses that the guesses expect, and of those that are known."""
        total, known_total = np.zeros(stack.size), np.zeros(sum(stack.known_sizes(items)))
        chunk_size = at_once(stack, len(self.guess_weights))
        loss = np.empty((
            min(len(items), held(stack, len(self.guess_weights))), len(self.guess_weights), stack.size,
        ))
        for _, piece in items.chunks(held(stack, len(self.guess_weights))):
            for at, few in piece.chunks(chunk_size):
                expect(stack, few, stack.guesses(few), loss[at])
            total += np.einsum("b,nbd->d", self.guess_weights, loss[: len(piece)])
            known_total += stack.known(piece).sum(axis=0)
        return np.concatenate([total, known_total])


def expected_by_part(stack: Stack, items: Items, part: Ints, n_parts: int) -> Floats:
    """(S, D + D_k + 1) sums over the items of each part: of the losses that the guesses expect before any
    label, of those that are known, and of 1; part (n,): of each item.

    The guesses count as they do at first; a constant among them says nothing of a part, and is left out.
    """
    totals = np.zeros((n_parts, stack.size + sum(stack.known_sizes(items)) + 1))
    first_weights = stack.kind.first_weights(items)
    for at, piece in items.chunks(at_once(stack, len(first_weights))):
        guesses = stack.guesses(piece)
        n_guesses = guesses.shape[1] - (0 if stack.kind.label_model.shared else 1)
        loss = np.zeros((len(piece), guesses.shape[1], stack.size))
        expect(stack, piece, guesses, loss)
        weights = first_weights[:n_guesses]
        expected = np.einsum("b,nbd->nd", weights / (weights.sum() or 1.0), loss[:, :n_guesses])
        np.add.at(
            totals, part[at], np.concatenate([expected, stack.known(piece), np.ones((len(piece), 1))], axis=1)
        )
    return totals


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """What a shard says of the pull of its items."""

    relevant: bool   # any of them
    sizes: Ints      # (G,) items, by group
    totals: Floats   # (G,) sum of their pull
    pulls: tuple[Floats, Bools] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    pool_profile: Beforehand
    keeps_pulls: bool   # what is found of each item is told

    def __call__(self, stack: Stack, items: Items) -> _Seen:
        pull, relevant = self.pool_profile.pulls(stack, items)
        groups = self.pool_profile.places.ranked
        sizes: Ints = np.zeros(0, np.int64)
        totals: Floats = np.zeros(0)
        if groups:
            group = self.pool_profile.places.group(items)
            sizes = np.asarray(np.bincount(group, minlength=groups), np.int64)
            totals = np.asarray(np.bincount(group, weights=pull, minlength=groups), np.float64)
        return _Seen(
            relevant=bool(relevant.any()), sizes=sizes, totals=totals,
            pulls=(pull, relevant) if self.keeps_pulls else None,
        )


@dataclass(frozen=True, slots=True)
class _Whole:
    pool_profile: Beforehand
    look: _Seen

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        kept_pulls = None if self.pool_profile.even else self.look.pulls
        return self.pool_profile.profile(items, *(kept_pulls or self.pool_profile.pulls(stack, items)))


# the cell (n,) of each item of a shard, and whether it is relevant (n,)
Assign = Callable[[Stack, Items], tuple[Ints, Bools]]
# further sums (C, w) of a shard, of items in cells (n,), of so many cells
Further = Callable[[Stack, Items, Ints, int], Floats]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summed:
    """The cells of a pool with what was added up beside: further sums that some methods ask for, (C, w), the
    items of each cell in each shard, and the rule that places an item."""

    cells: OutcomeCells
    further: Floats     # (C, w) sums beside, of methods that ask for them
    by_shard: Ints      # (C, shards) items
    assign: Assign


def summed(
    pool: MeasuredPool, expectation: Expecting, assign: Assign, n_cells: int, further: Further | None = None
) -> Summed:
    """The sums over the items of each cell: all shards are placed and added up in their order, so that the
    sums have the same bits whoever works on which shard. Raises ValueError for a pool without a shard."""
    work = AddUpItems(
        expectation=Expecting(
            guess_weights=expectation.guess_weights, slopes=expectation.slopes, likely=expectation.likely
        ),
        assign=assign,
        n_cells=n_cells,
        further=further,
    )
    total, by_shard = None, []
    for shard_sums in pool.placed(work, n_cells):
        by_shard.append(shard_sums.size)
        total = shard_sums if total is None else total.plus(shard_sums)
    if total is None:
        raise ValueError("a pool has a shard")
    return Summed(
        cells=cells_of_sums(total, expectation, pool.stack, pool.none), further=total.further,
        by_shard=np.stack(by_shard, axis=1), assign=assign,
    )


def cells_of_sums(total: "SumsOfItems", expectation: Expecting, stack: Stack, none: Items) -> OutcomeCells:
    """The cells that all items come to; none: no item, with the columns that the items have."""
    n_guesses = len(expectation.guess_weights) - columns_beside(stack, none)
    beside = (total.guess[:, n_guesses:, 0] != 0).any(axis=0)[: none.beside.shape[1]]
    n_columns = len(expectation.guess_weights) if beside.any() else n_guesses
    return OutcomeCells(
        size=total.size, guess=total.guess[:, :n_columns], beside=beside if beside.any() else None,
        spread=np.maximum(total.spread / total.size[:, None], LEAST_PULL_SPREAD), relevant=total.relevant > 0,
        told=total.told, said=total.said, first=expectation.guess_weights[:n_columns],
        known_sizes=np.array(stack.known_sizes(none), np.int64),
        heavy=None if stack.weights is None else np.stack([
            total.squares / np.where(total.told[:, -1] > 0, total.told[:, -1], 1.0), total.heaviest,
        ], axis=1),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumsOfItems:
    """Sums over the items of some shards, cell by cell: sizes, guesses, guessed spreads, known parts and
    what is predicted. `cells_of_sums` makes the cells of a pool out of them."""

    size: Ints          # (C,)
    guess: Floats       # (C, B, D)
    spread: Floats      # (C, Q)
    relevant: Ints      # (C,) how many are relevant
    told: Floats        # (C, D_k)
    said: Floats        # (C, S, w) the maximum
    further: Floats
    squares: Floats     # (C,) of the weights
    heaviest: Floats    # (C,)

    def plus(self, following: "SumsOfItems") -> "SumsOfItems":
        """The sums of these items and the following ones together, in this order; predictions and heaviest
        weights are combined by their maximum. Neither of the two is changed."""
        return SumsOfItems(
            size=self.size + following.size, guess=self.guess + following.guess,
            spread=self.spread + following.spread,
            relevant=self.relevant + following.relevant, told=self.told + following.told,
            said=np.maximum(self.said, following.said), further=self.further + following.further,
            squares=self.squares + following.squares, heaviest=np.maximum(self.heaviest, following.heaviest),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddUpItems:
    """Places the items of a shard, and adds them up by cell."""

    expectation: Expecting
    assign: Assign
    n_cells: int
    further: Further | None = None

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, SumsOfItems]:
        expectation, c = self.expectation, self.n_cells
        cell, relevant = self.assign(stack, items)
        guess = np.zeros((c, len(expectation.guess_weights), stack.size))
        spread: Floats = np.zeros((c, len(expectation.slopes)))
        known_sums = np.zeros((c, sum(stack.known_sizes(items))))
        loss = np.empty((min(len(items), held(stack, len(expectation.guess_weights))), *guess.shape[1:]))
        spreads, chunk_size = (
            np.empty((len(loss), len(expectation.slopes))),
            at_once(stack, len(expectation.guess_weights)),
        )
        for rows, piece in items.chunks(held(stack, len(expectation.guess_weights))):
            n = len(piece)
            for at, few in piece.chunks(chunk_size):
                guesses = stack.guesses(few)
                expect(stack, few, guesses, loss[at])
                spreads[at] = guessed_spread(stack, few, guesses, expectation)[0]
            member = scipy.sparse.csr_array((np.ones(n), (cell[rows], np.arange(n))), shape=(c, n))
            guess += np.asarray(member @ loss[:n].reshape(n, -1)).reshape(guess.shape)
            spread += np.asarray(member @ spreads[:n])
            known_sums += np.asarray(member @ stack.known(piece))
        weight: Floats = np.zeros(len(items))
        heaviest: Floats = np.zeros(c)
        if stack.weights is not None:
            weight = stack.weights.relative_weights(items)
            np.maximum.at(heaviest, cell, weight)
        return cell, SumsOfItems(
            size=np.bincount(cell, minlength=c), guess=guess, spread=spread, told=known_sums,
            relevant=np.bincount(cell[relevant], minlength=c),
            said=_said(stack, items, cell, c), further=(self.further or _nothing)(stack, items, cell, c),
            squares=np.asarray(np.bincount(cell, weights=weight**2, minlength=c), np.float64),
            heaviest=heaviest,
        )


def _nothing(stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
    """No further sums."""
    return np.zeros((n_cells, 0))


def _said(stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
    """(C, S, w) the maximum over each cell."""
    support = stack.kind.prediction_support
    predicted: Floats = np.full((n_cells, items.systems, support(np.zeros(1)).shape[1]), -np.inf)
    for rows, piece in items.chunks():
        order = np.argsort(cell[rows], kind="stable")
        ordered = cell[rows][order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        for s in range(items.systems):
            highest = np.maximum.reduceat(support(piece.prediction[order, s]), starts, axis=0)
            predicted[ordered[starts], s] = np.maximum(predicted[ordered[starts], s], highest)
    return stack.said_with_contenders(predicted, items, cell)
