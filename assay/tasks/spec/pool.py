"""The `pool` part of a spec: where the predictions are, what their columns mean, and which systems it
compares.

Tasks that a later version may know are refused by name, so a spec written for it is not half understood.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, Strict, field_validator, model_validator
from pydantic_core import PydanticCustomError

from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats
from assay.tasks.ledger.manifest import OWN_COLUMNS
from assay.tasks.schema import Column, Columns, Finite, Part, Predictions, wrong

MOST_SYSTEMS_COMPARED = 20   # systems of a comparison
_OWN = ("score", "probability", "threshold")


Price = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class System(Part):
    """One system whose predictions are in the pool: the columns of its prediction, score and probability,
    and the threshold at which it calls an item positive."""

    prediction: Column | None = Field(default=None, description="a column of class names, 0/1 or booleans")
    score: Column | None = Field(default=None, description="a column; any real number, higher is positive")
    probability: Column | dict[str, Column] | None = Field(
        default=None, description="a column; of several classes {prefix: p_}, {class: column} or a confidence"
    )
    threshold: Finite | None = Field(default=None, description="score or probability that calls it positive")
    price: Price | None = Field(
        default=None, description="what it costs to run, in any unit; of all systems or of none"
    )

    @property
    def columns(self) -> list[str]:
        """The columns of the source that are named; a prefix names none."""
        probability = list(self.probability.values()) if isinstance(self.probability, dict) else [
            self.probability
        ]
        return [name for name in (self.prediction, self.score, *probability) if name is not None]

    @property
    def problem(self) -> str | None:
        """What is wrong with it in a comparison; None where nothing is."""
        if (self.prediction is None) == (self.threshold is None):
            have = "both" if self.prediction is not None else "neither"
            return f"needs exactly one of `prediction` and `threshold`, got {have}"
        if self.score is not None and self.probability is not None:
            return "has `score` and `probability`; keep the one that it is decided by"
        if self.threshold is None:
            return None
        if self.score is None and not isinstance(self.probability, str):
            return "has a `threshold` and no column to apply it to; give `score`, or `probability`: a column"
        if self.score is None and not 0 < self.threshold < 1:
            return f"has `threshold` {self.threshold:g} of a probability; it must lie in (0, 1)"
        return None


def compares(pool: object) -> bool:
    """Whether the section `pool`, as it is written and before it is checked, compares systems: it has
    systems or thresholds, and neither a prediction nor a threshold of its own.

    The systems of a pool: models, versions or thresholds whose predictions of the same items are compared.

        systems: {v1: {prediction: p1}, v2: {prediction: p2, probability: s2}}     one column each
        systems: {t50: {score: s, threshold: 0.5}, t70: {score: s, threshold: 0.7}}
        thresholds: [0.5, 0.7]                                                     the same, beside pool.score

    A pool compares its systems where it has no prediction of its own.  With one, they are further systems for
    the method `recycle` to judge.
    """
    return (
        isinstance(pool, dict)
        and (pool.get("systems") is not None or pool.get("thresholds") is not None)
        and pool.get("prediction") is None and pool.get("threshold") is None
    )


def written_out(pool: Mapping[str, object]) -> Mapping[str, object]:
    """A `pool` whose thresholds are systems and whose baseline is named: the first, unless said.

    What is written in another way than it should be is left as it is.
    """
    thresholds = _numbers_in(pool.get("thresholds"))
    beside = [key for key in ("score", "probability") if pool.get(key)]
    if pool.get("systems") is None and thresholds and len(beside) == 1 and compares(pool):
        [key] = beside
        written = {threshold_name(t): {key: pool[key], "threshold": t} for t in thresholds}
        other_keys = {name: value for name, value in pool.items() if name not in ("thresholds", key)}
        baseline = other_keys.get("baseline")
        if isinstance(baseline, int | float):
            other_keys["baseline"] = threshold_name(baseline)
        pool = other_keys | {"systems": written}
    systems = pool.get("systems")
    if compares(pool) and isinstance(systems, dict) and systems and pool.get("baseline") is None:
        pool = {**pool, "baseline": next(iter(systems))}
    return pool


def threshold_name(threshold: float) -> str:
    """What the system that decides at a threshold is called, with up to six digits: `threshold 0.5`. Systems
    that differ in their thresholds alone are told apart by it."""
    return f"threshold {threshold:g}"


def problems_of(
    systems: Mapping[str, System], baseline: str | None, pool: Mapping[str, object], display: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of systems that are compared; pool: its own keys. Nothing where they can
    be compared."""
    if not 2 <= len(systems) <= MOST_SYSTEMS_COMPARED:
        yield "systems", f"has {len(systems)}; a comparison takes from 2 to {MOST_SYSTEMS_COMPARED}"
    if baseline not in systems:
        yield "baseline", f"is {baseline!r}; name one of the systems ({', '.join(systems)})"
    for key in _OWN:
        if pool.get(key) is not None:
            yield key, "belongs to a system where systems are compared: {name: {prediction: ..., score: ...}}"
    for name, system in systems.items():
        if system.problem:
            yield f"systems.{name}", system.problem
        for column in system.columns:
            if column in display:
                yield "display", f"names {column!r}, which system {name!r} says; people must not see it"


