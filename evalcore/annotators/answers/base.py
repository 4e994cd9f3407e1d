"""What a kind of answer has to say: how it is written, checked and combined.

An answer is kept as text in one fixed spelling (`meaning`). A label is its code (`evalcore.outcomes.codes`).
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from math import inf
from typing import ClassVar, Literal

import numpy as np

from assay.evalcore.annotators.adjudication import Answer
from assay.evalcore.annotators.agreement import Agreement, Spread
from assay.evalcore.annotators.votes import Place

RuleName = Literal["majority", "dawid-skene", "median", "mean"]
Answers = Mapping[int, Iterable[Answer]]   # by round


class AnswerKind(ABC):
    """One class, a number or a set of tags."""

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
    def ordered(self) -> bool:
        """Whether `choices` go from the lowest to the highest."""
        return False

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number; infinite where there is no bound."""
        return -inf, inf

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What to answer, for a sentence that begins with "write": a number from 0 to 10."""

    @abstractmethod
    def meaning(self, text: str) -> str | None:
        """The answer that somebody wrote, in its fixed spelling; None where it is no answer."""

    def spelled(self, text: str) -> str | None:
        """As `meaning`, for a file of predictions or known labels."""
        return self.meaning(text)

    @abstractmethod
    def code(self, answer: str) -> float:
        """The code of an answer in its fixed spelling."""

    @abstractmethod
    def text(self, code: float) -> str:
        """The inverse of `code`."""

    def value(self, code: float) -> float | str:
        """As a table for programs has it: a number as a number, anything else as people write it."""
        return self.text(code)

    @abstractmethod
    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """One answer made of answers (answer -> people who gave it); None for a tie, or without answers."""

    def weighed(self, answers: Answers, gold: Mapping[Place, float]) -> dict[Place, str | None]:
        """The answers of all rounds decided together by Dawid-Skene; None where it is tied.

        gold: (round, item) -> the code of the truth.  Raises ValueError for a kind that has no such rule.
        """
        raise ValueError("answers of this kind are not decided together")

    @abstractmethod
    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """How far people agree, where at least two answered anything."""

    def spread(self, answers: Answers) -> Spread | None:
        """How far apart the answers about one item lie, where they are numbers."""
        return None

    @abstractmethod
    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """Each of these answers -> a number from 0 on, by which answers are compared."""

    @abstractmethod
    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """What a simulated person answers whose errors are of this size, where `truth` is right."""
