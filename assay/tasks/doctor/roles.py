"""Which column is what: as told, else guessed from names and from the first rows.

Names are read by their whole words: `y_pred` is a prediction, `y_true` a label, `problem` no probability.
Values overrule names: a column called `prediction` that holds thirty different numbers is a regression, not a
decision, and one called `p_match` is a probability only if it stays within 0 and 1. Where two columns would
do, the choice becomes a question, and it has to be answered where the numbers depend on it.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.evalcore.errors import BadInput, did_you_mean
from assay.tasks.doctor.columns import FEW, LookedAtColumn, longest_texts, plainly, spelt_alike
from assay.tasks.sources.files.file import ROW_NUMBER
from assay.tasks.sources.values import NO_VALUE

# What somebody said about the columns of a file.

@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """None where nothing was said."""

    id: str | None = None
    score: str | None = None
    probability: str | None = None
    prediction: str | None = None
    label: str | None = None
    positive: str | None = None          # a class, as predictions or labels write it
    threshold: float | None = None       # what lies above it is predicted positive
    display: tuple[str, ...] = ()

    def refuse_beside_a_spec(self, path: str) -> None:
        """Raises BadInput if anything was said, because a spec says it."""
        if self != Told():
            raise BadInput(f"{path} is a spec, which names its columns itself; change them there")


Outcome = Literal["two classes", "classes", "grades", "number"]

_MOST_GRADES = 11     # as 0 to 10 has
_WHICH_ID = "which column names each item?"
_WHICH_LABEL = "which column holds the true labels?"
_WHICH_PREDICTION = "which column holds the predictions?"

# what data frames call their index when they write it, and what a CSV column without a name is called here
_INDEX = r"(column 1|unnamed: ?\d+|__index_level_0__|index|row|row_?(number|nr|id))$"
_ID = r"(.*_)?(id|uid|uuid|guid|key|index)$|id_.*"
_SAYS_WHETHER = r"(is|has|was)_.*"
_PERCENT = r".*(%|percent|pct).*"
_TIME = r"(.*(time|date|timestamp).*|.*_at|ts|year|month|day)$"

# Words of names. `y_pred` has the word pred, `problem` does not have the word prob.
_WORDS = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TRUTH = frozenset(("true", "truth", "groundtruth", "gold", "golden", "actual", "actuals"))
_LABEL = _TRUTH | {"label", "labels", "target", "targets"}
_PREDICTION = frozenset((
    "prediction", "predictions", "pred", "preds", "predict", "predicted", "hat", "yhat", "decision",
    "forecast", "forecasted", "estimate", "estimated", "inferred",
))
_MACHINE = frozenset(("model", "llm", "gpt", "classifier", "system", "machine", "auto", "ai"))
_WHAT_IS_SAID = frozenset(("class", "label", "labels", "value", "output", "answer", "category", "decision"))
_PROBABILITY = frozenset((      # and p, in front
    "prob", "probs", "proba", "probas", "probability", "probabilities", "confidence", "conf",
))
_SCORE = frozenset(("score", "scores", "logit", "logits", "margin", "similarity"))
_JUDGE = frozenset(("judge", "rater", "grader", "critic"))
_ABOUT = frozenset((        # what is said about a prediction or label, and is none
    "id", "uid", "uuid", "key", "index", "time", "date", "at", "on", "timestamp", "version", "count",
    "source", "error", "lower", "upper", "low", "high", "std",
))
# names that mean one thing; `true` and `y_true` are as good as `label`
_LABEL_NAMES = frozenset((
    "label", "labels", "y", "y true", "y test", "truth", "true", "target", "targets", "gold", "actual",
    "actuals", "ground truth", "groundtruth", "true label", "gold label", "is match",
))
_VAGUE = 3       # the rank of names that may as well be a text that people judge
_NOBODY = 9      # worse than every rank


def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORDS.findall(_HUMP.sub("_", name).lower()))


def _label_rank(name: str) -> int:
    """How well a name says that the column holds the truth, from 1; _NOBODY for not at all."""
    words = _words(name)
    if " ".join(words) in _LABEL_NAMES:
        return 1
    said = set(words)
    if not words or said & (_PREDICTION | _MACHINE | _JUDGE | _PROBABILITY) or words[-1] in _ABOUT:
        return _NOBODY
    if said & _SCORE and not said & _TRUTH:
        return _NOBODY
    if words[-1] in _LABEL or words[0] in _TRUTH or words[:2] == ("ground", "truth"):
        return 2
    return _VAGUE if words[0] in _LABEL or words == ("answer",) else _NOBODY


def _prediction_rank(name: str) -> int:
    """The same of predictions."""
    words = _words(name)
    said = set(words)
    if not words or said & (_PROBABILITY | _JUDGE) or words[-1] in _ABOUT:
        return _NOBODY
    if said & _PREDICTION:
        if said & _SCORE:
            return _VAGUE
        return 1 if said <= _PREDICTION | _WHAT_IS_SAID | {"y", "target"} else 2
    if words in (("class",), ("output",)) or (said & _MACHINE and words[-1] in _WHAT_IS_SAID):
        return _VAGUE
    return _NOBODY


def _is_label(column: LookedAtColumn) -> bool:
    return _label_rank(column.name) < _NOBODY and not _is_text_to_judge(column)


def _is_prediction(column: LookedAtColumn) -> bool:
    return _prediction_rank(column.name) < _NOBODY and not _is_text_to_judge(column)


def _is_text_to_judge(column: LookedAtColumn) -> bool:
    """Texts that hardly occur twice, called `answer`, `model_output` and the like: no class."""
    return _may_be_a_text(column.name) and column.kinds() > 2 and not (
        column.numbers or column.names_of_classes
    )


def _may_be_a_text(name: str) -> bool:
    vague, words = min(_label_rank(name), _prediction_rank(name)) == _VAGUE, _words(name)
    return vague and words[-1] in ("answer", "output") and words[0] not in _LABEL


def _is_probability(name: str) -> bool:
    words = _words(name)
    return words[:1] == ("p",) or not _PROBABILITY.isdisjoint(words)


def _has(column: LookedAtColumn, words: frozenset[str]) -> bool:
    return not words.isdisjoint(_words(column.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChoice:
    """A choice that the file leaves open."""

    option: str                          # of the command line that settles it: --label
    asks: str                            # "which column holds the true labels?"
    taken: str                           # what is used unless something else is said
    choices: tuple[str, ...]             # `taken` among them
    decides: bool = False                # the numbers depend on it, and names do not say: nothing is taken


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
    perhaps_labels: tuple[str, ...] = ()  # hold what labels may be, and no column is called a label
    numbers: tuple[str, ...] = ()         # columns of numbers that were taken for nothing
    commas: tuple[str, ...] = ()          # called a score and the like, with decimal commas
    questions: tuple[OpenChoice, ...] = ()

    @property
    def numbered(self) -> bool:
        """Whether rows are named by their numbers."""
        return self.id == ROW_NUMBER

    @property
    def open(self) -> bool:
        """Whether a question is open on which the numbers depend."""
        return any(question.decides for question in self.questions)

    @property
    def columns(self) -> list[str]:
        """Those a scan reads, each once."""
        named = [self.id, self.score, self.probability, self.prediction, self.label]
        return list(dict.fromkeys(name for name in named if name is not None))

    @property
    def in_one_line(self) -> str:
        """In one line: id 'row', prediction 'guess', label 'emotion'."""
        named = {"id": self.id, "prediction": self.prediction, "score": self.score,
                 "probability": self.probability, "label": self.label}
        asked = [question.option.removeprefix("--") for question in self.questions if question.decides]
        told = [
            f"{role} {name!r}" if role not in asked else f"{role} in question"
            for role, name in named.items() if name is not None
        ]
        told += [f"{role} {', '.join(map(repr, names))}" for role, names in
                 (("probabilities", self.per_class), ("judge", self.judges)) if names]
        decides = self.prediction or self.score or self.probability or self.per_class
        return ", ".join(told if decides else [*told, "no prediction"])


class _Pick:
    """Takes columns for roles, each column once."""

    def __init__(self, columns: Sequence[LookedAtColumn], told: Told) -> None:
        self.by_name = {column.name: column for column in columns}
        named = (told.id, told.score, told.probability, told.prediction, told.label)
        self.taken = {name for name in named if name not in (None, ROW_NUMBER)}
        self.questions: list[OpenChoice] = []
        for name in sorted(self.taken | set(told.display)):
            if name not in self.by_name:
                there = ", ".join(self.by_name)
                raise BadInput(f"there is no column {name!r} with values; "
                               f"{did_you_mean(name, self.by_name)}there are {there}")

    @property
    def free(self) -> list[LookedAtColumn]:
        return [column for column in self.by_name.values() if column.name not in self.taken]

    def one(
        self, fits: Callable[[LookedAtColumn], bool], option: str | None = None, asks: str = "", *,
        decides: bool = False,
    ) -> str | None:
        """The first free column that fits; a question where several do."""
        found = [column.name for column in self.free if fits(column)]
        if not found:
            return None
        self.taken.add(found[0])
        if option is not None and len(found) > 1:
            self.questions.append(OpenChoice(
                option=option, asks=asks, taken=found[0], choices=tuple(found), decides=decides
            ))
        return found[0]

    def best(
        self, fits: Callable[[LookedAtColumn], bool], rank: Callable[[str], int], option: str, asks: str
    ) -> str | None:
        """The free column that fits and has the best name; a question where several names are as good."""
        ranks = {column.name: rank(column.name) for column in self.free if fits(column)}
        best = min(ranks.values(), default=_NOBODY)
        return self.one(
            lambda c: best < _NOBODY and ranks.get(c.name) == best, option, asks, decides=True
        )


def guess_roles(columns: Sequence[LookedAtColumn], told: Told | None = None) -> Roles:
    """Name the columns. Raises BadInput where a column was told that is not there."""
    told = told or Told()
    pick = _Pick(columns, told)
    identity = told.id or _identity(pick)
    times = tuple(c.name for c in pick.free if c.called(_TIME) and not _is_prediction(c))
    pick.taken |= set(times)
    chances = [c.name for c in pick.free if _is_probability(c.name) and c.within_0_1]
    per_class = tuple(chances) if len(chances) > 2 and told.probability is None else ()
    pick.taken |= set(per_class)
    label = told.label or _label(pick)
    prediction = told.prediction or (_prediction(pick, label) if told.threshold is None else None)
    label = label or _what_is_predicted(pick, prediction)
    outcome = _outcome(
        pick.by_name.get(prediction or ""), pick.by_name.get(label or ""), bool(per_class)
    )
    if told.threshold is not None and (told.prediction or outcome != "two classes"):
        raise BadInput("--threshold makes predictions of two classes from a score or a probability; leave "
                       "it out beside --prediction, and for numbers, grades and more than two classes")
    if told.positive is not None and outcome != "two classes":
        of = pick.by_name[label or prediction or ""]
        alike = spelt_alike(of.values) if outcome == "classes" else None
        what = f"{outcome}; leave it out"
        if alike is not None:
            what = f"{', '.join(map(repr, of.values[:5]))}: {alike} are spelt alike; write them in one way"
        raise BadInput(f"--positive names one of two classes, and column {of.name!r} holds {what}")
    alone = prediction is None and told.threshold is None      # what is predicted follows from the scale
    score, probability = _scale(pick, told, outcome, per_class, alone)
    if outcome == "two classes" and prediction and score is None:
        confident = probability is not None and pick.by_name[probability].is_confidence
        outcome = "classes" if confident or probability is None else outcome
    if identity is None:
        identity = pick.one(lambda c: c.names_items and c.rows > 2, "--id", _WHICH_ID)
    judges = _judges(pick, outcome, label)
    pick.taken |= set(judges)
    unsure = () if label else _perhaps_labels(pick, prediction)
    pick.taken |= set(unsure)
    leftover = [c for c in pick.free if not _is_label(c) and not _is_prediction(c)]
    commas = tuple(
        c.name for c in pick.free
        if c.commas and (_is_label(c) or _is_prediction(c) or _has(c, _SCORE) or _is_probability(c.name))
    )
    leftover = [c for c in leftover if c.name not in commas]
    display = told.display or longest_texts(leftover)
    return Roles(
        id=identity, score=score, probability=probability, prediction=prediction, label=label, time=times,
        display=display, per_class=per_class, positive=told.positive, threshold=told.threshold,
        outcome=outcome,
        segments=tuple(c.name for c in leftover if c.is_segment and c.name not in display),
        numbers=tuple(c.name for c in leftover if c.numbers and c.distinct > FEW),
        commas=commas, judges=judges, perhaps_labels=unsure, questions=tuple(pick.questions),
    )


def gives_away(name: str) -> str | None:
    """What a column of this name would tell people who have to judge for themselves; None for nothing."""
    if _may_be_a_text(name):
        return None
    words = frozenset(_words(name))
    told = (("the truth", _label_rank(name) < _NOBODY), ("a prediction", _prediction_rank(name) < _NOBODY),
            ("a probability", _is_probability(name)), ("a score", bool(words & _SCORE)))
    return next((what for what, is_so in told if is_so), None)


def _identity(pick: _Pick) -> str | None:
    return (
        pick.one(lambda c: c.called(_ID) and c.names_items, "--id", _WHICH_ID)
        or pick.one(lambda c: c.called(_ID) and c.distinct > 0.5 * c.rows and (c.whole or not c.numbers))
        or pick.one(lambda c: c.called(_INDEX) and c.names_items)
    )


def _label(pick: _Pick) -> str | None:
    def could_be(column: LookedAtColumn) -> bool:
        return column.numbers or column.kinds() <= 2 or column.names_of_classes

    return pick.best(could_be, _label_rank, "--label", _WHICH_LABEL)


def _what_is_predicted(pick: _Pick, prediction: str | None) -> str | None:
    """The column `price` beside the predictions `predicted_price`, if both hold numbers."""
    if prediction is None or not pick.by_name[prediction].numbers:
        return None
    of = [word for word in _words(prediction) if word not in _PREDICTION]
    return pick.one(lambda c: bool(of) and list(_words(c.name)) == of and c.numbers)


def _prediction(pick: _Pick, label: str | None) -> str | None:
    columns = list(pick.by_name.values())
    of_numbers = label is not None and _is_quantity(pick.by_name[label])

    def could_be(column: LookedAtColumn) -> bool:
        if (column.like_a_probability and not of_numbers) or _is_text_to_judge(column):
            return False
        # `predicted_score` is a score, unless there is a `true_score`
        words = set(_words(column.name)) - _PREDICTION
        return not words & _SCORE or any(
            set(_words(c.name)) - _TRUTH == words and c is not column for c in columns
        )

    found = pick.best(could_be, _prediction_rank, "--prediction", _WHICH_PREDICTION)
    return found or _of_the_same_words(pick, label)


def _of_the_same_words(pick: _Pick, label: str | None) -> str | None:
    """A column of words that are all labels too; a question, since its name says nothing."""
    known = set(pick.by_name[label].values) if label else set()
    fitting = [
        c.name for c in pick.free
        if not c.numbers and not c.boolean and not _has(c, _JUDGE) and c.distinct > 1
        and set(c.values) <= known
    ]
    if not fitting:
        return None
    pick.taken.add(fitting[0])
    has = f"{fitting[0]!r} has" if len(fitting) == 1 else f"{' and '.join(map(repr, fitting))} have"
    pick.questions.append(OpenChoice(
        option="--prediction", taken=fitting[0], choices=tuple(fitting), decides=len(fitting) > 1,
        asks=f"{_WHICH_PREDICTION} ({has} the same values as {label!r})",
    ))
    return fitting[0]


def _perhaps_labels(pick: _Pick, prediction: str | None) -> tuple[str, ...]:
    """Columns that say whether something is so (true and false, or is_..., has_...), or hold the words that
    are predicted, whatever they are called."""
    predicted = set(pick.by_name[prediction].values) if prediction else set()
    plain = {*map(plainly, predicted)}

    def of_the_same_words(column: LookedAtColumn) -> bool:
        words = set(column.values) - (NO_VALUE - predicted)
        return not column.numbers and len(words) > 1 and {*map(plainly, words)} <= plain

    return tuple(
        c.name for c in pick.free
        if (c.distinct == 2 and (c.boolean or c.called(_SAYS_WHETHER))) or of_the_same_words(c)
    )


def _judges(pick: _Pick, outcome: Outcome, label: str | None) -> tuple[str, ...]:
    """Columns called judge... that hold what a label may be."""
    if outcome == "two classes":
        return ()
    known = set(pick.by_name[label].values) if label else set()
    return tuple(
        c.name for c in pick.free
        if _has(c, _JUDGE) and (c.numbers if outcome == "number" else bool(known) and set(c.values) <= known)
    )


def _is_quantity(column: LookedAtColumn) -> bool:
    return column.numbers and (not column.whole or column.distinct > FEW)


def _outcome(prediction: LookedAtColumn | None, label: LookedAtColumn | None, per_class: bool) -> Outcome:
    """What a label is, from the values of predictions and labels."""
    decided = [column for column in (prediction, label) if column is not None]
    if any(_is_quantity(column) for column in decided):
        return "number"
    predicted = () if prediction is None else prediction.values
    kinds = [c.kinds(predicted) if c is label else c.distinct for c in decided]
    if all(several <= 2 for several in kinds):
        return "classes" if per_class else "two classes"
    graded = all(c.numbers for c in decided) and max(c.high for c in decided) < _MOST_GRADES
    return "grades" if graded else "classes"


def _scale(
    pick: _Pick, told: Told, outcome: Outcome, per_class: tuple[str, ...], alone: bool
) -> tuple[str | None, str | None]:
    """(score, probability): numbers within 0 and 1 are a probability, whatever they are called.

    alone: there are no predictions but those that follow from it
    """
    score, probability = told.score, told.probability
    if score is not None or probability is not None or per_class or outcome in ("number", "grades"):
        return score, probability
    if outcome == "classes":
        asks = "which column holds the confidence in the prediction?"
        chance = pick.one(lambda c: _is_probability(c.name) and c.like_a_probability, "--probability", asks)
        return None, chance
    asks = "which column says how positive an item looks?"
    probability = pick.one(
        lambda c: _is_probability(c.name) and c.within_0_1 and c.distinct > 2, "--probability", asks,
        decides=alone,
    )
    score = pick.one(lambda c: _has(c, _SCORE) and c.numbers and not c.like_a_probability, "--score", asks,
                     decides=alone)
    if probability is None:
        named = pick.one(lambda c: _has(c, _SCORE) and c.like_a_probability, "--probability", asks,
                         decides=alone)
        probability = named or (None if score else pick.one(
            lambda c: c.like_a_probability and c.distinct > FEW, "--probability", asks, decides=alone
        ))
    if probability is None and score is None:
        score = pick.one(
            lambda c: c.like_a_percentage and (_is_probability(c.name) or c.called(_PERCENT)), "--score", asks
        )
    return score, probability