def _numbers_in(values: object) -> list[float]:
    """The different numbers of a list; none where it holds something else."""
    listed = values if isinstance(values, list | tuple) else []
    if any(isinstance(t, bool) or not isinstance(t, int | float) for t in listed):
        return []
    return [float(t) for t in listed]


class Contenders(Part):
    """Whose answer each row is, or whose two answers it compares."""

    columns: Annotated[tuple[Column, ...], Strict(False)] = Field(
        min_length=1, max_length=2,
        description="the column that names the system of a row; of comparisons the two, as in `prefer`",
    )
    names: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Strict(False)] = Field(
        min_length=2, max_length=MOST_SYSTEMS_COMPARED, description="the systems; the first is the baseline",
    )
    prices: dict[str, Price] | None = Field(
        default=None, description="what each costs to run, in any unit: {a: 4, b: 1}; with `pool.margin`"
    )

    @model_validator(mode="after")
    def _each_once(self) -> "Contenders":
        for listed, what in ((self.columns, "columns"), (self.names, "names")):
            for entry in listed:
                if listed.count(entry) > 1:
                    raise wrong(f"`{what}` lists {entry!r} twice; keep one")
        for name in self.names:
            if not name.isprintable():
                raise wrong(f"`names` has {name!r}: a name is one line, without control characters")
        if self.prices is not None and set(self.prices) != set(self.names):
            odd = sorted(set(self.prices) ^ set(self.names))[0]
            what = "no price" if odd in self.names else "a price, and is none of `names`"
            raise wrong(f"`prices`: {odd!r} has {what}; give one for each of {', '.join(self.names)}")
        return self


PREFIX = "prefix"   # the key of `probability: {prefix: p_}`


