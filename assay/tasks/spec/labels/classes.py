"""Labels that are one of several names: a positive and a negative class, a list, grades, or which of two
answers is better.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, ClassVar
from unicodedata import category

from pydantic import AfterValidator, Field, Strict, model_validator
from pydantic.json_schema import SkipJsonSchema

from assay.evalcore.annotators.agreement import Level
from assay.evalcore.annotators.answers import ClassAnswers, ClassOrRest
from assay.evalcore.json_values import entries_of, value_under
from assay.evalcore.measures.registry import names as measures_of_two
from assay.evalcore.methods.registry import is_auto, of_two_classes_alone
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.class_names import as_seen, two_class_values
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.tasks.schema import Finite, wrong
from assay.tasks.spec.goals import asks_for_scores
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.pool import compares

# By Unicode category.
_REFUSED = {"Cc": "a control character", "Zl": "a line separator", "Zp": "a paragraph separator"}
# They turn around the text that follows, so that a name reads as another: "no match" as "hctam on".
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_LONGEST_CLASS_NAME = 500   # characters


def _one_line_of_text(name: str) -> str:
    """The name, if every desk can show it and give it back: a page in XML, a line of a CSV file."""
    if len(name) > _LONGEST_CLASS_NAME:
        raise wrong(f"{name[:40]!r}... has {len(name):,} characters; give at most {_LONGEST_CLASS_NAME}")
    for character in name:
        what = "a mark that turns text around" if character in _TURNS else _REFUSED.get(category(character))
        if what is None and ord(character) & 0xFFFE == 0xFFFE:
            what = "a code point that is no character"
        if what is not None:
            raise wrong(f"{name!r} holds {what} (U+{ord(character):04X}), which no desk can show; remove it")
    return name


ClassName = Annotated[str, Field(min_length=1), AfterValidator(_one_line_of_text)]
"""A class as people see it. Spaces of every kind, joiners and soft hyphens belong to it and are kept."""


def several(minimum: int, maximum: int) -> AfterValidator:
    """Refuses a list that is too short or too long, or has something twice."""

    def check(names: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
        if not minimum <= len(names) <= maximum:
            count = f"{minimum:,}" if minimum == maximum else f"between {minimum} and {maximum:,}"
            raise wrong(f"lists {len(names):,}; give {count}")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise wrong(f"lists {twice!r} twice; keep one")
        return names

    return AfterValidator(check)


def look_different(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names as they are, where people can tell all of them apart. Raises an error of the spec, which
    names both, for two that differ only in what cannot be seen, such as spaces."""
    by_look: dict[str, str] = {}
    for name in names:
        twin = by_look.setdefault(as_seen(name), name)
        if twin != name:
            raise wrong(f"calls classes {twin!a} and {name!a}, which look the same; give them different "
                        "names")
    return names


MOST_NAMED_CLASSES = 1000   # classes, or grades, that a spec can name


class ClassLabels(LabelsForm):
    """Labels that are one class of several: what two classes, lists of classes and grades have in common.
    `level` is the level of measurement at which agreement between people is measured."""

    level: ClassVar[Level] = "nominal"    # at which agreement between people is measured

    @property
    def in_words(self) -> str:
        """How many classes people choose from, in words: `one of 3 classes`."""
        return f"one of {len(self.names)} classes"

    @property
    def answers(self) -> ClassAnswers:
        """What people may answer, one of the classes: with their codes, their level, their order on the
        page, and how files may spell them."""
        return ClassAnswers(
            codes=self.codes, level=self.level, offered=self.offered, spellings=self.spellings
        )


