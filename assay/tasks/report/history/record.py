"""A monitor's windows, in order, with the newest verdict on each; and the JSON of `assay history --json`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from typing_extensions import TypedDict

from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.monitoring.betting import Side
from assay.evalcore.monitoring.earlier_windows import JudgeChange, RecentMean
from assay.evalcore.monitoring.signals import Expectation, Signal, expectation
from assay.evalcore.monitoring.sizing import Sizing
from assay.evalcore.monitoring.tracking import MOST_WINDOWS_BACK, OwnDraws, Tracked
from assay.evalcore.monitoring.verdicts import PlaceVerdict, Test, WatchedLimit
from assay.evalcore.printed import printed
from assay.tasks.ledger.life import NOBODYS, Ownership, OwnershipJson, ownership_json
from assay.tasks.ledger.monitors import (
    Amendment,
    Mute,
    Opening,
    WindowState,
    WindowVerdict,
    own_segment,
    verdict_by_question,
)
from assay.tasks.ledger.responses import IncidentResponse
from assay.tasks.report import wording


class AmendmentJson(TypedDict):
    """A version of the monitor's spec after the first: the first window it applies to, the keys that
    changed, and the limits whose evidence begins anew with it."""

    version: int                     # from 2
    first: str                       # the first window that it applies to
    at: str                          # when it was made
    reason: str
    changed: list[str]               # the keys that differ from the version before
    evidence_begins_anew: list[str]  # the limits whose evidence begins anew with it
    new_model: bool                  # whether reference, evidence and label model all begin anew
    reference: str                   # the window that its windows are compared with


class MuteJson(TypedDict):
    """A change of what is muted: when and why, and until when alerts are held back; `until` is null where
    the mute ended."""

    at: str
    reason: str
    until: str | None                # null: the mute ended


class LimitJson(TypedDict):
    """One limit of a place with the evidence against it: the natural logarithm of a factor, over the life
    since the last breach."""

    name: str                        # floor, ceiling, reference or previous
    side: Side
    value: float
    evidence: float                  # log, over the life since the last breach


class PlaceJson(TypedDict):
    """The measure in one place of a window: the pool, or a segment."""

    question: str | None             # of several that are asked; null where there is one
    measure: str | None              # its measure with the question; null where there is one question
    value: float | None              # null where it is undefined, or nothing was judged yet
    lower: float | None
    upper: float | None
    confidence: float | None
    labels: int
    limits: list[LimitJson]
    evidence_needed: float | None    # log evidence that makes a breach
    drawn: OwnDraws | None           # what its own draws say alone
    tracked: Tracked | None          # and with those of the windows before; null where they are too few


class SegmentJson(PlaceJson):
    """A segment of a window, or the window by another question."""

    segment: str | None              # as column=value, question=name, or question=name, column=value
    verdict: Verdict
    recent: RecentMean | None


class WrongJson(TypedDict):
    """What keeps a window from a verdict, or from a newer one."""

    state: str
    why: str
    found: str                       # when


class WindowJson(PlaceJson):
    """One window of a monitor: its state and verdict, the estimate of the pool with limits and evidence, the
    labels bought and why so many, the signals of its predictions, and its segments."""

    window: str
    state: str                       # ok, breach, inconclusive, waiting, or what keeps it from a verdict
    verdict: Verdict | None          # of the whole pool alone, of several questions by the first
    wrong: WrongJson | None
    version: int                     # of the monitor's spec
    model_version: str | None
    interval: str | None             # the kind of interval
    bought: int                      # labels paid for
    asked: int                       # labels asked for since the verdict
    pool: int | None                 # items in the window
    labels_to_decide: int | None     # about so many more would decide
    recent: RecentMean | None        # null where fewer than two windows have an estimate
    expected: Expectation | None     # what the probabilities expect, and how right they were before
    why: str | None                  # first, quiet, suspicious, ...: what its labels were decided by
    sizing: Sizing | None            # what its number of labels was decided from; null: the spec says it
    outcomes: Literal["arrived", "complete"] | None   # labels that came by themselves
    contradicted: list[str]          # items whose outcome is not what people had said of them
    signals: list[Signal]
    replaced: int                    # how often its predictions were replaced
    reissued: int                    # how often it was judged again
    evaluations: list[str]
    segments: list[SegmentJson]


class HistoryJson(OwnershipJson):
    """All windows of a monitor, in order of time; also the file history.json."""

    monitor: str
    measure: str
    error_rate: float                # chance of a false breach over the horizon
    horizon: int                     # in windows
    test: str                        # the rule that calls a breach
    labels: int                      # paid for, in all windows
    no_data_since: str | None        # the first of the newest windows that all have no predictions
    amendments: list[AmendmentJson]
    mutes: list[MuteJson]
    responses: list[IncidentResponse]        # what people did about incidents
    judges: list[JudgeChange]    # of the newest judged window
    windows: list[WindowJson]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One window; `verdict` is None while people are working, and where `wrong` says why."""

    window: str
    verdict: WindowVerdict | None
    openings: tuple[Opening, ...]     # of its newest predictions
    replaced: int = 0                 # how often its predictions were replaced
    wrong: WindowState | None = None  # what keeps it from a verdict, or from a newer one
    version: int = 1                  # of the monitor's spec
    model_version: str | None = None

    @property
    def state(self) -> str:
        """The state of the window: its verdict (ok, breach or inconclusive), else what keeps it from one (a
        state of `tasks.ledger.monitors`), else `waiting` for labels or `unlabelled`."""
        if self.verdict is not None:
            return self.verdict.verdict
        if self.wrong is not None:
            return self.wrong.state
        return "waiting" if any(o.evaluation for o in self.openings) else "unlabelled"

    @property
    def has_no_data(self) -> bool:
        """Whether nothing can be said of it because it has no predictions."""
        return self.state in ("missing", "empty")

    @property
    def overall(self) -> PlaceVerdict | None:
        """The verdict on the whole pool of the window; None before it is judged."""
        return self.verdict.overall if self.verdict else None

    @property
    def segments(self) -> tuple[PlaceVerdict, ...]:
        """The verdicts on the segments of the window, or on its further questions; none before it is judged.
        They are in the order of the verdict."""
        return self.verdict.segments if self.verdict else ()

    @property
    def recent(self) -> RecentMean | None:
        """The mean of the whole pool over the last windows; None where there are not two of them. It is no
        part of the verdict: it smooths what the eye sees."""
        return self.recent_of(None)

    def recent_of(self, segment: str | None) -> RecentMean | None:
        """The mean of the whole pool (None) or of one segment over the last windows, from the newest verdict;
        None where there is none. It has an interval of its own."""
        means = self.verdict.recent if self.verdict else ()
        return next((mean for mean in means if mean.segment == segment), None)

    @property
    def bought(self) -> int:
        """The labels paid for in the evaluation that the verdict rests on; 0 before the window is judged.
        Labels that were there before do not count."""
        return 0 if self.verdict is None else self.verdict.rests_on.bought

    @property
    def asked(self) -> int:
        """Labels asked for since the verdict: a follow-up that people still work on."""
        n_judged = self.verdict.rests_on.follow_ups + 1 if self.verdict else 0
        return sum([o.labels for o in self.openings if o.evaluation][n_judged:])

    @property
    def reissued(self) -> int:
        """How often the window was judged again after its first verdict; 0 before it is judged. Each time new
        labels, or labels that changed, were the reason."""
        return 0 if self.verdict is None else self.verdict.reissue

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals measured on the window's predictions before anybody labelled anything; none where it
        was not opened. Each compares a column or score with earlier windows."""
        return self.openings[0].signals if self.openings else ()

    @property
    def expected(self) -> float | None:
        """The value of the measure that the probabilities of the predictions let expect, before any label;
        None where that is not known. It is the mean over the window's items, by the calibrated probabilities.
        """
        return next((o.profile.expected for o in self.openings if o.profile is not None), None)

    @property
    def raised(self) -> tuple[Signal, ...]:
        """Those signals of the window that were raised, in order."""
        return tuple(signal for signal in self.signals if signal.raised)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorHistory:
    """A monitor with all its windows in order of time: what it measures, its error rate and test, every
    verdict in the order given, and changes of its spec, its mutes, and what people did about incidents."""

    monitor: str
    measure: str
    error_rate: float
    horizon: int                      # windows that the error rate is about
    test: Test                        # the rule that calls a breach
    rows: tuple[HistoryRow, ...]
    amendments: tuple[Amendment, ...] = ()
    mutes: tuple[Mute, ...] = ()
    responses: tuple[IncidentResponse, ...] = ()       # what people did about incidents, in order
    verdicts: tuple[WindowVerdict, ...] = ()   # all of them, in the order they were given
    judges: tuple[JudgeChange, ...] = ()       # how judges changed in the newest judged window
    ownership: Ownership = NOBODYS

    @property
    def bought(self) -> int:
        """The labels paid for in the evaluations that verdicts rest on, summed over all windows. Evaluations
        that are still open are not in it."""
        return sum(row.bought for row in self.rows)

    @property
    def without_data(self) -> tuple[HistoryRow, ...]:
        """The newest windows, as far as all of them have no predictions; none where data comes. In order, so
        the first of them is when predictions stopped."""
        last_runs = runs_without_data(self.rows)[-1:]
        return tuple(last_runs[0]) if last_runs and last_runs[0][0].has_no_data else ()

    def expectation_of(self, row: HistoryRow) -> Expectation | None:
        """What the probabilities expect of a window, with their record in earlier windows of the model. None
        where the window's predictions came without probabilities."""
        if row.expected is None:
            return None
        before = [
            (r.expected, r.overall.drawn) for r in self.rows
            if r.window < row.window and r.model_version == row.model_version and r.overall is not None
        ]
        pairs = [(value, drawn) for value, drawn in before if value is not None and drawn is not None]
        return expectation(row.expected, pairs[-MOST_WINDOWS_BACK:])

    def to_json(self) -> HistoryJson:
        """The object that `assay history --json` prints: the monitor with its promise of few false breaches,
        and one entry for each window. docs/reference/json.md lists the fields."""
        return {
            "monitor": self.monitor,
            "measure": self.measure,
            "error_rate": self.error_rate,
            "horizon": self.horizon,
            "test": self.test,
            "labels": self.bought,
            "no_data_since": next((row.window for row in self.without_data), None),
            "amendments": [_amendment_json(edit) for edit in self.amendments],
            "responses": printed(self.responses),
            "mutes": [
                {
                    "at": mute.at.isoformat(), "reason": mute.reason,
                    "until": None if mute.until is None else mute.until.isoformat(),
                }
                for mute in self.mutes
            ],
            "judges": printed(self.judges),
            "windows": [window_json(row, self.expectation_of(row)) for row in self.rows],
            **ownership_json(self.ownership),
        }


