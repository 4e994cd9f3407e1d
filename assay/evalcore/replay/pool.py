"""Pools for a replay: every label is known, and the methods do not see it until they draw the item.

`prepared` puts the pool into the cells of one method: rounds draw from these.

N   items;  C   cells;  S   further systems;  D   features;  Q   numbers asked for
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from assay.evalcore.design.draws import (
    Draws,
    first_draws,
    simulate_anew,
    simulate_answers,
    simulate_labels,
)
from assay.evalcore.design.proposal import total_pull
from assay.evalcore.design.round import CountedDesign, EstimateArrays, RoundLabels
from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.measures.stack import Stack, StackOfQuestions
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.cut import Cut
from assay.evalcore.methods.any_outcome.interval import slopes_of_known
from assay.evalcore.methods.any_outcome.state import LossTable, RoundOutcomes, SampleState, loss_table
from assay.evalcore.methods.method import AnswersT, Method, StateT
from assay.evalcore.methods.one_of_several import against_the_rest, one_of_several
from assay.evalcore.methods.two_classes.base import CountingMethod, MethodState
from assay.evalcore.outcomes.base import OutcomeKind, is_outcome
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.partition import Partition, build_partition
from assay.evalcore.pool.strata import Cells
from assay.evalcore.types import Array, Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomePool:
    """Items of any kind with their outcomes, as a replay needs them: N codes that methods do not see until
    they draw the item."""

    kind: OutcomeKind
    items: Items
    codes: Floats    # (N,)
    contenders: tuple[str, ...] = ()   # where rows are of one system each, or compare two: their names
    words_for_none: Mapping[str, int] = field(default_factory=dict)   # what labels were read as none -> rows

    def truth(self, stack: Stack) -> Floats:
        """(Q,) the numbers asked for; NaN where one is undefined on this pool. Raises BadInput naming a
        measure that needs a column which is not there."""
        if isinstance(stack, StackOfQuestions):
            codes, kind = stack.questions.packing.unpack(self.codes), stack.questions
            return np.concatenate([
                OutcomePool(
                    kind=stack_of_question.kind, items=kind.view(number, self.items), codes=codes[:, number]
                ).truth(stack_of_question)
                for number, stack_of_question in enumerate(stack.each)
            ])
        stack.check(self.items)
        total, known_total = np.zeros(stack.size), 0.0
        for rows, piece in self.items.chunks():
            total += stack.item_losses(piece, self.kind.phi(self.codes[rows])).sum(axis=0)
            known_total = known_total + stack.known(piece).sum(axis=0)
        risk = np.concatenate([total, np.asarray(known_total)]) / len(self.items)
        value = stack.value(risk, stack.known_sizes(self.items))
        columns = stack.columns_of_items(self.items, self.kind.phi(self.codes))
        if columns is not None:
            weights = stack.weights
            weight = np.ones(len(self.items)) if weights is None else weights.relative_weights(self.items)
            for q, exact in stack.values_of_items(columns, weight).items():
                value[q] = exact
        return value

    def of_class(self, part: int) -> "LabelledPool":
        """As a pool of two classes, this class against the rest.

        Raises BadInput for items in clusters, and for several systems or none.
        """
        items, class_probability = self.items, self.items.probability
        if items.cluster is not None:
            raise BadInput("counts labels by cell, and a cell does not say which cluster its items are of")
        if items.systems != 1:
            raise BadInput(f"is of one prediction of each item, and these have {items.systems or 'none'}")
        score, probability, prediction = against_the_rest(
            part, items.prediction[:, 0],
            None if class_probability is None else np.asarray(class_probability[:, part])
        )
        return LabelledPool(
            score=score, probability=probability, prediction=prediction,
            label=(self.codes == part).astype(np.int64), scored=False, unsure=class_probability is None,
            features=items.feature,
        )


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
        """The chance (C,) that the answer to a draw from each cell is positive; size (C,): its items. C
        counts the cells; methods that ask anew estimate it."""
        return np.asarray(np.bincount(self.cell, weights=self.probability, minlength=len(size)) / size)

    def answer(self, n_cells: int, repeats: int, rng: np.random.Generator) -> Ints:
        """Items (R, C, K) of each cell by the share of positive answers about them, new in each repeat. R
        counts repeats, C cells, and K is the number of people and one."""
        counts = np.zeros((repeats, n_cells, self.people + 1), np.int64)
        for r in range(repeats):
            votes = rng.binomial(self.people, self.probability)
            np.add.at(counts[r], (self.cell, votes), 1)
        return counts


def prepared_cells(method: CountingMethod[MethodState], pool: LabelledPool) -> tuple[Cells, Ints]:
    """The method's cells of a pool, and their items by label (C, 2).

    Raises BadInput for an empty pool, and where the method cuts by features and the pool has none.
    """
    partition, cell = _cut(method, pool)
    positives = np.bincount(cell, weights=pool.label, minlength=partition.cells.n_cells).astype(np.int64)
    return partition.cells, np.stack([partition.cells.size - positives, positives], axis=1)


def simulated_annotators(
    method: CountingMethod[MethodState], pool: LabelledPool, people: int
) -> Annotators | None:
    """Who answers about the items of a pool; None where every item has one label.

    Raises BadArgument for a number of people that can tie.
    """
    if pool.label_probability is None:
        return None
    if people < 1 or people % 2 == 0:
        raise BadArgument("people", f"must be an odd number, so that a majority is a label; got {people}")
    return Annotators(cell=_cut(method, pool)[1], probability=pool.label_probability, people=people)


def _cut(method: CountingMethod[MethodState], pool: LabelledPool) -> tuple[Partition, Ints]:
    return build_partition(
        method, pool.score, pool.probability, pool.prediction, pool.features, pool.systems
    )


SeenT = TypeVar("SeenT", contravariant=True)    # the state before a round
HeardT = TypeVar("HeardT", covariant=True)     # its answers, as the method learns from them


class Respondents(Protocol[SeenT, HeardT]):
    """Who answers in one block of repeats of a replay: labels that are always the same, people who differ,
    or a new answer to every draw.

    A pool in the cells of one method, every label known: what the rounds of a replay draw from.

    Of a positive and a negative class the items of a cell are counted by label, and R evaluations run as
    arrays (R, C).  Of any other outcome the losses of all items are computed once; a method sees the rows of
    the items that it drew.

        R   repeats;  N   items;  C   cells
    """

    def answer(self, draws: Draws, state: SeenT, rng: np.random.Generator) -> HeardT:
        """The answers to a round in the form that the method learns from; state: before it."""
        ...


MethodT = TypeVar("MethodT", bound=Method)


class Prepared(ABC, Generic[MethodT, StateT, AnswersT]):
    """A pool with known labels as one method sees it for some measures: cut into its cells, with everything
    that a replay asks of it."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """The number N of items in the pool."""

    @abstractmethod
    def begin(self, method: MethodT, repeats: int) -> StateT:
        """The state of so many repeats before any label."""

    @abstractmethod
    def respondents(
        self, method: MethodT, repeats: int, rng: np.random.Generator, answers: np.random.Generator
    ) -> Respondents[StateT, AnswersT]:
        """Who answers; rng: of the draws too; answers: of what people say who differ."""

    def further(self, method: MethodT, state: StateT, confidence: float) -> list[EstimateArrays]:
        """The estimates of each measure for systems that are no part of the measures; empty unless a pool
        has such."""
        return []

    def distance(self, method: MethodT, state: StateT, batch_size: int) -> Floats | None:
        """The divergence (R,) of the method's next proposal; None where there is no best one. R counts
        repeats; unless a pool says otherwise there is none."""
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountedPool(Prepared[CountingMethod[MethodState], MethodState, RoundLabels]):
    """A pool of two classes with known labels, counted by cell."""

    cells: Cells
    by_label: Ints       # (C, 2) items of each cell
    measures: Sequence[Measure]
    annotators: Annotators | None = None   # where people differ: new answers in every repeat

    @property
    def n_items(self) -> int:
        return self.cells.n_items

    def begin(self, method: CountingMethod[MethodState], repeats: int) -> MethodState:
        return method.start(self.cells, self.measures, repeats)

    def respondents(
        self, method: CountingMethod[MethodState], repeats: int, rng: np.random.Generator,
        answers: np.random.Generator,
    ) -> Respondents[MethodState, RoundLabels]:
        """Who answers the draws of one block of repeats: a new answer to each draw where the method asks
        anew, several people where they differ, else the known labels. Raises BadArgument for several
        people where every draw asks anew."""
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

    def further(
        self, method: CountingMethod[MethodState], state: MethodState, confidence: float
    ) -> list[EstimateArrays]:
        """The estimates of each measure for further systems, system by system, as arrays over the repeats.
        They share the labels of the first system. Where there are no further systems it is empty."""
        return [
            e
            for estimates_of_system in method.further_systems(state, confidence)
            for e in estimates_of_system
        ]

    def distance(
        self, method: CountingMethod[MethodState], state: MethodState, batch_size: int
    ) -> Floats | None:
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
        return simulate_labels(draws, self.by_label - state.labelled, rng)


@dataclass(slots=True)
class _Answers:
    """Answers of several annotators, given beforehand; the items that were asked are taken out."""

    unasked: Ints    # (R, C, K) items by the share of positive answers about them
    annotators: Annotators

    def answer(self, draws: Draws, state: MethodState, rng: np.random.Generator) -> RoundLabels:
        labels, answered = simulate_answers(draws, self.unasked, self.annotators.share, rng)
        self.unasked = self.unasked - answered
        return labels


@dataclass(slots=True)
class _Anew:
    """A new answer to every draw, by one annotator, whoever was asked about the item before."""

    rate: Floats     # (C,) the chance that it is positive

    def answer(self, draws: Draws, state: MethodState, rng: np.random.Generator) -> RoundLabels:
        return simulate_anew(draws, self.rate, rng)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemizedPool(Prepared[OutcomeMethod, SampleState, RoundOutcomes]):
    """A pool of any outcome with known labels, item by item."""

    stack: Stack
    cut: Cut
    table: LossTable     # of all N items

    @property
    def n_items(self) -> int:
        return self.cut.cells.n_items

    def begin(self, method: OutcomeMethod, repeats: int) -> SampleState:
        return replace(method.start(self.cut.cells, self.stack, repeats), table=self.table)

    def respondents(
        self, method: OutcomeMethod, repeats: int, rng: np.random.Generator, answers: np.random.Generator
    ) -> Respondents[SampleState, RoundOutcomes]:
        cell, start = self.cut.cell, np.concatenate([[0], np.cumsum(self.cut.cells.size)])
        if method.asks_anew:
            return _ItemsAnew(np.argsort(cell, kind="stable"), start, again=method.repeats_in_a_round)
        return _Shuffled(
            item=np.stack([np.argsort(cell + rng.random(len(cell))) for _ in range(repeats)]), start=start,
        )

    def distance(self, method: OutcomeMethod, state: SampleState, batch_size: int) -> Floats | None:
        """For the numbers that drive; None of methods without a proposal."""
        proposals = method.item_proposal(state)
        if proposals is None:
            return None
        best, total = self.best_of_items(), np.zeros(len(state.labelled))
        with np.errstate(divide="ignore", invalid="ignore"):
            for r, (opened, labelled_share) in enumerate(zip(*proposals, strict=True)):
                q = opened[self.cut.cell]
                q[state.item[r]] = labelled_share
                total[r] = np.where(best > 0, best * np.log(best / q), 0.0).sum()
        return total

    def best_of_items(self) -> Floats:
        """q* (N,): as far as each item pulls at the truth, its label known; NaN where none does. N counts the
        items; no proposal has less variance in the limit."""
        stack, sizes = self.stack, self.cut.cells.known_sizes.tolist()
        losses = np.concatenate([self.table.loss, self.table.known], axis=1)
        risk = losses.mean(axis=0)[None]
        slopes = np.concatenate([stack.slopes(risk, sizes), slopes_of_known(stack, sizes, risk)], axis=2)[0]
        slopes = slopes * np.sqrt(stack.weight)[:, None]
        right = np.concatenate([stack.perfect, np.zeros(self.table.known.shape[1])])
        pull = np.sqrt((((losses - right) @ slopes.T) ** 2).sum(axis=1))
        pull = pull * self.cut.cells.relevant[self.cut.cell]
        with np.errstate(invalid="ignore"):
            return np.asarray(pull / pull.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolOfQuestions(ItemizedPool):
    """A pool of several questions about each item with known answers: a table of losses for each question,
    on common cells."""

    tables: tuple[LossTable, ...]     # of each question

    def begin(self, method: OutcomeMethod, repeats: int) -> Any:
        state: Any = method.start(self.cut.cells, self.stack, repeats)
        questions_with_tables = zip(state.questions, self.tables, strict=True)
        return replace(
            state,
            questions=tuple(replace(question, table=table) for question, table in questions_with_tables),
        )


@dataclass(slots=True)
class _Shuffled:
    """The items of each cell, in every repeat's own random order."""

    item: Ints       # (R, N) sorted by cell
    start: Ints      # (C + 1,) where each cell begins

    def answer(self, draws: Draws, state: SampleState, rng: np.random.Generator) -> RoundOutcomes:
        cell, ordinal, times = draws.cell, draws.ordinal, None
        if draws.of_labelled is not None:
            cell, ordinal, times_of_new = _new_items(draws)
            times = np.concatenate([draws.of_labelled, times_of_new], axis=1)
        at = self.start[cell] + np.take_along_axis(state.by_cell, cell, axis=1) + ordinal
        return RoundOutcomes(item=np.take_along_axis(self.item, at, axis=1), cell=cell, times=times)


