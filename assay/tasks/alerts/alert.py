"""One thing that people must be told, and what it says: what moved, from what to what, and where to look.

An alert holds no time but those in the ledger, and nothing that depends on the machine that raised it, so a
process that raises it a second time, after a crash or at the same moment, writes the same bytes under the
same key.

The alerts of evaluations and of monitors share their words and numbers with reports: intervals are rounded
outwards, so a message never looks surer than its evidence and never contradicts the verdict it tells of.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.monitoring.signals import Signal
from assay.tasks.alerts.presentable import single_lined
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import Ownership
from assay.tasks.report import wording
from assay.tasks.report.history import words
from assay.tasks.report.history.words import PlaceNews
from assay.tasks.spec.alerts import KINDS, SEVERITIES, Kind, Severity

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """What is to be told, once, to every channel that listens.

    Raises ValueError for a key that is not 1 to 100 letters, digits, dashes and underscores, or a severity or
    kind that does not exist: the caller's mistake, not a user's.
    """

    key: str                      # names the alert within its owner, such as `round-0004-breach`
    severity: Severity
    kind: Kind
    subject: str                  # one line
    body: str                     # what moved, from what to what, on how many labels; plain text
    links: tuple[str, ...] = ()
    group: str = ""               # what it is about: alerts of one owner about different things never hold
                                  # each other back (a measure, a segment); "" where there is only one thing

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(f"{self.key!r} cannot name an alert")
        if self.severity not in SEVERITIES or self.kind not in KINDS:
            raise ValueError(f"an alert cannot be {self.severity!r} or {self.kind!r}")


LATER_KINDS: tuple[Kind, ...] = ("collapse", "signal", "silent")   # that version 1.0.0 does not know


def as_stored(alert: Alert) -> Alert:
    """The alert as a ledger holds it: one of a kind that version 1.0.0 refuses is `missing`, of its group.

    So two versions can take turns on one ledger. Of such an alert the group is its kind.
    """
    return replace(alert, kind="missing") if alert.kind in LATER_KINDS else alert


def as_raised(stored: Alert) -> Alert:
    """The alert that a ledger holds, of its own kind."""
    later = [kind for kind in LATER_KINDS if stored.kind == "missing" and stored.group == kind]
    return replace(stored, kind=later[0]) if later else stored


def rank(severity: Severity) -> int:
    """The place of a severity among the three, for comparing them: 0 for info, 1 for warning, 2 for critical.
    A channel is told of alerts of its own rank and above."""
    return SEVERITIES.index(severity)


_TO_DO: dict[Kind, str] = {
    "breach": (
        "What to do: look at the labelled items that were predicted wrongly. If labels are wrong, correct "
        "them on the desk: the window is then judged again. If the model is worse, go back to the last good "
        "version. A recovery is told by itself."
    ),
    "recovery": "What to do: nothing. The breach is over.",
}
_NOBODY_ASKED = (
    "What to do: see why every prediction is of one class: the model, its features or its threshold. Nobody "
    "was asked for labels, because none could change this. Go back to the last good version, or mend the "
    "predictions: the window is then judged again. A recovery is told by itself."
)
_LIMIT_MOVED = (
    "What to do: see that this is what you want. Nothing was mended: the breach is closed because its limit "
    "was changed, and by the limit of before this window would not be ok."
)


def owned_alert(alert: Alert, ownership: Ownership) -> Alert:
    """The alert with a last line that says whose it is, where the spec does. Otherwise the alert itself."""
    whose = single_lined(ownership).in_words
    return replace(alert, body=f"{alert.body}\nOwner: {whose}.") if whose else alert


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureReading:
    """A measure at one moment: its estimate, and in words when that was, such as `round 4` or `the window of
    2026-11-20`."""

    when: str           # "round 4", "the window of 2026-11-20"
    row: MeasureEstimate


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictNews:
    """A verdict that changed, as an alert tells of it: the reading of now and the one before, the limits
    that the measure must meet, and further lines for people."""

    now: MeasureReading
    before: MeasureReading | None = None   # the reading it is compared with; None for a first one
    minimum: float | None                  # the limits that the measure must meet
    maximum: float | None
    notes: Sequence[str] = ()              # further lines: the pool, why it stopped, what would decide


def verdict_alert(
    *, key: str, kind: Kind, severity: Severity, about: str, news: VerdictNews, links: Sequence[str] = ()
) -> Alert:
    """The alert of a verdict that changed; about: the evaluation, as people know it."""
    about, news = single_lined(about), single_lined(news)
    allowed = wording.allowed(news.minimum, news.maximum) or "not limited"
    row = news.now.row
    name = _name(row)
    what = {
        "breach": f"{name} in breach: {_short(row)}, must be {allowed}",
        "recovery": f"{name} recovered: {_short(row)}, must be {allowed}",
        "inconclusive": f"{name} inconclusive: {_short(row)}, must be {allowed}",
        "failure": f"{name} could not be judged",
    }[kind]
    meaning = {
        "breach": "The whole interval is outside this range.",
        "recovery": "The whole interval is within this range again.",
        "inconclusive": "The interval is partly outside this range.",
        "failure": "",
    }[kind]
    lines = _moved(news.now, news.before, f" It must be {allowed}. {meaning}".rstrip())
    return Alert(
        key=key, kind=kind, severity=severity, subject=f"{about}: {what}",
        body="\n".join([*lines, *news.notes]), links=tuple(links),
    )


def window_alert(
    *,
    key: str,
    kind: Kind,
    severity: Severity,
    monitor: str,
    news: PlaceNews,
    links: Sequence[str] = (),
    group: str = "",
) -> Alert:
    """The alert of a breach in a window, or of the recovery from one."""
    news = single_lined(news)
    lines = [words.what_moved(news), words.how_sure(news)]
    if news.model:
        lines[0] = f"Model {news.model}. {lines[0]}"
    limits = words.limits_in_words(news.place)
    if limits:
        lines.append(f"It must be {limits}.")
    if len(news.breached) > 1:
        windows = wording.plural(len(news.breached), "window")
        lines.append(f"The breach {'was' if news.recovers else 'is'} in {windows}, from {news.breached[0]}.")
    lines += [sentence for sentence in (words.what_fell(news), words.worst_segment(news)) if sentence]
    if kind == "breach" and news.promise:
        lines.append(news.promise)
    measured = news.place.measured
    unasked = kind == "breach" and measured.exact and not measured.labels
    if news.labelled is not None and not unasked:
        lines.append(f"The last labels came on {_time(news.labelled)}.")
    to_do = _NOBODY_ASKED if unasked else _TO_DO[kind]
    lines += ["", _LIMIT_MOVED if news.moved_limit is not None else to_do]
    evaluation = news.verdict.rests_on.evaluation
    lines.append(f"Labels and answers: assay report {evaluation}. All windows: assay history {monitor}")
    return Alert(
        key=key, kind=kind, severity=severity, subject=f"{monitor}: {words.alert_headline(news)}",
        body="\n".join(lines), links=tuple(links), group=group,
    )


def _moved(reading: MeasureReading, before: MeasureReading | None, then: str = "") -> list[str]:
    """What it is, what it was, and on how many labels that rests."""
    lines = [f"{_name(reading.row)} is {_reading(reading)}.{then}"]
    if before is not None:
        lines.append(f"Before, it was {_reading(before)}.")
    return [*lines, f"It rests on {wording.plural(reading.row.labels, 'label', 'labels')}."]


def _name(row: MeasureEstimate) -> str:
    of = f" of {row.of}" if row.of else ""
    return wording.measure_name(row.measure) + of + (f" in {row.segment}" if row.segment else "")


def _short(row: MeasureEstimate) -> str:
    if row.value is None:
        return "undefined"
    if row.interval == "exact":
        return f"{wording.value_or_reason(row)} exactly"
    return wording.value_or_reason(row) + (f" ({wording.interval(row)})" if wording.has_interval(row) else "")


def _reading(reading: MeasureReading) -> str:
    row = reading.row
    value = wording.value_or_reason(row)
    if row.interval == "exact":
        return f"{value} exactly ({reading.when})"
    if row.lower is None or row.upper is None:
        return f"{value}, with no interval ({reading.when})"
    interval = f"{wording.percent(row.confidence)} interval {wording.interval(row)}"
    return f"{value}, {interval} ({row.interval}; {reading.when})"


DAILY: tuple[Kind, ...] = ("failure", "missing", "stale", "spent", "unlabelled", "empty", "small", "silent")
"""Kinds whose keys hold the day: the cooldown does not apply to them."""

_WINDOWS_LISTED = 20   # windows of a monitor that a message lists
_WHAT: dict[str, tuple[str, str]] = {    # of one window, and of several
    "missing": ("is missing", "are missing"),
    "stale": ("waits for people", "wait for people"),
    "unlabelled": ("got no labels", "got no labels"),
    "empty": ("is empty", "are empty"),
    "small": ("is too small", "are too small"),
    "failure": ("cannot be worked on", "cannot be worked on"),
}
_ENDED: dict[str, str] = {
    "missing": "has come",
    "stale": "no longer waits for people",
    "unlabelled": "is labelled after all",
    "empty": "is no longer empty",
    "small": "is no longer too small",
    "failure": "can be worked on again",
}
_REMEDY: dict[str, str] = {
    "missing": "Put the file in place, or list the days without one under monitor.without "
               "(`assay amend SPEC`).",
    "stale": "See the desk's project, or close the round: assay advance EVALUATION --close-round.",
    "unlabelled": "They are labelled later if the month, or the next one, has labels to spare; to have more, "
                  "raise monitor.monthly_labels (`assay amend SPEC`).",
    "empty": "If that is as it should be, list such days under monitor.without (`assay amend SPEC`).",
    "small": "If such windows should be judged, lower monitor.least_items (`assay amend SPEC`).",
    "failure": "Nothing is lost. Every run tries again, and succeeds once the cause is removed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingState:
    """A window that has no verdict, as an alert tells of it: why, since when, and until when it is looked at
    again (None: for as long as that lasts).

    Alerts of what lasts: windows without a verdict, and a month whose labels are spent.

    Their keys hold the day, so each is told once a day for as long as it lasts. A window that joins the
    others later on the same day is told at once: the key then holds a digest of the windows that joined on
    that day.
    """

    window: str
    why: str
    since: datetime
    until: datetime | None    # how long it is looked at again; None: for as long as it lasts


def daily_alert(
    monitor: str, kind: Kind, severity: Severity, windows: Sequence[StandingState],
    begun_today: Collection[str], moment: datetime,
) -> Alert:
    """What is told on one day of the windows in one kind of state; at least one.

    begun_today: those in which it began on this day, also if it has ended since.
    """
    windows = single_lined(windows)
    key = f"{kind}-{moment:%Y%m%d}"
    if begun_today:
        key += f"-{layout.digest(' '.join(sorted(begun_today)).encode())[:12]}"
    names = [state.window for state in windows]
    if len(names) == 1:
        subject = f"{monitor}: window {names[0]} {_WHAT[kind][0]}"
    else:
        listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        subject = f"{monitor}: {len(names)} windows {_WHAT[kind][1]}: {listed}"
    lines = [
        f"{state.window}: {state.why} (since {_time(state.since)})" for state in windows[:_WINDOWS_LISTED]
    ]
    if len(windows) > _WINDOWS_LISTED:
        lines.append(f"... and {len(windows) - _WINDOWS_LISTED} more: assay history {monitor}")
    in_time = [state for state in windows if state.until is None or moment <= state.until]
    late = [state.window for state in windows if state not in in_time]
    lines += [_REMEDY[kind]] if in_time else []
    lines += [_backfill(monitor, kind, late)] if late else []
    lines += [_how_long(in_time)] if in_time else []
    return Alert(
        key=key, kind=kind, severity=severity, subject=subject, body="\n".join(lines), group=kind,
    )


def _backfill(monitor: str, kind: Kind, late: Sequence[str]) -> str:
    """What to do about windows that runs no longer look at by themselves."""
    span = late[0] if len(late) == 1 else f"{late[0]} to {late[-1]}"
    advice = "Put the file in place, then run" if kind in ("missing", "empty", "small") else "Run"
    return (
        f"Runs no longer look at {span} (monitor.late_days). {advice} `assay backfill {monitor} --from "
        f"{late[0]} --to {late[-1]}`. This is said once."
    )


def ended_alert(
    monitor: str, kind: Kind, severity: Severity, window: str, number: int, since: datetime, until: datetime
) -> Alert:
    """What is told once when no window is left in one kind of state: the recovery that ends its alerts.

    window, number: the last window that left the state, and the record that says so
    """
    sentence = f"window {window} {_ENDED[kind]}"
    return Alert(
        key=f"{kind}-ended-{window}-{number:04d}", kind="recovery", severity=severity, group=kind,
        subject=f"{monitor}: {sentence}",
        body=f"{sentence[0].upper()}{sentence[1:]}. What was told as {kind} lasted from {_time(since)} to "
             f"{_time(until)}, and no other window is in that state. All windows: assay history {monitor}",
    )


_UNUSUAL: dict[str, str] = {
    "collapse": "What to do: see whether the model, its features or its threshold broke. While it lasts "
                "every window is looked at. If it is as it should be: assay acknowledge {monitor} collapse",
    "signal": "What to do: see whether the source of the predictions changed, or the job that writes them. "
              "No verdict follows from a signal: labels show whether the model is worse. It stays raised "
              "until the windows are as before. If this is how the traffic is now: assay acknowledge "
              "{monitor} signal, and these windows count as ordinary; if the model is another one: assay "
              "amend SPEC with another model_version.",
}


def unusual_alert(
    monitor: str, kind: Kind, severity: Severity, since: str, newest: str, raised: Sequence[Signal]
) -> Alert:
    """What is told when predictions become unusual.

    since    the first window in which they are
    newest   the newest window
    raised   the signals that began with that window, as they are in the newest one; at least one
    """
    names = " ".join(sorted(signal.name for signal in raised))
    texts = [words.signal_in_full(signal) for signal in raised]
    when = f"window {newest}" if since == newest else f"windows {since} to {newest}"
    subject = texts[0]
    if len(texts) > 1:
        subject += f", and {wording.plural(len(texts) - 1, 'more signal')}"
    return Alert(
        key=f"{kind}-{since}" + ("" if kind == "collapse" else f"-{layout.digest(names.encode())[:12]}"),
        kind=kind, severity=severity, group=kind, subject=f"{monitor}: {subject} ({when})",
        body="\n".join([
            f"The predictions of {when} are unusual, before anybody has labelled them:",
            *(f"- {text}" for text in texts), _UNUSUAL[kind].format(monitor=monitor),
            f"All windows: assay history {monitor}",
        ]),
    )


def usual_again_alert(monitor: str, kind: Kind, severity: Severity, window: str) -> Alert:
    """What is told once when nothing of a kind is unusual any more; window: the last window that was. It has
    the group of the alerts that it ends."""
    what = "several classes are predicted again" if kind == "collapse" else "no signal is raised any more"
    return Alert(
        key=f"{kind}-ended-{window}", kind="recovery", severity=severity, group=kind,
        subject=f"{monitor}: {what}",
        body=f"{what[0].upper()}{what[1:]}. The last window that was unusual is {window}. All windows: assay "
             f"history {monitor}",
    )


def spent_alert(monitor: str, month: str, labels: int, severity: Severity, moment: datetime) -> Alert:
    """What is told on one day while the month's labels are spent."""
    return Alert(
        key=f"spent-{moment:%Y%m%d}", kind="spent", severity=severity, group="spent",
        subject=f"{monitor}: the labels of {month} are spent",
        body=(
            f"{wording.plural(labels, 'label', 'labels')} a month may be bought, and all of {month} are "
            "bought or promised to open evaluations. Windows get no labels, and no verdict, until the month "
            "ends; those opened until then are labelled later only where newer windows leave labels to spare "
            "(monitor.catch_up). To buy more, raise monitor.monthly_labels (`assay amend SPEC`). This is "
            "said once a day."
        ),
    )


def silence_alert(
    monitor: str, severity: Severity, last_window: str | None, windows: Sequence[str], since: datetime,
    moment: datetime,
) -> Alert:
    """What is told on one day of a monitor that gives no verdict.

    last_window   the newest window with one, if there is any
    windows       those after it that are due, at least one
    since         when the first of them was due
    """
    days = (moment - since).days
    newest = f"the newest is of window {last_window}" if last_window is not None else "there never was one"
    return Alert(
        key=f"silent-{moment:%Y%m%d}", kind="silent", severity=severity, group="silent",
        subject=f"{monitor}: no verdict for {wording.plural(days, 'day')}",
        body=(
            f"No window got a verdict since {_time(since)}, when {windows[0]} was due; {newest}. "
            f"{wording.plural(len(windows), 'window')} wait for one. How good the model is now is not known. "
            "What to do: see whether the monitor's runs happen, whether predictions come, and whether people "
            f"answer: assay history {monitor}. This is said once a day (monitor.silent_days)."
        ),
    )


def _how_long(windows: Sequence[StandingState]) -> str:
    until = [state.until for state in windows if state.until is not None]
    return f"This is said once a day until {_time(max(until))}." if until else "This is said once a day."


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
