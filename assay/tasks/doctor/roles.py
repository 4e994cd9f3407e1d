"""Which column is what: as told, else guessed from names and from the first rows.

Values overrule names: a column called `prediction` that holds thirty different numbers is a regression, not a
decision, and one called `p_match` is a probability only if it stays within 0 and 1. Where two columns would
do, the choice becomes a question, and it has to be answered where the numbers depend on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.errors import BadInput, did_you_mean
from assay.evalcore.outcomes.class_names import (
    NEGATIVE_WORDS,
    POSITIVE_WORDS,
    ClassReader,
    guessed_positive,
    what_differs,
)
from assay.tasks.doctor.column_names import (
    AGAINST,
    CLERICAL,
    DECIDED,
    ID,
    INDEX,
    JUDGE,
    MACHINE,
    NOBODY,
    PERCENT,
    PREDICTION,
    SAYS_WHETHER,
    SCORE,
    TRUTH,
    has_word,
    is_label,
    is_prediction,
    is_probability,
    is_text_to_judge,
    is_time,
    label_rank,
    prediction_rank,
    words_of,
)
from assay.tasks.doctor.columns import FEW, LookedAtColumn, longest_texts
from assay.tasks.doctor.one_per_class import (
    ClassColumns,
    called_alike,
    columns_by_class_name,
    columns_of_all_classes,
    endings,
    scales_by_class,
    sum_to_a_hundred,
)
from assay.tasks.doctor.repeated_items import repeated_items
from assay.tasks.doctor.unread import (
    UnreadColumn,
    decides_by_name,
    probability_out_of_range,
    several_in_each,
    why_unread,
)
from assay.tasks.sources.files.file import ROW_NUMBER
from assay.tasks.sources.values import NO_VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the caller has said of a file: the column of each role, the positive class, the threshold and
    what people see. A field that nobody spoke of is None or empty, and is guessed."""

    id: str | None = None
    score: str | None = None
    probability: str | None = None
    prediction: str | None = None
    label: str | None = None
    positive: str | None = None          # a class, as predictions or labels write it
    threshold: float | None = None       # what lies above it is predicted positive
    display: tuple[str, ...] = ()

    def names(self, column: str) -> bool:
        """Whether the caller has named this column, as id, score, probability, prediction or label, or among
        those that people see. Such a column is never taken for something else."""
        single = (self.id, self.score, self.probability, self.prediction, self.label)
        return column in (*single, *self.display)

    def refuse_beside_a_spec(self, path: str) -> None:
        """Raises BadInput if anything was said, because a spec says it."""
        if self != Told():
            raise BadInput(f"{path} is a spec, which names its columns itself; change them there")


Outcome = Literal["two classes", "classes", "grades", "number", "tags"]

_MOST_GRADES = 11     # as 0 to 10 has
_WHICH_ID = "which column names each item?"
_WHICH_LABEL = "which column holds the true labels?"
_WHICH_PREDICTION = "which column holds the predictions?"

