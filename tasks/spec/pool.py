"""The `pool` part of a spec: where the predictions are, and what their columns mean.

Tasks that a later version may know are refused by name, so a spec written for it is not half understood.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from assay.evalcore.pool.patterns import MOST_SYSTEMS
from assay.tasks.ledger.manifest import OWN_COLUMNS
from assay.tasks.schema import Column, Columns, Finite, Location, Part, wrong

PREFIX = "prefix"   # the key of `probability: {prefix: p_}`


class System(Part):
    """A further system whose predictions are in the pool."""

    prediction: Column = Field(description="a column of class names, 0/1 or booleans")


class Pool(Part):
    """Where the predictions are and what their columns mean."""

    source: Location = Field(
        description="a file, folder or glob of Parquet, CSV or JSONL: local, s3://, gs:// or az://"
    )
    id: Column = Field(description="the column that names each item, unique in the pool")
    task: Literal["binary", "multiclass"] = Field(
        default="binary", description="binary or multiclass; follows from `labels` unless said"
    )
    score: Column | None = Field(default=None, description="a column; any real number, higher is positive")
    probability: Column | dict[str, Column] | None = Field(
        default=None, description="a column; of several classes {prefix: p_}, {class: column} or a confidence"
    )
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
        if value == "numeric":
            raise wrong("'numeric' is reserved and not yet supported; 'binary' and 'multiclass' are")
        return value

    @field_validator("systems")
    @classmethod
    def _by_name(cls, systems: dict[str, System] | None) -> dict[str, System] | None:
        """As the ledger keeps them: the cells are cut in this order."""
        return systems and dict(sorted(systems.items()))

    @model_validator(mode="after")
    def _fits_together(self) -> "Pool":
        _BY_TASK[self.task](self)
        clash = [name for name in self.segments if name in OWN_COLUMNS or name.startswith("assay.")]
        if clash:
            raise wrong(f"`segments` names {clash[0]!r}, which is a column of the frozen pool; "
                        "give the column another name in the source")
        unknown = [name for name in self.show_as if name not in self.display]
        if unknown:
            raise wrong(f"`show_as` names {unknown[0]!r}, which is not in `display`; add it or drop it")
        return self

    @property
    def probability_column(self) -> str | None:
        """The one column of probabilities, where there is one."""
        return self.probability if isinstance(self.probability, str) else None

    def probability_columns(self, names: Sequence[str]) -> list[str] | None:
        """The column of each class; None where the pool has no probability for each.

        Raises ValueError naming the classes that are not those of `probability`.
        """
        if not isinstance(self.probability, dict):
            return None
        if set(self.probability) == {PREFIX} and PREFIX not in names:
            return [self.probability[PREFIX] + name for name in names]
        lacking = [name for name in names if name not in self.probability]
        strange = [name for name in self.probability if name not in names]
        if lacking or strange:
            what = f"has no column for class {lacking[0]!r}" if lacking else f"names {strange[0]!r}, no class"
            raise ValueError(f"{what}; give {{prefix: p_}}, or {{class: column}} for every class")
        return [self.probability[name] for name in names]


def _two_classes(pool: Pool) -> None:
    if pool.score is None and pool.probability is None:
        raise wrong("needs `score`, `probability` or both: a column that says how positive an item looks")
    if isinstance(pool.probability, dict):
        raise wrong("`probability` has a column per class, which needs labels: {classes: [...]}; with a "
                    "positive and a negative class name the column of the positive one")
    if (pool.prediction is None) == (pool.threshold is None):
        have = "both" if pool.prediction is not None else "neither"
        raise wrong(f"needs exactly one of `prediction` and `threshold`, got {have}")
    if pool.threshold is not None and pool.score is None and not 0 < pool.threshold < 1:
        raise wrong(f"`threshold` {pool.threshold:g} applies to a probability: it must lie in (0, 1)")


def _several_classes(pool: Pool) -> None:
    for key, remedy in (
        ("score", "is of a positive class; with classes give `probability`: {prefix: p_}, {class: column} or "
                  "one column that holds the confidence in the prediction"),
        ("threshold", "makes predictions of two classes; name a column of class names under `prediction`"),
        ("features", "are for the methods of two classes; leave them out"),
        ("systems", "are judged with two classes only so far; leave them out"),
    ):
        if getattr(pool, key) is not None:
            raise wrong(f"`{key}` {remedy}")
    if pool.prediction is None:
        raise wrong("needs `prediction`: a column of class names")


_BY_TASK: Mapping[str, Callable[[Pool], None]] = {"binary": _two_classes, "multiclass": _several_classes}
