"""The parts of a spec that belong to no other folder: what may be written under each key, and what it means.

What is kept for later (more kinds of `task`) is refused by name, so that a spec written for a later version
never half-works on this one.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import measure
from assay.evalcore.pool.patterns import MOST_SYSTEMS
from assay.tasks.schema import Column, Columns, Finite, Location, Part, wrong

FROZEN_COLUMNS = ("item_id", "score", "probability", "prediction", "source_file", "source_row", "shown_hash")
"""Columns of a frozen part besides the segments, which keep their own names."""


class System(Part):
    """A further system whose predictions are in the pool."""

    prediction: Column = Field(description="a column of class names, 0/1 or booleans")


class Pool(Part):
    """Where the predictions are and what their columns mean."""

    source: Location = Field(
        description="a file, folder or glob of Parquet, CSV or JSONL: local, s3://, gs:// or az://"
    )
    id: Column = Field(description="the column that names each item, unique in the pool")
    task: Literal["binary"] = Field(default="binary", description="binary; other tasks are reserved")
    score: Column | None = Field(default=None, description="a column; any real number, higher is positive")
    probability: Column | None = Field(default=None, description="a column; chance of the positive class")
    prediction: Column | None = Field(default=None, description="a column of class names, 0/1 or booleans")
    threshold: Finite | None = Field(default=None, description="score or probability that calls it positive")
    display: Columns = Field(default=(), description="the only columns people see")
    show_as: dict[str, Literal["text", "image", "html"]] = Field(
        default_factory=dict, description="how a display column is shown; text unless said"
    )
    segments: Columns = Field(default=(), description="columns that split the pool, each with few values")
    features: Columns | None = Field(
        default=None, min_length=1, description="columns of numbers, for methods that cut by features"
    )

    systems: dict[Annotated[str, Field(min_length=1)], System] | None = Field(
        default=None, min_length=1, max_length=MOST_SYSTEMS,
        description="further systems for the method recycle to judge: {name: {prediction: column}}",
    )

    @field_validator("task", mode="before")
    @classmethod
    def _later_tasks(cls, value: Any) -> Any:
        if value in ("multiclass", "numeric"):
            raise wrong(f"{value!r} is reserved and not yet supported; only 'binary' is")
        return value

    @field_validator("probability", mode="before")
    @classmethod
    def _one_probability(cls, value: Any) -> Any:
        if isinstance(value, dict | list):
            raise wrong("one column per class is reserved for multiclass pools and not yet supported; "
                        "name the column of the positive class")
        return value

    @field_validator("systems")
    @classmethod
    def _in_the_ledger_s_order(cls, systems: dict[str, System] | None) -> dict[str, System] | None:
        """By name, as the ledger keeps them: the cells are cut in this order."""
        return systems and dict(sorted(systems.items()))

    @model_validator(mode="after")
    def _fits_together(self) -> "Pool":
        if self.score is None and self.probability is None:
            raise wrong("needs `score`, `probability` or both: a column that says how positive an item looks")
        if (self.prediction is None) == (self.threshold is None):
            have = "both" if self.prediction is not None else "neither"
            raise wrong(f"needs exactly one of `prediction` and `threshold`, got {have}")
        if self.threshold is not None and self.score is None and not 0 < self.threshold < 1:
            raise wrong(f"`threshold` {self.threshold:g} applies to a probability: it must lie in (0, 1)")
        clash = [name for name in self.segments if name in FROZEN_COLUMNS or name.startswith("assay.")]
        if clash:
            raise wrong(f"`segments` names {clash[0]!r}, which is a column of the frozen pool; "
                        "give the column another name in the source")
        strangers = [name for name in self.show_as if name not in self.display]
        if strangers:
            raise wrong(f"`show_as` names {strangers[0]!r}, which is not in `display`; add it or drop it")
        return self


class Labels(Part):
    """The two classes, as people see them and as a prediction column may spell them."""

    positive: str = Field(min_length=1, description="name of the positive class")
    negative: str = Field(min_length=1, description="name of the negative class")

    @model_validator(mode="after")
    def _two_classes(self) -> "Labels":
        if self.positive == self.negative:
            raise wrong(f"calls both classes {self.positive!r}; give them different names")
        return self


class MeasureChoice(Part):
    """One measure, by name; `beta` belongs to fbeta."""

    name: str = Field(description="a measure, such as f1")
    beta: Finite | None = Field(default=None, description="weight of recall against precision, for fbeta")

    @model_validator(mode="after")
    def _exists(self) -> "MeasureChoice":
        self.resolve()
        return self

    def resolve(self) -> Measure:
        """The measure itself."""
        try:
            return measure(self.name, self.beta)
        except BadInput as error:
            raise wrong(str(error)) from None


class Target(Part):
    """How sure is sure enough: one of half_width and variance."""

    half_width: float | None = Field(default=None, gt=0, lt=1, description="half the interval's width")
    variance: float | None = Field(default=None, gt=0, lt=1, description="variance of the estimate")
    confidence: float = Field(default=0.95, gt=0, lt=1, description="confidence of the interval")

    @model_validator(mode="after")
    def _exactly_one(self) -> "Target":
        if (self.half_width is None) == (self.variance is None):
            have = "both" if self.half_width is not None else "neither"
            raise wrong(f"needs exactly one of `half_width` and `variance`, got {have}")
        return self


class Budget(Part):
    """What may be spent."""

    labels: int = Field(ge=1, description="the most items that people may be asked to label")


class Deadline(Part):
    """How long a round waits for people."""

    round_hours: float = Field(gt=0, allow_inf_nan=False, description="hours from the first post of a round")
    then: Literal["close", "wait"] = Field(
        default="close",
        description="close: with what is answered, the rest weighted for; wait: and say it is overdue",
    )


class Adjudication(Part):
    """How labels are made of answers."""

    rule: Literal["majority", "dawid-skene"] = Field(
        default="majority", description="majority (a tie goes to one person more) or dawid-skene"
    )


class Threshold(Part):
    """What the first measure must reach, for the verdict and the alerts."""

    min: Finite | None = Field(default=None, description="breached below this")
    max: Finite | None = Field(default=None, description="breached above this")

    @model_validator(mode="after")
    def _says_something(self) -> "Threshold":
        if self.min is None and self.max is None:
            raise wrong("needs `min`, `max` or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise wrong(f"`min` {self.min:g} is above `max` {self.max:g}: nothing could pass")
        return self


class WarmStart(Part):
    """An earlier evaluation whose labels the label model starts from."""

    evaluation: str = Field(min_length=1, description="name of an evaluation in the same store")
    discount: float = Field(default=0.5, gt=0, le=1, description="what one of its labels is worth")
