"""Kinds of answers (a class, a number, a set of tags): how each is written, checked and combined.

An answer is kept as text in one fixed spelling (`meaning`). A label is its code (`evalcore.outcomes.base`).
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import inf, isfinite
from statistics import fmean, median
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.annotators.adjudication import (
    Answer,
    Place,
    Votes,
    latest_answers,
    plurality,
    truth_of,
    votes_of,
)
from assay.evalcore.annotators.agreement import (
    Agreement,
    Level,
    Spread,
    agreements,
    answer_spread,
    interval_alpha,
    krippendorff_alpha,
    mean_agreement,
)
from assay.evalcore.annotators.error_rates import dawid_skene
from assay.evalcore.outcomes.base import LARGEST_OUTCOME
from assay.evalcore.outcomes.class_names import ClassReader
from assay.evalcore.outcomes.tags import names_in_list
from assay.evalcore.types import Bools, Ints

RuleName = Literal["majority", "dawid-skene", "median", "mean"]
Answers = Mapping[int, Iterable[Answer]]   # by round


class AnswerKind(ABC):
    """A kind of answer: a class, a number, a set of tags, or an answer to each of several questions. It says
    how answers are written and checked, and how several answers about one item become one label."""

    rules: ClassVar[tuple[RuleName, ...]]   # by which labels can be made; the first is the usual
    several: ClassVar[bool] = False         # people may choose several of `choices`, or none
    errs_by: ClassVar[str] = "error_rate"   # the key of a spec by which a simulated person errs
    error_rates: ClassVar[bool] = False     # people's error rates can be estimated
    empty: ClassVar[str | None] = None      # what an empty text means in a file of known labels

    @property
    def choices(self) -> tuple[str, ...]:
        """The names people choose from, as they see them; none for numbers."""
        return ()

    @property
    def questions(self) -> Mapping[str, "AnswerKind"]:
        """What may be answered to each of several questions, by name; none where one is asked. The kind of
        each is asked for its own answers."""
        return {}

    @property
    def ordered(self) -> bool:
        """Whether `choices` go from the lowest to the highest, as grades do."""
        return False

    @property
    def two_codes(self) -> bool:
        """Whether the code of every answer is 0 or 1, and that of one class is 1. Shares of positive answers
        are then means of codes."""
        return False

    @property
    def looked_for(self) -> str | None:
        """The class that can be missed, or called where it is not; None where all stand equal. Errors of
        people are told apart by it."""
        return None

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number; infinite where there is no bound."""
        return -inf, inf

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What to answer, for a sentence that begins with "write": a number from 0 to 10. It stands in
        instructions and in messages. Each kind of answer has its own words."""

    @abstractmethod
    def meaning(self, text: str) -> str | None:
        """The answer that somebody wrote, in its fixed spelling; None where it is no answer. Votes are
        compared in that spelling."""

    def spelled(self, text: str) -> str | None:
        """The answer in its fixed spelling that a file of predictions or labels means by this text, or None
        where it is no answer. Files may be allowed more spellings than people are."""
        return self.meaning(text)

    @abstractmethod
    def code(self, answer: str) -> float:
        """The code of an answer that is in its fixed spelling, as `evalcore.outcomes.base` has codes. Raises
        KeyError or ValueError for another text."""

    @abstractmethod
    def text(self, code: float) -> str:
        """The answer in its fixed spelling that has this code: the inverse of `code`. The ledger keeps codes,
        and people read texts."""

    def texts(self, code: float) -> tuple[str, ...]:
        """All answers that have this code: one, unless several classes share a code."""
        return (self.text(code),)

    def value(self, code: float) -> float | str:
        """As a table for programs has it: a number as a number, anything else as people write it. Exports
        have it in the column of labels."""
        return self.text(code)

    @abstractmethod
    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """One answer made of answers (answer -> people who gave it); None for a tie, or without answers.
        `rule` is one of the kind's own rules."""

    def weighed(self, answers: Answers, gold: Mapping[Place, float]) -> dict[Place, str | None]:
        """The answers of all rounds decided together by Dawid-Skene; None where it is tied.

        gold: (round, item) -> the code of the truth.  Raises ValueError for a kind that has no such rule.
        """
        raise ValueError("answers of this kind are not decided together")

    @abstractmethod
    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """How far people agree beyond chance, as coefficients with intervals; empty where no two people
        answered anything. The random generator is for a bootstrap."""

    def spread(self, answers: Answers) -> Spread | None:
        """How far apart the answers about one item lie, where they are numbers."""
        return None

    @abstractmethod
    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """Each of these answers -> a number from 0 on, by which answers are compared. The numbers follow the
        kind's own order."""

    @abstractmethod
    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """What a simulated person answers whose errors are of this size, where `truth` is right. All chance
        comes from `rng`; the answer is in its fixed spelling."""


