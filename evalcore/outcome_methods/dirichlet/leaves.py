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

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cut import Cut, Profile, numbered, profile, sums
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.joint import joint_groups
from assay.evalcore.types import Floats, Ints

LEAVES = 256        # about so many
MOST_GROUPS = 128
SAMPLED = 8         # items of a leaf that its losses are taken from
_NUMBERS = 10**8    # of those losses, at most


def leaf_cut(stack: Stack, items: Items) -> Cut:
    """The pool in leaves, in five passes.  Raises BadInput where outcomes are not classes."""
    if not stack.kind.one_of_parts:
        raise BadInput(f"a Dirichlet tree is a model of classes, and these outcomes are {stack.kind.name}")
    found = profile(stack, items)
    group, score = _places(stack.kind, items, found)
    number = max(LEAVES - len(np.unique(group)), LEAVES // 2)      # every group may add one
    leaf = _within_groups(*numbered(found, group, score, number))
    made = Cut(cells=sums(stack, items, found, leaf), cell=leaf)
    chance = np.zeros((made.cells.n_cells, stack.kind.width))
    for where, piece in items.chunks():
        n = len(piece)
        member = csr_array((np.ones(n), (made.cell[where], np.arange(n))), shape=(len(chance), n))
        chance += np.asarray(member @ expected_phi(stack.kind, piece, found.first))
    chance /= made.cells.size[:, None]
    by_class = _by_class(stack, items, made.cell, len(chance))
    return replace(made, cells=replace(made.cells, chance=chance, by_class=by_class))


def _within_groups(cell: Ints, group: Ints) -> Ints:
    """The leaf (N,) of each item, in the order of the cells; items of different groups are kept apart."""
    key = cell * (int(group.max()) + 1) + group
    return np.asarray(np.unique(key, return_inverse=True)[1].ravel(), np.int64)


def expected_phi(kind: OutcomeKind, items: Items, first: Floats) -> Floats:
    """p(y|x) (n, K) before any label: as supplied; from predictions and judges where nothing is."""
    if items.probability is not None:
        total = items.probability.sum(axis=1, keepdims=True)
        return np.asarray(np.maximum(items.probability / total, 1e-9))
    return np.asarray(np.einsum("b,nbp->np", first / first.sum(), kind.guesses(items)))


def _places(kind: OutcomeKind, items: Items, found: Profile) -> tuple[Ints, Floats]:
    """The group and the score (N,) of each item."""
    group, score = np.zeros(len(items), np.int64), np.zeros(len(items))
    for where, piece in items.chunks():
        phi = expected_phi(kind, piece, found.first)
        group[where] = piece.prediction[:, 0] if piece.systems else phi.argmax(axis=1)
        score[where] = np.take_along_axis(phi, group[where][:, None], axis=1)[:, 0]
    if items.systems > 1:
        return joint_groups(items.prediction, found.pull), score
    if len(np.unique(group)) > MOST_GROUPS:
        return np.zeros_like(group), group + np.minimum(score, 1 - 1e-9)
    return group, score


def _by_class(stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
    k = stack.kind.width
    most = int(np.clip(_NUMBERS // max(n_cells * k * stack.size, 1), 1, SAMPLED))
    order = np.argsort(cell, kind="stable")
    size = np.bincount(cell, minlength=n_cells)
    taken = np.minimum(size, most)
    start = np.repeat(np.cumsum(size) - size, taken)
    within = np.arange(taken.sum()) - np.repeat(np.cumsum(taken) - taken, taken)
    picked = order[start + within * np.repeat(size, taken) // np.repeat(taken, taken)]
    sample, of = items.at(picked), cell[picked]
    mean = csr_array((1 / taken[of], (of, np.arange(len(of)))), shape=(n_cells, len(of)))
    told, parts = stack.known(sample), []
    for y in range(k):
        phi = np.zeros((len(picked), k))
        phi[:, y] = 1.0
        loss = np.concatenate([stack.of(sample, phi) - stack.perfect, told], axis=1)
        found = (mean @ csr_array(loss)).tocoo()
        parts.append(np.stack([found.coords[0] * k + y, found.coords[1], found.data]))
    return np.asarray(np.concatenate(parts, axis=1), np.float64)