def _new_items(draws: Draws) -> tuple[Ints, Ints, Ints]:
    """Cell, ordinal (R, b) of the items that a round with replacement asks for the first time, and how often
    each was drawn; b is the same in every repeat."""
    is_first = first_draws(draws)
    b = int(is_first.sum(axis=1).max(initial=0))
    cell, ordinal = (column[is_first].reshape(len(is_first), b) for column in (draws.cell, draws.ordinal))
    times = np.zeros(cell.shape, np.int64)
    for r in range(len(times)):
        drawn = draws.cell[r] >= 0
        new = zip(cell[r].tolist(), ordinal[r].tolist(), strict=True)
        place = {address: j for j, address in enumerate(new)}
        every = zip(draws.cell[r, drawn].tolist(), draws.ordinal[r, drawn].tolist(), strict=True)
        for address in every:
            times[r, place[address]] += 1
    return cell, ordinal, times


@dataclass(slots=True)
class _ItemsAnew:
    """Any items of the cells that were drawn, whatever was asked before."""

    item: Ints       # (N,) sorted by cell
    start: Ints      # (C + 1,) where each cell begins
    again: bool      # a round may draw an item several times

    def answer(self, draws: Draws, state: SampleState, rng: np.random.Generator) -> RoundOutcomes:
        start_of_cell, size = self.start[draws.cell], np.diff(self.start)[draws.cell]

        def some() -> Ints:
            """(R, T) an item of each draw's cell, all alike."""
            return np.asarray(start_of_cell + (rng.random(size.shape) * size).astype(np.int64))

        at = some()
        while not self.again and (twice := _twice(at)).any():     # one that was drawn already is drawn anew
            at = np.where(twice, some(), at)
        return RoundOutcomes(item=self.item[at], cell=draws.cell)