@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChoice:
    """A choice that a file leaves open, as a question to the caller: what it asks, the candidates, what is
    used meanwhile, and the option of the command line that settles it. Where the numbers depend on it,
    nothing is used until it is settled."""

    option: str                          # of the command line that settles it: --label
    asks: str                            # "which column holds the true labels?"
    taken: str                           # what is used unless something else is said
    choices: tuple[str, ...]             # `taken` among them
    decides: bool = False                # the numbers depend on it, and names do not say: nothing is taken
    otherwise: str = ""                  # what else settles it: "--threshold NUMBER, if ..."


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
    of_classes: ClassColumns | None = None   # whose each of them is, where that is known
    positive: str | None = None           # the positive class, where it was told
    negative: str | None = None           # the other one, where it was told
    threshold: float | None = None        # of score or probability, where it was told
    outcome: Outcome = "two classes"
    judges: tuple[str, ...] = ()          # guesses of a number, a grade or a class
    perhaps_labels: tuple[str, ...] = ()  # hold what labels may be, and no column is called a label
    numbers: tuple[str, ...] = ()         # columns of numbers that were taken for nothing
    unread: tuple[UnreadColumn, ...] = ()  # called a score and the like, and written as no number is
    questions: tuple[OpenChoice, ...] = ()

    @property
    def numbered(self) -> bool:
        """Whether the file has no id column, so that items are named by the numbers of their rows. Such
        numbers hold only while the file stays as it is."""
        return self.id == ROW_NUMBER

    @property
    def open(self) -> bool:
        """Whether a question is open on which the numbers depend, so that they cannot be worked out yet.
        Questions of mere wording leave it closed."""
        return any(question.decides for question in self.questions)

    @property
    def columns(self) -> list[str]:
        """The columns that a scan reads, each once: id, score, probability, prediction and label, as far as
        there are any. None of them twice, in this order."""
        columns = [self.id, self.score, self.probability, self.prediction, self.label]
        return list(dict.fromkeys(name for name in columns if name is not None))

    @property
    def in_one_line(self) -> str:
        """Which column is what, on one line for people: `id 'row', prediction 'guess', label 'emotion'`. A
        role that waits for an answer is said to be in question, and it is said where nothing predicts."""
        columns = {"id": self.id, "prediction": self.prediction, "score": self.score,
                   "probability": self.probability, "label": self.label}
        open_roles = [question.option.removeprefix("--") for question in self.questions if question.decides]
        parts = [
            f"{role} {name!r}" if role not in open_roles else f"{role} in question"
            for role, name in columns.items() if name is not None
        ]
        parts += [f"{role} {', '.join(map(repr, names))}" for role, names in
                  (("probabilities", self.per_class), ("judge", self.judges)) if names]
        decides = self.prediction or self.score or self.probability or self.per_class
        return ", ".join(parts if decides else [*parts, "no prediction"])


class _Pick:
    """Takes columns for roles, each column once."""

    def __init__(self, columns: Sequence[LookedAtColumn], options: Told) -> None:
        self.by_name = {column.name: column for column in columns}
        names = (options.id, options.score, options.probability, options.prediction, options.label)
        self.taken = {name for name in names if name not in (None, ROW_NUMBER)}
        self.questions: list[OpenChoice] = []
        for name in sorted(self.taken | set(options.display)):
            if name not in self.by_name:
                known_names = ", ".join(self.by_name)
                raise BadInput(f"there is no column {name!r} with values; "
                               f"{did_you_mean(name, self.by_name)}there are {known_names}")

    @property
    def free(self) -> list[LookedAtColumn]:
        return [column for column in self.by_name.values() if column.name not in self.taken]

    def one(
        self, fits: Callable[[LookedAtColumn], bool], option: str | None = None, asks: str = "", *,
        decides: bool = False,
    ) -> str | None:
        """The first free column that fits; a question where several do."""
        names = [column.name for column in self.free if fits(column)]
        if not names:
            return None
        self.taken.add(names[0])
        if option is not None and len(names) > 1:
            self.questions.append(OpenChoice(
                option=option, asks=asks, taken=names[0], choices=tuple(names), decides=decides
            ))
        return names[0]

    def best(
        self, fits: Callable[[LookedAtColumn], bool], rank: Callable[[str], int], option: str, asks: str
    ) -> str | None:
        """The free column that fits and has the best name; a question where several names are as good. Raises
        nothing; None where no column fits."""
        ranks = {column.name: rank(column.name) for column in self.free if fits(column)}
        best = min(ranks.values(), default=NOBODY)
        return self.one(
            lambda c: best < NOBODY and ranks.get(c.name) == best, option, asks, decides=True
        )


