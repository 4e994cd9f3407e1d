"""`questions`: several questions about one item, of which one reading answers all.

The items of all questions are the same sample.  A cell holds items whose labels pull about as much at all
questions together; with s_qi² the guessed variance of item i's pull at question q, in units of the error that
counts as 1 (`Stack.weight`),

    share_i = √(Σ_q s_qi²)   over the questions that drive, and a part even:

the allocation of least Σ_q V_q.  Where labels tell how far answers spread (numbers, grades) they tell it of
every question.  Each question then is an estimate of its own on the common draws: its answers, guesses,
label model, residuals and interval, with the labels that the design meant for each cell in all rounds.  So
the chance of an item is known for every question, whatever drew it.

Who answers some questions of an item and not the others leaves gaps in those alone.  A question's answered
items stand for the rest of their cells (`reading`); the labels meant for a cell are then multiplied with the
share of the round's items that answered the question.  An item that was read is not asked again.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from assay.evalcore.design.round import ClosedDraws, Design, EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.linearised import mean_of_items
from assay.evalcore.measures.stack import Stack, StackOfQuestions
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.baselines import PassiveSample, Sampled
from assay.evalcore.methods.any_outcome.cut import Cut, assigned, weight_octave
from assay.evalcore.methods.any_outcome.measured_pool import (
    AddUpItems,
    Assign,
    Beforehand,
    Expecting,
    ItemProfile,
    MeasuredItems,
    MeasuredPool,
    SumsOfItems,
    cells_of_sums,
    profile,
)
from assay.evalcore.methods.any_outcome.recalibrated import SCORE_MODEL_CELLS, Guesses
from assay.evalcore.methods.any_outcome.state import (
    ItemWeights,
    OutcomeCells,
    OutcomeEstimates,
    RoundOutcomes,
    SampleState,
    no_rows_yet,
)
from assay.evalcore.methods.method import Capabilities, LabelledSample
from assay.evalcore.outcomes.base import is_outcome
from assay.evalcore.outcomes.items import Items, ViewedPool
from assay.evalcore.pool.strata import OrderedScores
from assay.evalcore.types import Bools, Floats, Ints

B = TypeVar("B")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellsOfQuestions:
    """The cells of one pool, and for each question what they are to it."""

    each: tuple[OutcomeCells, ...]

    @property
    def prediction(self) -> None:
        """What is predicted of all items of a cell: it may differ."""

    @property
    def segment(self) -> None:
        """No segments drive several questions."""

    @property
    def size(self) -> Ints:
        """The number of items in each cell, (C,), the same for every question."""
        return self.each[0].size

    @property
    def relevant(self) -> Bools:
        """(C,) whether the labels of its items can change anything; the same for every question."""
        return self.each[0].relevant

    @property
    def n_cells(self) -> int:
        """The number C of cells that the pool is cut into."""
        return len(self.size)

    @property
    def n_items(self) -> int:
        """The number N of items in the pool."""
        return int(self.size.sum())


class PoolOfQuestion(ViewedPool):
    """A pool as one of the questions sees it: a `MeasuredPool`."""

    def __init__(self, pool: MeasuredPool, number: int) -> None:
        super().__init__(pool, partial(_of(pool.stack).questions.view, number))
        self._pool, self._number = pool, number

    @property
    def stack(self) -> Stack:
        return _of(self._pool.stack).each[self._number]

    def measured(self, work: Callable[[Stack, Items], B]) -> Iterator[B]:
        return self._pool.measured(_On(self._number, work))

    def in_first(self, work: Callable[[Stack, Items], B]) -> B:
        result: B = self._pool.in_first(_On(self._number, work))
        return result

    def each(self, works: list[Callable[[Stack, Items], B]]) -> Iterator[B]:
        return self._pool.each([_On(self._number, work) for work in works])

    def placed(self, work: Callable[[Stack, Items], tuple[Ints, B]], n_cells: int) -> Iterator[B]:
        return self._pool.placed(_On(self._number, work), n_cells)

    def ordered(self, number: Callable[[Stack, Items], Floats]) -> OrderedScores:
        return self._pool.ordered(_On(self._number, number))


def _of(stack: Stack) -> StackOfQuestions:
    """Raises BadInput for measures of one question."""
    if not isinstance(stack, StackOfQuestions):
        raise BadInput("method 'questions' is for several questions about one item; name another method")
    return stack


@dataclass(frozen=True, slots=True)
class _On(Generic[B]):
    number: int
    work: Callable[[Stack, Items], B]

    def __call__(self, stack: Stack, items: Items) -> B:
        stack_of_questions = _of(stack)
        return self.work(
            stack_of_questions.each[self.number], stack_of_questions.questions.view(self.number, items)
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Together:
    """Items by what their labels may move of all questions that drive; even: all that matter are alike."""

    pool_profiles: tuple[Beforehand, ...]
    even: bool

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        stack_of_questions = _of(stack)
        square, relevant = np.zeros(len(items)), np.zeros(len(items), np.bool_)
        for number, (profile_items, own_stack, drives) in enumerate(
            zip(self.pool_profiles, stack_of_questions.each, stack_of_questions.drives, strict=True)
        ):
            item_profile = profile_items(own_stack, stack_of_questions.questions.view(number, items))
            relevant |= item_profile.relevant
            square += item_profile.pull**2 if drives else 0.0
        pull = np.sqrt(square)
        return ItemProfile(
            pull=pull, relevant=relevant,
            group=np.zeros(len(items), np.int64) if self.even or stack.weights is None
            else weight_octave(stack, items),
            score=np.zeros(len(items)) if self.even else pull,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _AddUpEach:
    """Places the items of a shard once, and adds them up for every question."""

    expectations: tuple[Expecting, ...]
    assign: Assign
    n_cells: int

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, tuple[SumsOfItems, ...]]:
        stack_of_questions = _of(stack)
        cell, relevant = self.assign(stack, items)
        return cell, tuple(
            AddUpItems(expectation=expectation, assign=_There(cell, relevant), n_cells=self.n_cells)(
                own_stack, stack_of_questions.questions.view(number, items)
            )[1]
            for number, (expectation, own_stack) in enumerate(
                zip(self.expectations, stack_of_questions.each, strict=True)
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class _There:
    cell: Ints
    relevant: Bools

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        return self.cell, self.relevant


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateOfQuestion(SampleState):
    """What is known of one question: its labelled items, the labels that the rounds meant for each cell, and
    how often an item was read without an answer to this question."""

    given: Floats            # (R, C) labels that the rounds meant for each cell
    unanswered: int = 0      # items that were asked and did not answer this question
    gaps: int = 0            # rounds with some
    gap_cells: int = 0       # their cells, summed over these rounds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateOfQuestions(LabelledSample):
    """The items that were read, and what is known of each question."""

    cells: CellsOfQuestions
    stack: StackOfQuestions
    questions: tuple[StateOfQuestion, ...]

    @property
    def n(self) -> int:
        """The number of items that were read, the same in every repeat."""
        return int(self.labelled[0].sum())

    @property
    def relevant(self) -> Bools:
        return self.cells.relevant

    @property
    def clustered(self) -> bool:
        return any(question.clustered for question in self.questions)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswersHeard:
    """What was said of the items of a round: the cells of the items that were read, (R, b), and for each
    question its answers."""

    cell: Ints                          # (R, b) of the items that were read
    each: tuple[RoundOutcomes, ...]     # by question


@dataclass(frozen=True, slots=True)
class GuessesOfQuestion(Guesses):
    """The difference estimator of one question, on draws that served several."""

    says: ClassVar[str] = "Readings that answer several questions."
    kinds: ClassVar[tuple[str, ...]] = ("classes", "number", "tags")

    def allocation(self, state: SampleState, labels: int) -> Floats:
        """(R, C) as the rounds meant them, and of more labels as many times that."""
        return allocation_of_question(cast(StateOfQuestion, state), labels)


@dataclass(frozen=True, slots=True)
class EvenOfQuestion(PassiveSample):
    """The reading of one question where items are a simple random sample: labels count as the rounds meant
    them for each cell, evenly before the first round."""

    def allocation(self, state: SampleState, labels: int) -> Floats:
        """(R, C) as the rounds meant them, and of more labels as many times that."""
        return allocation_of_question(cast(StateOfQuestion, state), labels)


def allocation_of_question(state: StateOfQuestion, labels: int) -> Floats:
    """(R, C) of so many labels, how many the rounds meant for each cell; evenly before the first round."""
    if labels == state.n and state.n:
        return state.given
    total = state.given.sum(axis=1, keepdims=True)
    items = (state.cells.size - state.excluded) * state.cells.relevant
    even = np.broadcast_to(items / np.maximum(items.sum(axis=1, keepdims=True), 1), state.given.shape)
    share = np.where(total > 0, state.given / np.where(total > 0, total, 1.0), even)
    return np.asarray(np.minimum(share * labels, items))


@dataclass(frozen=True, slots=True)
class SharedReading(Sampled):
    """The method `questions`: several questions about one item, answered in one reading. Items are drawn
    where they tell most of all questions together; then each question is an estimate of its own."""

    even: bool = False       # a simple random sample

    name: ClassVar[str] = "questions"
    says: ClassVar[str] = "Readings where they tell most of all questions together, each of which all answer."
    kinds: ClassVar[tuple[str, ...]] = ("questions",)
    interval: ClassVar[str] = Guesses.interval
    interval_note: ClassVar[str] = Guesses.interval_note
    capabilities: ClassVar[Capabilities] = replace(
        Sampled.capabilities, judges_systems=False, weighs_guesses=True, no_weights="",
    )

    @property
    def of_one(self) -> Sampled:
        """The method that reads each question: the difference estimator on guesses, or with `even` that of a
        simple random sample."""
        return EvenOfQuestion(self.one_at_a_time) if self.even else GuessesOfQuestion(self.one_at_a_time)

    def cells(self, pool: MeasuredPool) -> CellsOfQuestions:    # type: ignore[override]
        """By what items may move of all questions together.

        Raises BadInput for an empty pool, and where a question lacks a column that it needs.
        """
        stack_of_questions = _of(pool.stack)
        stack_of_questions.check(pool.none)
        profiles = tuple(
            profile(PoolOfQuestion(pool, number)) for number in range(len(stack_of_questions.each))
        )
        assign, n_cells = assigned(
            pool, _Together(profiles, self.even), 1 if self.even else SCORE_MODEL_CELLS
        )
        expecting = tuple(
            Expecting(guess_weights=profiled.guess_weights, slopes=profiled.slopes, likely=profiled.likely)
            for profiled in profiles
        )
        totals: list[SumsOfItems] = []
        for sums in pool.placed(_AddUpEach(expecting, assign, n_cells), n_cells):
            totals = [a.plus(b) for a, b in zip(totals, sums, strict=True)] if totals else list(sums)
        none = pool.none
        return CellsOfQuestions(
            each=tuple(
                cells_of_sums(total, profiled, own_stack, stack_of_questions.questions.view(number, none))
                for number, (total, profiled, own_stack) in enumerate(
                    zip(totals, expecting, stack_of_questions.each, strict=True)
                )
            )
        )

    def cut(self, stack: Stack, items: Items) -> Cut:
        pool = MeasuredItems(stack, items)
        return Cut(cells=cast(Any, self.cells(pool)), cell=pool.cell)

    def start(self, cells: Any, measures: Stack, repeats: int) -> Any:
        """The state before any reading: no labels for any question, on the cells that they share."""
        stack_of_questions, nothing = _of(measures), np.zeros((repeats, cells.n_cells))
        return StateOfQuestions(
            cells=cells, stack=stack_of_questions, labelled=np.zeros((repeats, cells.n_cells, 1), np.int64),
            excluded=np.zeros((repeats, cells.n_cells), np.int64),
            questions=tuple(
                StateOfQuestion(**no_rows_yet(own_stack, own_cells, repeats), given=nothing)
                for own_stack, own_cells in zip(stack_of_questions.each, cells.each, strict=True)
            ),
        )

    def share(self, state: Any) -> Floats:
        """Root of the spread of an item's pull at all questions that drive, and a part even."""
        shape = state.by_cell.shape
        if self.even:
            return np.ones(shape)
        square, even = np.zeros(shape), 0.0
        for question, drives in zip(state.questions, state.stack.drives, strict=True):
            if drives:
                square = square + self.of_one.pull_spread(question) @ question.stack.weight
                even = max(even, question.stack.kind.even_share)
        root = np.sqrt(square)
        mean = mean_of_items(root, state.cells.size * state.cells.relevant)
        if state.stack.weights is not None:
            mean = mean * state.cells.each[0].mean_weight
        return np.asarray((1 - even) * root + even * mean)

    def heard(self, state: Any, answered: ClosedDraws) -> Any:
        """The losses of each question's answers, with the cells of all items that were read. Raises BadInput
        where outcomes or the pool's columns of the items are missing."""
        kind = state.stack.questions
        codes = kind.packing.unpack(answered.code)
        read = is_outcome(answered.code)
        items = answered.items
        return AnswersHeard(cell=answered.plan.cell[read][None], each=tuple(
            OutcomeMethod.heard(self.of_one, question, replace(
                answered, code=codes[:, number],
                items=None if items is None else kind.view(number, items),
            ))
            for number, question in enumerate(state.questions)
        ))

    def observe(self, state: Any, design: Design, answers: Any, excluded: Ints) -> Any:
        """The state after a round: every question takes its own answers, and the cells count the items that
        were read, whichever questions were answered. The old state is not changed."""
        by_question = answers.each if isinstance(answers, AnswersHeard) else (answers,) * len(state.questions)
        flat_cell = np.arange(len(answers.cell))[:, None] * state.cells.n_cells + answers.cell
        count = np.bincount(flat_cell.ravel(), minlength=state.by_cell.size).reshape(state.labelled.shape)
        expected = design.left * design.unlabelled
        return replace(
            state, labelled=state.labelled + count, excluded=state.excluded + excluded,
            questions=tuple(
                _after(question, own_answers, expected, excluded) for question,
                own_answers in zip(state.questions, by_question, strict=True)
            ),
        )

    def number_estimates(
        self, state: Any, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """The estimate of each number, question by question, as arrays over the repeats."""
        return [
            number
            for question in state.questions
            for number in self.of_one.number_estimates(question, confidence, rng)
        ]

    def estimate(self, state: Any, confidence: float) -> OutcomeEstimates:
        """Nothing: raises ValueError, because each question has estimates of its own, which
        `number_estimates` returns."""
        raise ValueError("each of several questions has estimates of its own")

    def weights(self, state: Any) -> ItemWeights:
        """Nothing: raises ValueError, because an item may answer some questions alone, so each question has
        weights of its own."""
        raise ValueError("each of several questions has weights of its own")

    def expects(self, state: Any) -> Floats:
        """Nothing: raises ValueError, because each question expects losses of its own."""
        raise ValueError("each of several questions expects losses of its own")

    def spent(self, before: Any, after: Any, size: Ints) -> Ints:
        """The number of items that a round had read, (R,): one reading of an item counts once, however many
        questions it answers. R counts repeats, and the size that was planned is not looked at."""
        return np.asarray(after.bought - before.bought)


def _after(
    before: StateOfQuestion, answers: RoundOutcomes, expected: Floats, excluded: Ints
) -> StateOfQuestion:
    """A question after a round that meant so many labels (R, C) for each cell."""
    after = before.plus(answers).without(answers, excluded)
    asked_cells = answers.asked
    answered = answers.item.shape[1]
    missing = 0 if asked_cells is None else asked_cells.shape[1] - answered - int(excluded.sum())
    if asked_cells is None or not missing:
        return replace(after, given=before.given + expected)
    cells = np.bincount(asked_cells[0], minlength=expected.shape[1]) - excluded[0] - np.bincount(
        answers.cell[0], minlength=expected.shape[1]
    )
    return replace(
        after, given=before.given + expected * answered / (answered + missing),
        unanswered=before.unanswered + missing, gaps=before.gaps + 1,
        gap_cells=before.gap_cells + int((cells > 0).sum()),
    )
