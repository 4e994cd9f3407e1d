"""What an evaluation is to reach, in a spec: precision within a budget, and the limit of its verdict."""

from math import ceil

from pydantic import Field, model_validator

from assay.evalcore.evaluation.stopping import least_budget
from assay.evalcore.types import JsonObject
from assay.tasks.schema import Finite, Part, wrong


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