def row_by_question(row: HistoryRow) -> list[HistoryRow]:
    """A window as each of several questions has it; the window itself where one is asked, or none judged.
    Each has the verdict of its question and all else of the window."""
    if row.verdict is None:
        return [row]
    return [replace(row, verdict=verdict) for verdict in verdict_by_question(row.verdict)]


def history_by_question(history: MonitorHistory) -> list[MonitorHistory]:
    """The windows as each of several questions has them; the history itself where one is asked. One history
    for each question, in the order of the newest verdict."""
    newest = next((row.verdict for row in reversed(history.rows) if row.verdict is not None), None)
    if newest is None or newest.overall.question is None:
        return [history]

    def parts_of_question(verdict: WindowVerdict, question: str | None) -> list[WindowVerdict]:
        return [part for part in verdict_by_question(verdict) if part.overall.question == question]

    return [
        replace(
            history, measure=part.measure,
            rows=tuple(
                replace(row, verdict=next(iter(parts_of_question(row.verdict, part.overall.question)), None))
                if row.verdict else row for row in history.rows
            ),
            verdicts=tuple(
                v for verdict in history.verdicts for v in parts_of_question(verdict, part.overall.question)
            ),
        )
        for part in verdict_by_question(newest)
    ]


def place_name(place: PlaceVerdict) -> str:
    """`region=north`; of several questions `Mean of tone`, `Mean of tone, region=north`; nothing of the whole
    pool where one is asked. The name that tables and messages use of it."""
    measure = "" if place.measure is None else wording.measure_name(place.measure)
    return ", ".join(filter(None, (measure, own_segment(place))))


