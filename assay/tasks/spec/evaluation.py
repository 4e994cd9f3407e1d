"""The spec: everything a person says about an evaluation, checked before anything is done.

A spec is a YAML file (`assay init` writes a commented one). `load_spec` turns it into a frozen value or into
one error that lists every problem with its path. Paths in it (`pool.source`, a desk's files, a folder store)
are relative to the current directory, as for any other tool, and are recorded as they were given.

What goes into the ledger is `to_json`: every choice made explicit, defaults included, no `store` and no
`freeze_runner`. They say where the record is kept and who freezes the pool, not what was asked: the same
evaluation on a folder and on S3 is the same evaluation, and a ledger that was copied elsewhere is still its
own. Choices that were not made are left out too, so an optional key added by a later version does not change
the digest of old specs.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from assay.evalcore.annotators.answers import RuleName
from assay.evalcore.errors import BadInput, Remediable
from assay.evalcore.estimators.guaranteed import GUARANTEED, WITH_GUARANTEE
from assay.evalcore.estimators.population import About
from assay.evalcore.evaluation.stopping import own_target
from assay.evalcore.json_values import JsonObject, mapping_of
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.method import Method
from assay.evalcore.methods.registry import (
    AUTO,
    auto,
    is_auto,
    method_for,
    method_of_questions,
    outcome_method,
)
from assay.evalcore.methods.two_classes.choice import Aim, Choice, choose
from assay.evalcore.types import Trust
from assay.tasks.desks.kind import Labelling
from assay.tasks.desks.registry import DESK_KINDS, DeskChoice
from assay.tasks.ledger.layout import check_name
from assay.tasks.ledger.life import Ownership
from assay.tasks.ledger.manifest import CLUSTER, STRATUM, WEIGHT
from assay.tasks.schema import Location, Part, wrong
from assay.tasks.settings import RUNNERS, FreezeRunner
from assay.tasks.spec.alerts import Alerts
from assay.tasks.spec.best import contradictions_of_best
from assay.tasks.spec.consistency import (
    contradictions,
    contradictions_of_held,
    contradictions_of_outcomes,
    idle,
    joined_by_row,
    never_met,
    of_no_measure,
    out_of_range,
    unreachable,
    why_cold,
)
from assay.tasks.spec.errors import refusal
from assay.tasks.spec.goals import (
    WITH_CHANCES,
    Budget,
    Drive,
    LabelsSoFar,
    Limit,
    MeasureChoices,
    MethodName,
    Outcomes,
    Target,
    WarmStart,
    asks_for_scores,
    segments_drive,
)
from assay.tasks.spec.judges import JudgesLookedAt
from assay.tasks.spec.labels.classes import TwoClasses, class_against_the_rest
from assay.tasks.spec.labels.kinds import Labels, WrittenLabels, task_of, two_classes_as
from assay.tasks.spec.labels.questions import QuestionEntry, QuestionList, listed_questions
from assay.tasks.spec.pool import Pool, compares
from assay.tasks.spec.template import spec_template


def _one_line(text: str) -> str:
    if len(text.splitlines()) > 1 or not text.strip():
        raise wrong("is not one line of text; what takes more lines belongs under `guidelines`")
    return text.strip()


def _some_text(text: str) -> str:
    if not text.strip():
        raise wrong("is empty; leave it out")
    return text


def _name_of_somebody(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise wrong("is not a name in one line")
    return text.strip()


Somebody = Annotated[str, Field(max_length=100), AfterValidator(_name_of_somebody)]
Question = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]
Guidelines = Annotated[str, Field(max_length=20_000), AfterValidator(_some_text)]


class Deadline(Part):
    """How long a round waits for people, in hours from its first post, and what then: it is closed with what
    is answered, or waits on and is said to be overdue."""

    round_hours: float = Field(gt=0, allow_inf_nan=False, description="hours from the first post of a round")
    then: Literal["close", "wait"] = Field(
        default="close",
        description="close: with what is answered, the rest weighted for; wait: and say it is overdue",
    )


class Adjudication(Part):
    """How one label is made of the answers about an item: by majority or Dawid-Skene, of numbers by their
    median or mean."""

    rule: RuleName = Field(
        description="majority (a tie goes to one person more) or dawid-skene; of numbers median or mean"
    )


__all__ = ["Spec", "load_spec", "spec_digest", "spec_template"]


def _guessed_beside(pool: Mapping[str, object]) -> bool:
    """Whether a `pool`, as it is written, has predictions without a score beside judges, clusters, weights or
    strata."""
    unsure = all(pool.get(key) is None for key in ("score", "probability", "threshold", "systems"))
    return unsure and pool.get("prediction") is not None and (
        any(pool.get(key) is not None for key in ("judge", "cluster", "weight", "strata"))
    )


def with_limit(data: Mapping[str, object]) -> dict[str, object]:
    """A spec as it is written, its limit under `limit`: until version 1.0 `threshold` is read as the same.
    Raises ValueError where both are written."""
    spec = dict(data)
    if "threshold" not in spec:
        return spec
    if spec.get("limit") is not None:
        raise wrong("`limit` and `threshold` are the same key; keep `limit`")
    return spec | {"limit": spec.pop("threshold")}


def with_guarantee_in_method(data: Mapping[str, object]) -> dict[str, object]:
    """A spec as it is written, `interval: guaranteed` as the setting of the method that it is. Other specs
    come back as they are."""
    spec, name = dict(data), data.get("method")
    if spec.get("interval") != GUARANTEED or not isinstance(name, str) or _SETTING in name:
        return spec
    return spec | {"method": name + _SETTING} if name.partition(":")[0] in WITH_GUARANTEE else spec


_SETTING = ":guaranteed=true"


def with_method_of_chances(data: Mapping[str, object]) -> dict[str, object]:
    """A spec as it is written, `auto` as the method that goes on from labels with chances of their own. Other
    specs come back as they are."""
    spec = dict(data)
    if isinstance(spec.get("labels"), list):    # each question has chances of its own
        return spec
    with_chances = isinstance(held := spec.get("labels_so_far"), Mapping) and (
        held.get("weight") is not None or isinstance(held.get("drawn"), Mapping))
    return spec | {"method": WITH_CHANCES} if with_chances and spec.get("method", AUTO) == AUTO else spec


_FROZEN_AS: Mapping[str, str] = {"weight": WEIGHT, "strata": STRATUM, "cluster": CLUSTER}


class Spec(Part):
    """The spec of one evaluation, checked and frozen: the pool, what people answer, measures, target and
    budget, the method, the desk, and whatever else was asked for. `to_json` is what the ledger records."""

    of_monitor: ClassVar[bool] = False
    not_recorded: ClassVar[frozenset[str]] = frozenset({"store", "freeze_runner"})

    name: str = Field(description="a name for the evaluation, unique in its store")
    pool: Pool = Field(description="where the predictions are and what their columns mean")
    labels: Labels = Field(
        description="what people answer: {positive: ..., negative: ...}, {classes: [...]}, {grades: [...]}, "
                    "{number: {min: 0, max: 100}}, {tags: [...]} or {prefer: [column, column]}; or a list of "
                    "questions, each with a name"
    )
    measure: MeasureChoices = Field(description="a measure or a list of them; targets are of the first")
    drive: Drive | None = Field(
        default=None, description="the measures that the choice of items serves, whatever their order; or "
                                  "segments: the worst of them is to be known soonest"
    )
    target: Target = Field(
        default_factory=Target,
        description="when to stop: {half_width: 0.05} or {variance: 0.0004}; the budget alone, unless said",
    )
    budget: Budget = Field(description="the most that may be asked: {labels: 500}")
    batch_size: int = Field(default=25, ge=1, description="newly asked items in a round")
    method: MethodName = Field(
        default="auto", description="how items are chosen; auto: where labels narrow the interval most"
    )
    trust: Trust | None = Field(
        default=None,
        description="what the interval of auto takes without being shown: nothing, or the score (positives "
                    "do not hide where it is low); unless given, score where nothing cannot do in the budget",
    )
    interval: Literal["guaranteed"] | None = Field(
        default=None, description="guaranteed: one that holds for any pool, at every look; of even or "
                                  "stratified draws"
    )
    about: About | None = Field(
        default=None,
        description="what intervals are about: pool (these items) or population (what they are a sample of)",
    )
    question: Question | None = Field(default=None, description="what people are asked about every item")
    guidelines: Guidelines | None = Field(
        default=None, description="what people who label are told: text, of which every line is a paragraph"
    )
    desk: DeskChoice = Field(description=f"where people label: {{kind: {' | '.join(DESK_KINDS)}, ...}}")
    adjudication: Adjudication | None = Field(
        default=None,
        description="how labels are made of answers: {rule: majority | dawid-skene | median | mean}",
    )
    store: Location | None = Field(default=None, description="the store of the ledger: a folder or s3://bucket/prefix")
    freeze_runner: FreezeRunner | None = Field(
        default=None, description=f"who freezes a large pool: {RUNNERS}; ASSAY_FREEZE_RUNNER unless given"
    )
    limit: Limit | None = Field(
        default=None, description="what the first measure must keep: {min: 0.8}, or max; gives a verdict"
    )
    alerts: Alerts | None = Field(default=None, description="who is told when the limit is breached")
    warm_start: WarmStart | None = Field(
        default=None, description="labels to start from: {evaluation: NAME, discount: 0.5}, or {source: FILE}"
    )
    labels_so_far: LabelsSoFar | None = Field(
        default=None,
        description="labels of a sample that is there already: {label: human, drawn: random}",
    )
    outcomes: Outcomes | None = Field(
        default=None, description="labels that come by themselves: {source: ..., id: ..., label: ...}"
    )
    deadline: Deadline | None = Field(
        default=None, description="how long a round waits for people: {round_hours: 72, then: close | wait}"
    )
    skipped: Literal["ask-again", "set-aside"] | None = Field(
        default=None, description="what everybody skipped: asked once more (the default), or set aside"
    )
    judges: JudgesLookedAt | None = Field(
        default=None, description="how judges are looked at: {features: [length(answer), format], audit: ...}"
    )
    seed: int = Field(default=0, ge=0, description="with the name, fixes every random choice")
    owner: Somebody | None = Field(default=None, description="who answers for it: a name or an address")
    team: Somebody | None = Field(default=None, description="the team that owns it")
    price_per_label: float | None = Field(
        default=None, ge=0, le=1e6, allow_inf_nan=False,
        description="what a label costs, in one currency for all; status and pages say what was spent",
    )

    @model_validator(mode="before")
    @classmethod
    def _task_of_labels(cls, data: object) -> object:
        """Labels follow from the rest, and `pool.task`, if it is not written, from the labels."""
        if not isinstance(data, dict):
            return data
        data = listed_questions(with_method_of_chances(with_guarantee_in_method(with_limit(data))))
        pool, labels = data.get("pool"), data.get("labels")
        if not isinstance(pool, dict):
            return data
        beside = any(pool.get(key) is not None for key in ("cluster", "weight", "strata"))
        beside = beside or data.get("method") == WITH_CHANCES or segments_drive(data.get("drive"))
        curves = asks_for_scores(data.get("measure"))
        alone = (_guessed_beside(pool) or pool.get("rank") is not None) and not curves
        if (compares(pool) or alone) and isinstance(labels, dict):
            data = data | {"labels": two_classes_as(labels, "two classes compared")}
        elif isinstance(labels, dict) and (beside or curves):
            data = data | {"labels": two_classes_as(labels, "two classes with a score")}
        counted = class_against_the_rest(data | {"method": cls._meant_method(data.get("method", AUTO))})
        if counted is not None:
            singled = {**mapping_of(data.get("labels")), "counted": counted}
            data = data | {"labels": WrittenLabels(singled, "one class of several")}
        if "task" in pool:
            return data
        task = task_of(data.get("labels"))
        return data if task == TwoClasses.task else data | {"pool": pool | {"task": task}}

    @classmethod
    def _meant_method(cls, written: object) -> object:
        """The method of a spec as it is written; a monitor reads `auto` as its own."""
        return written

    @field_validator("name")
    @classmethod
    def _safe_in_keys_and_paths(cls, name: str) -> str:
        try:
            return check_name(name)
        except BadInput as error:
            raise wrong(str(error)) from None

    @model_validator(mode="after")
    def _fits_together(self) -> "Spec":
        problems = contradictions(self)
        problems += [*contradictions_of_best(self)]
        problems += unreachable(self.target, self.labels)
        if self.target.named:
            problems += of_no_measure(self.target, self.measures_in_full)
        problems += out_of_range(self.limit, self.pool, self.labels, self.measure)
        problems += contradictions_of_outcomes(self.outcomes, self.labels, of_monitor=self.of_monitor)
        problems += contradictions_of_held(self)
        problems += joined_by_row(
            self.pool, self.desk, self.warm_start, self.outcomes, self.labels_so_far
        )
        if problems:
            raise PydanticCustomError("keys", "does not fit together", {"problems": problems})
        return self

    @property
    def choice(self) -> Choice:
        """The method by name, and why: `auto` with its meaning before the pool is counted. `choice_of` says
        it again once the pool is counted."""
        return self.choice_of(())

    def choice_of(self, predicted: tuple[int, ...]) -> Choice:
        """The method by name, and why; predicted: items predicted negative, and positive, once counted."""
        if not self.labels.by_cell:
            has_questions = bool(self.questions_asked)
            chosen = outcome_method(method_of_questions(self.method) if has_questions else self.method)
            aim = None if has_questions or self.method != AUTO else self._aim_of_rows(predicted)
            if aim is not None:
                return choose(aim, "score" if self.budget.audit else self.trust)
            return Choice(method=chosen.written, reason=chosen.says)
        if not is_auto(self.method):
            return Choice(method=self.method, reason="the spec asks for it")
        target = self.target
        return auto(self.method, Aim(
            measures=self.measures, half_width=self.first_half_width,
            confidence=target.confidence, budget=self.budget.labels,
            predicted=(predicted[0], predicted[1]) if len(predicted) == 2 else None,
        ), "score" if self.budget.audit else self.trust)

    def _aim_of_rows(self, predicted: tuple[int, ...]) -> Aim | None:
        """What a score test of rows is to reach; None where the question is not one for it."""
        from assay.evalcore.measures.stack import Stack
        from assay.evalcore.methods.any_outcome.score_strata import aim_of_rows

        kind, pool = self.labels.outcome, self.pool
        if kind is None or segments_drive(self.drive):
            return None
        if self.target.best_of is not None or pool.contenders is not None:
            return None
        systems = range(len(pool.compared) or 1)
        measures = [choice.outcome_measure(kind, 1, s) for s in systems for choice in self.measure]
        return aim_of_rows(
            Stack(kind=kind, measures=tuple(measures)), pool.no_item(kind.width), predicted,
            self.first_half_width, self.target.confidence, self.budget.labels,
        )

    @property
    def chosen_method(self) -> Method:
        """The method that chooses items, in its form for this kind of outcome. For `auto` it is what that
        means before the pool is counted."""
        return method_for(self.choice.method, self.labels.outcome)

    @property
    def starts_warm(self) -> bool:
        """Whether its label model can take labels of an earlier evaluation."""
        if self.labels.outcome is not None:
            return why_cold(self.labels.outcome, self.pool, self.measure, self.method) is None
        return self.chosen_method.capabilities.starts_warm

    @property
    def asks_anew(self) -> bool:
        """Whether items are asked about again in later rounds, so that a budget may exceed the pool. Printed
        methods with replacement and coins do so."""
        return self.chosen_method.asks_anew

    @property
    def knows_labels(self) -> bool:
        """Whether the evaluation may begin with labels that are known already: outcomes that come by
        themselves, a warm start, or a sample that is labelled."""
        return any(part is not None for part in (self.outcomes, self.warm_start, self.labels_so_far))

    @property
    def leading_measure(self) -> str:
        """The name of the first measure, with the class or the difference of two systems that it is of.
        Limits and targets without a name are about it."""
        kind, one_class = self.labels.outcome, self.labels.one_class
        name = self.measures[0].name if kind is None else self.measure[0].outcome_measure(kind, 1).full_name
        name = name if one_class is None else f"{name}({one_class})"
        baseline, *other_systems = self.pool.system_names or (None,)
        return f"{name} of {other_systems[0]} minus {baseline}" if len(other_systems) == 1 else name

    @property
    def measures_in_full(self) -> list[str]:
        """The names of the measures, with the class or setting that each is of."""
        kind, one_class = self.labels.outcome, self.labels.one_class
        if kind is not None:
            return [measure.outcome_measure(kind, 1).full_name for measure in self.measure]
        return [measure.of_two_classes(one_class).name for measure in self.measure]

    @property
    def first_half_width(self) -> float | None:
        """The half-width asked of the first measure's interval, in the unit of the measure; None where none
        is asked of it. Reports and forecasts speak of this one."""
        width = self.target.half_width
        return (
            own_target(width, self.measures_in_full[0], of_driving=True) if isinstance(width, dict) else width
        )

    @property
    def watches_an_error(self) -> bool:
        """Whether the first measure is the better the smaller it is."""
        kind, lead = self.labels.outcome, self.measure[0]
        if kind is None:
            return lead.of_two_classes(self.labels.one_class).is_error
        return lead.outcome_measure(kind, 1).is_error

    @property
    def ownership(self) -> Ownership:
        """Who owns the evaluation, which team, and what a label costs; each None where the spec does not say.
        Reports, pages and alerts name them."""
        price = self.price_per_label if self.budget.price is None else self.budget.price.label
        return Ownership(
            owner=self.owner, team=self.team, price_per_label=price, judge_cost=self.budget.judge_cost,
            pilot_labels=self.budget.pilot,
        )

    @property
    def rule(self) -> RuleName:
        """The rule by which answers become labels: that of the section `adjudication`, else the first that
        this kind of answers has. Kinds have different rules: classes a plurality, numbers a median."""
        return self.adjudication.rule if self.adjudication else self.labels.answers.rules[0]

    @property
    def questions_asked(self) -> Mapping[str, QuestionEntry]:
        """Name of a question -> its entry, in order; empty unless several are asked about each item."""
        return self.labels.asked if isinstance(self.labels, QuestionList) else {}

    @property
    def labelling(self) -> Labelling:
        """What people are asked, put together from the parts of the spec: what a desk is opened for. It holds
        no label and no prediction."""
        return Labelling(
            evaluation=self.name, answers=self.labels.answers, two_answers=self.labels.two_answers,
            display=self.pool.display, show_as=self.pool.show_as, id_column=self.pool.id, seed=self.seed,
            question=self.question, guidelines=self.guidelines,
        )

    def __getstate__(self) -> dict[Any, Any]:
        """Its keys alone: what was made of them meanwhile, a measure's functions say, cannot travel."""
        state, keys = super().__getstate__(), type(self).model_fields
        return state | {"__dict__": {key: value for key, value in state["__dict__"].items() if key in keys}}

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """The measures of two classes asked for, in order; `drive` or the method says which drive. None of
        them for outcomes of other kinds."""
        measures = tuple(choice.of_two_classes(self.labels.one_class) for choice in self.measure)
        if self.drive is None:
            return measures
        return tuple(
            replace(measure, drives=choice.name in self.drive)
            for measure, choice in zip(measures, self.measure, strict=True)
        )

    def to_json(self) -> JsonObject:
        """The spec as plain values of JSON, as the ledger records it: defaults included, without the keys of
        `not_recorded` and without choices that were not made."""
        return self.model_dump(
            mode="json", by_alias=True, exclude=set(self.not_recorded), exclude_none=True
        )

    def without(self, columns: Collection[str]) -> "Spec":
        """The same question without these columns of the pool, by their keys; itself where it needs them.
        Columns that say nothing, such as equal weights, leave it so."""
        written = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        pool = {key: value for key, value in written["pool"].items() if key not in (*columns, "task")}
        try:
            return Spec.model_validate({**written, "pool": pool})
        except ValidationError:
            return self

    def left_out(self, columns: Collection[str]) -> list[str]:
        """The keys of the columns that a pool with these columns was frozen without: they said nothing.
        Columns are those of the frozen pool; `begin` tells people of the keys."""
        return [key for key, name in _FROZEN_AS.items()
                if getattr(self.pool, key) is not None and name not in columns]

    def as_frozen(self, columns: Collection[str]) -> "Spec":
        """What is asked of a pool that was frozen with these columns (`tasks.pool.silent_columns`)."""
        left_out = self.left_out(columns)
        return self.without(left_out) if left_out else self

    @staticmethod
    def from_json(data: Mapping[str, object], origin: str = "spec.json") -> "Spec":
        """The inverse of `to_json` (and the check of what a file holds). BadInput names `origin`. Raises
        BadInput for wrong keys and values, all of them at once."""
        try:
            return Spec.model_validate(data)
        except ValidationError as error:
            raise refusal(error, Spec, origin) from None


