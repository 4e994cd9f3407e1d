"""What the Dirichlet-tree methods know between rounds.

    R   repeats;  C   leaves;  K   classes;  n   labels;  T   rounds
    D'  components of a loss: those that depend on the outcome, then those that the pool tells
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from assay.evalcore.label_models.dirichlet_tree import DirichletTree
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.types import Floats, Ints

BRANCHING = 2
STEPS = 20          # of EM after a round at most: it goes on from where it was
WORK = 2 * 10**6    # classes times leaves times steps, where that makes fewer; 4 at least
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TreeState(SampleState):
    """The label model, and with what chance every label was drawn."""

    tree: DirichletTree
    by_class: csr_array   # (C·K, D') the mean loss of the items of each leaf, if they were of each class
    joint: Floats         # (R, K, slots) p(y, leaf)
    count: Ints           # (R, C, K) labels
    chance: Floats        # (R, n) of the item of each label to be asked in its round
    round_of: Ints        # (n,) its round, counted from 0
    drawn: Ints           # (T,) labels of each round
    open_share: Floats    # (R, T) the share of the round's proposal that fell on unlabelled items
    items: Floats         # (R, T) relevant items, without those undecided before the round

    @property
    def relevant_items(self) -> Floats:
        """(R,) items whose label can matter, without undecided ones."""
        return np.asarray(((self.cells.size - self.excluded) * self.cells.relevant).sum(axis=1), np.float64)

    @property
    def idle_items(self) -> int:
        """Items whose label cannot matter."""
        return int(self.cells.size[~self.cells.relevant].sum())

    @property
    def losses(self) -> Floats:
        """(R, n, D') of the labelled items, from a right prediction's on (`Loss.perfect`)."""
        if self.table is None:
            return np.zeros((len(self.labelled), 0, self.by_class.shape[1]))
        loss = self.table.loss[self.item] - self.stack.perfect
        return np.concatenate([loss, self.table.known[self.item]], axis=2)


def tree_of(cells: OutcomeCells) -> DirichletTree:
    """The leaves on a complete binary tree, in their order, spread over its slots.

    Supplied probabilities are worth one item a leaf, as with two classes.  depth(v)² of the prior is
    multiplied by 2/(K log₂² K), which is 1 for two classes.  A class has the leaves of its own prediction, a
    K-th of all, below a node at depth log₂ K: so there the supplied probabilities weigh as much beside
    depth(v)² as they do at depth 1 with two classes.  Without this the prior of 28 classes is nearly flat.
    """
    chance = np.zeros((cells.n_cells, 2)) if cells.chance is None else cells.chance
    classes = chance.shape[1]
    depth = max(int(np.ceil(np.log2(max(cells.n_cells, 2)))), 1)
    slots = BRANCHING**depth
    slot = np.arange(cells.n_cells) * slots // cells.n_cells
    prior, size = np.zeros((classes, slots)), np.zeros(slots)
    prior[:, slot], size[slot] = np.maximum(chance, 1e-12).T, cells.size
    return DirichletTree(
        branching=BRANCHING, depth=depth, occupied=size > 0, slot=slot, slot_size=size, prior=prior,
        smoothing=2 / (classes * np.log2(classes) ** 2), tolerance=TOLERANCE,
        max_steps=int(np.clip(WORK // (classes * slots), 4, STEPS)),
    )


def losses_by_class(cells: OutcomeCells, classes: int, width: int) -> csr_array:
    """(C·K, D') from the cells; width: D'."""
    row, column, value = np.zeros((3, 0)) if cells.by_class is None else cells.by_class
    at = (row.astype(np.int64), column.astype(np.int64))
    return csr_array((value, at), shape=(cells.n_cells * classes, width))


def by_slot(tree: DirichletTree, by_leaf: Floats) -> Floats:
    """(R, K, slots) from what is counted by leaf (R, C, K); every leaf has a slot of its own."""
    counts = np.zeros((len(by_leaf), by_leaf.shape[2], len(tree.slot_size)))
    counts[:, :, tree.slot] = np.moveaxis(by_leaf, 2, 1)
    return counts
