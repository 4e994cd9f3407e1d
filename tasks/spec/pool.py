"""The `pool` part of a spec: where the predictions are, and what their columns mean.

Tasks that a later version may know are refused by name, so a spec written for it is not half understood.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from assay.tasks.ledger.manifest import OWN_COLUMNS
from assay.tasks.schema import Column, Columns, Finite, Location, Part, wrong
from assay.tasks.spec.systems import System, compares, problems_of, written_out

PREFIX = "prefix"   # the key of `probability: {prefix: p_}`


class Pool(Part):
    """Where the predictions are and what their columns mean."""

    source: Location = Field(
        description="a file, folder or glob of Parquet, CSV or JSONL: local, s3://, gs:// or az://"
    )
    id: Column = Field(
        description="the column that names each item, unique in the pool; `row number` for a file without one"
    )
    task: Literal["binary", "multiclass", "number", "tags", "preference", "scored"] = Field(
        default="binary", description="what people answer; follows from `labels` unless said"
    )
    score: Column | None = Field(default=None, description="a column; any real number, higher is positive")
    probability: Column | dict[str, Column] | None = Field(
        default=None, description="a column; of several classes {prefix: p_}, {class: column} or a confidence"
    )
    prediction: Column | None = Field(
        default=None, description="a column of class names, 0/1 or booleans; of numbers; of tags joined by |"
    )
    judge: Column | Columns | None = Field(
        default=None, description="a column, or several, that guess the label, but of two classes"
    )
    threshold: Finite | None = Field(default=None, description="score or probability that calls it positive")
    cluster: Column | None = Field(
        default=None, description="a column that names what items come together in: a prompt, a document"
    )
    display: Columns = Field(default=(), description="the only columns people see")
    show_as: dict[str, Literal["text", "image", "html", "markdown"]] = Field(
        default_factory=dict, description="how a display column is shown; text unless said"
    )
    segments: Columns = Field(default=(), description="columns that split the pool, each with few values")
    features: Columns | None = Field(
        default=None, min_length=1, description="columns of numbers, for methods that cut by features"
    )
    systems: dict[Annotated[str, Field(min_length=1)], System] | None = Field(
        default=None, min_length=1,
        description="systems to compare: {name: {prediction: column}}, or {score: column, threshold: 0.5}",
    )
    baseline: str | None = Field(
        default=None, description="the system that the others are compared with; the first unless said"
    )
    pairs: Literal["all"] | None = Field(
        default=None, description="all: every two systems are compared, not only each with the baseline"
    )
    thresholds: Annotated[tuple[Finite, ...], Strict(False)] | None = Field(
        default=None, description="thresholds of `score` or `probability` to compare, a system each"
    )

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, data: Any) -> Any:
        return written_out(data) if isinstance(data, dict) else data

    @field_validator("task", mode="before")
    @classmethod
    def _later_tasks(cls, value: Any) -> Any:
        if value == "numeric":
            raise wrong("'numeric' is written 'number'; leave it out: it follows from `labels`")
        return value

    @field_validator("systems")
    @classmethod
    def _by_name(cls, systems: dict[str, System] | None) -> dict[str, System] | None:
        """Thresholds as they rise, others by name: a ledger keeps no other order."""
        return systems and dict(sorted(systems.items(), key=lambda item: (item[1].threshold or 0.0, item[0])))

    @model_validator(mode="after")
    def _fits_together(self) -> "Pool":
        if self.compares:
            _compared(self)
        else:
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
    def compares(self) -> bool:
        """Whether systems are compared; else `systems` are further ones beside the pool's own prediction."""
        return compares(self.__dict__)

    @property
    def compared(self) -> Mapping[str, System]:
        """The systems that are compared, the baseline first; none where none are."""
        if not self.compares or self.systems is None or self.baseline is None:
            return {}
        return {self.baseline: self.systems[self.baseline]} | self.systems

    @property
    def judges(self) -> tuple[str, ...]:
        """The columns of judges, in order."""
        if self.judge is None:
            return ()
        return (self.judge,) if isinstance(self.judge, str) else self.judge

    @property
    def probability_column(self) -> str | None:
        """The one column of probabilities, where there is one."""
        return self.probability if isinstance(self.probability, str) else None

    def probability_columns(self, names: Sequence[str]) -> list[str] | None:
        """The column of each class; None where the pool has no probability for each.

        Raises ValueError naming the classes that are not those of `probability`.
        """
        return columns_by_class(self.probability, names)