class TwoClasses(ClassLabels):
    """The two classes, as people see them and as a prediction column may spell them."""

    task: ClassVar[str] = "binary"

    positive: ClassName = Field(description="name of the positive class")
    negative: ClassName = Field(description="name of the negative class")

    @model_validator(mode="after")
    def _two_classes(self) -> "TwoClasses":
        if self.positive == self.negative:
            raise wrong(f"calls both classes {self.positive!r}; give them different names")
        if as_seen(self.positive) == as_seen(self.negative):
            raise wrong(
                f"calls the classes {self.positive!a} and {self.negative!a}, which look the same; give them "
                "different names"
            )
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The negative class has code 0, the positive one code 1."""
        return self.negative, self.positive

    @property
    def offered(self) -> tuple[str, ...]:
        """The two classes as people see them, the positive one first; codes count the other way round. Pages
        list them so."""
        return self.positive, self.negative

    @property
    def spellings(self) -> Mapping[str, str]:
        """What a column may hold besides the names -> the class that it means: 1/0 and true/false, as far as
        the names of the classes leave them a meaning."""
        return two_class_values(self.positive, self.negative)

    @property
    def positive_name(self) -> str | None:
        """The positive class: the one that measures count."""
        return self.positive

    @property
    def outcome(self) -> OutcomeKind | None:
        """None: a positive and a negative class have statistics of their own."""
        return None


class ComparedClasses(TwoClasses):
    """Two classes of which several systems predict one: their measures are those of the positive class."""

    task: ClassVar[str] = "multiclass"

    @property
    def positive_name(self) -> str | None:
        """None, though a positive class is named: the statistics of compared systems are those of any
        classes, and `outcome` says which one measures count."""
        return None

    @property
    def outcome(self) -> OutcomeKind | None:
        """The outcome that the statistics see: two classes with codes 0 (negative) and 1 (positive), of which
        measures count the positive one. So systems share one sample, and differences have intervals."""
        return Classes(names=self.names, positive=self.positive)


class ScoredClasses(ComparedClasses):
    """Two classes whose measures are curves of a score, or whose items come in clusters or have weights."""

    task: ClassVar[str] = "scored"


class ClassList(ClassLabels):
    """Labels that are one of 2 to 1,000 listed classes of equal standing, as in `{classes: [cat, dog,
    bird]}`."""

    task: ClassVar[str] = "multiclass"

    classes: Annotated[
        tuple[ClassName, ...], Strict(False), several(2, MOST_NAMED_CLASSES), AfterValidator(look_different)
    ] = Field(description="the names of all classes, 2 to 1,000")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the classes in the order of the list, which is that of their codes. Predictions and
        labels are read by them."""
        return self.classes

    @property
    def outcome(self) -> OutcomeKind | None:
        """The outcome that the statistics see: the classes by name, none of them positive and none with a
        value. K of them, with codes from 0."""
        return Classes(names=self.names)


class Grades(ClassLabels):
    """Labels that are grades, as in `{grades: [1, 2, 3]}`: classes in order, the lowest first, each with its
    number as its value. Grades that look the same with six digits are refused."""

    task: ClassVar[str] = "multiclass"
    level: ClassVar[Level] = "ordinal"
    shares: ClassVar[bool] = False

    grades: Annotated[tuple[Finite, ...], Strict(False), several(2, MOST_NAMED_CLASSES)] = Field(
        description="the grades from the lowest to the highest"
    )

    @property
    def in_words(self) -> str:
        """How many grades people choose from, in words: `with one of 5 grades`."""
        return f"with one of {len(self.names)} grades"

    @model_validator(mode="after")
    def _rising(self) -> "Grades":
        if list(self.grades) != sorted(self.grades):
            raise wrong("must list the grades from the lowest to the highest")
        if len(set(self.names)) < len(self.names):
            raise wrong("has grades that look the same with six digits; write fewer digits")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The grades as text with up to six digits, such as `1` and `2.5`, the lowest first: the names of the
        classes. Predictions and labels are read by them."""
        return tuple(f"{grade:g}" for grade in self.grades)

    @property
    def spellings(self) -> Mapping[str, str]:
        """A grade with all its digits, such as `1.0` -> its name, `1`: what a column of numbers may hold
        besides the names. Programs write whole numbers as floats where a value is missing."""
        return {repr(float(grade)): name for grade, name in zip(self.grades, self.names, strict=True)}

    @property
    def outcome(self) -> OutcomeKind | None:
        """The outcome that the statistics see: classes whose values are the grades, so that they have means
        and distances. Their codes are counted from 0."""
        return Classes(names=self.names, values=self.grades)


TIE = "tie"


class PreferenceLabels(LabelsForm):
    """Labels that say which of two answers is better, as in `{prefer: [old, new]}`: the first, the second
    or, where `tie` allows it, neither. Outcomes are named after the columns of the two answers.

    Labels that say which of two answers is better.

    The two names are columns of the pool that hold the answers. People see them side by side, as A and B, in
    an order that is drawn for each item; what they say is turned back into these names
    (`assay.tasks.desks.blind`).
    """

    task: ClassVar[str] = "preference"
    one_system: ClassVar[str | None] = (
        "are not for preferences: the labels themselves compare the two answers, and `win_rate` says how; "
        "name one `prediction` or a `judge`"
    )

    prefer: Annotated[
        tuple[ClassName, ...], Strict(False), several(2, 2), AfterValidator(look_different)
    ] = Field(description="the columns of the two answers, which are the names of the outcomes")
    tie: bool = Field(default=True, description="whether people may say that neither is better")

    @model_validator(mode="after")
    def _no_answer_is_a_tie(self) -> "PreferenceLabels":
        if self.tie and TIE in (name.casefold() for name in self.prefer):
            raise wrong(f"calls an answer {TIE!r}, as a tie is called; give the column another name")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The outcomes in the order of their codes: the first answer, the second and, where there are ties,
        the tie. Which answer is first differs from item to item for people."""
        return (*self.prefer, TIE) if self.tie else self.prefer

    @property
    def in_words(self) -> str:
        """Which two answers people compare, in words: `which is better, 'old' or 'new'`."""
        return f"which is better, {self.prefer[0]!r} or {self.prefer[1]!r}"

    @property
    def answers(self) -> ClassAnswers:
        """What people may answer: the first, the second or, where there are ties, a tie, each with its code.
        Which is which is undone when answers are read."""
        return ClassAnswers(codes=self.codes)

    @property
    def outcome(self) -> OutcomeKind | None:
        """The outcome that the statistics see: a win of the first answer is worth 1, a loss 0 and, where
        there are ties, a tie ½."""
        first, second = self.prefer
        return preferences(first, second, TIE if self.tie else None)

    @property
    def two_answers(self) -> tuple[str, str] | None:
        """The columns of the first and the second answer, which people compare without being told which is
        which. The page shows them in an order by lot."""
        first, second = self.prefer
        return first, second