_MOST_IN_LINE = 5   # classes that are named in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassAnswers(AnswerKind):
    """Classes by name.  The label of several answers is the class with more votes than any other."""

    codes: Mapping[str, int]                                    # class name -> 0..K-1
    level: Level = "nominal"                                    # by which agreement is measured
    offered: tuple[str, ...] = ()                               # as people see them; in the order of codes
    spellings: Mapping[str, str] = field(default_factory=dict)  # what files may hold besides -> the class

    rules: ClassVar[tuple[RuleName, ...]] = ("majority", "dawid-skene")
    error_rates: ClassVar[bool] = True

    @property
    def choices(self) -> tuple[str, ...]:
        """The classes as people are offered them, or in the order of their codes. Pages and messages list
        them so."""
        return self.offered or tuple(self.codes)

    @property
    def ordered(self) -> bool:
        """Whether the classes are grades, in the order of their codes."""
        return self.level == "ordinal"

    @property
    def two_codes(self) -> bool:
        """Whether all labels have code 0 or 1: with two classes, and with one class against the rest. Shares
        of positive answers are then means of codes."""
        return set(self.codes.values()) == {0, 1}

    @property
    def looked_for(self) -> str | None:
        """The positive one of two classes, which is the first that people are offered; None where there are
        more classes or no such order."""
        return self.offered[0] if len(self.offered) == len(self.codes) == 2 else None

    @property
    def wanted(self) -> str:
        """What people may answer, for a sentence: the names of the classes where they are few, else a hint at
        the list below. It lists them in quotes, joined by "or"."""
        if len(self.choices) > _MOST_IN_LINE:
            return "one of the classes below"
        return " or ".join(f'"{name}"' for name in self.choices)

    def meaning(self, text: str) -> str | None:
        """The class that a text names, however its name is written; None for a text that names none. Capitals
        and signs that cannot be seen make no other class."""
        return ClassReader(self.codes).read(text)

    def spelled(self, text: str) -> str | None:
        """The same, or what a file may write for a class."""
        return ClassReader(self.codes, self.spellings).read(text)

    def code(self, answer: str) -> int:
        """The number of the class, from 0 to K − 1. Raises KeyError for another text. The text is in its
        fixed spelling. The number is the place of the name among `choices`."""
        return self.codes[answer]

    def text(self, code: float) -> str:
        """The name of the first class that has this number. Raises StopIteration where none has. The inverse
        of `code` where every class has a number of its own."""
        return next(name for name, class_code in self.codes.items() if class_code == code)

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """The class with more votes than any other; None for a tie, or without votes. There is no other rule
        for single items. Votes are counts by class, and the rule is not looked at."""
        return plurality(votes)

    def weighed(self, answers: Answers, gold: Mapping[Place, float]) -> dict[Place, str | None]:
        """The most likely class of every item by the model of Dawid and Skene, fitted to the votes of all
        rounds together, with the truth of gold items fixed; None where two classes are tied."""
        votes = votes_of(answers, self.codes)
        decided = dawid_skene(votes, truth_of(votes, gold)).decided().tolist()
        return {
            place: None if code < 0 else self.text(code)
            for place, code in zip(votes.items, decided, strict=True)
        }

    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """Fleiss' κ and Krippendorff's α of all, Cohen's κ of every two."""
        votes = votes_of(answers, self.codes)
        return agreements(votes, confidence, rng, self.level) if len(votes.annotators) > 1 else []

    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """The code of each class by its name."""
        return self.codes

    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """What a simulated person answers: with the chance `size` one of the wrong classes, all of them
        equally likely, and otherwise the truth. All chance comes from `rng`, one number for each answer."""
        wrong_classes = [name for name in self.choices if name != truth]
        place = bisect_right(list(accumulate([size / len(wrong_classes)] * len(wrong_classes))), rng.random())
        return [*wrong_classes, truth][place]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOrRest(ClassAnswers):
    """Classes by name, where a label is whether the answer is one of them: it has code 1, all others code 0.

    `rest` is a class too, which nobody is offered: what labels of code 0 are called.
    """

    counted: str
    rest: str

    @property
    def looked_for(self) -> str | None:
        """The class that is asked for, against all others."""
        return self.counted

    def text(self, code: float) -> str:
        """The name of the class that is asked for, for code 1; the name of the rest, for code 0. The rest has
        one name, though it may be several classes."""
        return self.counted if code == 1 else self.rest

    def texts(self, code: float) -> tuple[str, ...]:
        """The classes that have this code: the one that is asked for, or all others. In the order of the
        codes. Empty for a code that no class has."""
        return tuple(name for name, class_code in self.codes.items() if class_code == code)

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """Whether more say it is the class, or that it is another, whichever."""
        positive = votes.get(self.counted, 0)
        return plurality({self.counted: positive, self.rest: sum(votes.values()) - positive} if votes else {})


