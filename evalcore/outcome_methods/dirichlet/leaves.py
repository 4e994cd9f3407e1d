"""The leaves of a Dirichlet tree: a pool cut into cells in which p(y|x) is about the same.

Marchant & Rubinstein (2021), appendix I, for K classes.  Items are ordered by what the (first) system
predicts of them, then by how likely that is as guessed beforehand, and every predicted class is cut where the
cumulative spread rises by equal steps (`cut`).  Without a prediction the likeliest class stands for it.
Several systems: by what they predict together.  Above MOST_GROUPS predicted classes a leaf may hold items of
several, next to each other in the order of the classes.

Of each leaf is kept (`OutcomeCells`)

    chance    (C, K)     s(y|k), the mean probability of class y as supplied, or as guessed from predictions
    by_class  (3, n)     the mean loss of the leaf's items if all of them were of class y, without its zeros:
                         rows c·K + y, component, value.  Counted from a right prediction's loss, with
                         the components that the pool tells; from up to SAMPLED items of a leaf
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cut import cut
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.profile import Beforehand, Profile, profile
from assay.evalcore.outcome_methods.cutting.sums import Assign, Summed
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items, together
from assay.evalcore.rounding import first_largest
from assay.evalcore.types import Floats, Ints

LEAVES = 256        # about so many
MOST_GROUPS = 128
SAMPLED = 8         # items of a leaf that its losses are taken from
_NUMBERS = 10**8    # of those losses, at most


def leaves(pool: MeasuredPool) -> OutcomeCells:
    """The leaves of a pool, in a few passes.  Raises BadInput where outcomes are not classes."""
    kind = pool.stack.kind
    if not kind.one_of_parts:
        raise BadInput(f"a Dirichlet tree is a model of classes, and these outcomes are {kind.name}")
    found = profile(pool)
    by = _Places(found)
    groups = np.unique(np.concatenate(list(pool.measured(by.groups))))
    if len(groups) > MOST_GROUPS and pool.none.systems < 2:
        by, groups = replace(by, joined=True), groups[:1]
    number = max(LEAVES - len(groups), LEAVES // 2)      # every group may add one
    made = cut(pool, found, by, number, by.chances)
    return replace(
        made.cells, chance=made.further / made.cells.size[:, None], by_class=_by_class(pool, made)
    )


def expected_phi(kind: OutcomeKind, items: Items, first: Floats) -> Floats:
    """p(y|x) (n, K) before any label: as supplied; from predictions and judges where nothing is."""
    if items.probability is not None:
        total = items.probability.sum(axis=1, keepdims=True)
        return np.asarray(np.maximum(items.probability / total, 1e-9))
    return np.asarray(np.einsum("b,nbp->np", first / first.sum(), kind.guesses(items)))


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the items of a shard belong."""

    found: Beforehand
    joined: bool = False    # too many classes are predicted: they are one group, in their order

    def __call__(self, stack: Stack, items: Items) -> Profile:
        found, (group, score) = self.found(stack, items), self._said(stack, items)
        if items.systems > 1:
            return replace(found, score=score)
        if self.joined:
            return replace(found, group=np.zeros_like(group), score=group + np.minimum(score, 1 - 1e-9))
        return replace(found, group=group, score=score)

    def groups(self, stack: Stack, items: Items) -> Ints:
        """The groups that there are."""
        if items.systems > 1:
            return np.unique(self.found(stack, items).group)
        return np.unique(self._said(stack, items)[0])

    def chances(self, stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
        """(C, K) sums over the leaves of the chance of each class."""
        chance = np.zeros((n_cells, stack.kind.width))
        for where, piece in items.chunks():
            n = len(piece)
            member = csr_array((np.ones(n), (cell[where], np.arange(n))), shape=(n_cells, n))
            chance += np.asarray(member @ expected_phi(stack.kind, piece, self.found.first))
        return chance

    def _said(self, stack: Stack, items: Items) -> tuple[Ints, Floats]:
        """The class (n,) that is predicted, and how likely it is (n,)."""
        group, score = np.zeros(len(items), np.int64), np.zeros(len(items))
        for where, piece in items.chunks():
            phi = expected_phi(stack.kind, piece, self.found.first)
            group[where] = piece.prediction[:, 0] if piece.systems else first_largest(phi)
            score[where] = np.take_along_axis(phi, group[where][:, None], axis=1)[:, 0]
        return group, score


@dataclass(frozen=True, slots=True, eq=False)
class _Pick:
    """Some items of the leaves of a shard."""

    assign: Assign
    first: Ints     # (C,) items of each leaf in the shards before
    leaf: Ints      # (m,) rising
    rank: Ints      # (m,) of an item among all of its leaf

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Items]:
        """Their leaves, and the items themselves."""
        cell, _ = self.assign(stack, items)
        order, size = np.argsort(cell, kind="stable"), np.bincount(cell, minlength=len(self.first))
        within = self.rank - self.first[self.leaf]
        here = (within >= 0) & (within < size[self.leaf])
        places = (np.cumsum(size) - size)[self.leaf[here]] + within[here]
        return self.leaf[here], items.at(order[places])


def _by_class(pool: MeasuredPool, made: Summed) -> Floats:
    stack, size = pool.stack, made.cells.size
    k, n_cells = stack.kind.width, len(size)
    most = int(np.clip(_NUMBERS // max(n_cells * k * stack.size, 1), 1, SAMPLED))
    taken = np.minimum(size, most)
    leaf = np.repeat(np.arange(n_cells), taken)
    within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    rank = within * size[leaf] // taken[leaf]
    before = np.cumsum(made.by_shard, axis=1) - made.by_shard
    picked = list(pool.each([_Pick(made.assign, first, leaf, rank) for first in before.T]))
    of = np.concatenate([leaf for leaf, _ in picked])
    order = np.argsort(of, kind="stable")   # by leaf, then by row
    sample, of = together([items for _, items in picked]).at(order), of[order]
    mean = csr_array((1 / taken[of], (of, np.arange(len(of)))), shape=(n_cells, len(of)))
    told, parts = stack.known(sample), []
    for y in range(k):
        phi = np.zeros((len(of), k))
        phi[:, y] = 1.0
        loss = np.concatenate([stack.of(sample, phi) - stack.perfect, told], axis=1)
        found = (mean @ csr_array(loss)).tocoo()
        parts.append(np.stack([found.coords[0] * k + y, found.coords[1], found.data]))
    return np.asarray(np.concatenate(parts, axis=1), np.float64)