def guess_roles(columns: Sequence[LookedAtColumn], options: Told | None = None) -> Roles:
    """Name the columns. Raises BadInput where a column was told that is not there."""
    options = options or Told()
    pick = _Pick(columns, options)
    identity = options.id or _identity(pick)
    times = tuple(c.name for c in pick.free if is_time(c) and not is_prediction(c))
    pick.taken |= set(times)
    each_class = _of_each_class(pick, options)
    pick.taken |= {column.name for column in each_class}
    label = options.label or _label(pick)
    prediction = options.prediction or (_prediction(pick, label) if options.threshold is None else None)
    label = label or _what_is_predicted(pick, prediction)
    outcome = _outcome(
        pick.by_name.get(prediction or ""), pick.by_name.get(label or ""), len(each_class) > 2
    )
    _refuse_idle(
        options, outcome, [pick.by_name[name] for name in (label, prediction) if name in pick.by_name]
    )
    score, probability, positive, negative = options.score, options.probability, options.positive, None
    per_class = tuple(column.name for column in each_class) if len(each_class) > 2 else ()
    pair = each_class if len(each_class) == 2 else _scales_of_two_classes(pick, options, prediction, label)
    if len(pair) == 2 and outcome == "two classes":
        scale, positive, negative = _of_the_positive(pick, options, pair, (prediction, label))
        pick.taken |= {column.name for column in pair}
        score, probability = (None, scale) if pair[0].within_0_1 else (scale, None)
    else:
        pick.taken -= {column.name for column in each_class} - {*per_class}
        alone = prediction is None and options.threshold is None    # what is predicted follows from the scale
        score, probability = _scale(pick, options, outcome, per_class, alone)
    if outcome == "two classes" and prediction and score is None:
        confident = probability is not None and pick.by_name[probability].is_confidence
        outcome = "classes" if confident or probability is None else outcome
    if identity is None:
        identity = pick.one(lambda c: c.names_items and c.rows > 2, "--id", _WHICH_ID)
    judges = _judges(pick, outcome, label)
    pick.taken |= set(judges)
    unsure = () if label else _perhaps_labels(pick, prediction)
    pick.taken |= set(unsure)
    decided = [pick.by_name[name] for name in (prediction, label) if name is not None]
    of_classes = (columns_by_class_name(each_class, c.values, c) for c in decided if per_class)
    unread = _unread(pick, outcome, decided, scaled=bool(score or probability or per_class))
    away = {entry.column for entry in unread}
    leftover = [c for c in pick.free if not is_label(c) and not is_prediction(c) and c.name not in away]
    display = options.display or longest_texts(
        [c for c in leftover if c.distinct > FEW or not has_word(c, MACHINE)]
    )
    if options.id is None:
        pick.questions += _one_row_an_item(pick, identity, display)
    return Roles(
        id=identity, score=score, probability=probability, prediction=prediction, label=label, time=times,
        display=display, per_class=per_class, positive=positive, negative=negative,
        of_classes=next((candidate for candidate in of_classes if candidate is not None), None),
        threshold=options.threshold, outcome=outcome,
        segments=tuple(c.name for c in leftover if c.is_segment),
        numbers=tuple(c.name for c in leftover if c.numbers and c.distinct > FEW),
        unread=unread, judges=judges, perhaps_labels=unsure, questions=tuple(pick.questions),
    )


def _refuse_idle(options: Told, outcome: Outcome, columns: Sequence[LookedAtColumn]) -> None:
    """Raises BadInput for a threshold or a positive class where there are not two classes."""
    if options.threshold is not None and (options.prediction or outcome != "two classes"):
        raise BadInput("--threshold makes predictions of two classes from a score or a probability; leave "
                       "it out beside --prediction, and for numbers, grades and more than two classes")
    if options.positive is not None and outcome != "two classes" and columns:
        of = max(columns, key=lambda column: column.distinct)
        listed = ", ".join(map(repr, of.values[:5])) + (", ..." if of.distinct > 5 else "")
        alike = what_differs(of.values) if outcome == "classes" else None
        raise BadInput(
            f"--positive names one of two classes, and column {of.name!r} holds "
            + (f"{listed}: {alike}; write them in one way" if alike else
               f"{outcome} ({listed}); leave it out")
        )


