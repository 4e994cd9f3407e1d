"""The parts of a spec: what may be written under each key, and what it means.

Every part is frozen and strict: no text is taken for a number, no unknown key is dropped. Keys the design
keeps for later (more kinds of `task`) are refused by name, so that a spec written
for a later version never half-works on this one.
"""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from assay.evalcore.annotators.surprise import CHANCE, MOVES
from assay.evalcore.errors import BadInput
from assay.evalcore.measures.base import Measure, measure
from assay.evalcore.pool.patterns import MOST_SYSTEMS

FROZEN_COLUMNS = ("item_id", "score", "probability", "prediction", "source_file", "source_row", "shown_hash")
"""Columns of a frozen part besides the segments, which keep their own names."""


def wrong(text: str) -> PydanticCustomError:
    """An error of ours: the text is shown to people as it stands."""
    return PydanticCustomError("assay", "{text}", {"text": text})


def _no_credentials(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise wrong("is not a URL") from None
    if parts.username is not None or parts.password is not None:
        raise wrong("holds a user name or a password; secrets are never in a spec: use the environment")
    return url


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"lists {name!r} twice; keep one")
    return names


Column = Annotated[str, Field(min_length=1)]
Columns = Annotated[tuple[Column, ...], Strict(False), AfterValidator(_distinct)]  # a YAML list is no tuple
Location = Annotated[str, Field(min_length=1), AfterValidator(_no_credentials)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Part(BaseModel):
    """A mapping of the spec. Unknown keys are refused with the nearest known one."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", validate_default=True)
    reserved: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _only_known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        problems: list[tuple[str, str]] = []
        for key in data:
            if key in cls.reserved:
                problems.append((key, f"is reserved and not yet supported: {cls.reserved[key]}"))
            elif key not in cls.model_fields:
                near = get_close_matches(key, cls.model_fields, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(cls.model_fields)}"
                problems.append((key, f"is not a known key; {hint}"))
        if problems:
            raise PydanticCustomError("keys", "unknown keys", {"problems": problems})
        return data


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


class Gold(Part):
    """Items of known answer, mixed into the batches to see how people do."""

    labels: Location = Field(description="a file with the id, label and display columns")
    rate: float = Field(default=0.05, gt=0, le=0.5, description="their share of what people see")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its label column: class names, 0/1 or booleans")


class Deadline(Part):
    """How long a round waits for people."""

    round_hours: float = Field(gt=0, allow_inf_nan=False, description="hours from the first post of a round")
    then: Literal["close", "wait"] = Field(
        default="close",
        description="close: with what is answered, the rest weighted for; wait: and say it is overdue",
    )


class AskAgain(Part):
    """Which surprising answers go to a second person, where one person answers each item."""

    when: Literal["known", "always", "never"] = Field(
        default="known", description="known: once two people have answered in this evaluation"
    )
    chance: float = Field(
        default=CHANCE, gt=0, le=1, description="surprising: the model gave the answer less than this"
    )
    moves: float = Field(
        default=MOVES, ge=0, le=1, description="and the other answer would move the first measure by more"
    )


class _AnyDesk(Part):
    annotators_per_item: int = Field(default=1, ge=1, le=100, description="people who answer each item")
    gold: Gold | None = Field(default=None, description="items of known answer: {labels: FILE, rate: 0.05}")
    ask_again: AskAgain | None = Field(
        default=None, description="true, false or {when:, chance:, moves:}; surprising answers asked again"
    )

    @field_validator("ask_again", mode="before")
    @classmethod
    def _in_a_word(cls, value: Any) -> Any:
        return {"when": "always" if value else "never"} if isinstance(value, bool) else value

    @property
    def again(self) -> AskAgain:
        """Which answers are asked again: never where every item is answered by several people anyway."""
        if self.annotators_per_item > 1:
            return AskAgain(when="never")
        return self.ask_again or AskAgain()


class LabelStudioDesk(_AnyDesk):
    """People label in Label Studio; its token comes from the environment."""

    kind: Literal["label-studio"]
    url: Location = Field(description='address of Label Studio, such as "http://127.0.0.1:8080"')
    project: str | None = Field(
        default=None, min_length=1, max_length=50, description="project title; else the evaluation's name"
    )

    @field_validator("url")
    @classmethod
    def _web_address(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise wrong(f"{url!r} is not an http:// or https:// address")
        return url


class FolderDesk(_AnyDesk):
    """People label in CSV files: batches out, answers in."""

    kind: Literal["folder"]
    path: str = Field(min_length=1, description="the folder for batches and answers")


class SimulatedAnnotator(Part):
    """How one simulated person errs."""

    false_positive: float = Field(default=0.0, ge=0, lt=1, description="negatives called positive")
    miss: float = Field(default=0.0, ge=0, lt=1, description="positives called negative")


class SimulatedDesk(_AnyDesk):
    """A simulated annotator that knows the labels, for demos and trials."""

    kind: Literal["simulated"]
    labels: Location = Field(description="a file with the id column and the label column")
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(default="label", description="its label column: class names, 0/1 or booleans")
    error_rate: float = Field(default=0.0, ge=0, lt=1, description="share of wrong answers")
    annotators: Annotated[tuple[SimulatedAnnotator, ...], Strict(False)] | None = Field(
        default=None, description="people who share the items: [{false_positive: 0.01, miss: 0.1}, ...]"
    )
    delay: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="seconds until an answer is in")


    @model_validator(mode="after")
    def _enough_people(self) -> "SimulatedDesk":
        if self.annotators is not None:
            if self.error_rate:
                raise wrong("has `error_rate` and `annotators`; keep the errors of each annotator only")
            if len(self.annotators) < self.annotators_per_item:
                raise wrong(f"has {len(self.annotators)} `annotators` for {self.annotators_per_item} "
                            "`annotators_per_item`; add some")
        return self


DeskChoice = Annotated[LabelStudioDesk | FolderDesk | SimulatedDesk, Field(discriminator="kind")]
DESKS: Mapping[str, type[_AnyDesk]] = {
    "label-studio": LabelStudioDesk, "folder": FolderDesk, "simulated": SimulatedDesk
}


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