class Pool(Part):
    """The section `pool` of a spec: where the predictions are, what each column means (id, score,
    probability, prediction, judges, clusters, weights and so on), what people see, and which systems are
    compared."""

    source: Predictions = Field(
        description="a file, folder or glob of Parquet, Arrow, CSV, JSONL or JSON: local, s3://, gs:// or "
        "az://; or {sql: select ..., connection: VARIABLE}, {delta: FOLDER}, {iceberg: FOLDER}"
    )
    id: Column = Field(
        description="the column that names each item, unique in the pool; `row number` for a file without one"
    )
    task: Literal["binary", "multiclass", "number", "tags", "preference", "scored", "one class",
                  "questions"] = Field(
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
        default=None, description="a column, or several, that guess the label, but of two classes; with gaps"
    )
    earlier: Columns | None = Field(
        default=None, min_length=1,
        description="columns of results of earlier systems on the same items, as judges; with gaps",
    )
    covariates: Columns | None = Field(
        default=None, min_length=1,
        description="columns of numbers that say more of the items, such as a length: labels tell what",
    )
    spread: Column | None = Field(
        default=None, description="a column of positive numbers: how uncertain each predicted number is"
    )
    threshold: Finite | None = Field(default=None, description="score or probability that calls it positive")
    cluster: Column | None = Field(
        default=None, description="a column that names what items come together in: a prompt, a document"
    )
    weight: Column | None = Field(
        default=None,
        description="a column of numbers, 0 or more: what each item counts for, such as its share of traffic",
    )
    strata: Column | None = Field(
        default=None,
        description="a column that names the stratum each item was drawn from, so many of each",
    )
    rank: Column | None = Field(
        default=None, description="a column of 1, 2, 3 ...: where a document stands in its query (`cluster`)"
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
    margin: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None, description="how much worse than another a system may be by the first measure, and be "
                                  "shipped: with prices the cheapest is named",
    )
    contenders: Contenders | None = Field(
        default=None,
        description="rows that are one system's answer, or compare two: {columns: [model], names: [a, b, c]}",
    )
    thresholds: Annotated[tuple[Finite, ...], Strict(False)] | None = Field(
        default=None, description="thresholds of `score` or `probability` to compare, a system each"
    )

    @model_validator(mode="before")
    @classmethod
    def _written_out(cls, data: object) -> object:
        return written_out(data) if isinstance(data, dict) else data

    @field_validator("task", mode="before")
    @classmethod
    def _later_tasks(cls, value: object) -> object:
        if value == "numeric":
            raise wrong("'numeric' is written 'number'; leave it out: it follows from `labels`")
        return value

    @field_validator("systems")
    @classmethod
    def _by_name(cls, systems: dict[str, System] | None) -> dict[str, System] | None:
        """Thresholds as they rise, others by name: a ledger keeps no other order."""
        for name in systems or ():
            if not name.isprintable():
                raise wrong(f"has {name!r}: a name is one line, without control characters")
        return systems and dict(sorted(systems.items(), key=lambda item: (item[1].threshold or 0.0, item[0])))

    @model_validator(mode="after")
    def _fits_together(self) -> "Pool":
        if self.contenders is not None and self.task in ("binary", "one class", "scored", "questions"):
            raise wrong("`contenders` needs labels that compare systems by rows: {classes: [...]}, "
                        "{grades: [0, 1]} or {prefer: [...]}, in one question")
        if self.compares:
            _compared(self)
        else:
            _BY_TASK[self.task](self)
        if self.margin is not None and len(self.system_names) < 2:
            raise wrong("`margin` is of systems that are compared; name them under `systems` or "
                        "`contenders`, or leave it out")
        unpriced = [name for name, system in self.compared.items() if system.price is None]
        if self.prices and unpriced:
            raise wrong(f"`systems`: {unpriced[0]!r} has no `price`, and others have; give all of them "
                        "one, or none")
        if self.spread is not None and self.task != "number":
            raise wrong("`spread` says how uncertain a predicted number is, and the labels are no numbers; "
                        "leave it out")
        if self.covariates is not None and self.task in ("binary", "one class", "scored"):
            raise wrong("`covariates` correct what is guessed of items, and labels of two classes or of "
                        "one are modelled along a score: make a score of them, or leave them out")
        if self.strata is not None and self.cluster is not None:
            raise wrong("has `strata` and `cluster`: intervals are over clusters then, wherever these were "
                        "drawn from; keep one")
        if self.strata is not None and self.strata == self.id:
            raise wrong("`strata` names the id column, and a stratum of one item says nothing of others; "
                        "name the column that the pool was drawn by")
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
    def system_names(self) -> tuple[str, ...]:
        """The systems that the same labels compare, or whose rows the pool has; the baseline first. Empty
        where one system is judged."""
        return tuple(self.compared) if self.contenders is None else self.contenders.names

    @property
    def prices(self) -> Mapping[str, float]:
        """What each of the systems costs; none where no prices are given."""
        if self.contenders is not None:
            return self.contenders.prices or {}
        return {name: system.price for name, system in self.compared.items() if system.price is not None}

    @property
    def judges(self) -> tuple[str, ...]:
        """The columns of judges, in order, and then those of earlier systems."""
        columns = () if self.judge is None else (self.judge,) if isinstance(self.judge, str) else self.judge
        return (*columns, *(self.earlier or ()))

    def no_item(self, classes: int) -> Items:
        """No item, with the columns that the items of the pool have; classes: or tags, of the outcome.
        Whoever needs to know which columns there are looks at it."""
        nothing: Floats = np.zeros((0, 1))

        def column(present: object) -> Floats | None:
            return nothing if present else None

        predicts = (self.prediction, self.threshold, self.score, self.probability)
        systems = len(self.compared) or int(any(column is not None for column in predicts))
        scored = any(system.score is not None for system in self.compared.values())
        return Items(
            prediction=np.zeros((0, systems)), score=column(self.score or scored),
            probability=None if self.probability is None else np.zeros((0, classes)),
            judge=column(self.judges), weight=column(self.weight),
            cluster=column(self.cluster), covariate=column(self.covariates), deviation=column(self.spread),
            rank=column(self.rank),
        )

    @property
    def beside(self) -> tuple[str, ...]:
        """The columns of numbers that say more of the items: the covariates in order, then the spread where
        there is one. Estimates are adjusted by them."""
        return (*(self.covariates or ()), *([self.spread] if self.spread else []))

    @property
    def probability_column(self) -> str | None:
        """The one column of probabilities; None where there is one for each class, and where there is none.
        Two classes have one, and K classes have K."""
        return self.probability if isinstance(self.probability, str) else None

    def probability_columns(self, names: Sequence[str]) -> list[str] | None:
        """The column of each class; None where the pool has no probability for each.

        Raises ValueError naming the classes that are not those of `probability`.
        """
        return columns_by_class(self.probability, names)


