"""Answers that are one class of several."""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar

import numpy as np

from assay.evalcore.annotators.adjudication import plurality
from assay.evalcore.annotators.agreement import Agreement, Level, agreements
from assay.evalcore.annotators.answers.base import AnswerKind, Answers, RuleName
from assay.evalcore.annotators.dawid_skene import dawid_skene
from assay.evalcore.annotators.votes import Place, truth_of, votes_of

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
        """The classes."""
        return self.offered or tuple(self.codes)

    @property
    def ordered(self) -> bool:
        """Whether they are grades."""
        return self.level == "ordinal"

    @property
    def wanted(self) -> str:
        """The names, where they are few."""
        if len(self.choices) > _MOST_IN_LINE:
            return "one of the classes below"
        return " or ".join(f'"{name}"' for name in self.choices)

    def meaning(self, text: str) -> str | None:
        """A class, in any case if that is unambiguous."""
        if text in self.codes:
            return text
        folded = {name.casefold(): name for name in self.codes}
        return folded.get(text.casefold()) if len(folded) == len(self.codes) else None

    def spelled(self, text: str) -> str | None:
        """A class as it is written, or another of its spellings."""
        return text if text in self.codes else self.spellings.get(text)

    def code(self, answer: str) -> int:
        """The number of the class."""
        return self.codes[answer]

    def text(self, code: float) -> str:
        """The class of a number."""
        return next(name for name, own in self.codes.items() if own == code)

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """The class with more votes than any other."""
        return plurality(votes)

    def weighed(self, answers: Answers, gold: Mapping[Place, float]) -> dict[Place, str | None]:
        """The most likely classes."""
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
        """The codes."""
        return self.codes

    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """Another class with chance `size`, each of them alike."""
        others = [name for name in self.choices if name != truth]
        place = bisect_right(list(accumulate([size / len(others)] * len(others))), rng.random())
        return [*others, truth][place]


def class_answers(*names: str, level: Level = "nominal") -> ClassAnswers:
    """Answers that are one of these classes, with codes in this order."""
    return ClassAnswers(codes={name: code for code, name in enumerate(names)}, level=level)
