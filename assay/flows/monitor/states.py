"""What keeps windows from a verdict: written into the ledger when it changes, and told once a day.

A state is written when it begins and when it ends, so a monitor that runs every minute writes no more than
one that runs daily. People are told of it at once, and then once a day as long as it lasts and can be mended:
predictions that come later than `late_days` after a window are not looked for any more. When no window is
left in a kind of state, a recovery ends what was told of it, once.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from assay.flows.monitor.month import left_this_month, month_of
from assay.flows.monitor.run import Found, MonitorRun
from assay.tasks.alerts.alert import Alert, StandingState, daily_alert, ended_alert, owned_alert, spent_alert
from assay.tasks.alerts.outbox import raise_alert
from assay.tasks.effects import effect
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import WindowState, create_state, current, standing_state
from assay.tasks.ledger.record import Ledger
from assay.tasks.spec.alerts import Kind

STATE_KINDS: dict[str, Kind] = {
    "missing": "missing", "empty": "empty", "small": "small", "unlabelled": "unlabelled", "stale": "stale",
    "failed": "failure",
}
_TELL_END_FOR = timedelta(days=7)   # a crash may come between a state's end and its alert
_LAST = ("failed", "stale")   # for as long as they last; the others can be mended for `late_days`


def write_states(run: MonitorRun, windows: Iterable[str]) -> None:
    """Write what changed in the state of windows that were just looked at."""
    for window in windows:
        news = run.found.get(window) or _of_openings(run, window)
        states = run.states.get(window, [])
        before = standing_state(states)
        if news is None and before is None:
            continue
        if news is not None and before is not None and (news.state, news.why) == (before.state, before.why):
            continue
        changed = WindowState(
            window=window, number=len(states) + 1, at=run.now, state=news.state if news else "cleared",
            why=news.why if news else "", files=news.files if news else "",
        )
        run.states[window] = [*states, _put_state(run.ledger, changed)]
        run.keys.add(layout.window_state(run.ledger.name, window, changed.number))


def tell_states(run: MonitorRun) -> None:
    """Raise the alerts of the day for every kind of state that people want to hear of. One alert a kind and
    day names all windows that came into that state since midnight, UTC."""
    alerts = run.alerts
    for state, kind in STATE_KINDS.items():
        if kind not in alerts.tell:
            continue
        begun_today = {
            window for window, states in run.states.items()
            if any(change.state == state and change.at.date() == run.now.date() for change in states)
        }
        entries = [
            StandingState(
                window=window, since=_since(run.states[window]),
                why=standing.why + (run.answered.get(window, "") if state == "stale" else ""),
                until=None if state in _LAST else _mendable_until(run, window),
            )
            for window in sorted(run.states)
            if (standing := standing_state(run.states[window])) is not None and standing.state == state
            and (window in begun_today or state in _LAST or run.now <= _mendable_until(run, window))
        ]
        severity = alerts.severity.of_kind(kind)
        if entries:
            _raise(run, daily_alert(run.spec.name, kind, severity, entries, begun_today, run.now))
        elif "recovery" in alerts.tell and (ended := _last_end(run, state)) is not None:
            since, end = ended
            _raise(run, ended_alert(run.spec.name, kind, severity, end.window, end.number, since, end.at))
    if "spent" in alerts.tell and run.openings and left_this_month(run) < 1:
        severity = alerts.severity.of_kind("spent")
        labels = run.spec.monitor.monthly_labels
        _raise(run, spent_alert(run.spec.name, month_of(run), labels, severity, run.now))


def _raise(run: MonitorRun, alert: Alert) -> None:
    raise_alert(run.ledger, owned_alert(alert, run.spec.ownership), run.now)


def _last_end(run: MonitorRun, state: str) -> tuple[datetime, WindowState] | None:
    """Since when a window was in a state that it left last of all, and the record that says so."""
    ends = [
        (_since(states[:i]), after) for states in run.states.values()
        for i, after in enumerate(states) if i and states[i - 1].state == state != after.state
        and run.due_at(run.window(after.window)) <= run.now     # else it was withdrawn
    ]
    newest = max(ends, key=lambda end: (end[1].at, end[1].window), default=None)
    return newest if newest is not None and run.now - newest[1].at <= _TELL_END_FOR else None


def _of_openings(run: MonitorRun, window: str) -> Found | None:
    """What the openings of a window alone say of its state."""
    openings = current(run.openings.get(window, []))
    if openings and not any(opening.evaluation for opening in openings):
        if openings[-1].why == "catching up":
            return Found(state="unlabelled", why="opened late: newer windows come first")
        if openings[-1].why == "spread":
            return Found(
                state="unlabelled", why=f"passed over: the labels of {openings[-1].month} are too few for "
                "every window, and are spread over the month"
            )
        return Found(state="unlabelled", why=f"the labels of {openings[-1].month} were spent")
    allowed = timedelta(days=run.spec.monitor.stale_days)
    waiting = [opening for opening in openings if opening.evaluation in run.done.waiting]
    if waiting and run.now - waiting[-1].opened > allowed:
        since = f"{waiting[-1].opened:%Y-%m-%d %H:%M} UTC"
        return Found(state="stale", why=f"opened on {since} and not finished yet")
    return None


def _since(states: list[WindowState]) -> datetime:
    """Since when the last state has lasted, whatever its reason."""
    since = states[-1].at
    for change in reversed(states):
        if change.state != states[-1].state:
            break
        since = change.at
    return since


def _mendable_until(run: MonitorRun, window: str) -> datetime:
    return run.late_from(run.window(window))


@effect("write-state")
def _put_state(ledger: Ledger, state: WindowState) -> WindowState:
    return create_state(ledger, state)