def _twice(at: Ints) -> Bools:
    """Whether (R, T) an entry has been in its row before."""
    repeated = np.zeros(at.shape, np.bool_)
    for row, repeated_in_row in zip(at, repeated, strict=True):
        repeated_in_row[:] = True
        repeated_in_row[np.unique(row, return_index=True)[1]] = False
    return repeated


def prepared(
    method: Any, pool: LabelledPool | OutcomePool, measures: Any, people: int = 1
) -> CountedPool | ItemizedPool:
    """A pool as this method sees it.

    measures: of two classes, or the `Stack` of a pool of any outcome, of which a method of two classes takes
    one class against the rest; people: who answer about each item, where they differ.  Raises BadInput where
    the pool lacks what a measure or the method needs, and BadArgument for a number of people that can tie.
    """
    if isinstance(pool, OutcomePool) and isinstance(method, CountingMethod):
        single_class = one_of_several(pool.kind, measures.measures)
        return prepared(method, pool.of_class(single_class.part), single_class.measures)
    if isinstance(pool, OutcomePool) and isinstance(measures, StackOfQuestions):
        codes, kind = measures.questions.packing.unpack(pool.codes), measures.questions
        if not is_outcome(codes).all():
            raise BadInput("a replay needs an answer to every question about every item of the pool")
        tables = tuple(
            loss_table(stack_of_question, kind.view(number, pool.items), codes[:, number])
            for number, stack_of_question in enumerate(measures.each)
        )
        return PoolOfQuestions(
            stack=measures, cut=method.cut(measures, pool.items), table=tables[0], tables=tables
        )
    if isinstance(pool, OutcomePool):
        return ItemizedPool(
            stack=measures, cut=method.cut(measures, pool.items),
            table=loss_table(measures, pool.items, pool.codes),
        )
    cells, by_label = prepared_cells(method, pool)
    return CountedPool(
        cells=cells, by_label=by_label, measures=measures,
        annotators=simulated_annotators(method, pool, people),
    )


