"""Which column is what: as told, else guessed from names and from the first rows.

Values overrule names: a column called `prediction` that holds thirty different numbers is a regression, not a
decision, and one called `p_match` is a probability only if it stays within 0 and 1. Where two columns would
do, the first is taken and the choice becomes a question.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.evalcore.errors import BadInput
from assay.tasks.doctor.columns import FEW, Column, is_called, longest_texts
from assay.tasks.doctor.told import Told

Outcome = Literal["two classes", "classes", "grades", "number"]

_MOST_GRADES = 11     # as 0 to 10 has
_WHICH_ID = "which column names each item?"

# what data frames call their index when they write it, and what a CSV column without a name is called here
_INDEX = r"(column 1|unnamed: ?\d+|__index_level_0__|index|row|row_?(number|nr|id))$"
_ID = r"(.*_)?(id|uid|uuid|guid|key|index)$|id_.*"
_LABEL = r"(label|labels|y|y_true|truth|true|target|gold|actual|ground_?truth|answer)(_.*)?$|is_match$"
_SAYS_WHETHER = r"(is|has|was)_.*"
_PREDICTION = (
    r"(prediction|predictions|pred|predicted|y_pred|y_hat|yhat|decision|class|output"
    r"|(forecast|estimate)(_(?!date|time|at$|on$).*)?|(pred|predicted|model)_(class|label|output|value)"
    r"|(pred|predicted|prediction)_.*)$"
)
_OF_ANOTHER = r"(pred|predicted|prediction)_(?P<of>.+)$"
_PROBABILITY = r"(.*prob.*|p|p_.*|p ?\(.*\)|confidence)$"
_PERCENT = r".*(%|percent|pct).*"
_SCORE = r"(score|scores|logit|margin|decision_function|similarity|.*_score|score_.*)$"
_JUDGE = r"(.*_)?(judge|rater|grader|critic)(_.*)?$"
_TIME = r"(.*(time|date|timestamp).*|.*_at|ts|year|month|day)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A choice that the file leaves open."""

    option: str                          # of the command line that settles it: --label
    asks: str                            # "which column holds the true labels?"
    taken: str                           # what is used unless something else is said
    choices: tuple[str, ...]             # `taken` among them


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Column names by what they hold; None or empty where there is none."""

    id: str | None = None
    score: str | None = None
    probability: str | None = None
    prediction: str | None = None
    label: str | None = None
    time: tuple[str, ...] = ()
    display: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    per_class: tuple[str, ...] = ()       # one probability a class, of a pool with several
    positive: str | None = None           # the positive class, where it was told
    negative: str | None = None           # the other one, where it was told
    threshold: float | None = None        # of score or probability, where it was told
    outcome: Outcome = "two classes"
    judges: tuple[str, ...] = ()          # guesses of a number, a grade or a class
    perhaps_labels: tuple[str, ...] = ()  # two values each, and no column is called a label
    numbers: tuple[str, ...] = ()         # columns of numbers that were taken for nothing
    questions: tuple[Question, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Those a scan reads, each once."""
        named = [self.id, self.score, self.probability, self.prediction, self.label]
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def said(self) -> str:
        """In one line: id 'row', prediction 'guess', label 'emotion'."""
        named = {"id": self.id, "prediction": self.prediction, "score": self.score,
                 "probability": self.probability, "label": self.label}
        told = [f"{role} {name!r}" for role, name in named.items() if name is not None]
        decides = self.prediction or self.score or self.probability or self.per_class
        return ", ".join(told if decides else [*told, "no prediction"])