def columns_by_class(
    probability: str | Mapping[str, str] | None, names: Sequence[str]
) -> list[str] | None:
    """The column of each class; None where there is no probability for each. Raises ValueError. The error
    says which class has none, or which name is no class."""
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
    problems = list(problems_of(pool.systems or {}, pool.baseline, pool.__dict__, pool.display))
    if problems:
        raise PydanticCustomError("keys", "does not fit together", {"problems": problems})


def _two_classes(pool: Pool) -> None:
    _beside_its_own(pool)
    if pool.judge is not None:
        raise wrong("`judge` guesses other labels than a positive and a negative class; with these write the "
                    "column of a judge's verdicts as `prediction`, that of its numbers as `score` or "
                    "`probability`; or list both under labels: {classes: [...]}, which take `judge`")
    if pool.earlier is not None:
        raise wrong("`earlier` holds results as judges, which guess other labels than a positive and a "
                    "negative class; name both classes under labels: {classes: [...]}, or give the share "
                    "of earlier systems that say positive under `score`")
    if pool.score is None and pool.probability is None and (pool.prediction is None or pool.task == "scored"):
        nothing = "; where nothing predicts, list both under labels: {classes: [...]} and ask for rate"
        raise wrong("needs `score`, `probability` or both: a column that says how positive an item looks"
                    + (nothing if pool.task != "scored" else ""))
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
        if getattr(pool, key) is None or (key == "pairs" and pool.contenders is not None):
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


def _one_class(pool: Pool) -> None:
    """Of several classes one, by a method of two classes."""
    _beside_its_own(pool)
    if pool.prediction is None:
        raise wrong("needs `prediction`: a column of class names")
    for key, remedy in (
        ("score", "is of a positive class; of several give `probability`: {prefix: p_}, {class: column} or "
                  "one column that holds the confidence in the prediction"),
        ("threshold", "makes predictions of two classes, and `prediction` names those of several; leave it "
                      "out"),
        ("judge", "guesses labels for methods of any outcome; one of two classes looks at `probability`, or "
                  "at predictions alone: leave it out"),
        ("earlier", "holds results as judges, for methods of any outcome; one of two classes looks at "
                    "`probability`, or at predictions alone: leave it out"),
    ):
        if getattr(pool, key) is not None:
            raise wrong(f"`{key}` {remedy}")


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
    if pool.systems is not None:
        raise wrong("`systems` beside the pool's own prediction are judged by labels counted by cell, from "
                    "which no curve or cluster follows; to compare systems, leave the pool's own prediction "
                    "out")


def _questions(pool: Pool) -> None:
    """Of several questions: what is said of an answer stands beside its question."""
    for key in (
        "prediction", "probability", "judge", "score", "threshold", "thresholds", "systems", "baseline",
        "pairs", "spread", "features", "earlier", "rank",
    ):
        if getattr(pool, key) is None:
            continue
        if key in ("prediction", "probability", "judge", "score", "threshold"):
            raise wrong(f"`{key}` is of one question; write it beside the question's name under `labels`")
        raise wrong(f"`{key}` is for one question to an item; leave it out, or ask one question")


_BY_TASK: Mapping[str, Callable[[Pool], None]] = {
    "binary": _two_classes, "multiclass": _several_classes, "preference": _several_classes,
    "number": _numbers, "tags": _tags, "scored": _scored, "one class": _one_class,
    "questions": _questions,
}


def problems_of_columns(
    task: str, columns: Mapping[str, object], names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of columns that a pool of this task, with these classes, would refuse."""
    pool = Pool.model_construct(None, source="", id="", task=task, **columns)
    try:
        _BY_TASK[task](pool)
    except PydanticCustomError as error:
        yield "", error.message()
        return
    yield from problems_of_probability(names, pool)


def problems_of_probability(names: Sequence[str], pool: Pool) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) where probabilities by class are not of these classes. Nothing where there
    are none by class."""
    try:
        pool.probability_columns(names)
    except ValueError as error:
        yield "pool.probability", str(error)
