"""What an evaluation is asked to say, and how well, in a spec: its measures, precision within a budget, the
limit of its verdict, how items are chosen, and the labels that are there without asking.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import ceil, isfinite
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Strict, Tag, model_validator

from assay.evalcore.errors import BadInput, UnknownName, nearest
from assay.evalcore.evaluation.stopping import TRACE, least_budget
from assay.evalcore.json_values import JsonObject, entries_of, value_under
from assay.evalcore.measures.measure import OutcomeMeasure, Setting
from assay.evalcore.measures.registry import (
    MEASURES_BY_KIND,
    measure,
    names,
    of_scores,
    of_single_items,
    outcome_measure,
    usual_name,
)
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import LOOKS_IN_A_ROW, MIN_LABELS, Method
from assay.evalcore.methods.registry import AUTO, METHODS, OUTCOME_METHODS, method, outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes, preferences
from assay.evalcore.outcomes.items import PoolWeights
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.questions import SeveralQuestions
from assay.evalcore.outcomes.score_grid import Grid
from assay.evalcore.outcomes.tags import Tags
from assay.tasks.schema import Column, Finite, Location, Part, Predictions, wrong
from assay.tasks.spec.user_measures import is_of_user, register_user_measure

_ANY: tuple[OutcomeKind, ...] = (   # some outcome of every kind
    Classes(names=tuple("abcdefghijkl"), values=tuple(map(float, range(12)))), Numbers(0, 1),
    Tags(("a", "b")), preferences("a", "b", "tie"), Classes(names=("a", "b"), positive="b"),
)


def _numbers(value: object) -> object:
    return [value] if isinstance(value, int | float) else value


class MeasureChoice(Part):
    """One measure, by name, with its settings; which it takes depends on the labels."""

    name: str = Field(description="a measure, such as f1 or macro_f1")
    beta: Finite | None = Field(default=None, description="weight of recall against precision, for fbeta")
    class_: str | None = Field(default=None, alias="class", description="of this class or tag alone")
    k: int | None = Field(
        default=None, ge=1,
        description="how many of the most probable classes, for top_k; of the first documents, for dcg",
    )
    tolerance: Finite | None = Field(default=None, ge=0, description="how far off still counts, for within")
    weights: Literal["linear", "quadratic"] | None = Field(
        default=None, description="of cohen_kappa with grades: linear or quadratic"
    )

    question: str | None = Field(default=None, description="which of several questions it is of")

    at: Annotated[
        tuple[Finite, ...], Strict(False),
        BeforeValidator(_numbers, json_schema_input_type=float | list[float]),
    ] | None = Field(
        default=None, description="thresholds of the score, for pr_curve and roc_curve"
    )

    @model_validator(mode="after")
    def _exists(self) -> "MeasureChoice":
        """Of two classes, or of several; which of the two it has to be is checked with the labels."""
        try:
            self.check_name(self.name)
        except BadInput as error:
            raise wrong(str(error)) from None
        if is_of_user(self.name):
            return self
        try:
            self.of_two_classes()
        except BadInput as error:
            reasons = [self._why_not(kind) for kind in _ANY]
            if None not in reasons:
                raise wrong(str(reasons[-1] if of_scores(self.name) else error)) from None
        return self

    @staticmethod
    def check_name(name: str) -> None:
        """Raise UnknownName where there is no such measure of any kind of outcome, and BadInput for one of a
        user that cannot be had."""
        if is_of_user(name):
            register_user_measure(name)
            return
        known_names = sorted({*names(), *(measure for _, measure in MEASURES_BY_KIND)})
        usual = usual_name(name)
        if name not in known_names and usual is not None:
            raise UnknownName(f"unknown measure {name!r}; did you mean {usual!r}?")
        if name not in known_names:
            raise UnknownName(f"unknown measure {name!r}; {nearest(name, known_names, 'measures')}")

    def _why_not(self, kind: OutcomeKind) -> str | None:
        """Why there is no such measure of this kind of outcome; None where there is."""
        try:
            self.model_copy(update={"class_": None, "k": None, "question": None}).outcome_measure(kind, 1)
        except BadInput as error:
            return str(error)
        return None

    @property
    def settings(self) -> dict[str, Setting]:
        """Setting -> its value, of those that are given beside the measure's name, such as beta, class and
        k; empty for a measure as it is."""
        settings = {
            "beta": self.beta, "class": self.class_, "k": self.k, "tolerance": self.tolerance,
            "weights": self.weights, "at": self.at,
        }
        return {name: value for name, value in settings.items() if value is not None}

    def of_two_classes(self, one_class: str | None = None) -> Measure:
        """The measure of a positive and a negative class; one_class: the one of several that it may name.

        Raises BadInput where there is none.
        """
        for name in ("class", "k", "weights", "tolerance"):
            if name in self.settings and not (name == "class" and self.class_ == one_class):
                raise BadInput(f"measure {self.name!r} takes `{name}` only with labels: {{classes: [...]}}")
        if self.at is not None:
            raise BadInput(f"measure {self.name!r} takes no `at`; pr_curve and roc_curve do")
        return measure(self.name, self.beta)

    def outcome_measure(
        self, kind: OutcomeKind, pool_size: int, system: int = 0, grids: Mapping[int, Grid] | None = None,
        weights: PoolWeights | None = None,
    ) -> OutcomeMeasure:
        """The measure of this kind of outcome, of one of its systems; grids: of the pool's scores.

        Raises BadInput where there is none.
        """
        if is_of_user(self.name):      # a worker that was given the spec has not read it
            register_user_measure(self.name)
        if isinstance(kind, SeveralQuestions):
            if self.question is None:
                raise BadInput(f"measure {self.name!r} is of one of the questions {', '.join(kind.names)}: "
                               f"write it beside the question, or {{name: {self.name}, question: ...}}")
            question = kind.question(self.question)
            return replace(
                outcome_measure(self.name, question.kind, pool_size, options=self.settings, weights=weights),
                question=self.question,
            )
        if self.question is not None:
            raise BadInput(f"measure {self.name!r} names a question, and `labels` asks one only; leave it "
                           "out")
        return outcome_measure(
            self.name, kind, pool_size, system=system, options=self.settings, grids=grids, weights=weights
        )


def _as_list(value: object) -> object:
    return [{"name": entry} if isinstance(entry, str) else entry for entry in entries_of(value)]


def _each_once(choices: tuple[MeasureChoice, ...]) -> tuple[MeasureChoice, ...]:
    if not choices:
        raise wrong("is an empty list; name at least one measure, such as f1")
    names = [
        ", ".join([choice.name, *map(str, choice.settings.values()), *filter(None, [choice.question])])
        for choice in choices
    ]
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"lists {name!r} twice; keep one")
    return choices


MeasureChoices = Annotated[
    tuple[MeasureChoice, ...], Strict(False),
    BeforeValidator(_as_list, json_schema_input_type=str | MeasureChoice | list[str | MeasureChoice]),
    AfterValidator(_each_once),
]
"""One measure or a list; a name alone stands for {name: ...}."""


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise wrong("is an empty list; name at least one measure, or leave it out")
    for name in names:
        if names.count(name) > 1:
            raise wrong(f"lists {name!r} twice; keep one")
    return names


Drive = Annotated[
    tuple[str, ...], Strict(False),
    BeforeValidator(lambda v: [v] if isinstance(v, str) else v, json_schema_input_type=str | list[str]),
    AfterValidator(_distinct),
]
"""Names of measures that are listed, or `segments`."""

SEGMENTS = "segments"    # among what drives: the segments of the pool, so that the worst is known soonest


def segments_drive(drive: object) -> bool:
    """Whether the choice of items serves the segments; drive: as it is written, or None. Labels are then
    spread so that the worst known segment gets the next ones."""
    return SEGMENTS in entries_of(drive)


def asks_for_scores(measure: object) -> bool:
    """Whether one of the measures, as they are written, is made of scores or probabilities of the items."""
    names = [value_under(entry, "name") or entry for entry in entries_of(measure)]
    return any(isinstance(name, str) and of_single_items(name) for name in names)


_WRITTEN = re.compile(r"(?P<name>[\w -]+)(?:\((?P<setting>[^()]+)\))?")
_SETTINGS = {"fbeta": "beta", "top_k_accuracy": "k", "within": "tolerance", "cohen_kappa": "weights",
             "precision_at_k": "k", "dcg": "k", "exponential_dcg": "k"}
_CURVES = ("pr_curve", "roc_curve")   # written with their thresholds


def named_measure(written: str) -> tuple[str, dict[str, Setting]]:
    """The name of a measure and its settings. Raises BadInput for what is not written so.

    Measures as they are written on a command line.

    f1   f1(cat)   fbeta(2)   top_k_accuracy(3)   pr_curve(0.2;0.5)   pr_curve(cat;0.2;0.5)
    """
    match = _WRITTEN.fullmatch(written)
    if match is None:
        raise BadInput(f"{written!r} is not the name of a measure; write macro_f1, f1(cat) or fbeta(2)")
    name, setting = match["name"], match["setting"]
    if setting is None:
        return name, {}
    if name in _CURVES:
        return name, _thresholds(setting)
    option = _SETTINGS.get(name, "class")
    number = None if option == "class" else _as_number(setting)
    if option == "k" and number is not None and number.is_integer():
        number = int(number)
    return name, {option: setting if number is None else number}


def _thresholds(setting: str) -> dict[str, Setting]:
    """Thresholds, joined by semicolons; before them the class, where it is named."""
    first_part, *parts = (part.strip() for part in setting.split(";"))
    has_class = _as_number(first_part) is None
    at = [_as_number(part) for part in (parts if has_class else [first_part, *parts])]
    if None in at:
        raise BadInput(f"({setting}): thresholds are numbers, joined by semicolons: pr_curve(0.2;0.5)")
    options: dict[str, Setting] = {"at": tuple(number for number in at if number is not None)}
    return options | {"class": first_part} if has_class else options


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def written_measure(name: str, settings: Mapping[str, Setting]) -> str:
    """The inverse of `named_measure`.

    >>> written_measure("fbeta", {"beta": 2})
    'fbeta(2)'
    """
    inside = [
        ";".join(f"{number:g}" for number in value) if isinstance(value, tuple | list) else
        f"{value:g}" if isinstance(value, int | float) else str(value)
        for _, value in sorted(settings.items(), key=lambda setting: setting[0] == "at")
    ]
    return f"{name}({';'.join(inside)})" if inside else name


Positive: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
OF_FIRST, BY_MEASURE = "of the first measure", "by measure"
# a number, of the first measure, or a number for each measure that is named
OneOrEach: TypeAlias = Annotated[
    Annotated[Positive, Tag(OF_FIRST)] | Annotated[dict[str, Positive], Tag(BY_MEASURE)],
    Discriminator(lambda value: BY_MEASURE if isinstance(value, Mapping) else OF_FIRST),
]


class Target(Part):
    """How sure is sure enough: half_width, variance or best_of. Without any the budget alone stops it."""

    half_width: OneOrEach | None = Field(
        default=None, description="half the interval's width, in its unit: of the first measure, or of each "
                                  "that is named: {f1: 0.05, recall: 0.1}"
    )
    variance: OneOrEach | None = Field(
        default=None, description="variance of the estimate: of the first measure, of each that is named, or "
                                  "{trace: 0.003}: of all measures together, added up"
    )
    best_of: float | None = Field(
        default=None, ge=0, allow_inf_nan=False,
        description="of several systems: until one is known to be the best, none other being better by more "
                    "than this; 0: strictly",
    )
    confidence: float = Field(
        default=0.95, gt=0, lt=1, description="confidence of the interval, or that no wrong system is named"
    )
    least_labels: int | None = Field(
        default=None, ge=2,
        description=f"labels before which no target is met; unless said {MIN_LABELS}, or 50 with score-test",
    )
    looks: int | None = Field(
        default=None, ge=1, le=10,
        description="looks in a row at which the target has to be met; unless said "
                    f"{LOOKS_IN_A_ROW}, or 1 with score-test",
    )

    def when_met(self, method: Method) -> tuple[int, int]:
        """Labels before which no target counts as met, and at how many looks in a row it has to be: what the
        spec says, else what the method needs."""
        least_labels = method.least_labels if self.least_labels is None else self.least_labels
        return least_labels, method.looks_in_a_row if self.looks is None else self.looks

    @property
    def named(self) -> dict[str, float]:
        """The targets by measure, where each has its own; `trace` is one of all."""
        return next((goal for goal in (self.half_width, self.variance) if isinstance(goal, dict)), {})

    @model_validator(mode="after")
    def _of_measures(self) -> "Target":
        for key in ("half_width", "variance"):
            targets = getattr(self, key)
            if targets == {}:
                raise wrong(f"has a `{key}` of no measure; name one, or give a number")
        if isinstance(self.half_width, dict) and TRACE in self.half_width:
            raise wrong("has a `half_width` of `trace`, which is a sum of variances; give it as `variance`")
        if isinstance(self.variance, dict) and TRACE in self.variance and len(self.variance) > 1:
            raise wrong("has a `variance` of `trace`, of all measures together, beside others; keep one")
        if not self.given and (self.least_labels is not None or self.looks is not None):
            raise wrong("has `least_labels` or `looks`, and no target that they are about; leave them out")
        if self.best_of is not None and (self.least_labels is not None or self.looks is not None):
            raise wrong("has `least_labels` or `looks` beside `best_of`, whose error is spread over all "
                        "looks; leave them out")
        return self

    @model_validator(mode="after")
    def _at_most_one(self) -> "Target":
        if self.half_width is not None and self.variance is not None:
            raise wrong("has `half_width` and `variance`; keep one")
        if self.best_of is not None and (self.half_width is not None or self.variance is not None):
            raise wrong("has `best_of` beside another target; keep one")
        return self

    @property
    def given(self) -> bool:
        """Whether the spec has a target: a half-width, a variance, or the best of several systems. Without
        one the budget alone ends the evaluation."""
        return any(x is not None for x in (self.half_width, self.variance, self.best_of))


def target_within(half_width: float, budget: int, batch_size: int) -> JsonObject:
    """The target of a spec that is suggested: none where the budget is too small for any. As the section
    `target` of a spec, with the confidence of 0.95."""
    within = budget >= least_budget(batch_size)
    return {"half_width": half_width, "confidence": 0.95} if within else {"confidence": 0.95}


class PricesOf(Part):
    """What a label costs, and what a judge costs for one item, in one currency."""

    label: Positive = Field(description="what one label costs")
    judge: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="what the judges cost for one item"
    )


class Budget(Part):
    """What may be spent, the section `budget` of a spec: the most items that people may be asked to label,
    or the money for them and for judges; and how many labels are spread evenly over the pool as an audit
    against hidden positives."""

    labels: int = Field(
        ge=1, description="the most items that people may be asked to label; with `money`, what it pays for"
    )
    money: Positive | None = Field(
        default=None,
        description="what may be spent: {money: 500, price: {label: 2, judge: 0.02}, judged: 4000}",
    )
    price: PricesOf | None = Field(default=None, description="what a label costs, and a judgement")
    judged: int | None = Field(default=None, ge=0, description="how many items were judged at that price")
    pilot: int | None = Field(
        default=None, ge=0, description="how many of the labels of `labels_so_far` it paid for"
    )
    audit: int | None = Field(
        default=None, ge=0, description="how many of them to spread evenly, against hidden positives"
    )

    @model_validator(mode="before")
    @classmethod
    def _labels_of_money(cls, data: object) -> object:
        """With `labels`: as many as the money pays for after the judge, unless fewer are asked for."""
        if not isinstance(data, Mapping) or "labels" in data:
            return data
        price, money = data.get("price"), data.get("money")
        if not isinstance(price, Mapping) or not isinstance(money, int | float):
            return data
        label, judge, judged = price.get("label"), price.get("judge") or 0, data.get("judged") or 0
        pilot = data.get("pilot") or 0
        if not isinstance(label, int | float) or label <= 0 or not (
            isinstance(judge, int | float) and isinstance(judged, int) and isinstance(pilot, int)
        ):
            return data
        if not all(map(isfinite, (money, label, judge))):
            raise wrong(f"has money {money:g} and prices {label:g} and {judge:g}, and amounts are finite; "
                        "give what may be spent")
        remaining = money - judged * judge - pilot * label
        if remaining < label:
            after = "the judge and the pilot" if pilot else "the judge"
            raise wrong(f"has {money:g}, which pays for no label after {after}; give more")
        return {**data, "labels": int(remaining / label + 1e-9)}

    @model_validator(mode="after")
    def _pays_for_it(self) -> "Budget":
        if (self.money is None) != (self.price is None):
            raise wrong("needs `money` and `price` together: {money: 500, price: {label: 2.0}}")
        if self.price is not None and (self.price.judge is None) != (self.judged is None):
            raise wrong("needs `price.judge` and `judged`, how many items were judged, together; from Python "
                        "`assay.evaluate` calls the judge itself, and counts them")
        if self.judged is not None and self.price is None:
            raise wrong("has `judged` without what a judgement costs; give `money` and `price`")
        if self.pilot is not None and self.price is None:
            raise wrong("has `pilot` without what a label costs; give `money` and `price`")
        if self.money is not None and self.spent(self.labels) > self.money * (1 + 1e-9):
            raise wrong(f"has {self.money:g}, and {self.labels:,} labels cost {self.spent(self.labels):g} "
                        "with the judge; leave `labels` out, or give more money")
        return self

    @property
    def judge_cost(self) -> float | None:
        """What the judges cost for all items that they judged; None where that is not known. It is the price
        of a judgement times the items that were judged."""
        judge = None if self.price is None else self.price.judge
        return None if judge is None else judge * (self.judged or 0)

    def spent(self, labels: int) -> float:
        """What so many labels beside the pilot, the pilot and the judges cost; 0 without prices."""
        if self.price is None:
            return 0.0
        return (labels + (self.pilot or 0)) * self.price.label + (self.judge_cost or 0.0)

    @model_validator(mode="after")
    def _part_of_the_labels(self) -> "Budget":
        if self.audit is not None and self.audit > self.labels:
            raise wrong(f"has an audit of {self.audit:,} of {self.labels:,} labels; it is a part of them")
        return self

    @property
    def audit_share(self) -> float:
        """The share of every batch, from 0 to 1, that is spread evenly over the pool: audit/labels, and 0
        without an audit."""
        return (self.audit or 0) / self.labels

    def scaled_to(self, labels: int) -> "Budget":
        """A budget of so many labels, the audit the same share of it, rounded up. Price and money are left
        out of it."""
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


class Drop(Part):
    """What counts as worse than before in a monitor: by how much, in the unit of the measure, and whether
    that is told against the reference window or against the windows before."""

    by: float = Field(ge=0, allow_inf_nan=False, description="worse by more than this is a breach")
    than: Literal["reference", "previous"] = Field(
        default="reference", description="reference (one window) or previous (the windows before)"
    )
    windows: int = Field(default=4, ge=1, le=100, description="with previous: how many windows before")


class WarmStart(Part):
    """Labels that the label model starts from: of an earlier evaluation, or given elsewhere."""

    evaluation: str | None = Field(
        default=None, min_length=1, description="name of an evaluation in the same store"
    )
    source: Predictions | None = Field(
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
        keys = " and ".join(key for key, value in every.items() if value is not None)
        if keys not in every:
            raise wrong(f"takes one of {', '.join(every)}, and this has {keys or 'none'}")
        return self

    @property
    def key(self) -> str:
        """The key that says where earlier labels come from: `evaluation`, `source` or `label_studio`."""
        if self.evaluation is not None:
            return "evaluation"
        return "source" if self.source is not None else "label_studio"

    @property
    def file(self) -> str:
        """Where labels given elsewhere are; empty for those of an evaluation."""
        return self.source or self.label_studio or ""


WITH_CHANCES = "model-assisted"     # the method that goes on from labels with chances of their own


class SampledInStrata(Part):
    """How held labels were drawn where they are a simple random sample of each stratum: the column of the
    pool that names the strata. The chance of an item follows from how many of its stratum have a label."""

    strata: Column = Field(description="the column of the pool's source that names the strata")


class LabelsSoFar(Part):
    """Labels of items of the pool that were drawn with known chances before the evaluation began: they are
    its first round, and nobody is asked about them."""

    source: Predictions | None = Field(
        default=None, description="a file, folder or glob of them; the pool's own unless said"
    )
    id: Column | None = Field(default=None, description="its id column; the pool's id column unless said")
    label: Column = Field(
        default="label", description="its column of labels, empty where there is none (of tags an empty text "
                                     "says none of them); of several questions each has a column of its name"
    )
    drawn: Literal["random", "unknown"] | SampledInStrata | None = Field(
        default=None,
        description="how the labelled items were chosen: random (a simple random sample of the pool), "
                    "{strata: COLUMN} (one of each stratum) or unknown (refused)",
    )
    weight: Column | None = Field(
        default=None,
        description="or its column of the chance that each was drawn with; if its name does not end in "
                    "`probability`, of the number of items that each stands for",
    )

    @model_validator(mode="after")
    def _known_chances(self) -> Self:
        if self.drawn == "unknown":
            raise wrong(
                "has `drawn: unknown`, and no interval holds for labels that nobody knows how they were "
                "chosen. Give them as `warm_start: {source: ...}`, where they steer what is asked; or label "
                "a random sample, and say `drawn: random`"
            )
        if (self.drawn is None) == (self.weight is None):
            have = "neither" if self.drawn is None else "both"
            raise wrong("needs `drawn: random` (or `{strata: COLUMN}`) or `weight`, the column of each "
                        f"item's chance, and has {have}")
        return self

    @property
    def strata(self) -> str | None:
        """The column of the strata of which the labels are a simple random sample each; None otherwise."""
        return self.drawn.strata if isinstance(self.drawn, SampledInStrata) else None

    @property
    def key_of_chances(self) -> str | None:
        """The key that says with which chances of their own items were drawn; None of a simple random
        sample."""
        return "drawn.strata" if self.strata is not None else "weight" if self.weight is not None else None


def _known(name: str) -> str:
    """A method of any kind of labels; which of them can do these is checked with the labels."""
    base, settings, _ = name.partition(":")
    if not settings and (base == AUTO or base in METHODS or base in OUTCOME_METHODS):
        return name
    with suppress(BadInput):
        if base in METHODS:
            method(name)
            return name
    try:
        outcome_method(name)
    except (UnknownName, BadInput) as of_any:
        if base in OUTCOME_METHODS and base not in METHODS:
            raise wrong(str(of_any)) from None
        try:
            method(name)
        except UnknownName as error:
            raise wrong(str(error)) from None
    return name


MethodName = Annotated[str, AfterValidator(_known)]


# `outcomes` in a spec: labels that come by themselves, after a delay.

class Outcomes(Part):
    """Where labels that come by themselves arrive, and which column holds what; and the label of an item
    without one, in a monitor once they are complete."""

    source: Predictions = Field(description="a file, folder or glob of outcomes, as they arrive")
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
