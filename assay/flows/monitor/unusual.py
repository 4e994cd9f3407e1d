"""Telling people that a window's predictions are unusual: signals, and a collapse to one predicted class.

Told once, when it begins, and once when it has ended; in between it stands, and the history and the pages say
so. What stands is what is raised in the newest window. Somebody who acknowledges it says that this is how
things are now: these windows then count as ordinary, and nothing is raised because of it any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from assay.evalcore.monitoring.signals import Signal
from assay.flows.monitor.opening import known_profiles, unusual_signals
from assay.flows.monitor.run import MonitorRun
from assay.tasks.alerts.alert import Alert, owned_alert, unusual_alert, usual_again_alert
from assay.tasks.alerts.outbox import raise_alert
from assay.tasks.ledger.monitors import signals_of
from assay.tasks.spec.alerts import Kind

# what follows from a collapse, and is not told beside it
_FOLLOWS = frozenset({"predictions", "expected", "beyond_limit", "classes", "lost_classes"})
COLLAPSE = "collapse"                        # the name of the signal, and of the kind of alert
_KINDS: tuple[Kind, ...] = ("collapse", "signal")
_TELL_END_FOR = timedelta(days=7)            # a crash may come between a window and its alert


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusualTraffic:
    """Signals of one kind that stand: they are raised in the newest window."""

    kind: Kind
    newest: str                                      # the window
    since: dict[str, str]                            # signal -> the first window of those without a gap
    raised: tuple[Signal, ...]                       # in the newest window

    def windows(self, order: Sequence[str]) -> tuple[str, ...]:
        """The windows in which any of them stands, of those in order of time."""
        first_window = min(self.since.values())
        return tuple(name for name in order if first_window <= name <= self.newest)


def standing_signals(run: MonitorRun) -> list[UnusualTraffic]:
    """What is unusual about the newest window, by kind of alert; nothing where nobody looked at one yet. A
    kind is told once while it lasts, so what was told of the window before is left out."""
    order = windows_with_profile(run)
    if not order:
        return []
    apart, newest = unusual_signals(run.openings, run.responses), order[-1]
    told_already = _FOLLOWS if COLLAPSE in apart[newest] else frozenset()
    traffic = []
    for kind in _KINDS:
        raised = tuple(
            signal for signal in signals_of(run.openings[newest])
            if signal.name in apart[newest] - told_already and (signal.name == COLLAPSE) == (kind == COLLAPSE)
        )
        if raised:
            since = {signal.name: _begun(signal.name, order, apart) for signal in raised}
            traffic.append(UnusualTraffic(kind=kind, newest=newest, since=since, raised=raised))
    return traffic


def windows_with_profile(run: MonitorRun) -> list[str]:
    """The windows of the newest model whose predictions were looked at, in order of time."""
    last_window = max((name for name, openings in run.openings.items() if any(o.profile for o in openings)),
               default=None)
    if last_window is None:
        return []
    return list(known_profiles(run.versions, run.window(last_window), run.openings))


def _begun(signal: str, order: Sequence[str], apart: dict[str, frozenset[str]]) -> str:
    begun = len(order) - 1
    while begun and signal in apart.get(order[begun - 1], frozenset()):
        begun -= 1
    return order[begun]


def tell_signals(run: MonitorRun) -> None:
    """Raise the alerts of what is unusual and of what has ended, each once."""
    alerts, standing = run.alerts, unusual_alerts(run)
    for alert in standing:
        _raise(run, alert)
    for kind in _KINDS:
        if kind not in alerts.tell or "recovery" not in alerts.tell or any(a.kind == kind for a in standing):
            continue
        if (ended := _last_ended(run, kind)) is not None:
            _raise(run, usual_again_alert(run.spec.name, kind, alerts.severity.of_kind(kind), ended))


def unusual_alerts(run: MonitorRun) -> list[Alert]:
    """The alerts of what is unusual about the newest window, as far as people want to hear of it: for each
    kind one for every window in which signals began."""
    new_alerts, alerts = [], run.alerts
    for traffic in standing_signals(run):
        if traffic.kind not in alerts.tell:
            continue
        for since in sorted(set(traffic.since.values())):
            names = {name for name, begun in traffic.since.items() if begun == since}
            new_alerts.append(unusual_alert(
                run.spec.name, traffic.kind, alerts.severity.of_kind(traffic.kind), since, traffic.newest,
                [signal for signal in traffic.raised if signal.name in names],
            ))
    return new_alerts


def _last_ended(run: MonitorRun, kind: Kind) -> str | None:
    """The last window in which something of a kind was raised that no longer is; None for long ago, and where
    the newest window is one."""
    apart, order = unusual_signals(run.openings, run.responses), windows_with_profile(run)
    if order and any((name == COLLAPSE) == (kind == COLLAPSE) for name in apart[order[-1]]):
        return None
    for window in reversed(order):
        if run.now - run.due_at(run.window(window)) > _TELL_END_FOR + timedelta(days=1):
            return None
        if any((name == COLLAPSE) == (kind == COLLAPSE) for name in apart[window]):
            return window
    return None


def _raise(run: MonitorRun, alert: Alert) -> None:
    raise_alert(run.ledger, owned_alert(alert, run.spec.ownership), run.now)
