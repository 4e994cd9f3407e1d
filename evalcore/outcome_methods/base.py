"""What a method for any kind of outcome is: a way to cut the pool, to choose items, and to conclude.

All work on R repeats at once (R = 1 live), draw without replacement, and see outcomes only as losses.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cut import Cut
from assay.evalcore.outcome_methods.cutting.pool import MeasuredItems, MeasuredPool
from assay.evalcore.outcome_methods.state import (
    ItemWeights,
    OutcomeDesign,
    OutcomeEstimates,
    SampleState,
    unlabelled,
)
from assay.evalcore.outcome_methods.table import LossTable
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints

SINGLE = ":one-at-a-time=true"   # at the end of the name of a method that draws so


@dataclass(frozen=True, slots=True)
class OutcomeMethod(ABC):
    """One row of the registry.

    one_at_a_time   items are drawn one after the other, each with a chance that is known given those before
                    it, instead of a batch together: what a monitor needs (`evalcore.monitoring.betting`)
    """

    one_at_a_time: bool = False

    name: ClassVar[str]
    says: ClassVar[str]              # one sentence
    kinds: ClassVar[tuple[str, ...]] = (
        "classes", "number", "tags", "preference",   # of outcomes that it can do
    )
    interval: ClassVar[str]          # the kind of interval
    interval_note: ClassVar[str]     # what intervals of that kind were measured to cover
    least_coverage: ClassVar[float] = 0.93   # what a replay holds its 95% intervals to
    single_draws: ClassVar[bool] = True      # it can draw items one at a time
    holds_at_every_look: ClassVar[bool] = False   # its intervals hold together, however often one looks
    needs_clusters: ClassVar[bool] = False   # it draws whole clusters, which the pool has to name

    @property
    def written(self) -> str:
        """The name with its settings, which gives the same method again."""
        return self.name + (SINGLE if self.one_at_a_time else "")

    @abstractmethod
    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The cells of a pool; it keeps which cell each item is in.

        Raises BadInput for an empty pool, or one that lacks a column that a measure needs.
        """

    def cut(self, stack: Stack, items: Items) -> Cut:
        """The cells of a pool in memory, and the cell (N,) of each item.  Raises BadInput as `cells`."""
        pool = MeasuredItems(stack, items)
        return Cut(cells=self.cells(pool), cell=pool.cell)

    def start(
        self, stack: Stack, cells: OutcomeCells, repeats: int, table: LossTable | None = None
    ) -> SampleState:
        """The state before any label; table: of the whole pool, in a replay."""
        return unlabelled(stack, cells, repeats, table)

    def observe(
        self, state: SampleState, design: OutcomeDesign, item: Ints, cell: Ints,
        table: LossTable | None = None, asked: Ints | None = None,
    ) -> SampleState:
        """The state with the labels of a round that was drawn from `design`.

        item, cell (R, b): rows of the table, and cells, of the newly labelled items; table: replaces the
        table, where it has grown; asked (R, .): the cells of all the items asked, where some have no label.
        """
        return state.plus(item=item, cell=cell, table=table)

    @abstractmethod
    def share(self, state: SampleState) -> Floats:
        """(R, C) how much one item of each cell should be asked for, up to a factor."""

    @abstractmethod
    def meant(self, state: SampleState, labels: int) -> Floats:
        """(R, C) how many of so many labels are meant for each cell."""

    @abstractmethod
    def propose(self, state: SampleState, size: int) -> OutcomeDesign:
        """The inclusion probabilities of the next round, of at most `size` items."""

    @abstractmethod
    def draw(self, design: OutcomeDesign, rng: np.random.Generator) -> Ints:
        """(R, C) how many items of each cell are asked: a simple random sample of the cell's unlabelled."""

    @abstractmethod
    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for, in the order of the state (R = 1, at least one label)."""

    @abstractmethod
    def expects(self, state: SampleState) -> Floats:
        """(C, D) the loss that the labels so far make one expect of an item of each cell (R = 1)."""

    def in_order(self, design: OutcomeDesign, size: int, rng: np.random.Generator) -> Ints:
        """(T,) the cells of the items asked, in the order in which they are drawn (R = 1)."""
        return np.repeat(np.arange(design.left.shape[1]), self.draw(design, rng)[0])

    @abstractmethod
    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The estimates, with intervals."""


def draw_round(
    method: OutcomeMethod, state: SampleState, size: int, rng: np.random.Generator
) -> tuple[OutcomeDesign, Ints]:
    """A round of at most `size` items: the method's draw, or all that is left and can matter."""
    design = design_of_round(method, state, size)
    return design, state.wanted if design.census.all() else method.draw(design, rng)


def design_of_round(method: OutcomeMethod, state: SampleState, size: int) -> OutcomeDesign:
    """The design of a round of at most `size` items."""
    wanted = state.wanted
    if (wanted.sum(axis=1) <= size).all():
        inclusion = (wanted > 0).astype(np.float64)
        census = np.ones(len(wanted), np.bool_)
        return OutcomeDesign(left=state.left, inclusion=inclusion, census=census)
    return replace(method.propose(state, size), census=np.zeros(len(wanted), np.bool_))
