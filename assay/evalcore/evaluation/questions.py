"""Several questions about one item: each is an evaluation of its own on the common draws.

What is said of an evaluation (estimates, segments, weights, prices) is said of each question by the same
functions, of these views of its state and rounds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.evaluation.nonresponse import Nonresponse
from assay.evalcore.evaluation.state import Asked, LabelledRound, Question, State, outcomes_seen
from assay.evalcore.measures.stack import StackOfQuestions
from assay.evalcore.outcomes.base import UNANSWERED, is_outcome
from assay.evalcore.outcomes.questions import SeveralQuestions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedQuestion:
    """One of several questions about an item, as an evaluation of its own: its measures, its state on the
    common draws, and whether the choice of items serves it."""

    name: str
    number: int
    drives: bool           # the choice of items serves it
    question: Question
    state: State
    kind: SeveralQuestions

    def rounds(self, rounds: Sequence[LabelledRound]) -> list[LabelledRound]:
        """The closed rounds with this question's answers, and what was known of it before each. Draws of
        items whose answer to it is missing have no label."""
        return [
            replace(
                labelled_round,
                code=self.kind.packing.unpack(labelled_round.code)[:, self.number],
                items=self.kind.view(self.number, labelled_round.items),
                read=is_outcome(labelled_round.code),
                before=None
                if labelled_round.before is None
                else labelled_round.before.questions[self.number],
            )
            for labelled_round in rounds
        ]


def asks_several(question: Question) -> bool:
    """Whether several questions are asked about every item."""
    return _stack_of_questions(question) is not None


def _stack_of_questions(question: Question) -> StackOfQuestions | None:
    return question.measures if isinstance(question.measures, StackOfQuestions) else None


def each_question(question: Question, state: State) -> Iterator[AskedQuestion]:
    """The questions in order, each with what is known of it; none where one is asked. They share draws, and
    each has its own measures."""
    stack = _stack_of_questions(question)
    if stack is None:
        return
    for number, question_of_stack in enumerate(stack.questions.each):
        inner = state.inner.questions[number]
        yield AskedQuestion(
            name=question_of_stack.name, number=number, drives=stack.drives[number], kind=stack.questions,
            question=replace(
                question, method=question.method.of_one, measures=stack.each[number],
                cells=question.cells.each[number],
            ),
            state=replace(
                state, labels=inner.n, inner=inner, asked=_asked(stack.questions, number, state.asked),
                nonresponse=Nonresponse(
                    rounds=inner.gaps, unanswered=inner.unanswered, cells=inner.gap_cells
                ),
            ),
        )


def _asked(kind: SeveralQuestions, number: int, asked_items: Mapping[int, Asked]) -> dict[int, Asked]:
    """What was answered to one of the questions."""
    answers_by_cell: dict[int, Asked] = {}
    for cell, cell_items in asked_items.items():
        codes: list[float] = kind.packing.unpack(np.array(cell_items.code, np.float64))[:, number].tolist()
        answered = [
            (rank, code) for rank, code in zip(cell_items.rank, codes, strict=True) if code > UNANSWERED
        ]
        answers_by_cell[cell] = Asked(rank=tuple(r for r, _ in answered), code=tuple(c for _, c in answered))
    return answers_by_cell


def leading_places(question: Question) -> tuple[int, ...]:
    """Where the numbers of the first measure of each question that drives are, among all numbers; empty where
    one question is asked. Places are counted from 0, over all parts of all measures."""
    stack = _stack_of_questions(question)
    if stack is None:
        return ()
    places: list[int] = []
    at = 0
    for stack_of_one, drives in zip(stack.each, stack.drives, strict=True):
        places += range(at, at + len(stack_of_one.measures[0].parts)) if drives else ()
        at += len(stack_of_one.parts)
    return tuple(places)


def outcomes_of_questions_seen(question: Question, state: State) -> bool:
    """Of every question that drives, two different answers at least (`outcomes_seen`)."""
    return all(
        bool(outcomes_seen(asked_question.question, asked_question.state))
        for asked_question in each_question(question, state) if asked_question.drives
    )