class OneOfSeveral(ClassList):
    """Labels of several classes where every measure is of one of them. People choose among all classes; the
    label is whether they chose that class (code 1) or any other (code 0).

    Classes of which one is asked for, by a method of two classes: `{classes: [cat, dog, owl]}`, `f1` of
    `owl`.

    People answer with every class. A label says whether the answer is the class: code 1, and 0 for all
    others. So the rest of an evaluation is that of a positive and a negative class.
    """

    task: ClassVar[str] = "one class"

    # never written: it is the class that all measures name
    counted: SkipJsonSchema[str] = Field(exclude=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The two outcomes in the order of their codes: what all other classes are called together (0), and
        the class that measures are of (1)."""
        return self.rest, self.counted

    @property
    def rest(self) -> str:
        """What all other classes are called together: `not cat`, or `any class but cat` where `not cat` is a
        class itself. It is the name of code 0."""
        plain = f"not {self.counted}"
        return plain if plain not in self.classes else f"any class but {self.counted}"

    @property
    def offered(self) -> tuple[str, ...]:
        """The class that measures are of, then the rest. What people choose among is every class, as
        `answers` has it. Reports and tables list these two."""
        return self.counted, self.rest

    @property
    def codes(self) -> dict[str, int]:
        """Name -> its code, of every class and of the rest: 1 for the class that measures are of, 0 for all
        others. So labels of all classes become two."""
        return {name: int(name == self.counted) for name in (*self.classes, self.rest)}

    @property
    def in_words(self) -> str:
        """How many classes people choose from, the rest not counted, in words: `one of 3 classes`. It stands
        behind "people answer"."""
        return f"one of {len(self.classes)} classes"

    @property
    def answers(self) -> ClassAnswers:
        """What people may answer: any of the classes, each of which is offered. The label of an answer is
        the class that measures are of, or the rest."""
        return ClassOrRest(codes=self.codes, offered=self.classes, counted=self.counted, rest=self.rest)

    @property
    def positive_name(self) -> str | None:
        """The class that measures are of, which counts as the positive one."""
        return self.counted

    @property
    def one_class(self) -> str | None:
        """The class that all measures are of, asked for against the rest."""
        return self.counted

    @property
    def outcome(self) -> OutcomeKind | None:
        """None: it is asked as of a positive and a negative class."""
        return None


# what a pool may hold beside predictions that methods of two classes know nothing of
_BESIDE = ("cluster", "weight", "rank")
_OF_ROWS = ("score", "threshold", "judge", "earlier", "covariates", "spread", "strata")


def class_against_the_rest(spec: Mapping[str, object]) -> str | None:
    """The class that a spec, as it is written, asks a method of two classes for; None where it does not.

    `auto` is one wherever such a method can answer the question, so that F1 of a class costs the same labels
    however the classes are written.  A spec with curves, clusters, weights or compared systems asks for none,
    and what an earlier version recorded of `auto` stays what it was: its `pool.task` says so.
    """
    labels, pool, method = spec.get("labels"), spec.get("pool"), spec.get("method")
    if not (isinstance(labels, dict) and isinstance(pool, dict) and isinstance(method, str)):
        return None
    names, measures = labels.get("classes"), spec.get("measure")
    listed = entries_of(measures)
    classes = {value_under(measure, "class") for measure in listed}
    if "task" in pool:      # a ledger says what an earlier version made of `auto`, or of these settings
        by_counts = pool["task"] == OneOfSeveral.task and (is_auto(method) or ":" in method)
    else:
        by_counts = is_auto(method) and _counts_suffice(pool, listed)
    by_counts = by_counts or of_two_classes_alone(method)
    if not isinstance(names, list | tuple) or len(classes) != 1 or not by_counts:
        return None
    beside = any(pool.get(key) is not None for key in _BESIDE)
    if compares(pool) or beside or asks_for_scores(measures):
        return None
    [name] = classes
    return name if isinstance(name, str) and name in names else None


def _counts_suffice(pool: Mapping[str, object], measures: Sequence[object]) -> bool:
    """Whether counts by cell answer the question of a pool, as it is written, with nothing in it unused."""
    plain = pool.get("prediction") is not None and all(pool.get(key) is None for key in _OF_ROWS)
    names = {value_under(choice, "name") for choice in measures}
    return plain and names <= set(measures_of_two())