def runs_without_data(rows: Sequence[HistoryRow]) -> list[list[HistoryRow]]:
    """The rows in order, those without data that follow each other together; each other one alone. So a table
    can show each run in one line."""
    runs: list[list[HistoryRow]] = []
    for row in rows:
        if row.has_no_data and runs and runs[-1][-1].state == row.state:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


def consequence_of(amendment: Amendment) -> str:
    """One sentence on what a new version of the spec does to the evidence: it goes on, begins anew for some
    limits, or all begins anew with a new model."""
    if amendment.new_model:
        return f"A new model: reference ({amendment.reference}), evidence and label model begin anew."
    if amendment.anew:
        return f"The evidence begins anew for: {', '.join(amendment.anew)}."
    return "The evidence goes on."


def held_against(place: PlaceVerdict) -> list[tuple[WatchedLimit, float]]:
    """The limits of a place, each with the log evidence against it."""
    return list(zip(place.limits, place.evidence, strict=True))


def window_json(row: HistoryRow, expected: Expectation | None = None) -> WindowJson:
    """A window, as a history has it; expected: what its probabilities say, with their record. One entry of
    `assay history --json`; what is not known is null."""
    verdict = row.verdict
    return {
        "window": row.window,
        "state": row.state,
        "verdict": row.overall.verdict if row.overall else None,
        "wrong": _wrong_json(row.wrong),
        "version": row.version,
        "model_version": row.model_version,
        **_place_json(row.overall),
        "interval": verdict.interval if verdict else None,
        "bought": row.bought,
        "asked": row.asked,
        "pool": verdict.pool if verdict else None,
        "labels_to_decide": verdict.labels_to_decide if verdict else None,
        "recent": printed(row.recent),
        "expected": printed(expected),
        "why": row.openings[0].why if row.openings else None,
        "sizing": printed(row.openings[0].sizing) if row.openings else None,
        "outcomes": row.openings[0].outcomes if row.openings else None,
        "contradicted": list(row.openings[0].contradicted) if row.openings else [],
        "signals": printed(row.signals),
        "replaced": row.replaced,
        "reissued": row.reissued,
        "evaluations": sorted({o.evaluation for o in row.openings if o.evaluation}),
        "segments": [
            {"segment": place.segment, "verdict": place.verdict, **_place_json(place),
             "recent": printed(row.recent_of(place.segment))} for place in row.segments
        ],
    }


