"""What is known between rounds, and the records of a round.

    R   repeats side by side: 1 in a live evaluation, hundreds in a replay
    C   cells;  n   labelled items so far, the same number in every repeat
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.table import LossTable
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeDesign:
    """The inclusion probabilities of one round, without replacement."""

    left: Ints           # (R, C) unlabelled items of each cell before the round
    inclusion: Floats    # (R, C) π, the chance of each of them to be asked
    census: Bools        # (R,) every item that can matter and has no label is asked

    def to_columns(self) -> dict[str, Floats | Ints | Bools]:
        """Columns of length C for the ledger (R = 1)."""
        return {
            "left": self.left[0],
            "inclusion": self.inclusion[0],
            "census": np.full(self.left.shape[1], bool(self.census[0])),
        }

    @staticmethod
    def from_columns(columns: Mapping[str, ArrayLike]) -> "OutcomeDesign":
        """The inverse of `to_columns`."""
        return OutcomeDesign(
            left=np.asarray(columns["left"], np.int64)[None],
            inclusion=np.asarray(columns["inclusion"], np.float64)[None],
            census=np.asarray(columns["census"], np.bool_)[:1],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleState:
    """What every method knows."""

    stack: Stack
    cells: OutcomeCells
    table: LossTable | None    # None before the first label
    item: Ints                 # (R, n) rows of the table: the labelled items
    cell: Ints                 # (R, n) their cells
    labelled: Ints             # (R, C) how many they are
    excluded: Ints             # (R, C) items that people could not decide: out of the pool
    excluded_guess: Floats     # (R, B, D) what was guessed of them
    excluded_known: Floats     # (R, D_k)

    @property
    def n(self) -> int:
        """Labelled items."""
        return int(self.item.shape[1])

    @property
    def left(self) -> Ints:
        """(R, C) items that may still be asked."""
        return np.asarray(self.cells.size - self.labelled - self.excluded)

    @property
    def wanted(self) -> Ints:
        """(R, C) those of them whose label can change anything that is asked."""
        return np.asarray(self.left * self.cells.relevant)

    def plus(self, item: Ints, cell: Ints, table: LossTable | None = None) -> "SampleState":
        """With the labels of a round.

        item, cell (R, b): rows of the table, and cells, of the newly labelled items; table: replaces the
        table, where it has grown.
        """
        repeats, c = self.labelled.shape
        flat = (np.arange(repeats)[:, None] * c + cell).ravel()
        count = np.bincount(flat, minlength=repeats * c).reshape(repeats, c)
        return replace(
            self,
            table=self.table if table is None else table,
            item=np.concatenate([self.item, item], axis=1),
            cell=np.concatenate([self.cell, cell], axis=1),
            labelled=self.labelled + count,
        )


def unlabelled(stack: Stack, cells: OutcomeCells, repeats: int, table: LossTable | None) -> SampleState:
    """Before any label."""
    shape, b = (repeats, cells.n_cells), len(cells.first)
    return SampleState(
        stack=stack,
        cells=cells,
        table=table,
        item=np.zeros((repeats, 0), np.int64),
        cell=np.zeros((repeats, 0), np.int64),
        labelled=np.zeros(shape, np.int64),
        excluded=np.zeros(shape, np.int64),
        excluded_guess=np.zeros((repeats, b, stack.size)),
        excluded_known=np.zeros((repeats, len(cells.known))),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemWeights:
    """What each labelled item stands for (R = 1): the fields of `evalcore.weighted.sample.WeightedSample`."""

    weight: Floats       # (n,)
    factor: Floats       # (n,)
    group: Ints          # (n,) -1 for none


# of confidences (R, Q): the lower and the upper ends (R, Q)
Ends: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeEstimates:
    """The Q numbers that are asked for, in each repeat; NaN where one is undefined."""

    value: Floats        # (R, Q)
    lower: Floats        # (R, Q)
    upper: Floats        # (R, Q)
    variance: Floats     # (R, Q) 0 once everything that matters is labelled
    exact: Bools         # (R,) everything that matters is labelled
    ends: Ends | None = None     # the interval at other confidences; None before the first label
    # (R, Q) of measures without bounds: the share of one label in the variance
    largest: Floats | None = None
    # lower, upper (R, Q): of the points of a curve, ends that hold together; None without curves
    band: tuple[Floats, Floats] | None = None