def load_spec(path: Path, name: str | None = None) -> Spec:
    """The spec in a YAML file. BadInput names the file, every wrong key and what to write instead.

    name   of the evaluation, in place of the one in the file
    """
    from assay.tasks.spec.strict_yaml import read_yaml

    return written_spec(read_yaml(path), str(path), name)


def written_spec(data: object, origin: str, name: str | None = None) -> Spec:
    """The spec that somebody wrote, of an evaluation and not of a monitor. BadInput names `origin`. `name`
    takes the place of the name in the file."""
    if not isinstance(data, Mapping):
        content = "empty" if data is None else f"a {type(data).__name__}"
        raise BadInput(f"{origin}: a spec is a mapping of keys, this is {content}; `assay init` writes one")
    if "monitor" in data:
        raise Remediable(
            f"{origin}: this is the spec of a monitor, which watches a stream",
            f"`assay monitor {origin}` schedules it, and `assay monitor {origin} --once` does what is due "
            "now",
        )
    return asked_spec(data if name is None else {**data, "name": name}, origin)


def asked_spec(data: Mapping[str, object], origin: str) -> Spec:
    """What somebody asks for: as `Spec.from_json`, and BadInput for a target that can never be met, and for
    keys that would change nothing."""
    spec = Spec.from_json(data, origin)
    never = never_met(
        spec.target, spec.budget, spec.batch_size, spec.chosen_method, has_labels=spec.knows_labels
    )
    if never:
        raise BadInput(f"{origin}: $.budget.labels {never}")
    refuse_idle_keys(spec, origin)
    return spec


def refuse_idle_keys(spec: Spec, origin: str) -> None:
    """Raise BadInput for the first key of the spec that would change nothing. The message names the key
    after `origin`, which says where the spec comes from."""
    for key, text in idle(spec.pool, spec.labels, spec.method, spec.drive):
        raise BadInput(f"{origin}: $.{key} {text}")


def spec_digest(spec: Spec) -> str:
    """SHA-256 (hex) of the recorded form: equal exactly when the same thing is asked."""
    text = json.dumps(spec.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