def class_answers(*names: str, level: Level = "nominal") -> ClassAnswers:
    """Answers that are one of these classes, with codes in this order."""
    return ClassAnswers(codes={name: code for code, name in enumerate(names)}, level=level)


_SIMULATED_ANSWER_DIGITS = 6   # significant ones of what a simulated person answers


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberAnswers(AnswerKind):
    """A finite number within bounds.  The label of several answers is their median, or their mean."""

    low: float = -inf
    high: float = inf

    rules: ClassVar[tuple[RuleName, ...]] = ("median", "mean")
    errs_by: ClassVar[str] = "noise"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that is an answer; infinite where there is no bound. Answers
        beyond them count as invalid. The lower one comes first, and both are answers themselves."""
        return self.low, self.high

    @property
    def wanted(self) -> str:
        """What people may answer, for a sentence: a number, with its bounds where there are some. It stands
        in instructions and in messages."""
        ends = [f"{word} {end:g}" for word, end in (("from", self.low), ("to", self.high)) if isfinite(end)]
        return " ".join(["a number", *ends])

    def meaning(self, text: str) -> str | None:
        """The number in its shortest exact form; None outside the bounds, and beyond LARGEST_OUTCOME. NaN and
        infinities are none either. Zero is written without a sign, and digits grouped by underscores are no
        number."""
        try:
            number = float(text) if "_" not in text else None
        except ValueError:
            return None
        if number is None or not abs(number) <= LARGEST_OUTCOME or not self.low <= number <= self.high:
            return None
        return repr(number + 0.0)   # not -0.0

    def code(self, answer: str) -> float:
        """The number that the text means. Raises ValueError for a text that is no number. The text is one
        that `meaning` gave. A number is its own code, so nothing is rounded."""
        return float(answer)

    def text(self, code: float) -> str:
        """The number in the shortest text from which exactly the same number is read again. The inverse of
        `code`, to the last bit."""
        return repr(float(code))

    def value(self, code: float) -> float | str:
        """The number itself, as a table for programs has it."""
        return float(code)

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """The median or the mean of the answers: never a tie."""
        numbers = sorted(float(answer) for answer, n in votes.items() for _ in range(n))
        if not numbers:
            return None
        return repr(float(fmean(numbers) if rule == "mean" else median(numbers)) + 0.0)

    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """Krippendorff's α of all people with squared distances, with an interval from a bootstrap over
        items; empty where fewer than two people answered."""
        by_item = values_by_item(answers)
        people = {a.annotator for answers_to_item in answers.values() for a in answers_to_item}
        return [interval_alpha(by_item, confidence, rng)] if len(people) > 1 else []

    def spread(self, answers: Answers) -> Spread | None:
        """How far apart the answers about one item lie, over all items with at least two answers; None
        without such items. In the unit of the answers."""
        return answer_spread(values_by_item(answers))

    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """Each of these answers by its place in the order of the numbers, from 0 on. So medians can be made
        of them."""
        return {answer: n for n, answer in enumerate(sorted(set(answers), key=float))}

    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """With a normal error of this standard deviation, kept within the bounds."""
        if not size:
            return truth
        answered = float(np.clip(float(truth) + size * rng.standard_normal(), self.low, self.high))
        return self.meaning(f"{answered:.{_SIMULATED_ANSWER_DIGITS}g}") or truth


def values_by_item(answers: Answers) -> list[list[float]]:
    """The numbers that people gave each item, items in the order of round and id. The latest answer of each
    person counts, and skipped items have none."""
    return [
        [float(a.label) for a in answers_to_item if a.kind == "label" and a.label is not None]
        for number in sorted(answers)
        for _, answers_to_item in sorted(latest_answers(answers[number]).items())
    ]


NONE = "none"   # how people write that an item has no tag
BAR = "|"
_PRESENT = {"no": 0, "yes": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagAnswers(AnswerKind):
    """Any of these tags.  Each tag is decided by itself: by most answers, or by Dawid-Skene."""

    names: tuple[str, ...]

    rules: ClassVar[tuple[RuleName, ...]] = ("majority", "dawid-skene")
    several: ClassVar[bool] = True
    empty: ClassVar[str | None] = NONE

    @property
    def choices(self) -> tuple[str, ...]:
        """The tags, in the order of their bits."""
        return self.names

    @property
    def wanted(self) -> str:
        """What people may answer, for a sentence: the tags that apply, joined by bars, or the word for none.
        It stands in instructions and in messages."""
        return f'all tags below that apply, joined by "{BAR}", or {NONE}'

    def meaning(self, text: str) -> str | None:
        """The tags joined by bars, in their own order; "none" for the empty set, None for an empty text. None
        as well where a tag is not one of the question's."""
        if not text.strip():
            return None
        if text.strip().casefold() == NONE:
            return NONE
        reader = ClassReader(self.names)
        tags = {reader.read(name.strip()) for name in text.split(BAR) if name.strip()}
        if None in tags or not tags:
            return None
        return BAR.join(name for name in self.names if name in tags)

    def spelled(self, text: str) -> str | None:
        """A list of tags too, as a column of lists has it: ["a","b"]."""
        listed = names_in_list(text)
        return self.meaning(text if listed is None else BAR.join(listed) or NONE)

    def code(self, answer: str) -> int:
        """The bit mask of the tags: bit k is set where tag k is among them. Tags are numbered from 0 in their
        own order."""
        tags = set(answer.split(BAR))
        return sum(1 << k for k, name in enumerate(self.names) if name in tags)

    def text(self, code: float) -> str:
        """The tags of a bit mask, joined by bars in their own order; the word for none where it is 0. The
        inverse of `code`."""
        return BAR.join(name for k, name in enumerate(self.names) if int(code) >> k & 1) or NONE

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """The tags that more than half of the answers have; None where one is in just half of them. Tag by
        tag, as each is a question of yes or no."""
        people = sum(votes.values())
        if not people:
            return None
        votes_of_tag = np.sum([n * self._bits(answer) for answer, n in votes.items()], axis=0)
        return None if (2 * votes_of_tag == people).any() else self._of_bits(2 * votes_of_tag > people)

    def weighed(self, answers: Answers, gold: Mapping[Place, float]) -> dict[Place, str | None]:
        """Tag by tag: Dawid-Skene with two classes, there and not there."""
        places: tuple[Place, ...] = ()
        decided = []
        for k in range(len(self.names)):
            votes = self._votes(answers, k)
            gold_of_tag = {place: float(int(code) >> k & 1) for place, code in gold.items()}
            places = votes.items
            decided.append(dawid_skene(votes, truth_of(votes, gold_of_tag)).decided())
        table = np.array(decided).T
        return {
            place: None if (row < 0).any() else self._of_bits(row > 0)
            for place, row in zip(places, table, strict=True)
        }

    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """Krippendorff's α of each tag, after the mean over all tags; empty where fewer than two people
        answered. `level` is nominal: a tag is there or not."""
        by_tag = []
        for k, name in enumerate(self.names):
            votes = self._votes(answers, k)
            if len(votes.annotators) < 2:
                return []
            by_tag.append(replace(krippendorff_alpha(votes, confidence, rng), tag=name))
        return [mean_agreement(by_tag), *by_tag]

    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """Each of these answers by its place in the order of the bit masks, from 0 on. Answers with the same
        tags have the same mask."""
        return {answer: n for n, answer in enumerate(sorted(set(answers), key=self.code))}

    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """What a simulated person answers: the truth with every tag turned over with the chance `size`, each
        on its own. The answer is in its fixed spelling."""
        return self.erring_by_tag(truth, size, size, rng)

    def erring_by_tag(self, truth: str, miss: float, false_positive: float, rng: np.random.Generator) -> str:
        """Each tag that is there is left out with chance `miss`, and each other one said with the other. Each
        tag errs on its own; the answer is in its fixed spelling."""
        has_tag = self._bits(truth) > 0
        turned = rng.random(len(self.names)) < np.where(has_tag, miss, false_positive)
        return self._of_bits(has_tag ^ turned)

    def _bits(self, answer: str) -> Ints:
        tags = set(answer.split(BAR))
        return np.array([name in tags for name in self.names], np.int64)

    def _of_bits(self, bits: Bools) -> str:
        return (
            BAR.join(name for name, has_tag in zip(self.names, bits.tolist(), strict=True) if has_tag) or NONE
        )

    def _votes(self, answers: Answers, k: int) -> Votes:
        """Votes on one tag: 1 where it is in the answer."""
        return votes_of({
            number: [
                _OnTag(a.item_id, a.annotation_id, a.annotator, a.kind, self._says(a.label, k), a.updated_at)
                for answers_to_item in latest_answers(of_round).values() for a in answers_to_item
            ]
            for number, of_round in answers.items()
        }, _PRESENT)

    def _says(self, answer: str | None, k: int) -> str | None:
        return None if answer is None else ("yes" if self.names[k] in answer.split(BAR) else "no")


@dataclass(frozen=True, slots=True)
class _OnTag:
    """What an answer says of one tag."""

    item_id: str
    annotation_id: str
    annotator: str
    kind: Literal["label", "skip", "invalid"]
    label: str | None
    updated_at: str
