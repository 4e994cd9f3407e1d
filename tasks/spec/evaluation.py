"""The spec: everything a person says about an evaluation, checked before anything is done.

A spec is a YAML file (`assay init` writes a commented one). `load_spec` turns it into a frozen value or into
one error that lists every problem with its path. Paths in it (`pool.source`, a desk's files, a folder store)
are relative to the current directory, as for any other tool, and are recorded as they were given.

What goes into the ledger is `to_json`: every choice made explicit, defaults included, no `store`. The store
is left out because it says where the record is kept, not what was asked: the same evaluation on a folder and
on S3 is the same evaluation, and a ledger that was copied elsewhere is still its own. Choices that were not
made are left out too, so an optional key added by a later version does not change the digest of old specs.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from assay.evalcore.annotators.rules import RuleName
from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.registry import method, methods_that
from assay.tasks.desks.kind import Labelling
from assay.tasks.desks.registry import DESK_KINDS, DeskChoice
from assay.tasks.ledger.layout import check_name
from assay.tasks.schema import Location, Part, wrong
from assay.tasks.spec.alerts import Alerts
from assay.tasks.spec.errors import refusal
from assay.tasks.spec.parts import (
    Adjudication,
    Budget,
    Deadline,
    Labels,
    MeasureChoice,
    Pool,
    Target,
    Threshold,
    WarmStart,
)
from assay.tasks.spec.strict_yaml import read
from assay.tasks.spec.template import spec_template

__all__ = ["Spec", "load_spec", "spec_digest", "spec_template"]


class Spec(Part):
    """One evaluation, as asked for."""

    name: str = Field(description="a name for the evaluation, unique in its store")
    pool: Pool = Field(description="where the predictions are and what their columns mean")
    labels: Labels = Field(description="names of the two classes: {positive: ..., negative: ...}")
    measure: tuple[MeasureChoice, ...] = Field(
        strict=False, description="a measure or a list of them; the first drives sampling"
    )
    target: Target = Field(description="when to stop: {half_width: 0.05} or {variance: 0.0004}")
    budget: Budget = Field(description="the most that may be asked: {labels: 500}")
    batch_size: int = Field(default=25, ge=1, description="newly asked items in a round")
    method: str = Field(default="auto", description="how items are chosen; auto picks the best certified one")
    desk: DeskChoice = Field(description=f"where people label: {{kind: {' | '.join(DESK_KINDS)}, ...}}")
    adjudication: Adjudication | None = Field(
        default=None, description="how labels are made of answers: {rule: majority | dawid-skene}"
    )
    store: Location | None = Field(default=None, description="the ledger: a folder or s3://bucket/prefix")
    threshold: Threshold | None = Field(default=None, description="what the first measure must reach")
    alerts: Alerts | None = Field(default=None, description="who is told when the threshold is breached")
    warm_start: WarmStart | None = Field(
        default=None, description="whose labels to start from: {evaluation: NAME, discount: 0.5}"
    )
    deadline: Deadline | None = Field(
        default=None, description="how long a round waits for people: {round_hours: 72, then: close | wait}"
    )
    skipped: Literal["ask-again", "set-aside"] | None = Field(
        default=None, description="what everybody skipped: asked once more (the default), or set aside"
    )
    seed: int = Field(default=0, ge=0, description="fixes every random choice")

    @field_validator("name")
    @classmethod
    def _safe_in_keys_and_paths(cls, name: str) -> str:
        try:
            return check_name(name)
        except BadInput as error:
            raise wrong(str(error).removeprefix("name: ")) from None

    @field_validator("measure", mode="before")
    @classmethod
    def _as_list(cls, value: Any) -> Any:
        listed = value if isinstance(value, list | tuple) else [value]
        return [{"name": one} if isinstance(one, str) else one for one in listed]

    @field_validator("measure")
    @classmethod
    def _each_once(cls, choices: tuple[MeasureChoice, ...]) -> tuple[MeasureChoice, ...]:
        if not choices:
            raise wrong("is an empty list; name at least one measure, such as f1")
        names = [choice.resolve().name for choice in choices]
        for name in names:
            if names.count(name) > 1:
                raise wrong(f"lists {name!r} twice; keep one")
        return choices

    @field_validator("method")
    @classmethod
    def _known_method(cls, name: str) -> str:
        try:
            method(name)
        except UnknownName as error:
            raise wrong(str(error)) from None
        return name

    @model_validator(mode="after")
    def _can_start_warm(self) -> "Spec":
        if self.warm_start is None:
            return self
        problem = None
        if not method(self.method).capabilities.starts_warm:
            problem = (f"cannot be used by method {self.method!r}: its label model takes no earlier labels; "
                       f"use {' or '.join(methods_that('starts_warm'))}, or leave it out")
        elif self.warm_start.evaluation == self.name:
            problem = "names the evaluation itself; name an earlier one"
        if problem:
            raise PydanticCustomError("keys", "warm start", {"problems": [("warm_start", problem)]})
        return self

    @model_validator(mode="after")
    def _people_see_something(self) -> "Spec":
        if self.desk.needs_display and not self.pool.display:
            raise PydanticCustomError("keys", "nothing to show", {"problems": [
                ("pool.display", f"is empty, so a {self.desk.kind} desk would show people nothing; "
                                 "list the columns they need to see")
            ]})
        return self

    @model_validator(mode="after")
    def _columns_fit_the_method(self) -> "Spec":
        chosen = method(self.method)
        if chosen.feature_tree is not None and not self.pool.features:
            raise PydanticCustomError("keys", "no features", {"problems": [
                ("pool.features", f"is needed by the method {self.method!r}, which cuts the pool by "
                                  "features; list columns of numbers, or cut by score: partition=csf")
            ]})
        if self.pool.systems and not chosen.capabilities.judges_systems:
            able = " or ".join(map(repr, methods_that("judges_systems")))
            raise PydanticCustomError("keys", "no systems", {"problems": [
                ("pool.systems", f"are judged by the method {able}, and this spec says {self.method!r}; "
                                 f"use {able}, or leave the systems out")
            ]})
        return self

    @model_validator(mode="after")
    def _several_to_weigh(self) -> "Spec":
        if self.rule == "dawid-skene" and self.desk.annotators_per_item < 2:
            raise PydanticCustomError("keys", "nobody to weigh", {"problems": [
                ("adjudication.rule", "is dawid-skene, which weighs people against each other; set "
                                      "desk.annotators_per_item to 2 or more, or the rule to majority")
            ]})
        return self

    @property
    def rule(self) -> RuleName:
        """How labels are made of answers."""
        return self.adjudication.rule if self.adjudication else "majority"

    @property
    def labelling(self) -> Labelling:
        """What people are asked: what a desk is opened for."""
        return Labelling(
            evaluation=self.name, classes=(self.labels.positive, self.labels.negative),
            display=self.pool.display, show_as=self.pool.show_as, id_column=self.pool.id, seed=self.seed,
        )

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """The measures asked for, in order; the first drives sampling."""
        return tuple(choice.resolve() for choice in self.measure)

    def to_json(self) -> dict[str, Any]:
        """What is recorded: plain JSON values, defaults included, without the store."""
        return self.model_dump(mode="json", exclude={"store"}, exclude_none=True)

    @staticmethod
    def from_json(data: Mapping[str, Any], origin: str = "spec.json") -> "Spec":
        """The inverse of `to_json` (and the check of what a file holds). BadInput names `origin`."""
        try:
            return Spec.model_validate(data)
        except ValidationError as error:
            raise refusal(error, Spec, origin) from None


def load_spec(path: Path) -> Spec:
    """The spec in a YAML file. BadInput names the file, every wrong key and what to write instead."""
    data = read(path)
    if not isinstance(data, dict):
        found = "empty" if data is None else f"a {type(data).__name__}"
        raise BadInput(f"{path}: a spec is a mapping of keys, this file is {found}; `assay init` writes one")
    return Spec.from_json(data, origin=str(path))


def spec_digest(spec: Spec) -> str:
    """SHA-256 (hex) of the recorded form: equal exactly when the same thing is asked."""
    text = json.dumps(spec.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
