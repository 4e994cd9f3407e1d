"""Muting a monitor's alerts until a date, and what people are told when the mute ends.

An alert that is raised during a mute is kept in the ledger, marked as muted, and never delivered. When the
mute ends, one summary says what was muted, and what of it still stands is told as if it were new. What stands
is a matter of incidents and not of single alerts: a breach that was muted in one window and goes on in the
next one stands.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from assay.evalcore.errors import BadInput, plural
from assay.flows.monitor.run import MonitorRun, read_run
from assay.flows.monitor.states import STATE_KINDS
from assay.flows.monitor.telling import alert_of
from assay.flows.monitor.unusual import unusual_alerts
from assay.flows.monitor.versions import open_monitor
from assay.tasks.alerts.alert import Alert, owned_alert
from assay.tasks.alerts.outbox import MutedAlert, raise_alert, read_muted, summary_alert
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import (
    Mute,
    create_mute,
    ended_mutes,
    last_certain,
    mute_at,
    read_mutes,
    standing_state,
)
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.history.words import news_of_place


def mute(store: Store, name: str, *, until: datetime, reason: str, moment: datetime) -> Mute:
    """Mute a monitor's alerts, or change until when. Raises UnknownMonitor, BadInput for a past date."""
    if until <= moment:
        raise BadInput(f"{until:%Y-%m-%d %H:%M} UTC is past; name a moment to come")
    if not reason.strip():
        raise BadInput("a mute needs a reason: whoever looks for the alerts will want to know why")
    return _change(store, name, until, reason, moment)


def unmute(store: Store, name: str, *, moment: datetime, reason: str = "") -> bool:
    """End a mute; False if there is none. What was muted is summed up. Raises UnknownMonitor. People get one
    message that lists it, with the breaches that still stand."""
    open_monitor(store, name)
    ledger = Ledger(store, layout.monitor_ledger(name))
    ended = mute_at(retried(read_mutes)(ledger), moment) is not None
    if ended:
        _change(store, name, None, reason, moment)
    end_mutes(read_run(store, name, moment))
    return ended


def end_mutes(run: MonitorRun) -> None:
    """Sum up each mute that has ended and not been summed up: what it muted and still stands is raised as if
    it were new, with one summary. Nothing happens while a mute is in force."""
    mutes = retried(read_mutes)(run.ledger)
    if not mutes or mute_at(mutes, run.now) is not None:
        return
    muted = retried(read_muted)(run.ledger)
    for ended in ended_mutes(mutes, run.now):
        alerts = [row for row in muted if row.mute == ended.number]
        if alerts:
            _sum_up(run, ended, alerts)


def _sum_up(run: MonitorRun, ended: Mute, muted: Sequence[MutedAlert]) -> None:
    choices, standing = run.alerts, _still_standing(run, [row.alert for row in muted])
    for alert in standing:
        raise_alert(run.ledger, owned_alert(alert, run.spec.ownership), run.now)
    if "muted" in choices.tell:
        severity = choices.severity.of_kind("muted")
        lines = [*(alert.subject for alert in standing), *_still_without(run, [row.alert for row in muted])]
        summary = summary_alert(run.spec.name, ended, muted, lines, severity)
        raise_alert(run.ledger, owned_alert(summary, run.spec.ownership), run.now)


def _still_standing(run: MonitorRun, muted: Sequence[Alert]) -> list[Alert]:
    """The alerts of incidents that were muted and have not ended.

    Where its own key was muted an alert is raised under another one. One that is told anyway, of a later
    window, is among them under its own key: raising it again changes nothing.
    """
    incidents = {(alert.kind, alert.group) for alert in muted if alert.kind != "recovery"}
    keys = {alert.key for alert in muted}
    alerts = [*(alert for alert, _ in standing_breaches(run)), *unusual_alerts(run)]
    return [
        replace(alert, key=f"{alert.key}-unmuted") if alert.key in keys else alert
        for alert in alerts if (alert.kind, alert.group) in incidents
    ]


def standing_breaches(run: MonitorRun) -> Iterator[tuple[Alert, str]]:
    """The alerts of the breaches that stand, of the newest window that each was called or confirmed in, each
    with its first window. None stands before the first verdict; segments come after the whole window."""
    newest = run.verdicts[-1] if run.verdicts else None
    for segment in [] if newest is None else [place.segment for place in (newest.overall, *newest.segments)]:
        certain = last_certain(run.verdicts, segment)
        if certain is not None and certain.verdict == "breach":
            verdict = next(v for v in reversed(run.verdicts) if certain in (v.overall, *v.segments))
            news = news_of_place(verdict, certain, run.verdicts, run.signals(verdict.window))
            yield alert_of(run.spec, news, "breach"), news.breached[0]


def _still_without(run: MonitorRun, muted: Sequence[Alert]) -> Iterator[str]:
    """Windows that still have no verdict, of the kinds that were muted: they are told once a day."""
    for state, kind in STATE_KINDS.items():
        windows = [
            name for name, states in sorted(run.states.items())
            if (standing := standing_state(states)) is not None and standing.state == state
        ]
        if windows and any(alert.kind == kind for alert in muted):
            listed = ", ".join(windows[:3]) + (", ..." if len(windows) > 3 else "")
            yield f"{plural(len(windows), 'window')} {state}: {listed}"


def _change(store: Store, name: str, until: datetime | None, reason: str, moment: datetime) -> Mute:
    open_monitor(store, name)
    ledger = Ledger(store, layout.monitor_ledger(name))
    before = retried(read_mutes)(ledger)
    if before and (before[-1].until, before[-1].reason) == (until, reason.strip()):
        return before[-1]   # said twice, or a command that was cut off and is run again
    new_mute = Mute(number=len(before) + 1, until=until, reason=reason.strip(), at=moment)
    winner = _put(ledger, new_mute)
    if (winner.until, winner.reason) != (new_mute.until, new_mute.reason):
        raise BadInput(f"{name}: somebody else muted or unmuted it at the same moment; look, and try again")
    return winner


@effect("mute-monitor")
def _put(ledger: Ledger, change: Mute) -> Mute:
    return create_mute(ledger, change)
