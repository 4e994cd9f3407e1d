"""Several questions on one labelling page: a control for each below the item, in the order of the spec.

Each has `can't tell` among its answers, which leaves that question alone unanswered; who cannot tell of any
skips the item.  Keys are those that Label Studio gives, one after the other over the whole page.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from assay.evalcore.annotators.answers import AnswerKind
from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.tasks.desks.label_studio.page.controls import Control, to_page


def control_of(answers: AnswerKind) -> Control:
    """The control of these answers."""
    return ControlsOfQuestions(answers) if isinstance(answers, QuestionAnswers) else Control(answers)


@dataclass(frozen=True, slots=True)
class ControlsOfQuestions(Control):
    """The controls of several questions."""

    @property
    def _asked(self) -> QuestionAnswers:
        if not isinstance(self.answers, QuestionAnswers):
            raise TypeError("these are answers to one question")
        return self.answers

    @property
    def _each(self) -> Iterator[tuple[str, Control]]:
        for name, kind in self._asked.questions.items():
            yield name, Control(kind, of=name)

    @property
    def question(self) -> str:
        """What is said above all of them, where the spec says nothing."""
        return "Please answer each question."

    @property
    def hint(self) -> str:
        """How to answer."""
        return "Choose can't tell where you cannot say. Ctrl+Enter (Mac: ⌘+Enter) submits."

    def lines(self, about: str) -> list[str]:
        """A block for each question."""
        found: list[str] = []
        for name, control in self._each:
            asked = self._asked.asks.get(name) or f"{name}: {control.question}"
            found += [
                '<View className="assay-asked">', f'  <Header value={quoteattr(to_page(asked))} size="5"/>',
                *(f"  {line}" for line in control.lines(about)), "</View>",
            ]
        return found

    def cannot_tell(self, results: Any) -> bool:
        """Whether the results say that no question can be answered."""
        return self.meaning(results) is None and all(one.cannot_tell(results) for _, one in self._each)

    def meaning(self, results: Any) -> str | None:
        """The answers in the results of an annotation; None if they are none."""
        given: dict[str, str | None] = {}
        for name, control in self._each:
            if control.cannot_tell(results) or control.is_empty(results):
                continue
            given[name] = control.meaning(results)
            if given[name] is None:
                return None
        return self._asked.of(given) if given else None

    def results(self, answer: str | None) -> list[dict[str, Any]]:
        """What Label Studio's page submits for the answers; None: can't tell of any."""
        said = {} if answer is None else self._asked.by_question(answer)
        return [one for name, control in self._each for one in control.results(said.get(name))]
