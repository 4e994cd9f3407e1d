"""The `pool` part of a spec: where the predictions are, and what their columns mean.

Tasks that a later version may know are refused by name, so a spec written for it is not half understood.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

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
    def _by_name(cls, systems: dict[str, System] | None) -> dict[str, System] | None:
        """As the ledger keeps them: the cells are cut in this order."""
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
        unknown = [name for name in self.show_as if name not in self.display]
        if unknown:
            raise wrong(f"`show_as` names {unknown[0]!r}, which is not in `display`; add it or drop it")
        return self