def best_proposal(measures: Sequence[Measure], cells: Cells, by_label: Ints) -> Floats:
    """q* (C, 2) of an item of each cell by its label, for the measures that drive; by_label (C, 2).

    NaN where no item has an influence at the truth.

    How far a method's proposal is from the best one, where every label is known.

    Marchant & Rubinstein (2021) plot it above their errors (Figures 2, 6, 7 and 8).  With labels that do not
    vary, the proposal of least total variance (their Proposition 1) is

        q*(x) ∝ ‖J(R) ℓ(x, y(x))‖        R the truth, y(x) the label of item x

    and a proposal q is at a distance of

        KL(q* ‖ q) = Σ_x q*(x) log( q*(x) / q(x) )

    from it, in nats: 0 where they are the same, infinite where q rules out an item that q* draws.  (The other
    direction would be infinite for every proposal that gives a chance to items of no influence.)

        R   repeats;  C   cells
    """
    nothing_left = np.zeros((1, cells.n_cells))
    phi, _ = total_pull(measures, cells, by_label[None], nothing_left.astype(np.int64), nothing_left)
    with np.errstate(invalid="ignore"):
        return np.asarray(phi[0] / (by_label * phi[0]).sum())


def divergence(best: Floats, design: CountedDesign, by_label: Ints, labelled: Ints) -> Floats:
    """KL(q* ‖ q) (R,) in nats; best (C, 2): q*; labelled (R, C, 2): items labelled before the round.

    NaN for a design without replacement, which has no q.
    """
    if not design.replacement:
        return np.full(len(labelled), np.nan)
    unlabelled = np.broadcast_to(design.unlabelled[..., None], labelled.shape)
    total = np.zeros(len(labelled))
    for items, q in ((labelled, design.labelled), (by_label - labelled, unlabelled)):
        drawn = (items > 0) & (best > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            term = np.where(drawn, items * best * np.log(best / q), 0.0)
        total += term.sum(axis=(1, 2))
    return total
