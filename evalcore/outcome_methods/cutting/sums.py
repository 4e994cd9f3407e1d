"""The sums of cells over a pool, made by shard: of its items in order, and of the shards in order."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.spreads import Expecting, at_once, spread_of
from assay.evalcore.outcome_methods.table import expect
from assay.evalcore.outcomes.items import CHUNK, Items
from assay.evalcore.types import Bools, Floats, Ints

# the cell (n,) of each item of a shard, and whether it is relevant (n,)
Assign = Callable[[Stack, Items], tuple[Ints, Bools]]
# further sums (C, w) of a shard, of items in cells (n,), of so many cells
Further = Callable[[Stack, Items, Ints, int], Floats]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summed:
    """The cells of a pool."""

    cells: OutcomeCells
    further: Floats     # (C, w) sums beside, of methods that ask for them
    by_shard: Ints      # (C, shards) items
    assign: Assign


def summed(
    pool: MeasuredPool, found: Expecting, assign: Assign, n_cells: int, further: Further | None = None
) -> Summed:
    """Place all items, and add them up."""
    work = _AddUp(found=Expecting(first=found.first, slopes=found.slopes, likely=found.likely),
                  assign=assign, n_cells=n_cells, further=further or _nothing)
    total, by_shard = None, []
    for one in pool.placed(work, n_cells):
        by_shard.append(one.size)
        total = one if total is None else total.plus(one)
    if total is None:
        raise ValueError("a pool has a shard")
    return Summed(
        cells=OutcomeCells(
            size=total.size, guess=total.guess,
            spread=np.maximum(total.spread / total.size[:, None], 1e-30), relevant=total.relevant > 0,
            told=total.told, said=total.said, first=found.first,
            known_sizes=np.array(pool.stack.known_sizes(pool.none), np.int64),
        ),
        further=total.further, by_shard=np.stack(by_shard, axis=1), assign=assign,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """Of the items of some shards, by cell."""

    size: Ints          # (C,)
    guess: Floats       # (C, B, D)
    spread: Floats      # (C, Q)
    relevant: Ints      # (C,) how many are relevant
    told: Floats        # (C, D_k)
    said: Floats        # (C, S, w) the maximum
    further: Floats

    def plus(self, other: "_Sums") -> "_Sums":
        """Of these and then the others."""
        return _Sums(
            size=self.size + other.size, guess=self.guess + other.guess, spread=self.spread + other.spread,
            relevant=self.relevant + other.relevant, told=self.told + other.told,
            said=np.maximum(self.said, other.said), further=self.further + other.further,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AddUp:
    found: Expecting
    assign: Assign
    n_cells: int
    further: Further

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, _Sums]:
        found, c = self.found, self.n_cells
        cell, relevant = self.assign(stack, items)
        guess = np.zeros((c, len(found.first), stack.size))
        spread: Floats = np.zeros((c, len(found.slopes)))
        told = np.zeros((c, sum(stack.known_sizes(items))))
        loss = np.empty((min(len(items), CHUNK), *guess.shape[1:]))
        spreads, most = np.empty((len(loss), len(found.slopes))), at_once(stack, len(found.first))
        for where, piece in items.chunks():
            n = len(piece)
            for at, few in piece.chunks(most):
                guesses = stack.kind.guesses(few)
                expect(stack, few, guesses, loss[at])
                spreads[at] = spread_of(stack, few, guesses, found)[0]
            member = csr_array((np.ones(n), (cell[where], np.arange(n))), shape=(c, n))
            guess += np.asarray(member @ loss[:n].reshape(n, -1)).reshape(guess.shape)
            spread += np.asarray(member @ spreads[:n])
            told += np.asarray(member @ stack.known(piece))
        return cell, _Sums(
            size=np.bincount(cell, minlength=c), guess=guess, spread=spread, told=told,
            relevant=np.bincount(cell[relevant], minlength=c),
            said=_said(stack, items, cell, c), further=self.further(stack, items, cell, c),
        )


def _nothing(stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
    """No further sums."""
    return np.zeros((n_cells, 0))


def _said(stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
    """(C, S, w) the maximum over each cell."""
    said: Floats = np.full((n_cells, items.systems, stack.kind.said(np.zeros(1)).shape[1]), -np.inf)
    for where, piece in items.chunks():
        order = np.argsort(cell[where], kind="stable")
        ordered = cell[where][order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        for s in range(items.systems):
            most = np.maximum.reduceat(stack.kind.said(piece.prediction[order, s]), starts, axis=0)
            said[ordered[starts], s] = np.maximum(said[ordered[starts], s], most)
    return said
