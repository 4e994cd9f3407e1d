"""What an evaluation is to reach, in a spec, and how: precision within a budget, the limit of its verdict,
how items are chosen, and the labels that are there without asking.
"""

from math import ceil
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.evaluation.stopping import least_budget
from assay.evalcore.methods.registry import METHODS, OUTCOME_METHODS, method, outcome_method
from assay.evalcore.types import JsonObject
from assay.tasks.schema import Column, Finite, Location, Part, wrong


class Target(Part):
    """How sure is sure enough: half_width or variance. Without either the budget alone stops it."""

    half_width: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="half the interval's width, in its unit"
    )
    variance: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="variance of the estimate"
    )
    confidence: float = Field(default=0.95, gt=0, lt=1, description="confidence of the interval")

    @model_validator(mode="after")
    def _at_most_one(self) -> "Target":
        if self.half_width is not None and self.variance is not None:
            raise wrong("has `half_width` and `variance`; keep one")
        return self

    @property
    def given(self) -> bool:
        """Whether there is one."""
        return self.half_width is not None or self.variance is not None


def target_within(half_width: float, budget: int, batch_size: int) -> JsonObject:
    """The target of a spec that is suggested: none where the budget is too small for any."""
    within = budget >= least_budget(batch_size)
    return {"half_width": half_width, "confidence": 0.95} if within else {"confidence": 0.95}


class Budget(Part):
    """What may be spent."""

    labels: int = Field(ge=1, description="the most items that people may be asked to label")
    audit: int | None = Field(
        default=None, ge=0, description="how many of them to spread evenly, against hidden positives"
    )

    @model_validator(mode="after")
    def _part_of_the_labels(self) -> "Budget":
        if self.audit is not None and self.audit > self.labels:
            raise wrong(f"has an audit of {self.audit:,} of {self.labels:,} labels; it is a part of them")
        return self

    @property
    def audit_share(self) -> float:
        """The part of every batch that is spread evenly."""
        return (self.audit or 0) / self.labels

    def of(self, labels: int) -> "Budget":
        """A budget of so many labels, the audit the same share of it, rounded up."""
        audit = None if self.audit is None else ceil(self.audit * labels / self.labels)
        return Budget(labels=labels, audit=audit)


class Limit(Part):
    """What the first measure must reach, for the verdict and the alerts."""

    min: Finite | None = Field(default=None, description="breached below this")
    max: Finite | None = Field(default=None, description="breached above this")

    @model_validator(mode="after")
    def _says_something(self) -> "Limit":
        if self.min is None and self.max is None:
            raise wrong("needs `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise wrong(f"`min` {self.min:g} is above `max` {self.max:g}: nothing could pass")
        return self


# How items are chosen, in a spec: the method, and labels it starts from.

class WarmStart(Part):
    """Labels that the label model starts from: of an earlier evaluation, or given elsewhere."""

    evaluation: str | None = Field(
        default=None, min_length=1, description="name of an evaluation in the same store"
    )
    source: Location | None = Field(
        default=None, description="or a file, folder or glob of labels given elsewhere; the pool's, too"
    )
    label_studio: Location | None = Field(
        default=None, description="or a project that Label Studio exported as JSON"
    )
    id: Column | None = Field(
        default=None, description="the column of `source`, or the field of a task's data, that names an item;"
                                  " the pool's id column unless said"
    )
    label: Column = Field(
        default="label", description="the label column of `source`: class names, 0/1 or booleans"
    )
    discount: float = Field(default=0.5, gt=0, le=1, description="what one of these labels is worth")

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        every = {
            "evaluation": self.evaluation, "source": self.source, "label_studio": self.label_studio
        }
        named = " and ".join(key for key, value in every.items() if value is not None)
        if named not in every:
            raise wrong(f"takes one of {', '.join(every)}, and this has {named or 'none'}")
        return self

    @property
    def key(self) -> str:
        """Which of the three it names."""
        if self.evaluation is not None:
            return "evaluation"
        return "source" if self.source is not None else "label_studio"

    @property
    def file(self) -> str:
        """Where labels given elsewhere are; empty for those of an evaluation."""
        return self.source or self.label_studio or ""


def _known(name: str) -> str:
    """A method of any kind of labels; which of them can do these is checked with the labels."""
    try:
        outcome_method(name)
    except (UnknownName, BadInput) as of_any:
        if name.partition(":")[0] in OUTCOME_METHODS and name.partition(":")[0] not in METHODS:
            raise wrong(str(of_any)) from None
        try:
            method(name)
        except UnknownName as error:
            raise wrong(str(error)) from None
    return name


MethodName = Annotated[str, AfterValidator(_known)]


# `outcomes` in a spec: labels that come by themselves, after a delay.

class Outcomes(Part):
    """Where outcomes arrive, and what an item without one is."""

    source: Location = Field(description="a file, folder or glob of outcomes, as they arrive")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its column of labels, as people may answer")
    complete_after_days: float | None = Field(
        default=None, ge=0, le=3660,
        description="in a monitor: so long after a window's end all its outcomes have arrived",
    )
    otherwise: Annotated[str, Field(min_length=1)] | Finite | None = Field(
        default=None,
        description="the label of an item without an outcome; in a monitor once they are complete",
    )