def columns_by_class(
    probability: str | Mapping[str, str] | None, names: Sequence[str]
) -> list[str] | None:
    """The column of each class; None where there is no probability for each. Raises ValueError."""
    if probability is None or isinstance(probability, str):
        return None
    if set(probability) == {PREFIX} and PREFIX not in names:
        return [probability[PREFIX] + name for name in names]
    lacking = [name for name in names if name not in probability]
    strange = [name for name in probability if name not in names]
    if lacking or strange:
        what = f"has no column for class {lacking[0]!r}" if lacking else f"names {strange[0]!r}, no class"
        raise ValueError(f"{what}; give {{prefix: p_}}, or {{class: column}} for every class")
    return [probability[name] for name in names]


def _compared(pool: Pool) -> None:
    if pool.thresholds is not None:
        raise wrong("`thresholds` belong beside `score`, or `probability`: a column, without `systems`")
    if pool.judge is not None:
        raise wrong("`judge` cannot be used where systems are compared so far; leave it out")
    problems = list(problems_of(pool.systems or {}, pool.baseline, pool.__dict__, pool.display))
    if problems:
        raise PydanticCustomError("keys", "does not fit together", {"problems": problems})


def _two_classes(pool: Pool) -> None:
    _beside_its_own(pool)
    if pool.judge is not None:
        raise wrong("`judge` guesses other labels than a positive and a negative class; with these name what "
                    "a judge says under `score` or `probability`")
    if pool.score is None and pool.probability is None and (pool.prediction is None or pool.task == "scored"):
        raise wrong("needs `score`, `probability` or both: a column that says how positive an item looks")
    if isinstance(pool.probability, dict):
        raise wrong("`probability` has a column per class, which needs labels: {classes: [...]}; with a "
                    "positive and a negative class name the column of the positive one")
    if (pool.prediction is None) == (pool.threshold is None):
        have = "both" if pool.prediction is not None else "neither"
        raise wrong(f"needs exactly one of `prediction` and `threshold`, got {have}")
    if pool.threshold is not None and pool.score is None and not 0 < pool.threshold < 1:
        raise wrong(f"`threshold` {pool.threshold:g} applies to a probability: it must lie in (0, 1)")


def _beside_its_own(pool: Pool) -> None:
    """Of systems that are judged besides the pool's own prediction."""
    for key in ("baseline", "thresholds", "pairs"):
        if getattr(pool, key) is None:
            continue
        raise wrong(f"`{key}` is of systems that are compared, and this pool has a prediction of its own; "
                    "name all systems under `systems`, or leave it out")
    for name, system in (pool.systems or {}).items():
        if system.prediction is None or len(system.model_fields_set) > 1:
            raise wrong("`systems` beside the pool's own prediction are columns of predictions, and "
                        f"{name!r} is not; to compare systems, leave the pool's `prediction` and `threshold` "
                        "out")


def _not_of_two_classes(pool: Pool) -> None:
    _beside_its_own(pool)
    for key, remedy in (
        ("score", "is of a positive class; with classes give `probability`: {prefix: p_}, {class: column} or "
                  "one column that holds the confidence in the prediction; a guess is a `judge`"),
        ("threshold", "makes predictions of two classes; name their column under `prediction`"),
        ("features", "are for the methods of two classes; leave them out"),
        ("systems", "are compared where the pool has no prediction of its own; name the present one under "
                    "`systems` too, and leave `prediction` out"),
    ):
        if getattr(pool, key) is not None:
            raise wrong(f"`{key}` {remedy}")


def _several_classes(pool: Pool) -> None:
    _not_of_two_classes(pool)
    if pool.probability_column is not None and pool.prediction is None:
        raise wrong("`probability` is one column, the confidence in a prediction; name the `prediction` too, "
                    "or give a column for each class: {prefix: p_}")


def _numbers(pool: Pool) -> None:
    _not_of_two_classes(pool)
    if pool.probability is not None:
        raise wrong("`probability` is of classes or tags, and the labels are numbers; leave it out, or name "
                    "a guess of the number under `judge`")


def _tags(pool: Pool) -> None:
    _not_of_two_classes(pool)
    if pool.probability_column is not None:
        raise wrong("`probability` is one column, and every tag has its own; give {prefix: p_} or "
                    "{tag: column}")


def _scored(pool: Pool) -> None:
    _two_classes(pool)
    for key in ("features", "systems"):
        if getattr(pool, key) is not None:
            raise wrong(f"`{key}` do not go with curves or clusters so far; leave them out")


_BY_TASK: Mapping[str, Callable[[Pool], None]] = {
    "binary": _two_classes, "multiclass": _several_classes, "preference": _several_classes,
    "number": _numbers, "tags": _tags, "scored": _scored,
}
