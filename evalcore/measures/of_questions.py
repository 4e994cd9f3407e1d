"""The measures of several questions about one item: each question has a stack of its own."""

from dataclasses import dataclass, replace

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.questions import SeveralQuestions


@dataclass(frozen=True, kw_only=True, eq=False)
class StackOfQuestions(Stack):
    """The stacks of all questions, in the order of the kind's; measures: of all, question by question.

    What is computed of losses is computed by each question's own stack, never by this one.
    """

    each: tuple[Stack, ...]
    drives: tuple[bool, ...]     # which questions the choice of items serves

    def __post_init__(self) -> None:
        if not any(self.drives):
            raise BadInput("at least one question must drive the sampling")

    @property
    def questions(self) -> SeveralQuestions:
        """The kind."""
        kind = self.kind
        if not isinstance(kind, SeveralQuestions):
            raise TypeError("these are the measures of several questions")
        return kind

    def check(self, items: Items) -> None:
        """Raises BadInput where the items lack what a measure of a question needs."""
        for number, stack in enumerate(self.each):
            stack.check(self.questions.view(number, items))


def stack_of_questions(
    kind: SeveralQuestions, measures: dict[str, tuple[OutcomeMeasure, ...]],
    drive: tuple[str, ...] | None = None,
) -> StackOfQuestions:
    """The measures by question; drive: the questions that the choice of items serves, all unless said.

    Raises BadInput for a question without a measure, and for one that is none.
    """
    for name in (*measures, *(drive or ())):
        kind.question(name)
    for one in kind.each:
        if not measures.get(one.name):
            raise BadInput(f"question {one.name!r} has no measure; give it one")
    stacks = tuple(Stack(kind=one.kind, measures=measures[one.name]) for one in kind.each)
    return StackOfQuestions(
        kind=kind, each=stacks, drives=tuple(drive is None or name in drive for name in kind.names),
        measures=tuple(
            replace(measure, question=one.name)
            for one, stack in zip(kind.each, stacks, strict=True) for measure in stack.measures
        ),
    )
