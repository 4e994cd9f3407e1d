"""Alerts of evaluations: when one is raised, what it says, and how it is delivered.

`raise_verdicts` is called by `advance` before an evaluation may leave the index of open ones, so a crash
cannot swallow an alert. What was raised waits in the outbox of its ledger until `deliver` sends it.

An evaluation is judged when it is finished; with `alerts.each_round`, after every round. An alert tells a
change: a new breach, a recovery from a breach, or, at the end, an inconclusive verdict.

The reported estimates are judged: where labels were revised, the reissued ones. So a revision of an
evaluation that was judged before may bring a breach or a recovery.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

from assay.evalcore.errors import AssayError
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.evaluation.stopping import Verdict
from assay.flows.record.ahead import extend_command, more_labels
from assay.flows.record.finished import READERS
from assay.flows.record.named import UnknownEvaluation, named_folders
from assay.flows.record.opened import Opened, open_evaluation, utc_now
from assay.flows.record.standing import Moment, moments, read_reissues, standing_of, verdict_on
from assay.tasks import events
from assay.tasks.alerts.alert import Alert, MeasureReading, VerdictNews, owned_alert, verdict_alert
from assay.tasks.alerts.channels import open_channels
from assay.tasks.alerts.links import with_handling
from assay.tasks.alerts.outbox import (
    Delivery,
    NotDelivered,
    OutboxRow,
    PeopleToTell,
    deliver_due,
    outbox_index,
    outbox_rows,
    raise_alert,
)
from assay.tasks.alerts.presentable import LONGEST_BODY, one_line
from assay.tasks.desks.desk import DeskUnreachable
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import Ending, Ownership, check_format, find_spec
from assay.tasks.ledger.monitors import read_amendments
from assay.tasks.ledger.record import Ledger, understood
from assay.tasks.ledger.responses import IncidentResponse, read_responses
from assay.tasks.ledger.stores.store import Store, StoreUnreachable
from assay.tasks.report import wording
from assay.tasks.spec.alerts import Alerts, Kind, report_links

_DEFAULTS = Alerts()


class Unforeseen(AssayError):
    """An error that is none of ours. PeopleToTell are told its kind only: its text may hold anything."""

    @classmethod
    def from_error(cls, error: Exception) -> "Unforeseen":
        """An error to tell people of in place of an unexpected one. It names the class of the exception
        alone, because the text of a foreign exception may hold anything, and points to the log of the
        process."""
        return cls(
            f"an unexpected {type(error).__name__}, which is a fault of Assay's; the log of the process has "
            "the whole of it: please report it"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A verdict that is to be told, and the one it is compared with."""

    kind: Kind
    now: int              # index into the moments
    before: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A change that people are told of, with the moments it is about."""

    key: str              # of the alert
    kind: Kind
    moment: Moment
    before: Moment | None


def changes(verdicts: Sequence[Verdict | None], final: Sequence[bool]) -> Iterator[Change]:
    """The changes in a sequence of verdicts; final: which are of a finished evaluation. Each carries the
    place of its verdict and of the one before.

    Inconclusive counts as a change only among those.
    """
    breached_at: int | None = None
    last_final: Verdict | None = None
    for i, verdict in enumerate(verdicts):
        before = i - 1 if i else None
        if verdict == "breach" and breached_at is None:
            breached_at = i
            yield Change(kind="breach", now=i, before=before)
        elif verdict == "ok" and breached_at is not None:
            yield Change(kind="recovery", now=i, before=breached_at)
            breached_at = None
        elif verdict == "inconclusive" and final[i] and last_final != "inconclusive":
            yield Change(kind="inconclusive", now=i, before=before)
        if final[i]:
            last_final = verdict


def raise_verdicts(
    opened: Opened, looks: Sequence[RoundEstimate], ending: Ending | None, current_time: datetime
) -> list[Alert]:
    """Raise the alerts that the verdicts so far call for, unless they were raised before; returns the new
    ones.

    looks: the estimates the rounds were closed with. Revisions are read: they must be complete.
    """
    limit, alerts = opened.spec.limit, opened.spec.alerts or _DEFAULTS
    new = []
    for change in verdict_changes(opened, looks, finished=ending is not None):
        moment = change.moment
        alert = verdict_alert(
            key=change.key,
            kind=change.kind,
            severity=alerts.severity.of_kind(change.kind),
            about=opened.name,
            news=VerdictNews(
                now=_reading(moment),
                before=None if change.before is None else _reading(change.before),
                minimum=None if limit is None else limit.min,
                maximum=None if limit is None else limit.max,
                notes=_notes(opened, moment, ending if moment.final else None),
            ),
            links=report_links(alerts, opened.name),
        )
        alert = owned_alert(alert, opened.spec.ownership)
        if raise_alert(opened.ledger, alert, current_time):
            new.append(alert)
    return new


def verdict_changes(
    opened: Opened, looks: Sequence[RoundEstimate], *, finished: bool
) -> Iterator[VerdictChange]:
    """The changes of the verdict that people are told of, in order; finished: whether no round follows. None
    where the spec has no limit, or alerts only at the end and it is not there yet."""
    alerts = opened.spec.alerts or _DEFAULTS
    stopped = finished or bool(opened.extensions)
    if opened.spec.limit is None or not looks or not (stopped or alerts.each_round):
        return
    timeline = moments(looks, read_reissues(opened.ledger), finished, opened.extensions)
    if not alerts.each_round:
        timeline = [moment for moment in timeline if moment.final]
    verdicts = [verdict_on(opened, moment.known) for moment in timeline]
    for change in changes(verdicts, [moment.final for moment in timeline]):
        if change.kind in alerts.tell:
            moment = timeline[change.now]
            yield VerdictChange(
                key=f"{moment.key}-{change.kind}", kind=change.kind, moment=moment,
                before=None if change.before is None else timeline[change.before],
            )


def raise_failure(store: Store, name: str, error: Exception, moment: datetime) -> None:
    """Raise that an evaluation cannot go on without a person: once a day for each cause.

    Raises nothing for a store or a desk that cannot be reached: sweeps try again.
    """
    if isinstance(error, DeskUnreachable | StoreUnreachable) or not isinstance(error, AssayError):
        return
    alerts = alert_choices(Ledger(store, name))
    if "failure" not in alerts.tell:
        return
    text = str(error)
    what = f"failure-{layout.digest(text.encode())[:12]}"
    raise_alert(Ledger(store, name), owned_alert(Alert(
        key=f"{what}-{moment:%Y%m%d}",
        kind="failure",
        severity=alerts.severity.of_kind("failure"),
        subject=f"{name}: cannot continue ({type(error).__name__})",
        body=f"{one_line(text, LONGEST_BODY // 2)}\nNothing is lost. "
             "Every sweep tries again, and succeeds once the cause is removed.",
        links=report_links(alerts, name),
        group=what,
    ), _ownership(Ledger(store, name))), moment)


def raise_unreachable(store: Store, evaluations: Sequence[str], message: str, moment: datetime) -> None:
    """Raise that a desk cannot be reached, once a day: of the first of the evaluations that wait for it.

    evaluations: their names in order, at least one
    """
    owner = Ledger(store, evaluations[0])
    alerts = alert_choices(owner)
    if "failure" not in alerts.tell:
        return
    sentence = f" {wording.plural(len(evaluations), 'evaluation')} wait for it." if evaluations[1:] else ""
    raise_alert(owner, owned_alert(Alert(
        key=f"failure-unreachable-{layout.digest(message.encode())[:12]}-{moment:%Y%m%d}",
        kind="failure", severity=alerts.severity.of_kind("failure"),
        subject=f"{owner.name}: its desk cannot be reached",
        body=f"{message}\nNothing is lost.{sentence} Every sweep tries again. This is said once a day.",
        links=report_links(alerts, owner.name), group="unreachable",
    ), _ownership(owner)), moment)


@retried
def alert_choices(ledger: Ledger) -> Alerts:
    """What the spec of an evaluation, or of a monitor, says about alerts. Raises DamagedRecord."""
    recorded = find_spec(ledger)
    amended = read_amendments(ledger) if ledger.name.startswith(layout.MONITORS_PREFIX) else []
    spec = amended[-1].spec if amended else None if recorded is None else recorded.spec
    with understood(ledger.name):
        setting = None if spec is None else spec.get("alerts")
        return Alerts.model_validate(setting) if setting is not None else _DEFAULTS


@retried
def _ownership(ledger: Ledger) -> Ownership:
    recorded = find_spec(ledger)
    with understood(ledger.name):
        spec = {} if recorded is None else recorded.spec
        return Ownership(**{field.name: spec.get(field.name) for field in fields(Ownership)})


def _reading(moment: Moment) -> MeasureReading:
    return MeasureReading(when=moment.when, row=moment.known.rows[0])


def _notes(opened: Opened, moment: Moment, ending: Ending | None) -> list[str]:
    look = moment.known
    notes = [f"The pool holds {wording.plural(opened.manifest.rows, 'prediction', 'predictions')}."]
    if moment.revision:
        notes.append("Labels changed after their rounds were closed. This estimate uses the changed labels.")
    for row in look.estimates[1:]:
        tail = f", interval {wording.interval(row)}" if wording.has_interval(row) else ""
        notes.append(f"{wording.measure_name(row.measure)}: {wording.value_or_reason(row)}{tail}.")
    if ending is None:
        notes.append("The evaluation continues.")
    else:
        standing = standing_of(opened, "finished", look, ending=ending, reissued=moment.reissued)
        labels = more_labels(opened, standing)
        if labels:
            command = extend_command(opened, standing, labels)
            notes.append(f"About {wording.plural(labels, 'more label')} would decide.")
            notes += [f"To buy them: {command}"] if command else []
    notes.append(f"More: assay report {opened.name}")
    return notes


_log = logging.getLogger("assay.alerts")


def deliver(
    store: Store,
    owners: Iterable[str] | None = None,
    *,
    clock: Callable[[], datetime] = utc_now,
    environment: Mapping[str, str] = os.environ,
) -> list[Delivery]:
    """Send the alerts that are due, of all owners or of these; returns what became of each.

    An owner whose outbox cannot be read is skipped, with a line in the log.

    Delivering what waits in the outboxes of a ledger.

    Called by sweeps, by the flows that drive one evaluation, by the receiver of webhooks and by `assay
    alerts`, any number of times, also at the same time: the outbox makes sure that each message is sent once.
    """
    index = outbox_index(store)
    done: list[Delivery] = []
    for owner in sorted(index if owners is None else index.keys() & set(owners)):
        try:
            ledger = Ledger(store, owner)
            alerts = alert_choices(ledger)
            if alerts.in_maintenance(clock()):
                continue
            channels = [with_handling(c, environment) for c in open_channels(alerts, environment)] \
                if owner.startswith(layout.MONITORS_PREFIX) else open_channels(alerts, environment)
            done += deliver_due(
                ledger, channels, clock(), cooldown=timedelta(hours=alerts.cooldown_hours),
                waiting=index[owner],
                people=PeopleToTell(responses=_responses(ledger), in_maintenance=alerts.in_maintenance),
            )
            events.alerts_looked_at(store.url, owner, clock())
        except AssayError as error:
            _log.error("%s: alerts were not delivered: %s", owner, error)
            done.append(Delivery(owner=owner, key="", channel="", status="failed", why=str(error)))
    return done


@retried
def _responses(ledger: Ledger) -> list[IncidentResponse]:
    return read_responses(ledger) if ledger.name.startswith(layout.MONITORS_PREFIX) else []


def outbox_of_all(store: Store, owners: Iterable[str] | None = None) -> list[OutboxRow]:
    """Every alert in the store, or of these owners: what it says, who was told, and whether it waits.

    Lists the outbox of every owner, and enters into the index what it does not find there: this is how an
    index that was lost is rebuilt. Raises UnknownEvaluation for an owner that does not exist.
    """
    names = _owners(store) if owners is None else list(owners)
    for owner in names if owners is not None else ():
        check_owner(store, owner)
    with ThreadPoolExecutor(max_workers=READERS) as pool:
        of_each = pool.map(lambda owner: outbox_rows(Ledger(store, owner)), names)
        return [row for rows in of_each for row in rows]


def try_channels(store: Store, owner: str, environment: Mapping[str, str] = os.environ) -> list[Delivery]:
    """Send every channel of the owner a message that says it is a test. Nothing is written. Gives one
    delivery a channel, with the error of each that failed. Raises BadInput for an owner that the store does
    not hold."""
    check_owner(store, owner)
    done: list[Delivery] = []
    alert = Alert(
        key="test", kind="failure", severity="critical", subject=f"{owner}: test of the alerts",
        body="This message tests the channel: it works. Nothing is wrong.",
    )
    for channel in open_channels(alert_choices(Ledger(store, owner)), environment):
        try:
            channel.send(alert, owner)
            delivery = Delivery(owner=owner, key="test", channel=channel.name, status="sent")
        except NotDelivered as error:
            delivery = Delivery(
                owner=owner, key="test", channel=channel.name, status="failed", why=str(error)
            )
        done.append(delivery)
    return done


def check_owner(store: Store, owner: str) -> None:
    """Raise BadInput unless this is an evaluation, or `monitors/<name>`, of this store."""
    name = layout.check_name(owner.removeprefix(layout.MONITORS_PREFIX))
    retried(check_format)(Ledger(store, owner))
    if not store.exists(layout.spec(owner)):
        open_evaluation(store, name)   # raises UnknownEvaluation, and says what there is
        raise UnknownEvaluation(f"{store.url} holds no monitor named {name!r}; an evaluation has that name")


def _owners(store: Store) -> list[str]:
    """All that may have an outbox, sorted."""
    of_monitors = [layout.monitor_ledger(name) for name in store.folders(layout.MONITORS_PREFIX)]
    return sorted([*named_folders(store), *of_monitors])
