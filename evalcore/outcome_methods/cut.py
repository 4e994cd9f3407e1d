"""Cutting a pool into cells by how far the label of an item may move the measures.

Passes over the pool, in pieces: the first sums what the guesses expect, which gives the risk R and the
slopes J expected before any label; the second guesses for every item the variance of its pull,

    s_i² = Σ_q Var(J_q·ℓ(x_i, y))/target_q²        over the numbers that drive the sampling,

under the first weights of the guesses.  Items are sorted by group (`OutcomeKind.place`: the predicted class)
and by s inside it, and every group is cut where the cumulative sum of s rises by equal steps: many items of
little influence make one cell, few of great influence another.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.table import expect
from assay.evalcore.outcomes.base import Likely
from assay.evalcore.outcomes.items import CHUNK, Items
from assay.evalcore.types import Bools, Floats, Ints

FLOOR = 1e-3        # of the variance under outcomes all alike: no relevant item counts for less
AT_ONCE = 1 << 18   # numbers that are made at once: they stay in the processor's cache
PASSIVE_SIZE = 0.3  # weight of an item beside its spread when a group is cut


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """A pool in cells."""

    cells: OutcomeCells
    cell: Ints          # (N,) the cell of each item


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """What the two passes find of each item."""

    pull: Floats        # (N,) s
    relevant: Bools     # (N,)
    group: Ints         # (N,)
    score: Floats       # (N,) what a group is cut by
    first: Floats       # (B,)
    slopes: Floats      # (Q, D) J
    likely: Likely | None = None   # outcomes by which losses of several systems are guessed together


def profile(stack: Stack, items: Items) -> Profile:
    """The first two passes; `cut` makes the third.

    Raises BadInput for an empty pool, or one that lacks what a measure needs.
    """
    if not len(items):
        raise BadInput("the pool has no items")
    stack.check(items)
    first, sizes = stack.kind.first_weights(items), stack.known_sizes(items)
    total, known = np.zeros(stack.size), np.zeros(sum(sizes))
    loss, most = np.empty((min(len(items), CHUNK), len(first), stack.size)), _at_once(stack, len(first))
    for _, piece in items.chunks():
        for at, few in piece.chunks(most):
            expect(stack, few, stack.kind.guesses(few), loss[at])
        total += np.einsum("b,nbd->d", first, loss[: len(piece)])
        known += stack.known(piece).sum(axis=0)
    risk = np.concatenate([total, known]) / len(items)
    slopes = stack.slopes(risk, sizes)
    likely = stack.kind.likely(items)
    pull, relevant = np.zeros(len(items)), np.zeros(len(items), np.bool_)
    for where, piece in items.chunks(most):
        spread, flat = _spread(stack, piece, stack.kind.guesses(piece), first, slopes, likely)
        pull[where] = np.sqrt(spread @ stack.weight)
        relevant[where] = (flat > 0).any(axis=1)
    # where nothing pulls (a measure with no value before labels), everything may
    if not relevant.any():
        pull[:], relevant[:] = 1.0, True
    group, score = stack.kind.place(items, pull)
    return Profile(
        pull=pull, relevant=relevant, group=group, score=score, first=first, slopes=slopes, likely=likely
    )


def _at_once(stack: Stack, guesses: int) -> int:
    """Of how many items the guesses and what they expect are made at once."""
    return min(CHUNK, 1 + AT_ONCE // (guesses * max(stack.kind.width, stack.size)))


def _spread(
    stack: Stack, items: Items, guesses: Floats, first: Floats, slopes: Floats, likely: Likely | None
) -> tuple[Floats, Floats]:
    """(n, Q) guessed variances, and those if all outcomes were alike likely; guesses (n, B, P),
    slopes (Q, D)."""
    phi = np.einsum("b,nbp->np", first, guesses)
    even = np.full(phi.shape, 1 / max(phi.shape[1], 2))
    spread, flat = stack.spreads(items, [phi, even], slopes, likely)
    return np.maximum(spread, FLOOR * flat), flat


def cut(stack: Stack, items: Items, found: Profile, group: Ints, score: Floats, n_cells: int) -> Cut:
    """Cells of items alike in group (N,), then in score (N,): about `n_cells`, at least one a group.

    Every cell holds relevant items only, or irrelevant ones only.
    """
    cell = numbered(found, group, score, n_cells)[0]
    return Cut(cells=sums(stack, items, found, cell), cell=cell)


def numbered(found: Profile, group: Ints, score: Floats, n_cells: int) -> tuple[Ints, Ints]:
    """The cell (N,) of each item, and its group (N,) with irrelevant items in groups of their own."""
    groups = np.unique(np.stack([~found.relevant, group]), axis=1, return_inverse=True)[1].ravel()
    order = np.lexsort((np.arange(len(score)), score, groups))
    mass = found.pull[order] + 1e-12
    mass = mass / mass.sum() + PASSIVE_SIZE / len(mass)
    mass = mass / mass.sum()
    step = np.cumsum(mass) * n_cells
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    begin = np.repeat(step[starts] - mass[starts] * n_cells, np.diff([*starts, len(order)]))
    piece = np.floor(step - begin - 1e-9).astype(np.int64)
    other_group = np.diff(groups[order], prepend=-1) != 0
    other_piece = np.diff(piece, prepend=0) != 0
    # items of one score stay together
    tied = np.diff(score[order], prepend=np.nan) == 0
    new = other_group | (other_piece & ~tied)
    number = np.cumsum(new) - 1
    cell = np.empty(len(order), np.int64)
    cell[order] = number
    return cell, groups


def sums(stack: Stack, items: Items, found: Profile, cell: Ints) -> OutcomeCells:
    """The cells' sums over the pool; cell (N,)."""
    c = int(cell.max()) + 1
    size = np.bincount(cell, minlength=c)
    guess = np.zeros((c, len(found.first), stack.size))
    spread: Floats = np.zeros((c, len(found.slopes)))
    told = np.zeros((c, sum(stack.known_sizes(items))))
    said = _said(stack, items, cell, c)
    loss = np.empty((min(len(items), CHUNK), *guess.shape[1:]))
    spreads, most = np.empty((len(loss), len(found.slopes))), _at_once(stack, len(found.first))
    for where, piece in items.chunks():
        n = len(piece)
        for at, few in piece.chunks(most):
            guesses = stack.kind.guesses(few)
            expect(stack, few, guesses, loss[at])
            spreads[at] = _spread(
                stack, few, guesses, found.first, found.slopes, found.likely
            )[0]
        member = csr_array((np.ones(n), (cell[where], np.arange(n))), shape=(c, n))
        guess += np.asarray(member @ loss[:n].reshape(n, -1)).reshape(guess.shape)
        spread += np.asarray(member @ spreads[:n])
        told += np.asarray(member @ stack.known(piece))
    relevant = np.bincount(cell, weights=found.relevant, minlength=c) > 0
    return OutcomeCells(
        size=size, guess=guess, spread=np.maximum(spread / size[:, None], 1e-30), relevant=relevant,
        told=told, said=said, known_sizes=np.array(stack.known_sizes(items), np.int64), first=found.first,
    )


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
