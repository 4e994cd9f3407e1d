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
    """The least and the largest number."""

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
        """Infinite where there is no bound."""
        return (-inf if self.min is None else self.min), (inf if self.max is None else self.max)


class NumberLabels(LabelsForm):
    """A number."""

    task: ClassVar[str] = "number"
    shares: ClassVar[bool] = False
    column_holds: ClassVar[str] = "numbers"

    number: Bounds = Field(description="the bounds, {min: 0, max: 100}, or {} without any")

    @property
    def names(self) -> tuple[str, ...]:
        """None."""
        return ()

    @property
    def in_words(self) -> str:
        """With the bounds."""
        return self.answers.wanted

    @property
    def answers(self) -> NumberAnswers:
        """Numbers within the bounds."""
        low, high = self.number.ends
        return NumberAnswers(low=low, high=high)

    @property
    def outcome(self) -> OutcomeKind | None:
        """Numbers within the bounds."""
        return Numbers(*self.number.ends)