def _of_each_class(pick: _Pick, options: Told) -> tuple[LookedAtColumn, ...]:
    """The columns of probabilities that sum to 1; else three and more that are called so, which `begin`
    refuses with what is wrong."""
    if options.probability is not None or options.score is not None:
        return ()
    return columns_of_all_classes(pick.free) or called_alike(pick.free)


def _scales_of_two_classes(
    pick: _Pick, options: Told, prediction: str | None, label: str | None
) -> tuple[LookedAtColumn, ...]:
    """A score or a percentage of each class, where it is known what is predicted, or above what; else ()."""
    if options.probability is not None or options.score is not None:
        return ()
    columns = [pick.by_name[name] for name in (prediction, label) if name is not None]
    pair = next((scales for c in columns if (scales := scales_by_class(pick.free, c.values))), ())
    known = prediction is not None or options.threshold is not None or sum_to_a_hundred(pair)
    return pair if known else ()


def _of_the_positive(
    pick: _Pick, options: Told, pair: tuple[LookedAtColumn, ...], decided: tuple[str | None, str | None]
) -> tuple[str, str | None, str | None]:
    """(column of the positive class's scale, that class, the other one), of two that have one for each.

    The classes are those of predictions or labels; where there are neither, the names of the columns.
    """
    columns = [pick.by_name[name] for name in decided if name is not None]
    by_class = None
    for column in (*columns, *reversed(columns)):
        by_class = columns_by_class_name(pair, column.values, column)
        if by_class is not None and by_class.by_name:
            break
    classes = min((c.values for c in columns if c.distinct == 2), key=len, default=tuple(endings(pair)))
    if by_class is None and not columns:
        by_class = columns_by_class_name(pair, classes, None)
    names = tuple(by_class.columns) if by_class else classes
    rarer = next((c.values[-1] for c in reversed(columns) if set(c.values) == set(names)), None)
    if rarer is None and by_class is not None:
        rarer = min(names, key=lambda name: float(np.nanmean(pick.by_name[by_class.columns[name]].sampled)))
    choice = ClassReader(names).read(options.positive) if options.positive is not None else None
    positive = choice or guessed_positive(names)
    if positive is None:
        positive = rarer or names[-1]
        pick.questions.append(OpenChoice(
            option="--positive", taken=positive, choices=tuple(sorted(names)),
            asks="which class is the positive one? (names do not say, so it is the rarer one)",
        ))
    negative = next((name for name in names if name != positive), None)
    if by_class is None or not by_class.by_name:
        taken = by_class.columns[positive] if by_class else pair[-1].name
        pick.questions.append(OpenChoice(
            option="--probability" if pair[0].within_0_1 else "--score", taken=taken,
            choices=tuple(column.name for column in pair), decides=by_class is None,
            asks=f"which column holds the probability of {positive!r}?",
        ))
        return taken, positive, negative
    return by_class.columns[positive], positive, negative


def _unread(
    pick: _Pick, outcome: Outcome, decided: Sequence[LookedAtColumn], *, scaled: bool
) -> tuple[UnreadColumn, ...]:
    """Columns that are called a score, a probability, a label or a prediction and hold no plain numbers."""
    of_numbers = outcome == "number" and len(decided) == 1      # the label is what is missing
    columns = [why_unread(c, of_numbers=of_numbers) for c in pick.free if decides_by_name(c.name)]
    columns += [several_in_each(c) or (why_unread(c) if c.kinds() > FEW else None) for c in decided]
    if not scaled and outcome in ("two classes", "classes"):
        columns += [probability_out_of_range(c) for c in pick.free]
    return tuple(column for column in columns if column is not None)


def _one_row_an_item(pick: _Pick, identity: str | None, display: Sequence[str]) -> list[OpenChoice]:
    """A question where several rows are about one item, as where each is one annotation."""
    columns = list(pick.by_name.values())
    repeated = repeated_items([c for c in columns if c.name != identity], display)
    if repeated is None:
        return []
    rows = identity or ROW_NUMBER
    alternatives = (repeated.column,) if repeated.column is not None else ()
    return [OpenChoice(
        option="--id", taken=rows, choices=(rows, *alternatives), decides=True,
        asks=f"{repeated.in_words}, as where each row is one annotation; is every row an item of its own?",
        otherwise="keep one row an item; or, where items come together, name pool.cluster in a spec",
    )]


