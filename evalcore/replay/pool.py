"""Pools for a replay: every label is known, and the methods do not see it until they draw the item.

    N   items;  C   cells;  S   further systems;  D   features;  Q   numbers asked for
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.errors import BadArgument
from assay.evalcore.methods.base import Method
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.cells import Cells
from assay.evalcore.pool.partition import Partition, build_partition
from assay.evalcore.types import Array, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomePool:
    """Items of any kind with their outcomes."""

    kind: OutcomeKind
    items: Items
    codes: Floats    # (N,)

    def truth(self, stack: Stack) -> Floats:
        """(Q,) the numbers asked for; NaN where one is undefined on this pool."""
        total, known = np.zeros(stack.size), 0.0
        for where, piece in self.items.chunks():
            total += stack.of(piece, self.kind.phi(self.codes[where])).sum(axis=0)
            known = known + stack.known(piece).sum(axis=0)
        risk = np.concatenate([total, np.asarray(known)]) / len(self.items)
        return stack.value(risk, stack.known_sizes(self.items))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledPool:
    """Predictions of two classes and, hidden from the methods, the truth."""

    score: Floats        # (N,)
    probability: Floats  # (N,)
    prediction: Array    # (N,) 0 or 1
    label: Array         # (N,) 0 or 1; where annotators differ, what more than half of them would say
    features: Floats | None = None  # (N, D) for methods that cut by them
    systems: Array | None = None    # (N, S) what further systems predict, for methods that judge several
    label_probability: Floats | None = None  # (N,) the chance that an annotator calls the item positive
    scored: bool = True             # the score was supplied; else it is made of the probability
    unsure: bool = False            # neither was: both are made of the prediction

    def confusion(self, system: int = 0) -> Floats:
        """Counts (2, 2) by [prediction, label]: of the pool's predictions, or of further system 1, 2 ...

        Where annotators differ, an item counts for both labels by the chance of each.
        """
        predicted = self.prediction if system == 0 or self.systems is None else self.systems[:, system - 1]
        positive = self.label if self.label_probability is None else self.label_probability
        rows = [np.stack([1 - positive, positive], axis=-1)[predicted == f].sum(axis=0) for f in (0, 1)]
        return np.stack(rows).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Annotators:
    """People who answer differently: `people` of them are asked about every item."""

    cell: Ints           # (N,)
    probability: Floats  # (N,) the chance of a positive answer
    people: int          # odd, so that a majority is a label

    @property
    def share(self) -> Floats:
        """The shares (K,) of positive answers that an item can have."""
        return np.arange(self.people + 1) / self.people

    def mean_rate(self, size: Ints) -> Floats:
        """The chance (C,) that the answer to a draw from each cell is positive; size (C,): its items."""
        return np.asarray(np.bincount(self.cell, weights=self.probability, minlength=len(size)) / size)

    def answer(self, n_cells: int, repeats: int, rng: np.random.Generator) -> Ints:
        """Items (R, C, K) of each cell by the share of positive answers about them, new in each repeat."""
        counts = np.zeros((repeats, n_cells, self.people + 1), np.int64)
        for r in range(repeats):
            votes = rng.binomial(self.people, self.probability)
            np.add.at(counts[r], (self.cell, votes), 1)
        return counts


def prepare(method: Method, pool: LabelledPool) -> tuple[Cells, Ints]:
    """The method's cells of a pool, and their items by label (C, 2).

    Raises BadInput for an empty pool, and where the method cuts by features and the pool has none.
    """
    partition, cell = _cut(method, pool)
    positives = np.bincount(cell, weights=pool.label, minlength=partition.cells.n_cells).astype(np.int64)
    return partition.cells, np.stack([partition.cells.size - positives, positives], axis=1)


def annotators_of(method: Method, pool: LabelledPool, people: int) -> Annotators | None:
    """Who answers about the items of a pool; None where every item has one label.

    Raises BadArgument for a number of people that can tie.
    """
    if pool.label_probability is None:
        return None
    if people < 1 or people % 2 == 0:
        raise BadArgument("people", f"must be an odd number, so that a majority is a label; got {people}")
    return Annotators(cell=_cut(method, pool)[1], probability=pool.label_probability, people=people)


def _cut(method: Method, pool: LabelledPool) -> tuple[Partition, Ints]:
    return build_partition(
        method, pool.score, pool.probability, pool.prediction, pool.features, pool.systems
    )
