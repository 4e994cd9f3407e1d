"""Labels that are numbers, between bounds where they are given."""

from math import inf
from typing import ClassVar

from pydantic import Field, model_validator

from assay.evalcore.annotators.answers import NumberAnswers
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.numbers import Numbers
from assay.tasks.schema import Finite, Part, wrong
from assay.tasks.spec.labels.base import LabelsForm


class Bounds(Part):
    """The least and the largest number that people may answer, each None where it is left open. Bounds with
    no number between them are refused."""

    min: Finite | None = Field(default=None, description="the least number that people may answer")
    max: Finite | None = Field(default=None, description="the largest")

    @model_validator(mode="after")
    def _in_order(self) -> "Bounds":
        low, high = self.ends
        if low >= high:
            raise wrong(f"has no number between min {low:g} and max {high:g}; give the smaller one as min")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """(low, high): the two bounds as numbers, −∞ and ∞ where there is none."""
        return (-inf if self.min is None else self.min), (inf if self.max is None else self.max)


class NumberLabels(LabelsForm):
    """Labels that are numbers, between bounds where they are given, as in `{number: {min: 0, max: 100}}`."""

    task: ClassVar[str] = "number"
    shares: ClassVar[bool] = False
    column_holds: ClassVar[str] = "numbers"

    number: Bounds = Field(description="the bounds, {min: 0, max: 100}, or {} without any")

    @property
    def names(self) -> tuple[str, ...]:
        """Empty: numbers have no names, and neither codes of classes."""
        return ()

    @property
    def in_words(self) -> str:
        """What people answer, in a few words: a number, with its bounds where there are any. It stands behind
        "people answer"."""
        return self.answers.wanted

    @property
    def answers(self) -> NumberAnswers:
        """What people may answer: numbers within the bounds, which may be infinite."""
        low, high = self.number.ends
        return NumberAnswers(low=low, high=high)

    @property
    def outcome(self) -> OutcomeKind | None:
        """The outcome that the statistics see: numbers within the bounds, which may be infinite."""
        return Numbers(*self.number.ends)