def _wrong_json(wrong: WindowState | None) -> WrongJson | None:
    if wrong is None:
        return None
    return {"state": wrong.state, "why": wrong.why, "found": wrong.at.isoformat()}


def _amendment_json(edit: Amendment) -> AmendmentJson:
    return {
        "version": edit.number, "first": edit.first, "at": edit.at.isoformat(), "reason": edit.reason,
        "changed": list(edit.changed), "evidence_begins_anew": list(edit.anew), "new_model": edit.new_model,
        "reference": edit.reference,
    }


def _place_json(place: PlaceVerdict | None) -> PlaceJson:
    if place is None:
        return {
            "value": None, "lower": None, "upper": None, "confidence": None, "labels": 0, "limits": [],
            "evidence_needed": None, "drawn": None, "tracked": None, "question": None, "measure": None,
        }
    measured = place.measured
    return {
        "value": measured.value, "lower": measured.lower, "upper": measured.upper,
        "confidence": measured.confidence, "labels": measured.labels,
        "limits": [
            {"name": limit.name, "side": limit.side, "value": limit.value, "evidence": evidence}
            for limit, evidence in held_against(place)
        ],
        "evidence_needed": place.needed,
        "drawn": printed(place.drawn),
        "tracked": printed(place.tracked),
        "question": place.question,
        "measure": place.measure,
    }
