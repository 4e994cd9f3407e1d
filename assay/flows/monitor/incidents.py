"""The incidents of a monitor: what stands, since when, and what people did about it.

Nothing of this decides a verdict. Whoever acknowledges signals says that the windows since they began are
ordinary; everything else only says whom to tell, and when.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.evalcore.errors import BadInput
from assay.flows.monitor.mute import standing_breaches
from assay.flows.monitor.run import MonitorRun, read_run
from assay.flows.monitor.states import STATE_KINDS
from assay.flows.monitor.unusual import standing_signals, windows_with_profile
from assay.flows.monitor.versions import open_monitor
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import standing_state
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.responses import (
    Action,
    Handling,
    IncidentResponse,
    create_response,
    handling_of,
    incident_name,
    read_responses,
)
from assay.tasks.ledger.stores.store import Store

LONGEST_TEXT = 500    # characters of a reason, and of a person's name


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """Something that stands and that people were told of, or would be."""

    name: str                 # breach, a segment, collapse, signal, missing ...
    subject: str              # in a line
    since: datetime | None    # when it began, as far as that is known
    handling: Handling


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a person asks for about an incident of a monitor: acknowledge it, assign it or snooze it, with a
    name, a reason and, where the action needs it, the new owner or the end of the snooze."""

    action: Action
    by: str
    incident: str | None = None       # None: the only one that stands
    to: str = ""                      # of assign
    until: datetime | None = None     # of snooze
    reason: str = ""


def standing_incidents(run: MonitorRun) -> list[Incident]:
    """The incidents that stand now, breaches first, then signals, then states such as missing predictions:
    each with its name, its subject, since when it stands, and what people have done about it."""
    return [
        Incident(name=name, subject=subject, since=since, handling=handling_of(run.responses, name, since))
        for name, subject, since in _standing(run)
    ]


def _standing(run: MonitorRun) -> Iterator[tuple[str, str, datetime | None]]:
    for alert, window in standing_breaches(run):
        yield incident_name(alert.group), alert.subject, _opened(run, window)
    for unusual in standing_signals(run):
        names = ", ".join(signal.name for signal in unusual.raised)
        start = min(unusual.since.values())
        yield unusual.kind, f"{run.spec.name}: {names} since window {start}", _opened(run, start)
    for state, kind in STATE_KINDS.items():
        windows = sorted(
            name for name, states in run.states.items()
            if (standing := standing_state(states)) is not None and standing.state == state
        )
        if windows:
            since = min(next(s.at for s in run.states[name] if s.state == state) for name in windows)
            yield kind, f"{run.spec.name}: {state}: {', '.join(windows[:5])}", since


def _opened(run: MonitorRun, window: str) -> datetime | None:
    return next((opening.opened for opening in run.openings.get(window, ())), None)


def respond(store: Store, name: str, reply: Reply, *, now: datetime) -> IncidentResponse:
    """Record what somebody did about an incident that stands; the record in the ledger.

    Said twice it is recorded once. Raises UnknownMonitor, and BadInput where nothing of that name stands, or
    something is missing.
    """
    open_monitor(store, name)
    run = read_run(store, name, now)
    incident = _chosen(run, standing_incidents(run), reply.incident)
    _check(reply, now)
    accepted = [traffic for traffic in standing_signals(run) if traffic.kind == incident.name]
    windows: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    if reply.action == "acknowledge" and accepted:
        windows = accepted[0].windows(windows_with_profile(run))
        signals = tuple(sorted(accepted[0].since))
    ledger = Ledger(store, layout.monitor_ledger(name))
    before = retried(read_responses)(ledger)
    response = IncidentResponse(
        number=len(before) + 1, incident=incident.name, action=reply.action, by=reply.by.strip(),
        to=reply.to.strip(), until=reply.until, windows=windows, signals=signals,
        reason=reply.reason.strip(), at=now,
    )
    same = handling_of(before, incident.name, incident.since)
    record = {"acknowledge": same.acknowledged, "assign": same.assigned, "snooze": same.snoozed}[reply.action]
    if record is not None and _says(record) == _says(response):
        return record
    winner = _put(ledger, response)
    if _says(winner) != _says(response):
        raise BadInput(f"{name}: somebody else responded at the same moment; look, and try again")
    return winner


def _says(r: IncidentResponse) -> tuple[object, ...]:
    return r.incident, r.action, r.by, r.to, r.until, r.windows, r.signals, r.reason


def _chosen(run: MonitorRun, standing: Sequence[Incident], name: str | None) -> Incident:
    """The incident that is meant. Raises BadInput."""
    names = [incident.name for incident in standing]
    if not standing:
        raise BadInput(f"{run.spec.name}: nothing stands: no breach, no signal, and no window waits")
    if name is None and len(standing) == 1:
        return standing[0]
    matches = [incident for incident in standing if incident.name == name]
    if not matches:
        what = "several incidents stand" if name is None else f"no incident {name!r} stands"
        raise BadInput(f"{run.spec.name}: {what}; name one of {', '.join(names)}")
    return matches[0]


def _check(reply: Reply, moment: datetime) -> None:
    if not reply.by.strip():
        raise BadInput("say who you are: others will want to know who did it")
    if reply.action == "assign" and not reply.to.strip():
        raise BadInput("say whose it is from now on")
    if reply.action == "snooze" and (reply.until is None or reply.until <= moment):
        raise BadInput("name a moment to come until which nothing is told of it")
    for what, text in (("who you are", reply.by), ("whose it is", reply.to), ("the reason", reply.reason)):
        if len(text) > LONGEST_TEXT:
            raise BadInput(f"{what}: {len(text)} characters are too many; give at most {LONGEST_TEXT}")


@effect("respond")
def _put(ledger: Ledger, response: IncidentResponse) -> IncidentResponse:
    return create_response(ledger, response)
