"""What a method for any kind of outcome is: a way to cut the pool, to choose items, and to conclude.

All work on R repeats at once (R = 1 live), draw without replacement, and see outcomes only as losses.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np

from assay.evalcore.design.draws import Draws, one_by_one, without_replacement
from assay.evalcore.design.round import ClosedDraws, Design, EstimateArrays
from assay.evalcore.errors import BadInput, plural
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.cut import Cut
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredItems, MeasuredPool
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    LossTable,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    first_sample,
    guessed,
    loss_table,
)
from assay.evalcore.methods.settings import changed_settings
from assay.evalcore.outcomes.base import UNDECIDED, OutcomeKind, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class OutcomeMethod(ABC):
    """One row of the registry.  The fields of a subclass are the method's settings.

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
    # how far below its confidence an interval may cover before a replay calls it too narrow
    coverage_slack: ClassVar[float] = 0.02
    single_draws: ClassVar[bool] = True      # it can draw items one at a time
    draws_by_measure: ClassVar[bool] = True   # its draws follow the measures that drive
    needs_clusters: ClassVar[bool] = False   # it draws whole clusters, which the pool has to name
    asks_anew: ClassVar[bool] = False
    repeats_in_a_round: ClassVar[bool] = False
    negatively_associated: ClassVar[bool] = False

    @property
    def written(self) -> str:
        """The name with its settings, which gives the same method again."""
        return self.name + changed_settings(self)

    def as_set(self) -> "OutcomeMethod":
        """The method that these settings ask for; of another class where they ask for another estimator.

        Raises BadInput for settings that would change nothing.
        """
        return self

    @property
    def holds_at_every_look(self) -> bool:
        """Whether its intervals hold all together, however often people look and decide to go on."""
        return False

    def audited(self, share: float) -> Self:
        """With this share of every batch spread evenly over the items that one class may hide among.

        Raises BadInput for a method that has no such setting.
        """
        raise BadInput(f"method {self.name!r} cannot spread part of a batch evenly")

    @property
    def sampling_note(self) -> str:
        """How items are chosen, in a sentence."""
        return self.says

    def least_coverage(self, confidence: float) -> float:
        """The coverage that a replay holds its intervals of this confidence to."""
        return round(confidence - self.coverage_slack, 9)

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
        return first_sample(stack, cells, repeats, table)

    def observe(
        self, state: SampleState, design: Design, item: Ints, cell: Ints,
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
    def propose(self, state: SampleState, size: int) -> Design:
        """The inclusion probabilities of the next round, of at most `size` items."""

    @abstractmethod
    def draw(self, design: Design, rng: np.random.Generator) -> Ints:
        """(R, C) how many items of each cell are asked: a simple random sample of the cell's unlabelled."""

    @abstractmethod
    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for, in the order of the state (R = 1, at least one label)."""

    @abstractmethod
    def expects(self, state: SampleState) -> Floats:
        """(C, D) the loss that the labels so far make one expect of an item of each cell (R = 1)."""

    def in_order(self, design: Design, size: int, rng: np.random.Generator) -> Ints:
        """(T,) the cells of the items asked, in the order in which they are drawn (R = 1)."""
        return np.repeat(np.arange(design.left.shape[1]), self.draw(design, rng)[0])

    @abstractmethod
    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The estimates, with intervals."""

    # --- what an evaluation asks of it: see `evalcore.methods.method` ---

    def first_state(
        self, cells: OutcomeCells, measures: Stack, repeats: int, evidence: Floats | None = None
    ) -> SampleState:
        """Raises BadInput for evidence."""
        if evidence is not None:
            raise BadInput(f"the label model of method {self.name!r} takes no earlier labels")
        return self.start(measures, cells, repeats)

    def round_size(self, state: SampleState, size: Ints) -> Ints:
        """As wanted."""
        return size

    def next_round(
        self, state: SampleState, size: Ints, rng: np.random.Generator
    ) -> tuple[Design, Draws]:
        """Every draw is of another item."""
        wanted, most = state.wanted, int(size.max())
        design = design_of_round(self, state, most)
        if design.census.all():
            return design, without_replacement(wanted)
        if len(wanted) > 1:
            return design, without_replacement(self.draw(design, rng))
        return design, one_by_one(self.in_order(design, most, rng), wanted.shape[1])

    def heard(self, state: SampleState, answered: ClosedDraws) -> RoundOutcomes:
        """The losses of the labelled items. Raises BadInput."""
        plan, codes, items = answered.plan, answered.code, answered.items
        if items is None or len(items) != len(plan.cell) or np.isnan(codes).any():
            raise BadInput(
                f"give one outcome, and what the pool says, for each of {plural(len(plan.cell), 'item')}"
            )
        labelled, undecided = is_outcome(codes), codes == UNDECIDED
        before = 0 if state.table is None else len(state.table.loss)
        new = loss_table(state.stack, items.at(labelled), codes[labelled])
        gone = items.at(undecided)
        return RoundOutcomes(
            item=np.arange(before, before + int(labelled.sum()))[None],
            cell=plan.cell[labelled][None],
            table=new if state.table is None else state.table.plus(new),
            asked=None if labelled.all() else plan.cell[None],
            undecided_guess=guessed(state.stack, gone)[1].sum(axis=0)[None] if len(gone) else None,
            undecided_known=state.stack.known(gone).sum(axis=0)[None] if len(gone) else None,
        )

    def learn(
        self, state: SampleState, design: Design, heard: RoundOutcomes, excluded: Ints
    ) -> SampleState:
        after = self.observe(state, design, heard.item, heard.cell, heard.table, heard.asked)
        if heard.undecided_guess is None or heard.undecided_known is None:
            return after
        return replace(
            after,
            excluded=after.excluded + excluded,
            excluded_guess=after.excluded_guess + heard.undecided_guess,
            excluded_known=after.excluded_known + heard.undecided_known,
        )

    def spent(self, before: SampleState, after: SampleState, size: Ints) -> Ints:
        """What was bought."""
        return after.bought - before.bought

    def with_known(self, state: SampleState, known: Mapping[tuple[int, int], float]) -> SampleState:
        """As it is: its rows are the labels of now."""
        return state

    def refit(self, state: SampleState) -> SampleState:
        """As it is: label models are fitted to all labels in every round."""
        return state

    def numbers(
        self, state: SampleState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The numbers of the measures, part by part."""
        found = self.estimate(state, confidence)
        return [found.number(q) for q in range(found.value.shape[1])]


@runtime_checkable
class StartsWarm(Protocol):
    """A method whose label model takes labels of other pools, as pseudo-labels of its cells."""

    # whether what it starts from steers draws alone, and is in no estimate
    draws_alone: ClassVar[bool]

    def pseudo_labels(
        self, kind: OutcomeKind, cells: OutcomeCells, items: Items, code: Floats, weight: Floats
    ) -> Floats:
        """(C, K or 2) of items of other pools, for `first_state`; code, weight (n,): what each was labelled,
        and what that is worth.

        Raises BadInput for cells of another method.
        """
        ...


def design_of_round(method: OutcomeMethod, state: SampleState, size: int) -> Design:
    """The design of a round of at most `size` items."""
    wanted = state.wanted
    if (wanted.sum(axis=1) <= size).all():
        inclusion = (wanted > 0).astype(np.float64)
        census = np.ones(len(wanted), np.bool_)
        return Design(left=state.left, unlabelled=inclusion, census=census)
    return replace(method.propose(state, size), census=np.zeros(len(wanted), np.bool_))
