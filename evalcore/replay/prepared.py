"""A pool in the cells of one method, every label known: what the rounds of a replay draw from.

Of a positive and a negative class the items of a cell are counted by label, and R evaluations run as arrays
(R, C).  Of any other outcome the losses of all items are computed once; a method sees the rows of the items
that it drew.

    R   repeats;  N   items;  C   cells
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from assay.evalcore.design.draws import Draws, simulate_anew, simulate_answers, simulate_labels
from assay.evalcore.design.round import EstimateArrays, RoundLabels
from assay.evalcore.errors import BadArgument
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import Method
from assay.evalcore.methods.state import MethodState
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.base import OutcomeMethod
from assay.evalcore.outcome_methods.cut import Cut
from assay.evalcore.outcome_methods.state import RoundOutcomes, SampleState
from assay.evalcore.outcome_methods.table import LossTable, loss_table
from assay.evalcore.pool.cells import Cells
from assay.evalcore.replay.divergence import best_proposal, divergence
from assay.evalcore.replay.pool import Annotators, LabelledPool, OutcomePool, annotators_of, prepare
from assay.evalcore.types import Floats, Ints


class Respondents(Protocol):
    """Who answers in one block of repeats."""

    def answer(self, draws: Draws, state: Any, rng: np.random.Generator) -> Any:
        """The answers to a round in the form that the method learns from; state: before it."""
        ...


class Prepared(ABC):
    """A pool as one method sees it, for some measures."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """N."""

    @abstractmethod
    def begin(self, method: Any, repeats: int) -> Any:
        """The state before any label."""

    @abstractmethod
    def respondents(
        self, method: Any, repeats: int, rng: np.random.Generator, answers: np.random.Generator
    ) -> Respondents:
        """Who answers; rng: of the draws too; answers: of what people say who differ."""

    def further(self, method: Any, state: Any, confidence: float) -> list[EstimateArrays]:
        """The measures of further systems."""
        return []

    def distance(self, method: Any, state: Any, batch_size: int) -> Floats | None:
        """The divergence (R,) of the method's next proposal; None where there is no best one."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedPool(Prepared):
    """Of two classes."""

    cells: Cells
    by_label: Ints       # (C, 2) items of each cell
    measures: Sequence[Measure]
    annotators: Annotators | None = None   # where people differ: new answers in every repeat

    @property
    def n_items(self) -> int:
        """See Prepared."""
        return self.cells.n_items

    def begin(self, method: Method, repeats: int) -> Any:
        """See Prepared."""
        return method.start(self.cells, self.measures, repeats)

    def respondents(
        self, method: Method, repeats: int, rng: np.random.Generator, answers: np.random.Generator
    ) -> Respondents:
        """See Prepared. Raises BadArgument for several people where every draw asks anew."""
        if method.asks_anew:
            return _Anew(self._rate())
        if self.annotators is None:
            return _Truth(self.by_label)
        return _Answers(self.annotators.answer(self.cells.n_cells, repeats, answers), self.annotators)

    def _rate(self) -> Floats:
        """The chance (C,) of a positive answer about an item drawn from each cell."""
        if self.annotators is None:
            return np.asarray(self.by_label[:, 1] / self.cells.size)
        if self.annotators.people > 1:
            raise BadArgument("people", "is 1 where every draw asks anew: each answer is a draw of its own")
        return self.annotators.mean_rate(self.cells.size)

    def further(self, method: Method, state: Any, confidence: float) -> list[EstimateArrays]:
        """By system, then by measure."""
        return [e for found in method.further_systems(state, confidence) for e in found]

    def distance(self, method: Method, state: MethodState, batch_size: int) -> Floats | None:
        """For the measures that the method serves; None where people differ."""
        if self.annotators is not None:
            return None
        measures = state.measures if method.capabilities.serves_all else state.measures[:1]
        best = best_proposal(measures, state.cells, self.by_label)
        design = method.propose(state, np.full(len(state.labelled), batch_size))
        return divergence(best, design, self.by_label, state.labelled)


@dataclass(slots=True)
class _Truth:
    """Labels that are the same whenever an item is drawn."""

    by_label: Ints   # (C, 2) items of each cell

    def answer(self, draws: Draws, state: MethodState, rng: np.random.Generator) -> RoundLabels:
        """See Respondents."""
        return simulate_labels(draws, self.by_label - state.labelled, rng)


@dataclass(slots=True)
class _Answers:
    """Answers of several annotators, given beforehand; the items that were asked are taken out."""

    unasked: Ints    # (R, C, K) items by the share of positive answers about them
    annotators: Annotators

    def answer(self, draws: Draws, state: MethodState, rng: np.random.Generator) -> RoundLabels:
        """See Respondents."""
        labels, answered = simulate_answers(draws, self.unasked, self.annotators.share, rng)
        self.unasked = self.unasked - answered
        return labels


@dataclass(slots=True)
class _Anew:
    """A new answer to every draw, by one annotator, whoever was asked about the item before."""

    rate: Floats     # (C,) the chance that it is positive

    def answer(self, draws: Draws, state: MethodState, rng: np.random.Generator) -> RoundLabels:
        """See Respondents."""
        return simulate_anew(draws, self.rate, rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemizedPool(Prepared):
    """Of any outcome."""

    stack: Stack
    cut: Cut
    table: LossTable     # of all N items

    @property
    def n_items(self) -> int:
        """See Prepared."""
        return self.cut.cells.n_items

    def begin(self, method: OutcomeMethod, repeats: int) -> SampleState:
        """See Prepared."""
        return method.start(self.stack, self.cut.cells, repeats, self.table)

    def respondents(
        self, method: OutcomeMethod, repeats: int, rng: np.random.Generator, answers: np.random.Generator
    ) -> Respondents:
        """See Prepared."""
        cell = self.cut.cell
        return _Shuffled(
            item=np.stack([np.argsort(cell + rng.random(len(cell))) for _ in range(repeats)]),
            start=np.concatenate([[0], np.cumsum(self.cut.cells.size)]),
        )


@dataclass(slots=True)
class _Shuffled:
    """The items of each cell, in every repeat's own random order."""

    item: Ints       # (R, N) sorted by cell
    start: Ints      # (C + 1,) where each cell begins

    def answer(self, draws: Draws, state: SampleState, rng: np.random.Generator) -> RoundOutcomes:
        """See Respondents."""
        cell = draws.cell
        at = self.start[cell] + np.take_along_axis(state.labelled, cell, axis=1) + draws.ordinal
        return RoundOutcomes(item=np.take_along_axis(self.item, at, axis=1), cell=cell)


def prepared(method: Any, pool: LabelledPool | OutcomePool, measures: Any, people: int = 1) -> Prepared:
    """A pool as this method sees it.

    measures: of two classes, or the `Stack` of a pool of any outcome; people: who answer about each item,
    where they differ.  Raises BadInput where the pool lacks what a measure or the method needs, and
    BadArgument for a number of people that can tie.
    """
    if isinstance(pool, OutcomePool):
        return ItemizedPool(
            stack=measures, cut=method.cut(measures, pool.items),
            table=loss_table(measures, pool.items, pool.codes),
        )
    cells, by_label = prepare(method, pool)
    return CountedPool(
        cells=cells, by_label=by_label, measures=measures, annotators=annotators_of(method, pool, people)
    )
