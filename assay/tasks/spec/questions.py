"""What several questions about one item demand of the other parts of a spec."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Protocol

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import MEASURES_BY_KIND, of_scores
from assay.evalcore.methods.registry import method_of_questions
from assay.tasks.spec.goals import Limit, MeasureChoice, Outcomes
from assay.tasks.spec.labels.demands import Problem, SpecParts, unwatchable, watched_by_tangent
from assay.tasks.spec.labels.questions import QuestionEntry, QuestionList
from assay.tasks.spec.pool import problems_of_columns


class SpecOfQuestions(SpecParts, Protocol):
    """What the checks of several questions read of a spec: besides the parts of `SpecParts`, the measures
    that the choice of items serves, and the outcomes that come by themselves."""

    of_monitor: ClassVar[bool]

    @property
    def drive(self) -> Sequence[str] | None: ...
    @property
    def outcomes(self) -> Outcomes | None: ...


def contradictions_of_questions(spec: SpecOfQuestions, labels: QuestionList) -> list[Problem]:
    """(key, what is wrong with it) for each; none where the parts fit together."""
    problems = [*_of_measures(spec, labels), *_of_columns(labels), *_of_desk(spec), *_of_one_question(spec),
                *_of_limits(spec, labels)]
    try:
        method_of_questions(spec.method)
    except BadInput as error:
        problems.append(("method", str(error)))
    problems += [
        ("drive", f"names {name!r}; with several questions it names those that the choice of items serves: "
                  f"{', '.join(labels.asked)}")
        for name in spec.drive or () if name not in labels.asked
    ]
    problems += [("desk." + key, text) for key, text in spec.desk.unlike(labels.answers)]
    return problems


def _of_measures(spec: SpecOfQuestions, labels: QuestionList) -> Iterator[Problem]:
    entries = labels.asked
    for i, choice in enumerate(spec.measure):
        try:
            measure = choice.outcome_measure(labels.outcome, 1)
        except BadInput as error:
            yield f"measure[{i}]", str(error)
            continue
        yield from _of_measure(f"measure[{i}]", choice, entries[str(measure.question)])
        if i == 0 and spec.limit is not None and len(measure.parts) > 1:
            yield "limit", (f"applies to the first measure, and {measure.name!r} has {len(measure.parts)} "
                            "numbers; put a measure of one number first")
    for name in entries:
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


def _of_limits(spec: SpecOfQuestions, labels: QuestionList) -> Iterator[Problem]:
    """Of what each question is held against, in a monitor."""
    if not spec.of_monitor:
        for i, entry in enumerate(labels.questions):
            for key in ("limit", "drop"):
                if getattr(entry, key) is not None:
                    yield f"labels[{i}].{key}", (
                        "is of a monitor, which has a verdict on each question; an evaluation has one, on "
                        "its first measure: `limit` beside `labels`"
                    )
        return
    if spec.limit is not None:
        yield "limit", ("is of one question; write it beside each question that is watched: {name: ..., "
                        "limit: ...}")
    if "question" in spec.pool.segments:
        yield "pool.segments", "has a column called 'question', as which places are told apart; rename it"
    if spec.pool.segments:
        for entry in filter(lambda entry: entry.watched, labels.questions):
            of = [choice for choice in spec.measure if choice.question == entry.name]
            if of and watched_by_tangent(entry.answer, _alone(of[0]), compares=False):
                yield "pool.segments", (
                    f"of {of[0].name} ({entry.name}) have no evidence of their own: a tangent stands for it "
                    "of the whole pool alone; leave them out, or watch accuracy, F1, precision or recall"
                )


def _alone(choice: MeasureChoice) -> MeasureChoice:
    return choice.model_copy(update={"question": None})


def watched_questions(labels: QuestionList, measures: Sequence[MeasureChoice]) -> Iterator[Problem]:
    """What is wrong with the questions that a monitor watches, by the first measure of each. One problem for
    each key, with what to write."""
    watched = [(i, entry) for i, entry in enumerate(labels.questions) if entry.watched]
    if not watched:
        yield "labels", ("have no limit, so nothing could be a breach; give a question that is watched "
                         "limit: {min: 0.80}, or drop: {by: 0.03}")
    for i, entry in watched:
        of = [choice for choice in measures if choice.question == entry.name]
        if not of:
            continue    # said already
        for reason in unwatchable(entry.answer, _alone(of[0]), compares=False):
            yield f"labels[{i}].measure", reason
        for key, text in out_of(entry.limit, of[0].outcome_measure(labels.outcome, 1).bounds, of[0].name):
            yield f"labels[{i}].{key}", text
        drop = entry.drop
        if drop is not None and drop.by >= 1 and entry.answer.shares:
            yield f"labels[{i}].drop.by", (
                f"is {drop.by:g}, and such a measure cannot fall so far; give less than 1"
            )


def out_of(limit: Limit | None, bounds: tuple[float, float], measure: str) -> Iterator[Problem]:
    """What is wrong with a limit that a measure within these bounds can never pass, or never miss. `measure`
    is what messages call it."""
    low, high = bounds
    for key in ("min", "max"):
        value = None if limit is None else getattr(limit, key)
        if value is not None and not low <= value <= high:
            yield f"limit.{key}", f"is {value:g}, and {measure} lies between {low:g} and {high:g}"


def _of_one_question(spec: SpecOfQuestions) -> Iterator[Problem]:
    """Of what can be said of one question alone."""
    if spec.warm_start is not None:
        yield "warm_start", "teaches a model of one question; leave it out"
    if spec.outcomes is not None:
        yield "outcomes", "are answers to one question, and a reading answers all; leave them out"
    if spec.pool.rank is not None:
        yield "pool.rank", "orders documents for one question about relevance; leave it out, or ask it alone"
    if spec.budget.audit:
        yield "budget.audit", "looks for items of one class, and several questions are asked; leave it out"
