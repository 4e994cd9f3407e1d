"""What a method for any kind of outcome is: a `Method` that sees outcomes only as losses, and asks about an
item at most once.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import Draws, one_by_one, without_replacement
from assay.evalcore.design.round import ClosedDraws, Design, EstimateArrays
from assay.evalcore.errors import BadInput, plural
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.cut import Cut
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredItems, MeasuredPool
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    guessed,
    loss_table,
    no_rows_yet,
)
from assay.evalcore.methods.method import Capabilities, SamplingMethod, changed_settings, with_settings_of
from assay.evalcore.outcomes.base import UNDECIDED, OutcomeKind, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class OutcomeMethod(SamplingMethod[OutcomeCells, Stack, SampleState, Design, RoundOutcomes]):
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
    without: ClassVar[Mapping[str, str]] = {}   # settings of two classes that it has no use for: and why
    of_some_measures: ClassVar[bool] = False    # refuses others
    capabilities: ClassVar[Capabilities] = Capabilities(
        judges_systems=True, serves_several=True, serves_all=True, single_draws=True, weighting="method",
        forecast_worlds=0,
    )

    @property
    def written(self) -> str:
        return self.name + changed_settings(self)

    def as_set(self) -> "OutcomeMethod":
        """The method that these settings ask for; of another class where they ask for another estimator.

        Raises BadInput for settings that would change nothing.
        """
        return self

    def with_settings(self, written: str) -> "OutcomeMethod":
        return with_settings_of(self, written).as_set()

    def drawn_singly(self, name: str) -> str:
        return replace(self, one_at_a_time=True).written

    @property
    def sampling_note(self) -> str:
        """How items are chosen, in one sentence for a report."""
        return self.says

    @abstractmethod
    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """The cells of a pool; it keeps which cell each item is in.

        Raises BadInput for an empty pool, or one that lacks a column that a measure needs.
        """

    def cut(self, stack: Stack, items: Items) -> Cut:
        """The cells of a pool in memory, and the cell (N,) of each item.  Raises BadInput as `cells`."""
        pool = MeasuredItems(stack, items)
        return Cut(cells=self.cells(pool), cell=pool.cell)

    def start(self, cells: OutcomeCells, measures: Stack, repeats: int) -> SampleState:
        return SampleState(**no_rows_yet(measures, cells, repeats))

    def observe(
        self, state: SampleState, design: Design, answers: RoundOutcomes, excluded: Ints
    ) -> SampleState:
        after = state.plus(answers).without(answers, excluded)
        if state.given is None and state.cells.segment is None and not design.held:
            return after
        before = np.zeros(state.by_cell.shape) if state.given is None else state.given
        return replace(after, given=before + design.left * design.unlabelled)

    def design_of_held(self, state: SampleState, labels: int) -> Design:
        eligible = state.wanted
        chance = min(labels / max(int(eligible.sum()), 1), 1.0)
        return Design(
            left=state.left, unlabelled=np.where(eligible > 0, chance, 0.0), census=np.array([chance >= 1]),
            held=True,
        )

    @abstractmethod
    def share(self, state: SampleState) -> Floats:
        """(R, C) how much one item of each cell should be asked for, up to a factor."""

    def item_proposal(self, state: SampleState) -> tuple[Floats, Floats] | None:
        """Of draws by a proposal: its q of an unlabelled item of each cell (R, C), and of each labelled item
        (R, n), which sum to 1 over the items whose label matters; None where there is no proposal."""
        return None

    @abstractmethod
    def allocation(self, state: SampleState, labels: int) -> Floats:
        """(R, C) how many of so many labels are meant for each cell."""

    @abstractmethod
    def propose(self, state: SampleState, size: Ints) -> Design:
        """The inclusion probabilities of the next round; size (R,) is the same in every repeat."""

    def draw(self, state: SampleState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """The draws of a round of different items: counts by cell in a replay of several repeats, and in a
        live evaluation (one repeat) the cells in the order in which items are drawn."""
        if len(design.left) > 1:
            return without_replacement(self.numbers_drawn(design, rng))
        return one_by_one(self.in_order(design, int(size.max()), rng), design.left.shape[1])

    @abstractmethod
    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """(R, C) how many items of each cell are asked: a simple random sample of the cell's unlabelled."""

    @abstractmethod
    def weights(self, state: SampleState) -> ItemWeights:
        """What each labelled item stands for, in the order of the state (R = 1, at least one label)."""

    @abstractmethod
    def expects(self, state: SampleState) -> Floats:
        """(C, D) the loss that the labels so far make one expect of an item of each cell (R = 1). C counts
        cells and D the components of all losses."""

    def in_order(self, design: Design, size: int, rng: np.random.Generator) -> Ints:
        """(T,) the cells of the items asked, in the order in which they are drawn (R = 1)."""
        return np.repeat(np.arange(design.left.shape[1]), self.numbers_drawn(design, rng)[0])

    @abstractmethod
    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The estimates of all Q numbers in all R repeats, (R, Q) each, with intervals at this confidence;
        NaN where a number is undefined, as all are before the first label."""

    def pseudo_labels(
        self, kind: OutcomeKind, cells: OutcomeCells, items: Items, code: Floats, weight: Floats
    ) -> Floats:
        """(C, K or 2) of items of other pools, for `start_from`; code, weight (n,): what each was labelled,
        and what that is worth.

        Raises BadInput where the label model takes none, and for cells of another method.
        """
        raise self.takes_no_earlier_labels

    def next_round(
        self, state: SampleState, size: Ints, rng: np.random.Generator
    ) -> tuple[Design, Draws]:
        eligible, nobody = state.wanted, np.zeros(len(size), np.bool_)
        if (eligible.sum(axis=1) <= size.max()).all():
            everything = (eligible > 0).astype(np.float64)
            design = Design(left=state.left, unlabelled=everything, census=~nobody)
            return design, without_replacement(eligible)
        design = replace(self.propose(state, size), census=nobody)
        return design, self.draw(state, design, size, rng)

    def heard(self, state: SampleState, answered: ClosedDraws) -> RoundOutcomes:
        """The losses of the newly labelled items of a live round, with the cells of all items asked.
        Undecided items are kept apart, with what was guessed of them. Raises BadInput where outcomes or
        the pool's columns of the items are missing."""
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
            undecided_guess=guessed(state.stack, gone)[1][:, : len(state.cells.first)].sum(axis=0)[None]
            if len(gone) else None,
            undecided_known=state.stack.known(gone).sum(axis=0)[None] if len(gone) else None,
        )

    def spent(self, before: SampleState, after: SampleState, size: Ints) -> Ints:
        """The labels that a round counts for, (R,): the difference of what was bought before and after it.
        Items that nobody answered cost nothing here."""
        return after.bought - before.bought

    def number_estimates(
        self, state: SampleState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimate of each of the Q numbers, measure by measure and part by part, as arrays over the
        repeats. Once every item of the pool is labelled, measures that the means give only nearly are
        computed item by item."""
        estimates = self.estimate(state, confidence)
        return exact_by_items(state, [estimates.number(q) for q in range(estimates.value.shape[1])])


def exact_by_items(state: SampleState, numbers: list[EstimateArrays]) -> list[EstimateArrays]:
    """The numbers of a state, with the value of the labels themselves where no item of the pool is left."""
    table, exhausted = state.table, np.asarray(~(state.left > 0).any(axis=1))
    if table is None or table.columns is None or not exhausted.any() or state.clustered:
        return numbers
    item_weights = np.ones(len(table.code)) if state.stack.weights is None else table.known[:, -1]
    value = np.full((len(exhausted), len(numbers)), np.nan)
    for r in np.flatnonzero(exhausted).tolist():
        rows = state.item[r]
        for q, exact in state.stack.values_of_items(table.columns[rows], item_weights[rows]).items():
            value[r, q] = exact
    return [
        _with_exact_value(number, value, q) if np.isfinite(value[:, q]).any() else number
        for q, number in enumerate(numbers)
    ]


def _with_exact_value(number: EstimateArrays, values: Floats, q: int) -> EstimateArrays:
    """The estimate, exact where values (R, Q) have a number for it."""
    exact_value, inner = values[:, q], number.ends
    has_exact = np.isfinite(exact_value)

    def ends(level: Floats) -> tuple[Floats, Floats]:
        """At these confidences (R, Q)."""
        if inner is None:
            raise ValueError("there are no other ends")
        lower, upper = inner(level)
        finite = np.isfinite(values)
        return np.where(finite, values, lower), np.where(finite, values, upper)

    return replace(
        number, value=np.where(has_exact, exact_value, number.value),
        lower=np.where(has_exact, exact_value, number.lower),
        upper=np.where(has_exact, exact_value, number.upper),
        variance=np.where(has_exact, 0.0, number.variance),
        exact=has_exact if number.exact is None else number.exact | has_exact,
        ends=None if inner is None else ends,
    )