class _Pick:
    """Takes columns for roles, each column once."""

    def __init__(self, columns: Sequence[Column], told: Told) -> None:
        self.by_name = {column.name: column for column in columns}
        named = (told.id, told.score, told.probability, told.prediction, told.label)
        self.taken = {name for name in named if name is not None}
        self.questions: list[Question] = []
        for name in sorted(self.taken | set(told.display)):
            if name not in self.by_name:
                there = ", ".join(self.by_name)
                raise BadInput(f"there is no column {name!r} with values; there are {there}")

    @property
    def free(self) -> list[Column]:
        return [column for column in self.by_name.values() if column.name not in self.taken]

    def one(
        self, fits: Callable[[Column], bool], option: str | None = None, asks: str = ""
    ) -> str | None:
        """The first free column that fits; a question where several do."""
        found = [column.name for column in self.free if fits(column)]
        if not found:
            return None
        self.taken.add(found[0])
        if option is not None and len(found) > 1:
            self.questions.append(Question(option=option, asks=asks, taken=found[0], choices=tuple(found)))
        return found[0]


def guess_roles(columns: Sequence[Column], told: Told | None = None) -> Roles:
    """Name the columns. Raises BadInput where a column was told that is not there."""
    told = told or Told()
    pick = _Pick(columns, told)
    identity = told.id or _identity(pick)
    times = tuple(c.name for c in pick.free if c.called(_TIME) and not c.called(_PREDICTION))
    pick.taken |= set(times)
    chances = [c.name for c in pick.free if c.called(_PROBABILITY) and c.within_0_1]
    per_class = tuple(chances) if len(chances) > 2 and told.probability is None else ()
    pick.taken |= set(per_class)
    label = told.label or _label(pick)
    prediction = told.prediction or (_prediction(pick, label) if told.threshold is None else None)
    label = label or _what_is_predicted(pick, prediction)
    outcome = _outcome([pick.by_name[name] for name in (prediction, label) if name], bool(per_class))
    if told.threshold is not None and (told.prediction or outcome != "two classes"):
        raise BadInput("--threshold makes predictions of two classes from a score or a probability; leave "
                       "it out beside --prediction, and for numbers, grades and more than two classes")
    score, probability = _scale(pick, told, outcome, per_class)
    if outcome == "two classes" and prediction and score is None:
        confident = probability is not None and pick.by_name[probability].is_confidence
        outcome = "classes" if confident or probability is None else outcome
    if identity is None:
        identity = pick.one(lambda c: c.names_items and c.rows > 2, "--id", _WHICH_ID)
    judges = _judges(pick, outcome, label)
    pick.taken |= set(judges)
    unsure = () if label else _perhaps_labels(pick)
    pick.taken |= set(unsure)
    leftover = [c for c in pick.free if not c.called(_LABEL) and not c.called(_PREDICTION)]
    display = told.display or longest_texts(leftover)
    return Roles(
        id=identity, score=score, probability=probability, prediction=prediction, label=label, time=times,
        display=display, per_class=per_class, positive=told.positive, threshold=told.threshold,
        outcome=outcome,
        segments=tuple(c.name for c in leftover if c.is_segment and c.name not in display),
        numbers=tuple(c.name for c in leftover if c.numbers and c.distinct > FEW),
        judges=judges, perhaps_labels=unsure, questions=tuple(pick.questions),
    )


def gives_away(name: str) -> str | None:
    """What a column of this name would tell people who have to judge for themselves; None for nothing."""
    told = (("the truth", _LABEL), ("a prediction", _PREDICTION), ("a probability", _PROBABILITY),
            ("a score", _SCORE))
    return next((what for what, pattern in told if is_called(name, pattern)), None)


def _identity(pick: _Pick) -> str | None:
    return (
        pick.one(lambda c: c.called(_ID) and c.names_items, "--id", _WHICH_ID)
        or pick.one(lambda c: c.called(_ID) and c.distinct > 0.5 * c.rows and (c.whole or not c.numbers))
        or pick.one(lambda c: c.called(_INDEX) and c.names_items)
    )


def _label(pick: _Pick) -> str | None:
    def could_be(column: Column) -> bool:
        return column.numbers or column.distinct <= 2 or column.names_of_classes

    asks = "which column holds the true labels?"
    return pick.one(lambda c: c.called(_LABEL) and could_be(c), "--label", asks)