def _identity(pick: _Pick) -> str | None:
    return (
        pick.one(lambda c: c.called(ID) and c.names_items, "--id", _WHICH_ID)
        or pick.one(lambda c: c.called(ID) and c.distinct > 0.5 * c.rows and (c.whole or not c.numbers))
        or pick.one(lambda c: c.called(INDEX) and c.names_items)
    )


def _label(pick: _Pick) -> str | None:
    def could_be(column: LookedAtColumn) -> bool:
        return column.numbers or column.kinds() <= 2 or column.names_of_classes

    return pick.best(could_be, label_rank, "--label", _WHICH_LABEL)


def _what_is_predicted(pick: _Pick, prediction: str | None) -> str | None:
    """The column `price` beside the predictions `predicted_price`, if both hold numbers."""
    if prediction is None or not pick.by_name[prediction].numbers:
        return None
    of = [word for word in words_of(prediction) if word not in PREDICTION]
    return pick.one(lambda c: bool(of) and list(words_of(c.name)) == of and c.numbers)


def _prediction(pick: _Pick, label: str | None) -> str | None:
    columns = list(pick.by_name.values())
    of_numbers = label is not None and _is_quantity(pick.by_name[label])

    def could_be(column: LookedAtColumn) -> bool:
        if (column.like_a_probability and not of_numbers) or is_text_to_judge(column):
            return False
        # `predicted_score` is a score, unless there is a `true_score`
        words = set(words_of(column.name)) - PREDICTION
        return not words & SCORE or any(
            set(words_of(c.name)) - TRUTH == words and c is not column for c in columns
        )

    choice = pick.best(could_be, prediction_rank, "--prediction", _WHICH_PREDICTION)
    return choice or _of_the_same_words(pick, label)


def _of_the_same_words(pick: _Pick, label: str | None) -> str | None:
    """A column whose values are all labels too; or of two values as labels, where both are opposites or its
    name says that something was decided. A question, since no name says that it predicts.

    Words are taken if one column alone has them. Two numbers, true and false, and other words than those of
    the labels may be anything, and decide.
    """
    if label is None:
        return None
    values = pick.by_name[label].class_values

    def decides_as_well(column: LookedAtColumn) -> bool:
        both_opposites = _are_opposites(column.class_values) and _are_opposites(values)
        two_each = len(column.class_values) == len(values) == 2
        return two_each and (both_opposites or has_word(column, DECIDED))

    fitting = [
        c for c in pick.free
        if not has_word(c, JUDGE) and not is_label(c) and c.distinct > 1
        and (c.class_values <= values or decides_as_well(c))
        and (c.distinct == 2 if c.numbers or c.boolean else True)
    ]
    if not fitting:
        return None
    names = tuple(c.name for c in fitting)
    pick.taken.add(names[0])
    has = f"{names[0]!r} has" if len(names) == 1 else f"{' and '.join(map(repr, names))} have"
    in_other_words = not fitting[0].class_values <= values
    pick.questions.append(OpenChoice(
        option="--prediction", taken=names[0], choices=names,
        decides=len(names) > 1 or fitting[0].flags or fitting[0].numbers or in_other_words,
        asks=f"{_WHICH_PREDICTION} ({has} {'two' if in_other_words else 'the same'} values as {label!r})",
        otherwise="--threshold NUMBER, if a score or a probability decides",
    ))
    return names[0]


# pairs that say yes and no, besides the words whose meaning every reader knows
_OPPOSITES = frozenset(map(frozenset, (
    ("t", "f"), ("on", "off"), ("ja", "nein"), ("oui", "non"), ("sí", "no"), ("si", "no"), ("sim", "não"),
    ("+", "-"), ("present", "absent"), ("pass", "fail"), ("accept", "reject"), ("accepted", "rejected"),
    ("是", "否"), ("да", "нет"), ("はい", "いいえ"), ("match", "non-match"), ("match", "no match"),
)))


