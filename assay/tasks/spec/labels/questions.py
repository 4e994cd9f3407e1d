"""Labels that are answers to several questions about one item, asked in one reading on one page.

    labels:
      - {name: coherence, grades: [1, 2, 3, 4, 5], judge: judge_coherence, measure: mean}
      - {name: faithful, positive: "yes", negative: "no", prediction: said_faithful, measure: accuracy}

Every question has labels of one form, the columns that the pool has for it, and measures of its own.
"""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Discriminator, Field, Strict, Tag, model_validator

from assay.evalcore.annotators.question_answers import QuestionAnswers
from assay.evalcore.errors import BadInput
from assay.evalcore.json_values import entries_of, value_under
from assay.evalcore.outcomes.questions import MOST_QUESTIONS, OneQuestion, SeveralQuestions, packing
from assay.tasks.schema import Column, Columns, Finite, Part, wrong
from assay.tasks.spec.goals import Drop, Limit
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.labels.classes import ClassList, ComparedClasses, Grades
from assay.tasks.spec.labels.number import NumberLabels
from assay.tasks.spec.labels.tags import TagLabels
from assay.tasks.spec.pool import System

_FORMS: Mapping[str, type[LabelsForm]] = {
    "two classes": ComparedClasses, "list of classes": ClassList, "list of grades": Grades,
    "number": NumberLabels, "list of tags": TagLabels,
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_TAKEN = ("item_id", "label", "skip", "annotator", "undecided")   # what desks call something else


def _form(data: object) -> str:
    if isinstance(data, LabelsForm):
        return next(tag for tag, form in _FORMS.items() if type(data) is form)
    return next(
        (tag for tag, form in _FORMS.items() if isinstance(data, dict) and data.keys() & form.model_fields),
        "two classes",
    )


_KEYS = frozenset(key for form in _FORMS.values() for key in form.model_fields)


def _named(name: str) -> str:
    if _NAME.fullmatch(name) is None or name.lower() in _TAKEN:
        raise wrong(f"{name!r} cannot be the name of a question: it begins with a letter, has letters, "
                    f"digits, - and _, 40 at most, and is none of {', '.join(_TAKEN)}; what people read goes "
                    "under `question`")
    return name


class QuestionEntry(Part):
    """One of several questions about an item, as a spec lists it: its name, what people are asked and may
    answer, the pool's columns of it (prediction, score, probability, judge), and a limit and a drop in a
    monitor."""

    name: Annotated[str, AfterValidator(_named)] = Field(description="what its column is called: coherence")
    question: str | None = Field(
        default=None, min_length=1, max_length=200, description="what people are asked; its name unless said"
    )
    answer: Annotated[
        Annotated[ComparedClasses, Tag("two classes")]
        | Annotated[ClassList, Tag("list of classes")]
        | Annotated[Grades, Tag("list of grades")]
        | Annotated[NumberLabels, Tag("number")]
        | Annotated[TagLabels, Tag("list of tags")],
        Discriminator(_form),
    ] = Field(description="classes, grades, number, tags, or positive and negative: written beside the name")
    prediction: Column | None = Field(default=None, description="as in `pool`, of this question")
    score: Column | None = Field(default=None, description="of two classes, as in `pool`")
    probability: Column | dict[str, Column] | None = Field(default=None, description="as in `pool`")
    threshold: Finite | None = Field(default=None, description="of two classes, as in `pool`")
    judge: Column | Columns | None = Field(default=None, description="as in `pool`; of any labels")
    limit: Limit | None = Field(
        default=None, description="in a monitor: what the question's first measure must keep"
    )
    drop: Drop | None = Field(
        default=None, description="in a monitor: what counts as worse than before, as in monitor.drop"
    )

    @model_validator(mode="before")
    @classmethod
    def _answer_beside(cls, data: object) -> object:
        if not isinstance(data, dict) or "answer" in data:
            return data
        if "prefer" in data:
            raise wrong("`prefer` compares two answers without saying which is which, and that is one "
                        "question to a page; ask it in an evaluation of its own")
        answer = {key: value for key, value in data.items() if key in _KEYS}
        if not answer:
            raise wrong("says nothing that may be answered; give classes, grades, number, tags, or positive "
                        "and negative")
        return {key: value for key, value in data.items() if key not in _KEYS} | {"answer": answer}

    @model_validator(mode="after")
    def _of_two_classes(self) -> "QuestionEntry":
        two = isinstance(self.answer, ComparedClasses)
        if not two and (self.score is not None or self.threshold is not None):
            raise wrong("has `score` or `threshold`, which are of a positive and a negative class; give "
                        "`prediction` and `probability`, or `judge`")
        if two and isinstance(self.probability, dict):
            raise wrong("has a column of probabilities per class; of two classes name the positive one's")
        if two and self.system is not None and self.system.problem:
            raise wrong(self.system.problem)
        return self

    @property
    def system(self) -> System | None:
        """What predicts the answer to a question of two classes: its prediction, score, probability and
        threshold, as far as they are given. None where nothing is, and for a question of another form."""
        columns = {
            key: getattr(self, key) for key in ("prediction", "score", "probability", "threshold")
            if getattr(self, key) is not None
        }
        two = isinstance(self.answer, ComparedClasses)
        return System.model_construct(**columns) if columns and two else None

    @property
    def watched(self) -> bool:
        """Whether a monitor watches the question: whether it has a limit or a drop."""
        return self.limit is not None or self.drop is not None

    @property
    def predicts(self) -> bool:
        """Whether the pool has a prediction of the answer: a column of predictions, or a threshold of a score
        or probability. Without one, shares and means of the answers can be asked for."""
        return self.prediction is not None or self.threshold is not None

    @property
    def judges(self) -> tuple[str, ...]:
        """The columns of the judges of this question, in order; empty without any."""
        if self.judge is None:
            return ()
        return (self.judge,) if isinstance(self.judge, str) else self.judge

    @property
    def of_pool(self) -> dict[str, object]:
        """Key of `pool` -> what it would hold if this were the only question, None where nothing is given:
        prediction, score, probability, threshold and judge."""
        return {
            key: getattr(self, key) for key in ("prediction", "score", "probability", "threshold", "judge")
        }

    @property
    def outcome(self) -> OneQuestion:
        """The question as the statistics see it: its name, the kind of its outcome, whether it is predicted,
        how many judges it has, and whether there are probabilities."""
        kind = self.answer.outcome
        if kind is None:
            raise ValueError("every form of a question has an outcome of its own")
        return OneQuestion(
            name=self.name, kind=kind, predicts=self.predicts, judges=len(self.judges),
            probabilities=self.probability is not None or self.score is not None,
        )


class QuestionList(LabelsForm):
    """Labels that are answers to several questions about each item, which people give in one reading on one
    page. Every question has labels of one form, columns of the pool, and measures of its own."""

    task: ClassVar[str] = "questions"
    shares: ClassVar[bool] = False
    column_holds: ClassVar[str] = "answers to one of the questions"
    one_system: ClassVar[str | None] = (
        "are compared by one question; with several, evaluate each system, or ask one question"
    )

    questions: Annotated[tuple[QuestionEntry, ...], Strict(False)] = Field(
        description="the questions: `labels` may be this list itself"
    )

    @model_validator(mode="after")
    def _together(self) -> "QuestionList":
        names = [entry.name for entry in self.questions]
        if not 2 <= len(names) <= MOST_QUESTIONS:
            raise wrong(f"lists {len(names)} questions; give 2 to {MOST_QUESTIONS}, or the labels of one "
                        "alone")
        for name in names:
            if [text.lower() for text in names].count(name.lower()) > 1:
                raise wrong(f"calls two questions {name!r}; give each a name of its own")
        try:
            packing([entry.outcome.kind for entry in self.questions])
        except BadInput as error:
            raise wrong(str(error)) from None
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """Empty: several questions have no names of classes in common."""
        return ()

    @property
    def in_words(self) -> str:
        """How many questions there are, and their names, in words: `2 questions: coherence, faithful`."""
        return f"{len(self.questions)} questions: {', '.join(entry.name for entry in self.questions)}"

    @property
    def answers(self) -> QuestionAnswers:
        """What people may answer: to every question what its own form of labels allows, with the wording
        that people see where it is given. The answers to all are packed into one code."""
        kind = self.outcome
        return QuestionAnswers(
            each={entry.name: entry.answer.answers for entry in self.questions}, packing=kind.packing,
            asks={entry.name: entry.question for entry in self.questions if entry.question is not None},
        )

    @property
    def outcome(self) -> SeveralQuestions:
        """The outcome that the statistics see: an answer to each question, in the order of the list. An
        item's label is all answers together."""
        return SeveralQuestions(tuple(entry.outcome for entry in self.questions))

    @property
    def asked(self) -> Mapping[str, QuestionEntry]:
        """Name of a question -> its entry, in the order of the list."""
        return {entry.name: entry for entry in self.questions}


def listed_questions(data: Mapping[str, object]) -> dict[str, object]:
    """A spec whose `labels` are a list: the list under `questions`, and the measures of its entries under
    `measure`, each with its question.  Others as they are."""
    spec = dict(data)
    labels = spec.get("labels")
    if isinstance(labels, list | tuple):
        labels = {"questions": list(labels)}
        spec["labels"] = labels
    if not isinstance(labels, dict):
        return spec
    entries = labels.get("questions")
    if not isinstance(entries, list | tuple):
        return spec
    measures = _as_list(spec.get("measure"))
    questions = []
    for entry in entries:
        if isinstance(entry, dict) and "measure" in entry:
            measures += [
                _of_question(measure, entry.get("name")) for measure in _as_list(entry["measure"])
            ]
            entry = {key: value for key, value in entry.items() if key != "measure"}
        questions.append(entry)
    order = [entry.get("name") for entry in questions if isinstance(entry, dict)]

    def place(measure: object) -> int:
        name = value_under(measure, "question")
        return order.index(name) if name in order else len(order)

    return spec | {"labels": {**labels, "questions": questions}, "measure": sorted(measures, key=place)}


def _of_question(measure: object, question: object) -> object:
    """A measure of one question, by its name or as a mapping; anything else as it is."""
    match measure:
        case str():
            return {"name": measure, "question": question}
        case dict():
            return {**measure, "question": question}
        case _:
            return measure


def _as_list(value: object) -> list[object]:
    return [] if value is None else list(entries_of(value))