def _what_is_predicted(pick: _Pick, prediction: str | None) -> str | None:
    """The column `price` beside the predictions `predicted_price`, if both hold numbers."""
    named = re.match(_OF_ANOTHER, prediction or "", re.IGNORECASE)
    if named is None or not pick.by_name[named[0]].numbers:
        return None
    return pick.one(lambda c: c.name == named["of"] and c.numbers)


def _prediction(pick: _Pick, label: str | None) -> str | None:
    return pick.one(
        lambda c: c.called(_PREDICTION) and not c.like_a_probability, "--prediction",
        "which column holds the predictions?",
    ) or _of_the_same_words(pick, label)


def _of_the_same_words(pick: _Pick, label: str | None) -> str | None:
    """A column of words that are all labels too; a question, since its name says nothing."""
    known = set(pick.by_name[label].values) if label else set()
    found = pick.one(
        lambda c: not c.numbers and not c.boolean and not c.called(_JUDGE) and c.distinct > 1
        and set(c.values) <= known
    )
    if found is not None:
        pick.questions.append(Question(
            option="--prediction", taken=found, choices=(found,),
            asks=f"which column holds the predictions? ({found!r} has the same values as {label!r})",
        ))
    return found


def _perhaps_labels(pick: _Pick) -> tuple[str, ...]:
    """Columns that say whether something is so: true and false, or is_..., has_..."""
    return tuple(c.name for c in pick.free if c.distinct == 2 and (c.boolean or c.called(_SAYS_WHETHER)))


def _judges(pick: _Pick, outcome: Outcome, label: str | None) -> tuple[str, ...]:
    """Columns called judge... that hold what a label may be."""
    if outcome == "two classes":
        return ()
    known = set(pick.by_name[label].values) if label else set()
    return tuple(
        c.name for c in pick.free
        if c.called(_JUDGE) and (c.numbers if outcome == "number" else bool(known) and set(c.values) <= known)
    )


def _outcome(decided: Sequence[Column], per_class: bool) -> Outcome:
    """What a label is, from the values of predictions and labels."""
    if any(c.numbers and (not c.whole or c.distinct > FEW) for c in decided):
        return "number"
    if all(c.distinct <= 2 for c in decided):
        return "classes" if per_class else "two classes"
    graded = all(c.numbers for c in decided) and max(c.high for c in decided) < _MOST_GRADES
    return "grades" if graded else "classes"


def _scale(
    pick: _Pick, told: Told, outcome: Outcome, per_class: tuple[str, ...]
) -> tuple[str | None, str | None]:
    """(score, probability): numbers within 0 and 1 are a probability, whatever they are called."""
    score, probability = told.score, told.probability
    if score is not None or probability is not None or per_class or outcome in ("number", "grades"):
        return score, probability
    if outcome == "classes":
        asks = "which column holds the confidence in the prediction?"
        chance = pick.one(lambda c: c.called(_PROBABILITY) and c.like_a_probability, "--probability", asks)
        return None, chance
    asks = "which column says how positive an item looks?"
    probability = pick.one(
        lambda c: c.called(_PROBABILITY) and c.within_0_1 and c.distinct > 2, "--probability", asks
    )
    score = pick.one(lambda c: c.called(_SCORE) and c.numbers and not c.like_a_probability, "--score", asks)
    if probability is None:
        named = pick.one(lambda c: c.called(_SCORE) and c.like_a_probability, "--probability", asks)
        probability = named or (None if score else pick.one(
            lambda c: c.like_a_probability and c.distinct > FEW, "--probability", asks
        ))
    if probability is None and score is None:
        score = pick.one(
            lambda c: c.like_a_percentage and (c.called(_PROBABILITY) or c.called(_PERCENT)), "--score", asks
        )
    return score, probability
