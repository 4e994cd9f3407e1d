"""The spec of a monitor: an evaluation's spec, with a window of time in its source and a `monitor:` section.

    pool.source    holds {date}, {year}, {month}, {week}, {week_start}, {day} or {hour}, as may some keys of
                   some desks (DeskKind.by_window; evalcore.monitoring.calendar says which combinations)
    limit          the absolute floor and ceiling
    monitor.drop   what counts as worse than the reference window, or than the windows before

Every window becomes an evaluation of its own, `<monitor>-<window>`. It carries no limit: an evaluation's
own verdict ignores the windows before it, and over many windows some such verdicts would be wrong. The
monitor judges.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal
from zoneinfo import ZoneInfo

from pydantic import Field, Strict, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.registry import (
    AUTO,
    auto_in_monitors,
    is_auto,
    method_for,
    method_of_questions,
    with_single_draws,
)
from assay.evalcore.methods.two_classes.choice import BELIEF
from assay.evalcore.monitoring.calendar import (
    DaysOff,
    Kind,
    Window,
    days_off,
    length_of_windows,
    window_named,
)
from assay.evalcore.monitoring.signals import LEAST_WINDOWS
from assay.evalcore.monitoring.verdicts import HORIZON_WINDOWS, Correction, Test
from assay.tasks.schema import GrownPart, Part, wrong
from assay.tasks.spec.alerts import window_links
from assay.tasks.spec.errors import refusal
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.goals import Drop, Limit, MethodName
from assay.tasks.spec.labels.demands import unwatchable, unwatched_systems, watched_by_tangent
from assay.tasks.spec.labels.questions import QuestionList
from assay.tasks.spec.questions import watched_questions

_LONGEST_MONITOR_NAME = 70   # leaves room for the window, a revision and a follow-up
_EXACT = 1e-9        # the half-width of an interval that has closed
OutcomesThen = Literal["arrived", "complete"]
_Text = Annotated[str, Field(min_length=1)]
SizedBy = Literal["decide", "fixed"]
Spending = Literal["spread", "first"]


class Schedule(Part):
    """When a monitor looks: by a cron expression, in a time zone, or every so many minutes. Exactly one of
    the two is given."""

    cron: _Text | None = Field(default=None, description='when to look, such as "0 6 * * *"')
    every_minutes: int | None = Field(default=None, ge=1, description="look every so many minutes")
    timezone: _Text | None = Field(
        default=None, description="of the cron expression; that of the windows unless said"
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> "Schedule":
        if (self.cron is None) == (self.every_minutes is None):
            have = "both" if self.cron is not None else "neither"
            raise wrong(f"needs exactly one of `cron` and `every_minutes`, got {have}")
        return self


class CatchUp(Part):
    """Which windows get labels after the monitor did not run for a while."""

    newest: int = Field(
        default=7, ge=0, description="late windows that people work on at once, the newest first"
    )
    older_than: float = Field(
        default=31.0, gt=0, le=3660, description="a late window older than so many days gets no labels"
    )


class Watch(GrownPart):
    """The section `monitor` of a spec: the first and last window, when to look, what is a breach and how
    often one may be false, the labels of windows, and what becomes of windows that are late, missing,
    small or stale."""

    later: ClassVar[tuple[str, ...]] = ("spending", "silent_days")

    first: _Text = Field(description='the first window, such as "2026-11-20"')
    last: _Text | None = Field(default=None, description="the last window, if there is one")
    timezone: _Text = Field(default="UTC", description='where a day begins at midnight: "Europe/Berlin"')
    without: Annotated[tuple[_Text, ...], Strict(False)] = Field(
        default=(), description='windows that the stream does not have: [saturday, sunday, "2026-12-25"]'
    )
    schedule: Schedule = Field(description='when to look: {cron: "0 6 * * *"} or {every_minutes: 60}')
    settle_hours: float = Field(default=0.0, ge=0, le=8760, description="wait so long after a window's end")
    grace_hours: float = Field(
        default=24.0, ge=0, le=8760, description="a window without a file is missing so long after that"
    )
    late_days: float = Field(
        default=7.0, ge=0, le=3660, description="predictions that change so long after a window's end count"
    )
    reference: _Text | None = Field(
        default=None, description="the window that a drop is told against; the first unless said"
    )
    drop: Drop | None = Field(default=None, description="what counts as worse than before: {by: 0.03}")
    error_rate: float = Field(
        default=0.05, gt=0, lt=0.5, description="chance of a false breach in `horizon` windows"
    )
    horizon: int = Field(
        default=HORIZON_WINDOWS, ge=1, le=100_000, description="windows that the error rate is about"
    )
    test: Test = Field(
        default="e-detector", description="e-detector, e-process, alpha-spending or cusum"
    )
    correction: Correction = Field(default="e-bh", description="for segments: e-bh or bonferroni")
    sizing: SizedBy = Field(
        default="decide",
        description="labels of a window without a signal: decide (what would decide, from quiet_labels to "
                    "the budget) or fixed (quiet_labels)",
    )
    quiet_labels: int | None = Field(
        default=None, ge=1,
        description="the fewest labels of a window without a signal; else a quarter of the budget",
    )
    monthly_labels: int = Field(ge=1, description="the most labels to buy in a calendar month, all windows")
    spending: Spending = Field(
        default="spread",
        description="where monthly_labels are too few for every window: spread (some windows, evenly over "
                    "the month) or first (every window until they are spent)",
    )
    follow_ups: int = Field(default=2, ge=0, le=20, description="further batches for an inconclusive window")
    follow_up_days: float = Field(
        default=14.0, ge=0, le=3660, description="a window that ended longer ago buys no further batch"
    )
    reserve: float = Field(
        default=1.0, ge=0, le=1,
        description="of the quiet_labels of each window still to come this month, the share that follow-ups "
                    "and late windows leave alone",
    )
    catch_up: CatchUp = Field(
        default_factory=CatchUp, description="late windows: {newest: 7, older_than: 31}"
    )
    least_items: int = Field(default=20, ge=1, description="a window of fewer items gets no verdict")
    stale_days: float = Field(
        default=7.0, gt=0, le=3660, description="a window that people have not finished by then is stale"
    )
    silent_days: float = Field(
        default=3.0, gt=0, le=3660, description="people are told when no window got a verdict for so long"
    )
    carry_over: float = Field(
        default=0.5, ge=0, le=1, description="what a label of the window before is worth to the label model"
    )
    recent: int = Field(
        default=4, ge=1, le=100,
        description="the last windows whose mean is shown, and decides how many labels the next one gets",
    )
    signal_rate: float = Field(
        default=0.01, gt=0, lt=0.5, description="chance that any signal of an ordinary window is raised"
    )
    signal_windows: int = Field(
        default=5, ge=LEAST_WINDOWS, le=1000, description="earlier windows without which no signal is raised"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedQuestion:
    """One measure that a monitor watches, and what it is held against."""

    question: str | None    # the one it is of, where several are asked
    measure: str            # its name, with the class or the difference that it is of
    limit: Limit | None
    drop: Drop | None
    is_error: bool

    @property
    def name(self) -> str:
        """What is watched, in words: `accuracy`, or `accuracy of tone` where several questions are asked.
        Verdicts and alerts call it so."""
        return self.measure if self.question is None else f"{self.measure} of {self.question}"


class MonitorSpec(Spec):
    """The spec of one monitor: that of an evaluation with a window of time in its source, and the section
    `monitor`. `evaluation` makes of it the spec of the evaluation of one window."""

    of_monitor: ClassVar[bool] = True
    not_recorded: ClassVar[frozenset[str]] = frozenset({"store"})   # its runs read all else from the ledger

    monitor: Watch = Field(description="when to look, and what is a breach")
    model_version: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="which model makes the predictions; another one begins anew"
    )
    method: MethodName = Field(
        default=AUTO, validate_default=True, description="how items are chosen; auto is what suits monitors"
    )

    @classmethod
    def _meant_method(cls, written: object) -> object:
        """One class of several is watched among all of them, whose shares are signals: not counted alone."""
        if written == AUTO:
            return BELIEF
        return auto_in_monitors(written) if isinstance(written, str) and is_auto(written) else written

    @field_validator("method")
    @classmethod
    def _auto_for_monitors(cls, name: str, info: ValidationInfo) -> str:
        """Of several questions `auto` stays the method that serves all of them, with settings or without."""
        has_questions = isinstance(info.data.get("labels"), QuestionList)
        return name if has_questions or not is_auto(name) else auto_in_monitors(name)

    @field_validator("name")
    @classmethod
    def _room_for_windows(cls, name: str) -> str:
        if len(name) > _LONGEST_MONITOR_NAME:
            raise wrong(f"has {len(name)} characters; a monitor's name has at most {_LONGEST_MONITOR_NAME}")
        return name

    @model_validator(mode="after")
    def _makes_sense(self) -> "MonitorSpec":
        problems: list[tuple[str, str]] = []
        questions = self.labels if isinstance(self.labels, QuestionList) else None
        if questions is not None:
            problems += watched_questions(questions, self.measure)
            if self.monitor.drop is not None:
                problems.append(("monitor.drop", "is of one question; write it beside each question that is "
                                 "watched: {name: ..., drop: ...}"))
        elif self.limit is None and self.monitor.drop is None:
            problems.append(("limit", "and monitor.drop are both missing: nothing could be a breach; add "
                             "limit: {min: 0.80}, or monitor.drop: {by: 0.03}"))
        if self.warm_start is not None:
            problems.append(("warm_start", "is what every window of a monitor does: see monitor.carry_over"))
        if self.pool.compares:
            problems += unwatched_systems(self.pool.compared)
        link = self.alerts.report_url if self.alerts else None
        if link is not None and ("{window}" not in link or "{evaluation}" in link):
            problems.append(("alerts.report_url", f"{link!r} must hold {{window}}, and may hold {{monitor}}: "
                             "a monitor's alert links to the page of its window, which has its verdict; the "
                             "report of an {evaluation} has none"))
        problems += self._idle()
        span = 2 if self.pool.compares else 1      # how far shares, and their differences, can fall
        drop = None if questions is not None else self.monitor.drop
        if drop is not None and drop.by >= span and self.labels.shares:
            problems.append(("monitor.drop.by", f"is {drop.by:g}, and such a measure cannot "
                             f"fall so far; give less than {span}"))
        problems += self._wrong_windows()
        try:
            self._single_draws()
        except BadInput as error:
            problems.append(("method", f"{error}; a breach is called on evidence from single draws"))
        lead, labels, compares = self.measure[0], self.labels, self.pool.compares
        if self.pool.segments and questions is None and watched_by_tangent(labels, lead, compares):
            problems.append((
                "pool.segments", f"of {lead.name} have no evidence of their own: no mean over items decides "
                "about it, and a tangent stands for it of the whole pool alone; leave them out, or watch "
                "accuracy, F1, precision or recall",
            ))
        watched = () if questions is not None else unwatchable(labels, lead, compares)
        problems += [("measure", reason) for reason in watched]
        if problems:
            raise PydanticCustomError("keys", "does not fit together", {"problems": problems})
        return self

    def _idle(self) -> Iterator[tuple[str, str]]:
        """What is said and would change nothing."""
        watch, usual = self.monitor, Watch.model_fields
        windows = Drop.model_fields["windows"].default
        entries = self.questions_asked.values()
        drops = [(f"labels[{i}].drop", entry.drop) for i, entry in enumerate(entries)]
        for at, drop in drops or [("monitor.drop", watch.drop)]:
            if drop is not None and drop.than == "reference" and drop.windows != windows:
                yield f"{at}.windows", "is of a drop from the windows before: add than: previous"
        if watch.correction != usual["correction"].default and not self.pool.segments:
            yield "monitor.correction", "is for segments, and pool.segments names none; leave it out"
        if watch.carry_over not in (0, usual["carry_over"].default) and not self.starts_warm:
            yield "monitor.carry_over", (
                "cannot be used where several questions are asked: their label models take no labels of the "
                "window before; leave it out" if self.questions_asked else
                f"cannot be used by method {self.method!r}, whose label model takes no labels of the window "
                "before; leave it out"
            )

    def _single_draws(self) -> str:
        """The method with its items drawn one at a time. Raises BadInput where it cannot."""
        has_questions = bool(self.questions_asked)
        return with_single_draws(
            method_of_questions(self.method) if has_questions else self.method, self.labels.outcome
        )

    @property
    def leading_measure(self) -> str:
        """The first measure that is watched, with its question where several are asked."""
        return self.watched[0].name

    @property
    def watched(self) -> tuple[WatchedQuestion, ...]:
        """What is watched: the first measure, or that of each question that has a limit or a drop. In the
        order of the questions in the spec."""
        kind = self.labels.outcome
        if not self.questions_asked or kind is None:
            return (WatchedQuestion(
                question=None, measure=super().leading_measure, limit=self.limit, drop=self.monitor.drop,
                is_error=self.watches_an_error,
            ),)
        questions = []
        for entry in self.questions_asked.values():
            of = [choice for choice in self.measure if choice.question == entry.name]
            if entry.watched and of:
                measure = of[0].outcome_measure(kind, 1)
                questions.append(WatchedQuestion(
                    question=entry.name, measure=measure.full_name, limit=entry.limit, drop=entry.drop,
                    is_error=measure.is_error,
                ))
        return tuple(questions)

    def _wrong_windows(self) -> list[tuple[str, str]]:
        try:
            kind = length_of_windows(self.pool.source)
        except BadInput as error:
            return [("pool.source", str(error))]
        try:
            ZoneInfo(self.monitor.timezone)
        except (KeyError, ValueError, OSError):
            return [("monitor.timezone", f"{self.monitor.timezone!r} is no time zone; one is Europe/Berlin")]
        if kind == "hour" and self.monitor.timezone != "UTC":
            return [("monitor.timezone", "must be UTC where windows are hours: elsewhere one hour comes "
                                         "twice when the clocks go back")]
        problems = []
        for field in ("first", "last", "reference"):
            try:
                value = getattr(self.monitor, field)
                if value is not None:
                    self.window(value)
            except BadInput as error:
                problems.append((f"monitor.{field}", str(error)))
        try:
            off = days_off(self.monitor.without, kind)
        except BadInput as error:
            return [*problems, ("monitor.without", str(error))]
        if not problems and off.cover(self.reference):
            problems.append(("monitor.without", f"covers {self.reference.name}, the window that others are "
                                                "compared with"))
        return problems

    @property
    def kind(self) -> Kind:
        """How long the windows are, an hour, day, week, month or year, as the placeholders of `pool.source`
        say. Raises BadInput where they leave that open."""
        return length_of_windows(self.pool.source)

    @property
    def zone(self) -> tzinfo:
        """The time zone in which windows begin and end: `monitor.timezone`, UTC unless the spec says
        otherwise. Changes of the clock are those of the zone."""
        return UTC if self.monitor.timezone == "UTC" else ZoneInfo(self.monitor.timezone)

    def window(self, name: str) -> Window:
        """The window of this name. Raises BadInput for a name of another kind."""
        return window_named(name, self.kind, self.zone)

    def has(self, window: Window) -> bool:
        """Whether the stream has this window: whether `monitor.without` does not list it."""
        return not self.off.cover(window)

    @cached_property
    def off(self) -> DaysOff:
        """The windows that the stream does not have, by `monitor.without`; made once. Raises BadInput for a
        text that means nothing for windows of this length."""
        return days_off(self.monitor.without, self.kind)

    @property
    def first(self) -> Window:
        """The first window of the monitor. Raises BadInput for a name of another kind of window. Windows
        before it are never opened."""
        return self.window(self.monitor.first)

    @property
    def last(self) -> Window | None:
        """The last window of the monitor; None where it goes on without end. Raises BadInput for a name of
        another kind of window."""
        return None if self.monitor.last is None else self.window(self.monitor.last)

    @property
    def reference(self) -> Window:
        """The window that a drop from the reference is told against."""
        return self.window(self.monitor.reference or self.monitor.first)

    def compared_with(self, reference: str) -> "MonitorSpec":
        """A copy of the spec whose drop is told against the window of this name. Nothing is checked again. An
        amendment of the model may name another reference."""
        return self.model_copy(update={"monitor": self.monitor.model_copy(update={"reference": reference})})

    @property
    def settle(self) -> timedelta:
        """How long after its end a window is first looked at, `monitor.settle_hours` as a duration. Rows that
        come late are waited for so long."""
        return timedelta(hours=self.monitor.settle_hours)

    @property
    def quiet_labels(self) -> int:
        """Labels for a window without a signal: as many, or with `sizing: decide` at least as many. A quarter
        of the budget where the spec does not say, and never more than it."""
        labels = self.monitor.quiet_labels or max(self.budget.labels // 4, 1)
        return min(labels, self.budget.labels)

    @property
    def all_known_when_complete(self) -> bool:
        """Whether every item of a window has a label once its outcomes are complete."""
        return self.outcomes is not None and self.outcomes.otherwise is not None

    def outcomes_complete(self, window: Window, moment: datetime) -> bool:
        """Whether all outcomes of a window have arrived by now, as far as they will. False where the spec
        does not say how many days that takes."""
        days = None if self.outcomes is None else self.outcomes.complete_after_days
        return days is not None and moment >= window.end.astimezone(UTC) + timedelta(days=days)

    def evaluation(
        self, window: Window, name: str, labels: int, inherits: str | None, carry: float,
        outcomes: OutcomesThen | None = None,
    ) -> Spec:
        """The spec of an evaluation of a window.

        inherits   whose labels its label model starts from
        outcomes   which of the window's outcomes are there; None for none
        """
        data: dict[str, Any] = self.to_json()
        del data["monitor"]
        data.pop("model_version", None)
        data.pop("limit", None)
        data["name"] = name
        data["pool"]["source"] = window.fill(self.pool.source)
        data["method"] = self._single_draws()
        data["budget"] = self.budget.scaled_to(labels).model_dump(exclude_none=True)
        data["batch_size"] = min(self.batch_size, labels)
        if self.questions_asked:
            data.setdefault("drive", [entry.question for entry in self.watched])
            for entry in data["labels"]["questions"]:
                entry.pop("limit", None)
                entry.pop("drop", None)
        elif method_for(data["method"], self.labels.outcome).capabilities.serves_all:
            # a breach is called on the first measure
            data.setdefault("drive", [self.measure[0].name])
        for field in data["desk"].keys() & set(self.desk.by_window):
            data["desk"][field] = window.fill(data["desk"][field])
        if self.alerts is not None:
            data["alerts"]["report_url"] = next(iter(window_links(self.alerts, self.name, window.name)), None)
        if self.pool.compares and not self.target.given and self.about != "population":
            # exact once all items on which they differ are labelled: then nobody is asked further
            data["target"] = {**data.get("target", {}), "half_width": _EXACT}
        known_outcomes = data.pop("outcomes", None)
        if known_outcomes is not None and outcomes is not None:
            known_outcomes.pop("complete_after_days", None)
            if outcomes == "arrived":
                known_outcomes.pop("otherwise", None)
            data["outcomes"] = known_outcomes | {"source": window.fill(known_outcomes["source"])}
        if inherits is not None and carry > 0:
            data["warm_start"] = {"evaluation": inherits, "discount": carry}
        return Spec.from_json(data, origin=f"monitor {self.name}, window {window.name}")

    @staticmethod
    def from_data(data: object, origin: str) -> "MonitorSpec":
        """The inverse of `to_json` (and the check of what a file holds). BadInput names `origin`. Raises
        BadInput for wrong keys and values, all of them at once."""
        try:
            return MonitorSpec.model_validate(data)
        except ValidationError as error:
            raise refusal(error, MonitorSpec, origin) from None


def load_monitor_spec(path: Path) -> MonitorSpec:
    """The monitor in a YAML file. BadInput names the file, every wrong key and what to write instead. Raises
    BadInput as well for the spec of an evaluation."""
    from assay.tasks.spec.strict_yaml import read_yaml

    data = read_yaml(path)
    if not isinstance(data, dict) or "monitor" not in data:
        raise BadInput(
            f"{path}: has no `monitor:` section; `assay init --monitor` writes a spec that has one"
        )
    return MonitorSpec.from_data(data, origin=str(path))