def _are_opposites(values: frozenset[str]) -> bool:
    return values in _OPPOSITES or (len(values) == 2 and values <= POSITIVE_WORDS | NEGATIVE_WORDS)


def _perhaps_labels(pick: _Pick, prediction: str | None) -> tuple[str, ...]:
    """Columns that say whether something is so (true and false, or is_..., has_...), what a clerk decided, or
    that hold the words that are predicted, whatever they are called."""
    predicted = pick.by_name[prediction].class_values if prediction else frozenset()
    missing = {word.casefold() for word in NO_VALUE} - predicted

    def of_the_same_words(column: LookedAtColumn) -> bool:
        words = column.class_values - missing
        return not column.numbers and len(words) > 1 and words <= predicted

    return tuple(
        c.name for c in pick.free
        if (c.distinct == 2 and (c.boolean or c.called(SAYS_WHETHER) or has_word(c, CLERICAL | SCORE)))
        or of_the_same_words(c)
    )


def _judges(pick: _Pick, outcome: Outcome, label: str | None) -> tuple[str, ...]:
    """Columns called judge... that hold what a label may be."""
    if outcome in ("two classes", "tags"):
        return ()
    values = pick.by_name[label].class_values if label else frozenset()
    judges = [c for c in pick.free if has_word(c, JUDGE)]
    return tuple(c.name for c in judges if (c.numbers if outcome == "number" else c.class_values <= values))


def _is_quantity(column: LookedAtColumn) -> bool:
    return column.numbers and (not column.whole or column.distinct > FEW)


def _outcome(prediction: LookedAtColumn | None, label: LookedAtColumn | None, per_class: bool) -> Outcome:
    """What a label is, from the values of predictions and labels."""
    decided = [column for column in (prediction, label) if column is not None]
    if any(column.listed for column in decided):
        return "tags"
    if any(_is_quantity(column) for column in decided):
        return "number"
    predicted = () if prediction is None else prediction.values
    kinds = [c.kinds(predicted) if c is label else c.distinct for c in decided]
    if all(count <= 2 for count in kinds):
        return "classes" if per_class else "two classes"
    graded = all(c.numbers for c in decided) and max(c.high for c in decided) < _MOST_GRADES
    return "grades" if graded else "classes"


def _scale(
    pick: _Pick, options: Told, outcome: Outcome, per_class: tuple[str, ...], alone: bool
) -> tuple[str | None, str | None]:
    """(score, probability): numbers within 0 and 1 are a probability, whatever they are called.

    alone: there are no predictions but those that follow from it
    """
    score, probability = options.score, options.probability
    if score is not None or probability is not None or per_class or outcome in ("number", "grades", "tags"):
        return score, probability
    if outcome == "classes":
        asks = "which column holds the confidence in the prediction?"
        chance = pick.one(lambda c: is_probability(c.name) and c.like_a_probability, "--probability", asks)
        return None, chance
    asks = "which column says how positive an item looks?"
    probability = pick.one(
        lambda c: is_probability(c.name) and c.within_0_1 and c.distinct > 2, "--probability", asks,
        decides=alone,
    )
    score = pick.one(
        lambda c: has_word(c, SCORE) and not has_word(c, AGAINST) and c.numbers and c.distinct > 2
        and not c.like_a_probability,
        "--score", asks, decides=alone,
    )
    if probability is None:
        column = pick.one(
            lambda c: has_word(c, SCORE) and not has_word(c, AGAINST) and c.like_a_probability,
            "--probability", asks, decides=alone,
        )
        probability = column or (None if score else pick.one(
            lambda c: c.like_a_probability and c.distinct > FEW and not has_word(c, AGAINST),
            "--probability", asks, decides=alone,
        ))
    if probability is None and score is None:
        score = pick.one(
            lambda c: c.like_a_percentage and (is_probability(c.name) or c.called(PERCENT)), "--score", asks,
            decides=alone,
        )
    return score, probability
