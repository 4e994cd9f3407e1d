"""Answers that are a number."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from statistics import fmean, median
from typing import ClassVar

import numpy as np

from assay.evalcore.annotators.adjudication import latest_answers
from assay.evalcore.annotators.agreement import Agreement, Spread, interval_alpha, spread_of
from assay.evalcore.annotators.answers.base import AnswerKind, Answers, RuleName
from assay.evalcore.outcomes.codes import LARGEST

_DIGITS = 6   # significant ones of what a simulated person answers


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberAnswers(AnswerKind):
    """A finite number within bounds.  The label of several answers is their median, or their mean."""

    low: float = -inf
    high: float = inf

    rules: ClassVar[tuple[RuleName, ...]] = ("median", "mean")
    errs_by: ClassVar[str] = "noise"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number."""
        return self.low, self.high

    @property
    def wanted(self) -> str:
        """With the bounds."""
        ends = [f"{word} {end:g}" for word, end in (("from", self.low), ("to", self.high)) if isfinite(end)]
        return " ".join(["a number", *ends])

    def meaning(self, text: str) -> str | None:
        """The number in its shortest exact form; None outside the bounds, and beyond LARGEST."""
        try:
            number = float(text) if "_" not in text else None
        except ValueError:
            return None
        if number is None or not abs(number) <= LARGEST or not self.low <= number <= self.high:
            return None
        return repr(number + 0.0)   # not -0.0

    def code(self, answer: str) -> float:
        """The number."""
        return float(answer)

    def text(self, code: float) -> str:
        """The number in its shortest exact form."""
        return repr(float(code))

    def value(self, code: float) -> float | str:
        """The number."""
        return float(code)

    def joined(self, votes: Mapping[str, int], rule: RuleName) -> str | None:
        """The median or the mean of the answers: never a tie."""
        given = sorted(float(answer) for answer, n in votes.items() for _ in range(n))
        if not given:
            return None
        return repr(float(fmean(given) if rule == "mean" else median(given)) + 0.0)

    def agreements(self, answers: Answers, confidence: float, rng: np.random.Generator) -> list[Agreement]:
        """Krippendorff's α with squared distances."""
        given = values_by_item(answers)
        people = {a.annotator for several in answers.values() for a in several}
        return [interval_alpha(given, confidence, rng)] if len(people) > 1 else []

    def spread(self, answers: Answers) -> Spread | None:
        """Of all items with two answers."""
        return spread_of(values_by_item(answers))

    def numbering(self, answers: Collection[str]) -> Mapping[str, int]:
        """In the order of the numbers."""
        return {answer: n for n, answer in enumerate(sorted(set(answers), key=float))}

    def erring(self, truth: str, size: float, rng: np.random.Generator) -> str:
        """With a normal error of this standard deviation, kept within the bounds."""
        if not size:
            return truth
        said = float(np.clip(float(truth) + size * rng.standard_normal(), self.low, self.high))
        return self.meaning(f"{said:.{_DIGITS}g}") or truth


def values_by_item(answers: Answers) -> list[list[float]]:
    """The numbers that people gave each item, items in the order of round and id."""
    return [
        [float(a.label) for a in several if a.kind == "label" and a.label is not None]
        for number in sorted(answers)
        for _, several in sorted(latest_answers(answers[number]).items())
    ]
