"""Alerts of what lasts: windows without a verdict, and a month whose labels are spent.

Their keys hold the day, so each is told once a day for as long as it lasts. A window that joins the others
later on the same day is told at once: the key then holds a digest of the windows that joined on that day.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.tasks.alerts.alert import Alert
from assay.tasks.ledger import layout
from assay.tasks.report import wording
from assay.tasks.spec.alerts import Kind, Severity

DAILY: tuple[Kind, ...] = ("failure", "missing", "stale", "spent", "unlabelled", "empty", "small")
"""Kinds whose keys hold the day: the cooldown does not apply to them."""

_MOST_LISTED = 20
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
    "unlabelled": "Raise monitor.monthly_labels (`assay amend SPEC`), and later windows are labelled.",
    "empty": "If that is as it should be, list such days under monitor.without (`assay amend SPEC`).",
    "small": "If such windows should be judged, lower monitor.least_items (`assay amend SPEC`).",
    "failure": "Nothing is lost. Every run tries again, and succeeds once the cause is removed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingState:
    """A window that has no verdict, and why."""

    window: str
    why: str
    since: datetime
    until: datetime | None    # how long it is looked at again; None: for as long as it lasts


def daily_alert(
    monitor: str, kind: Kind, severity: Severity, windows: Sequence[StandingState],
    begun_today: Collection[str], now: datetime,
) -> Alert:
    """What is told on one day of the windows in one kind of state; at least one.

    begun_today: those in which it began on this day, also if it has ended since.
    """
    key = f"{kind}-{now:%Y%m%d}"
    if begun_today:
        key += f"-{layout.digest(' '.join(sorted(begun_today)).encode())[:12]}"
    names = [one.window for one in windows]
    if len(names) == 1:
        subject = f"{monitor}: window {names[0]} {_WHAT[kind][0]}"
    else:
        listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        subject = f"{monitor}: {len(names)} windows {_WHAT[kind][1]}: {listed}"
    lines = [f"{one.window}: {one.why} (since {_time(one.since)})" for one in windows[:_MOST_LISTED]]
    if len(windows) > _MOST_LISTED:
        lines.append(f"... and {len(windows) - _MOST_LISTED} more: assay history {monitor}")
    lines += [_REMEDY[kind], _how_long(windows)]
    return Alert(
        key=key, kind=kind, severity=severity, subject=subject, body="\n".join(lines), group=kind,
    )


def ended_alert(
    monitor: str, kind: Kind, severity: Severity, window: str, number: int, since: datetime, until: datetime
) -> Alert:
    """What is told once when no window is left in one kind of state: the recovery that ends its alerts.

    window, number: the last window that left the state, and the record that says so
    """
    said = f"window {window} {_ENDED[kind]}"
    return Alert(
        key=f"{kind}-ended-{window}-{number:04d}", kind="recovery", severity=severity, group=kind,
        subject=f"{monitor}: {said}",
        body=f"{said[0].upper()}{said[1:]}. What was told as {kind} lasted from {_time(since)} to "
             f"{_time(until)}, and no other window is in that state. All windows: assay history {monitor}",
    )


def spent_alert(monitor: str, month: str, labels: int, severity: Severity, now: datetime) -> Alert:
    """What is told on one day while the month's labels are spent."""
    return Alert(
        key=f"spent-{now:%Y%m%d}", kind="spent", severity=severity, group="spent",
        subject=f"{monitor}: the labels of {month} are spent",
        body=(
            f"{wording.plural(labels, 'label', 'labels')} a month may be bought, and all of {month} are "
            "bought or promised to open evaluations. Windows get no labels, and no verdict, until the month "
            "ends. To buy more, raise monitor.monthly_labels (`assay amend SPEC`). This is said once a day."
        ),
    )


def _how_long(windows: Sequence[StandingState]) -> str:
    until = [one.until for one in windows if one.until is not None]
    return f"This is said once a day until {_time(max(until))}." if until else "This is said once a day."


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
