"""What is found of a pool and of each item before it is cut: how far its label may move the measures.

The first pass sums what the guesses expect, which gives the risk R and the slopes J expected before any
label.  The variance of the pull of any item follows from these (`Beforehand`).  Where groups are ordered, or
nothing pulls in the first shard, a second pass looks at all items; in one shard what it finds is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.spreads import Expecting, at_once, spread_of
from assay.evalcore.outcome_methods.table import expect
from assay.evalcore.outcomes.items import CHUNK, Items
from assay.evalcore.outcomes.joint import by_mean
from assay.evalcore.outcomes.places import Places
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """What the two passes find of each item."""

    pull: Floats        # (N,) s
    relevant: Bools     # (N,)
    group: Ints         # (N,)
    score: Floats       # (N,) what a group is cut by


By = Callable[[Stack, Items], Profile]   # what the items of a shard are cut by


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Beforehand(Expecting):
    """What the first passes find of a pool, from which the profile of any item follows."""

    places: Places
    even: bool = False             # nothing pulls (a measure with no value before labels): everything may
    rank: Ints | None = None       # of groups that are put in order
    whole: Profile | None = None   # of all items, where the pool is one shard

    def __call__(self, stack: Stack, items: Items) -> Profile:
        """Of some items."""
        return self.whole or self.profile(items, *self.pulls(stack, items))

    def pulls(self, stack: Stack, items: Items) -> tuple[Floats, Bools]:
        """Pull (n,), and whether each item is relevant (n,)."""
        pull, relevant = np.ones(len(items)), np.ones(len(items), np.bool_)
        if not self.even:
            for where, piece in items.chunks(at_once(stack, len(self.first))):
                spread, flat = spread_of(stack, piece, stack.kind.guesses(piece), self)
                pull[where] = np.sqrt(spread @ stack.weight)
                relevant[where] = (flat > 0).any(axis=1)
        return pull, relevant

    def profile(self, items: Items, pull: Floats, relevant: Bools) -> Profile:
        """Of some items whose pull is known."""
        group = self.places.group(items)
        return Profile(
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
    first, sizes = stack.kind.first_weights(none), stack.known_sizes(none)
    total: Floats = np.zeros(stack.size + sum(sizes))
    for found in pool.measured(_Expected(first)):
        total = total + found
    slopes = stack.slopes(total / len(pool), sizes)
    beforehand = Beforehand(
        first=first, slopes=slopes, likely=stack.kind.likely(pool), places=stack.kind.places(pool)
    )
    return _looked_at(pool, beforehand)


def _looked_at(pool: MeasuredPool, found: Beforehand) -> Beforehand:
    """With what has to be known of all items: whether anything pulls, and the order of the groups."""
    groups, look = found.places.ranked, _Look(found=found, kept=pool.n_shards == 1)
    looks = [pool.in_first(look)]
    if pool.n_shards > 1 and (groups or not looks[0].relevant):
        looks = list(pool.measured(look))
    even = not any(one.relevant for one in looks)
    rank = None
    if groups:
        sizes = np.sum([one.sizes for one in looks], axis=0)
        totals: Floats = np.zeros(groups)
        for one in looks:
            totals = totals + one.totals
        rank = by_mean(sizes, sizes.astype(np.float64) if even else totals)
    found = replace(found, even=even, rank=rank)
    if pool.n_shards > 1:
        return found
    return replace(found, whole=pool.in_first(_Whole(found, looks[0])))


@dataclass(frozen=True, slots=True)
class _Expected:
    first: Floats

    def __call__(self, stack: Stack, items: Items) -> Floats:
        """(D + D_k,) sums over a shard of the losses that the guesses expect, and of those that are known."""
        total, known = np.zeros(stack.size), np.zeros(sum(stack.known_sizes(items)))
        most = at_once(stack, len(self.first))
        loss = np.empty((min(len(items), CHUNK), len(self.first), stack.size))
        for _, piece in items.chunks():
            for at, few in piece.chunks(most):
                expect(stack, few, stack.kind.guesses(few), loss[at])
            total += np.einsum("b,nbd->d", self.first, loss[: len(piece)])
            known += stack.known(piece).sum(axis=0)
        return np.concatenate([total, known])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Seen:
    """What a shard says of the pull of its items."""

    relevant: bool   # any of them
    sizes: Ints      # (G,) items, by group
    totals: Floats   # (G,) sum of their pull
    pulls: tuple[Floats, Bools] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    found: Beforehand
    kept: bool   # what is found of each item is told

    def __call__(self, stack: Stack, items: Items) -> _Seen:
        pull, relevant = self.found.pulls(stack, items)
        groups = self.found.places.ranked
        sizes: Ints = np.zeros(0, np.int64)
        totals: Floats = np.zeros(0)
        if groups:
            group = self.found.places.group(items)
            sizes = np.asarray(np.bincount(group, minlength=groups), np.int64)
            totals = np.asarray(np.bincount(group, weights=pull, minlength=groups), np.float64)
        return _Seen(
            relevant=bool(relevant.any()), sizes=sizes, totals=totals,
            pulls=(pull, relevant) if self.kept else None,
        )


@dataclass(frozen=True, slots=True)
class _Whole:
    found: Beforehand
    seen: _Seen

    def __call__(self, stack: Stack, items: Items) -> Profile:
        known = None if self.found.even else self.seen.pulls
        return self.found.profile(items, *(known or self.found.pulls(stack, items)))
