"""What several questions about one item demand of the other parts of a spec."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import MEASURES_BY_KIND, of_scores
from assay.evalcore.methods.registry import method_of_questions
from assay.tasks.spec.goals import MeasureChoice, Outcomes
from assay.tasks.spec.labels.demands import Problem, SpecParts
from assay.tasks.spec.labels.questions import QuestionEntry, QuestionList
from assay.tasks.spec.pool import problems_of_columns


class SpecOfQuestions(SpecParts, Protocol):
    """A spec, as far as questions demand something of it."""

    of_monitor: ClassVar[bool]

    @property
    def drive(self) -> Sequence[str] | None: ...
    @property
    def outcomes(self) -> Outcomes | None: ...


def contradictions_of_questions(spec: SpecOfQuestions, labels: QuestionList) -> list[Problem]:
    """(key, what is wrong with it) for each; none where the parts fit together."""
    found = [*_of_measures(spec, labels), *_of_columns(labels), *_of_desk(spec), *_of_one_question(spec)]
    try:
        method_of_questions(spec.method)
    except BadInput as error:
        found.append(("method", str(error)))
    found += [
        ("drive", f"names {one!r}; with several questions it names those that the choice of items serves: "
                  f"{', '.join(labels.asked)}")
        for one in spec.drive or () if one not in labels.asked
    ]
    found += [("desk." + key, text) for key, text in spec.desk.unlike(labels.answers)]
    return found


def _of_measures(spec: SpecOfQuestions, labels: QuestionList) -> Iterator[Problem]:
    asked = labels.asked
    for i, choice in enumerate(spec.measure):
        try:
            measure = choice.of(labels.outcome, 1)
        except BadInput as error:
            yield f"measure[{i}]", str(error)
            continue
        yield from _of_measure(f"measure[{i}]", choice, asked[str(measure.question)])
        if i == 0 and spec.limit is not None and len(measure.parts) > 1:
            yield "limit", (f"applies to the first measure, and {measure.name!r} has {len(measure.parts)} "
                            "numbers; put a measure of one number first")
    for name in asked:
        if name not in {choice.question for choice in spec.measure}:
            yield "measure", f"has none of question {name!r}; give it one: {{name: ..., question: {name}}}"


def _of_measure(key: str, choice: MeasureChoice, entry: QuestionEntry) -> Iterator[Problem]:
    kind = entry.outcome.kind
    if of_scores(choice.name):
        yield key, (f"{choice.name!r} is made of all scores of one question; ask for it in an evaluation of "
                    "that question alone")
        return
    needs = MEASURES_BY_KIND[kind.name, choice.name].needs
    if "rank" in needs:
        yield key, f"{choice.name!r} is of one question about relevance; ask it in an evaluation of its own"
    if "prediction" in needs and not entry.predicts:
        yield key, (f"{choice.name!r} needs a prediction; name the column under `prediction` of question "
                    f"{entry.name!r}")
    by_class = isinstance(entry.probability, dict) or kind.counted is not None
    if "probability" in needs and not (by_class and entry.outcome.probabilities):
        yield key, (f"{choice.name!r} needs a probability of each class; give `probability` of question "
                    f"{entry.name!r}: {{prefix: p_}} or {{class: column}}")


def _of_columns(labels: QuestionList) -> Iterator[Problem]:
    """Of what `pool` would refuse where the question stood alone."""
    for i, entry in enumerate(labels.questions):
        if entry.system is not None or entry.outcome.kind.counted is not None:
            continue
        for key, text in problems_of_columns(entry.answer.task, entry.of_pool, entry.answer.names):
            yield f"labels[{i}].{key.removeprefix('pool.')}", text


def _of_desk(spec: SpecOfQuestions) -> Iterator[Problem]:
    desk = spec.desk
    if desk.gold is not None:
        yield "desk.gold", ("is of one question; leave it out, or ask several people about each item: "
                            "desk.annotators_per_item")
    if desk.ask_again is not None and desk.ask_again.when != "never":
        yield "desk.ask_again", ("needs answers that have a chance each, and several answers together have "
                                 "none: leave it out, or ask several people: desk.annotators_per_item")


def _of_one_question(spec: SpecOfQuestions) -> Iterator[Problem]:
    """Of what can be said of one question alone."""
    if spec.of_monitor:
        yield "labels", ("ask several questions, and a monitor watches one: give each question a monitor of "
                         "its own, with its own `labels` and `pool` columns")
    if spec.warm_start is not None:
        yield "warm_start", "teaches a model of one question; leave it out"
    if spec.outcomes is not None:
        yield "outcomes", "are answers to one question, and a reading answers all; leave them out"
    if spec.pool.rank is not None:
        yield "pool.rank", "orders documents for one question about relevance; leave it out, or ask it alone"
    if spec.budget.audit:
        yield "budget.audit", "looks for items of one class, and several questions are asked; leave it out"
