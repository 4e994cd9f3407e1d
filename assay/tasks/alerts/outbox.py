"""The outbox: alerts wait in the ledger until every channel was told, through any crash.

    <owner>/alerts/<key>.json                        the alert; whoever puts it first has raised it
    <owner>/alerts/<key>.tries/<channel>.0001.json   an attempt: only the creator of the key sends
    <owner>/alerts/<key>.tries/<channel>.0001.failed.json    ... and knows that it failed
    <owner>/alerts/<key>.sent/<channel>.json         settled: told, held back or given up, and when
    <owner>/alerts/<key>.muted.json                  raised while its owner was muted: nobody is told
    index/alerts/<owner>/<key>                       not settled everywhere yet; rebuildable

The owner is an evaluation, or a monitor (`monitors/<name>`). What is promised:

- **At least once.** An attempt without a known end (its sender died, or its reply was lost) is made again
  after five minutes; one that failed is made again by later sweeps, less and less often, for a week.
- **Once, as a rule.** Two sweeps at the same moment send one message: the attempt's key has one creator. Only
  a crash between sending and noting it sends a second, and both carry the same reference, owner/key.
- **In order, and not again and again.** Alerts of one owner and group reach a channel in the order they were
  raised. One that would repeat what the channel was told last is held back for the cooldown, unless it is
  more severe; a recovery is held back if the channel was told nothing that it ends.

Times live in tries/, sent/ and the index only, and are never compared: an alert itself holds none.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol
from uuid import uuid4

from assay.evalcore.errors import AssayError
from assay.evalcore.json_values import JsonObject
from assay.evalcore.printed import printed
from assay.tasks import events
from assay.tasks.alerts.alert import DAILY, Alert, as_raised, as_stored, rank
from assay.tasks.alerts.presentable import LONGEST_ALERT_VALUE, one_line
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.log import put_logged
from assay.tasks.ledger.monitors import Mute, mute_at, read_mutes
from assay.tasks.ledger.record import Ledger, find_record, get_record, put_record
from assay.tasks.ledger.responses import Handling, IncidentResponse, handling_of, incident_name
from assay.tasks.ledger.stores.store import KeyMissing, Store
from assay.tasks.report import wording
from assay.tasks.spec.alerts import Severity

CLAIM = timedelta(minutes=5)            # longer than any channel may take to send
FIRST_RETRY = timedelta(seconds=30)     # after the first failure; doubled for each further one, up to
LAST_RETRY = timedelta(hours=6)

Status = Literal["sent", "held", "failed", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One attempt to tell one channel of an alert: its number, when it began, whether it is known to have
    failed, and for how many seconds the channel asked not to be tried again.

    Attempts to tell a channel, as the ledger holds them; the functions after these decide.

    An attempt is a key that only one process can create. It ends in `.failed.json` beside it, in the
    channel's `sent` record, or, if its process died, not at all: then it counts as lost after `CLAIM`.
    """

    number: int       # 1 for the first
    at: datetime
    failed: bool      # known to have failed
    asked: float = 0.0   # seconds that the channel asked not to be tried again

    @property
    def pause(self) -> timedelta:
        """How long this attempt keeps others from trying: five minutes while its end is not known. After
        failure k it is 30 s · 2^(k − 1), or the pause that the channel asked for if longer; at most six
        hours."""
        if not self.failed:
            return CLAIM
        pause: timedelta = FIRST_RETRY * 2 ** min(self.number - 1, 20)
        return min(max(pause, timedelta(seconds=self.asked)), LAST_RETRY)

    def is_over(self, moment: datetime) -> bool:
        """Whether another attempt may be made. A date far ahead says nothing: a clock was wrong. Pauses grow
        with each attempt."""
        return abs(moment - self.at) >= self.pause


@dataclass(frozen=True, slots=True, kw_only=True)
class TryClaim:
    """The record `<alert>.tries/<channel>.0001.json`: that somebody makes this attempt, since when, and a
    random word by which that process knows its own record."""

    at: datetime
    creator: str      # a random word


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """`<alert>.sent/<channel>.json`: a channel was told, or why not; or how an attempt failed."""

    at: datetime
    status: Status
    why: str
    asked: float = 0.0   # seconds that the channel asked not to be tried again (Retry-After)


@retried
def read_tries(ledger: Ledger, alert: str, channel: str) -> list[Try]:
    """The attempts to tell this channel of an alert, in order."""
    keys = list(ledger.keys(layout.alert_tries(ledger.name, alert)))
    made = {key: values for key in keys if (values := layout.alert_try.match(key)) is not None}

    def of_attempt(key: str, attempt: int) -> Try:
        failed_key = layout.alert_failed(ledger.name, alert, channel, attempt)
        failed = failed_key in keys
        seconds = get_record(ledger, failed_key, Settled).asked if failed else 0.0
        return Try(number=attempt, at=get_record(ledger, key, TryClaim).at, failed=failed, asked=seconds)

    tries = [of_attempt(key, attempt) for key, (_, _, tried, attempt) in made.items() if tried == channel]
    return sorted(tries, key=lambda attempt: attempt.number)


@retried
def told_before(ledger: Ledger, channel: str, but: str) -> list[tuple[datetime, Alert]]:
    """What this channel was told by this owner, and when.

    but   the key of an alert to leave out: another sweep may have told of it a moment ago
    """
    alerts = []
    for key in ledger.keys(layout.alerts(ledger.name)):
        sent = layout.alert_sent.match(key)
        if sent is None or sent[1] == but or sent[2] != channel:
            continue
        settled = get_record(ledger, key, Settled)
        if settled.status == "sent":
            alert = get_record(ledger, layout.alert(ledger.name, sent[1]), Alert)
            alerts.append((settled.at, as_raised(alert)))
    return alerts


@retried
def claim(ledger: Ledger, key: str, moment: datetime) -> bool:
    """Whether this process makes the attempt. The bytes hold a random word, so a repeated put knows its own.
    Of several processes at once exactly one is told yes."""
    blob = record.encode(TryClaim(at=moment, creator=uuid4().hex))
    return ledger.put(key, blob) == blob


@retried
def settle_try(
    ledger: Ledger, key: str, status: Status, moment: datetime, reason: str = "",
    pause: timedelta = timedelta(0),
) -> None:
    """End an attempt, or settle an alert for a channel. The first record counts."""
    put_record(ledger, key, Settled(at=moment, status=status, why=reason, asked=pause.total_seconds()))


__all__ = ["Alert", "Channel", "Delivery", "NotDelivered", "deliver_due", "outbox_index", "raise_alert"]

KEEP_TRYING = timedelta(days=7)
LEAST_TRIES = 5       # before an alert is given up: a clock that jumps ahead makes it old at once
COOLDOWN = timedelta(hours=24)

_log = logging.getLogger("assay.alerts")


class NotDelivered(AssayError):
    """A channel could not be told. The text names no address and no secret: it is written into the ledger.

    pause: how long the channel asked not to be tried again
    """

    def __init__(self, reason: str, pause: timedelta = timedelta(0)) -> None:
        super().__init__(reason)
        self.pause = pause


class Channel(Protocol):
    """Somewhere people are told of alerts: its name, which is a part of keys, the least severity that it
    takes, why this machine cannot use it at all (empty if it can), and how long nobody must have
    acknowledged what it is told of."""

    name: str                 # letters, digits, dashes: it is part of keys
    min_severity: Severity    # less severe alerts are not for this channel
    problem: str              # why this machine cannot use it at all, or nothing
    after: timedelta          # how long nobody must have acknowledged what it is told of

    def send(self, alert: Alert, owner: str) -> None:
        """Tell it, within two minutes. Raises NotDelivered if it did not take it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What happened to one alert on one channel, in this call."""

    owner: str
    key: str
    channel: str
    status: Status
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """`index/alerts/<owner>/<key>`: when an alert was raised; None where the index was rebuilt."""

    raised: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Muted:
    """The record `<alert>.muted.json`: that the alert was raised during a mute, so that nobody is told, with
    the number of the mute and the time."""

    mute: int         # its number
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An alert that not every channel was told of, from the index."""

    owner: str
    key: str
    raised: datetime | None   # None: the index was rebuilt, and nobody knows


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleToTell:
    """What people did about incidents, and when they are not to be told."""

    responses: Sequence[IncidentResponse] = ()
    in_maintenance: Callable[[datetime], bool] = lambda _: False


NOBODY_RESPONDED = PeopleToTell()


def raise_alert(ledger: Ledger, alert: Alert, moment: datetime | None = None) -> bool:
    """Put an alert into the outbox, once: False when it was there already.

    Can be repeated, and should be until the cause is recorded for good: a crash between cause and alert must
    not lose the alert.
    """
    won = _raise(ledger, alert, moment or datetime.now(UTC))
    if won == "muted":
        _log.info("%s: %s is muted", ledger.name, alert.key)
    elif won:
        _log.info("%s: raised %s (%s)", ledger.name, alert.key, alert.severity)
        details = {"kind": alert.kind, "severity": alert.severity, "subject": alert.subject}
        events.alert_raised(ledger.store.url, ledger.name, alert.key, details)
    return bool(won)


@effect("raise-alert")
def _raise(ledger: Ledger, alert: Alert, moment: datetime) -> Literal["raised", "muted", ""]:
    """What became of an alert; "" if it was there already."""
    key = layout.alert(ledger.name, alert.key)
    if ledger.exists(key):
        return ""
    mute = mute_at(read_mutes(ledger), moment)
    if mute is not None:
        put_record(ledger, layout.alert_muted(ledger.name, alert.key), Muted(mute=mute.number, at=moment))
    blob = record.encode(as_stored(alert))
    if _exists(ledger, layout.alert_muted(ledger.name, alert.key)):   # also by an earlier, broken attempt
        return "muted" if put_logged(ledger, key, blob) == blob else ""
    # The index first: an alert nobody looks for would never be sent; an index of nothing does no harm.
    enter_alert_index(ledger, alert.key, moment)
    return "raised" if put_logged(ledger, key, blob) == blob else ""


def enter_alert_index(ledger: Ledger, alert: str, raised: datetime | None) -> None:
    """Write down that some channel may still have to be told."""
    put_record(ledger, layout.alert_index(ledger.name, alert), Raised(raised=raised))


@retried
def outbox_index(store: Store) -> dict[str, list[Waiting]]:
    """Owner -> its alerts that are not settled everywhere, oldest first."""
    by_owner: dict[str, list[Waiting]] = {}
    for index_key in list(store.keys(layout.ALERTS_PREFIX)):
        values = layout.alert_index.match(index_key)
        if values is None:
            continue
        owner, alert = values
        try:
            raised = record.decode(Raised, store.get(index_key), index_key).raised
        except (KeyMissing, record.DamagedRecord):
            raised = None   # settled meanwhile, or written by hand: the alert itself decides
        by_owner.setdefault(owner, []).append(Waiting(owner=owner, key=alert, raised=raised))
    for waiting in by_owner.values():
        waiting.sort(key=lambda entry: (entry.raised or datetime.min.replace(tzinfo=UTC), entry.key))
    return by_owner


def deliver_due(
    ledger: Ledger,
    channels: Sequence[Channel],
    moment: datetime,
    *,
    cooldown: timedelta = COOLDOWN,
    waiting: Iterable[Waiting] | None = None,
    people: PeopleToTell = NOBODY_RESPONDED,
) -> list[Delivery]:
    """Send the alerts that are due in an owner's outbox; returns what happened to each. A channel that fails
    raises nothing.

    waiting   the alerts to look at; those of the index unless given
    people    what people did about incidents, and when they are not to be told
    """
    if waiting is None:
        waiting = outbox_index(ledger.store).get(ledger.name, [])
    done: list[Delivery] = []
    stuck: set[tuple[str, str]] = set()   # (channel, group) whose earlier alert is still to be told
    pairs = [(entry, alert) for entry in waiting if (alert := _to_tell(ledger, entry)) is not None]
    for place, (entry, alert) in enumerate(pairs):
        later_alerts = [later_alert for _, later_alert in pairs[place + 1:]]
        settled, newer = True, _newer(alert, later_alerts) if cooldown else None
        for channel in channels:
            lane = (channel.name, alert.group)
            if rank(alert.severity) < rank(channel.min_severity):
                continue
            if lane in stuck:
                settled = False
                continue
            if newer is not None and (outcome := _left_to(ledger, alert, newer, channel, moment)) is not None:
                done.append(outcome)
                continue
            if (reason := _needless(entry, alert, later_alerts, channel, people)):
                sent_key = layout.alert_sent(ledger.name, alert.key, channel.name)
                settle_try(ledger, sent_key, "held", moment, reason)
                continue
            tried = _deliver(ledger, entry, alert, channel, moment, (cooldown, people))
            if isinstance(tried, Delivery):
                done.append(tried)
            if tried is None or (isinstance(tried, Delivery) and tried.status == "failed"):
                stuck.add(lane)
                settled = False
        if not channels:
            settled = _too_old(entry, moment)   # nobody to tell: kept for a while, should somebody say whom
        if settled:
            _discard(ledger.store, layout.alert_index(ledger.name, entry.key))
    return done


def _to_tell(ledger: Ledger, entry: Waiting) -> Alert | None:
    """The alert that waits; None for one that is muted, is raised this very moment, or whose writer was cut
    off and will come back."""
    alert = _read(ledger, entry.key)
    return None if alert is None or _exists(ledger, layout.alert_muted(ledger.name, entry.key)) else alert


def _needless(
    entry: Waiting, alert: Alert, after: Sequence[Alert], channel: Channel, people: PeopleToTell
) -> str:
    """Why nobody need be told any more of what ended before they were, or an empty text.

    So it is of an escalation that was not due yet, and of what came and went while nobody was to be told.
    """
    ended = alert.kind != "recovery" and any(
        later_alert.group == alert.group and later_alert.kind == "recovery" for later_alert in after
    )
    quiet = entry.raised is not None and people.in_maintenance(entry.raised)
    return "it ended before this channel was told" if ended and (channel.after or quiet) else ""


def _newer(alert: Alert, after: Sequence[Alert]) -> Alert | None:
    """The newest of the alerts raised after one that say the same thing, so that it need not be told itself.

    After an outage many windows are judged in one run: people hear of the newest.
    """
    newest = None
    for later_alert in after if alert.kind != "recovery" else ():
        if later_alert.group == alert.group:
            if later_alert.kind != alert.kind:
                break
            newest = later_alert if rank(later_alert.severity) >= rank(alert.severity) else newest
    return newest


def _left_to(
    ledger: Ledger, alert: Alert, newer: Alert, channel: Channel, moment: datetime
) -> Delivery | None:
    """Settle an alert that a newer one makes needless; None where somebody began to tell it, or has."""
    key = layout.alert_sent(ledger.name, alert.key, channel.name)
    if read_tries(ledger, alert.key, channel.name) or _exists(ledger, key):
        return None
    reason = f"{newer.key} is newer and says the same"
    settle_try(ledger, key, "held", moment, reason)
    return Delivery(owner=ledger.name, key=alert.key, channel=channel.name, status="held", why=reason)


def _deliver(
    ledger: Ledger, entry: Waiting, alert: Alert, channel: Channel, moment: datetime,
    rules: "tuple[timedelta, PeopleToTell]",
) -> Delivery | Literal["settled"] | None:
    """Deliver one alert on one channel; returns what was done, or None if it is not due yet.

    rules: the cooldown, and what people did
    """

    def ended(status: Status, reason: str = "") -> Delivery:
        return Delivery(owner=ledger.name, key=alert.key, channel=channel.name, status=status, why=reason)

    sent_key = layout.alert_sent(ledger.name, alert.key, channel.name)
    if _exists(ledger, sent_key):
        return "settled"
    history = told_before(ledger, channel.name, but=alert.key)
    handling = _handling(alert, history, rules[1])
    if alert.kind != "recovery":
        if handling.snoozed_at(moment):
            return None
        if channel.after and handling.acknowledged is None and entry.raised is not None \
                and moment < entry.raised + channel.after:
            return None
    held = _reason_to_hold(alert, history, handling, channel, moment, rules[0])
    if held:
        settle_try(ledger, sent_key, "held", moment, held)
        return ended("held", held)
    if channel.problem:   # another machine may be able to: no attempt is noted
        return ended("failed", channel.problem)
    tries = read_tries(ledger, alert.key, channel.name)
    if _too_old(entry, moment) and len(tries) >= LEAST_TRIES:
        settle_try(ledger, sent_key, "expired", moment, "given up")
        return ended("expired", "it could not be delivered for days and was given up")
    if tries and not tries[-1].is_over(moment):
        return None
    attempt = len(tries) + 1
    if not claim(ledger, layout.alert_try(ledger.name, alert.key, channel.name, attempt), moment):
        return None
    if _exists(ledger, sent_key):   # told between our two looks
        return "settled"
    try:
        send_alert(channel, _with_assignee(alert, handling), ledger.name)
    except NotDelivered as error:
        _log.warning("%s: alert %s did not reach %s: %s", ledger.name, alert.key, channel.name, error)
        failed_key = layout.alert_failed(ledger.name, alert.key, channel.name, attempt)
        settle_try(ledger, failed_key, "failed", moment, str(error), error.pause)
        return ended("failed", str(error))
    settle_try(ledger, sent_key, "sent", moment)
    _log.info("%s: %s was told of %s", ledger.name, channel.name, alert.key)
    return ended("sent")


@effect(
    "send-alert", retries=0,
    shown=lambda channel, alert, owner: f"tell {channel.name}: {owner}/{alert.key}",
)
def send_alert(channel: Channel, alert: Alert, owner: str) -> None:
    """One attempt to tell a channel; sweeps repeat it. Raises NotDelivered."""
    channel.send(alert, owner)


def _handling(alert: Alert, history: Sequence[tuple[datetime, Alert]], people: PeopleToTell) -> Handling:
    """How people stand to the incident of an alert: it began after the last recovery that was told."""
    ended = [at for at, notice in history if notice.group == alert.group and notice.kind == "recovery"]
    return handling_of(people.responses, incident_name(alert.group), max(ended, default=None))


def _with_assignee(alert: Alert, handling: Handling) -> Alert:
    """The alert with a line that says whose it is, where somebody said so."""
    if handling.assigned is None:
        return alert
    return replace(alert, body=f"{alert.body}\nAssigned to {handling.assigned.to} by {handling.assigned.by}.")


def _reason_to_hold(
    alert: Alert, before: Sequence[tuple[datetime, Alert]], handling: Handling, channel: Channel,
    moment: datetime, cooldown: timedelta,
) -> str:
    """Why this channel is not told, or an empty text; before: what it was told of the owner."""
    newest: tuple[datetime, Alert] | None = None
    for told_at, notice in before:
        if notice.group == alert.group and (newest is None or told_at >= newest[0]):
            newest = (told_at, notice)
    if alert.kind == "recovery":
        ends_something = newest is not None and newest[1].kind != "recovery"
        return "" if ends_something else "the channel was told nothing that it ends"
    response = handling.acknowledged
    if response is not None and (newest is not None or channel.after) and (
        newest is None or rank(alert.severity) <= rank(newest[1].severity)
    ):
        return f"{response.by} acknowledged it"
    if newest is None or alert.kind in DAILY:   # which hold the day in their keys
        return ""
    told_at, notice = newest
    repeats = notice.kind == alert.kind and rank(notice.severity) >= rank(alert.severity)
    return f"{notice.key} told the same" if repeats and abs(moment - told_at) < cooldown else ""


@retried
def _read(ledger: Ledger, key: str) -> Alert | None:
    stored = find_record(ledger, layout.alert(ledger.name, key), Alert)
    return None if stored is None else as_raised(stored)


@retried
def _exists(ledger: Ledger, key: str) -> bool:
    return ledger.exists(key)


@retried
def _discard(store: Store, key: str) -> None:
    store.discard(key)


def _too_old(entry: Waiting, moment: datetime) -> bool:
    return entry.raised is not None and moment - entry.raised > KEEP_TRYING


_MUTED_LISTED = 20   # muted alerts that a message lists


@dataclass(frozen=True, slots=True, kw_only=True)
class MutedAlert:
    """An alert that nobody was told of, and the number of the mute during which it was raised."""

    alert: Alert
    mute: int      # the number of the mute


def read_muted(ledger: Ledger) -> list[MutedAlert]:
    """All alerts of an owner that were raised during a mute, in the order in which they were raised. Raises
    DamagedRecord."""
    pairs = []
    for key in list(ledger.keys(layout.alerts(ledger.name))):
        values = layout.alert_muted.match(key)
        alert = None if values is None else find_record(ledger, layout.alert(*values), Alert)
        if alert is not None:
            muted = get_record(ledger, key, Muted)
            pairs.append((muted.at, MutedAlert(alert=as_raised(alert), mute=muted.mute)))
    return [muted_alert for _, muted_alert in sorted(pairs, key=lambda pair: (pair[0], pair[1].alert.key))]


def summary_alert(
    monitor: str, ended: Mute, muted: Sequence[MutedAlert], standing: Sequence[str], severity: Severity
) -> Alert:
    """What is told when a mute has ended.

    muted      at least one
    standing   what of it has not ended, which is told by itself, a line each
    """
    number = wording.plural(len(muted), "alert", "alerts")
    lines = [f"Muted since {ended.at:%Y-%m-%d %H:%M} UTC: {one_line(ended.reason, LONGEST_ALERT_VALUE)}"]
    lines += [f"- {muted_alert.alert.subject}" for muted_alert in muted[:_MUTED_LISTED]]
    if len(muted) > _MUTED_LISTED:
        lines.append(f"- and {len(muted) - _MUTED_LISTED} more: assay alerts monitors/{monitor}")
    if standing:
        lines += ["Of this still stands, and is told by itself:", *(f"- {line}" for line in standing)]
    else:
        lines.append("Nothing of this still stands.")
    return Alert(
        key=f"mute-{ended.number:04d}-ended", kind="muted", severity=severity, group="muted",
        subject=f"{monitor}: the mute has ended; {number} muted", body="\n".join(lines),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """One alert and what became of it: its owner, what each channel was told, whether it still waits to be
    delivered, and whether it was raised during a mute.

    What people see of outboxes: every alert in full, and what became of deliveries.

    Reading an outbox in full also repairs an index that was lost.
    """

    owner: str
    alert: Alert
    channels: Mapping[str, Settled]   # channel -> what it was told
    waiting: bool                     # to be delivered
    muted: bool = False               # raised during a mute: nobody is told

    def to_json(self) -> JsonObject:
        """The row as an object of JSON: the owner, the keys of the alert itself, what each channel was told,
        and whether it waits or is muted."""
        channels = {channel: printed(outcome) for channel, outcome in self.channels.items()}
        return {
            "owner": self.owner, **printed(self.alert), "channels": channels, "waiting": self.waiting,
            "muted": self.muted,
        }


@retried
def outbox_rows(ledger: Ledger, repair: bool = True) -> list[OutboxRow]:
    """Every alert of an owner, what each channel was told, and whether it still waits.

    The keys are listed, not the index; an alert that nobody was told of and that is not in the index is
    entered again, unless nothing may be written (`repair`).
    """
    keys = list(ledger.keys(layout.alerts(ledger.name)))
    outcomes: dict[str, dict[str, Settled]] = {}   # alert -> channel -> what became of it
    for key in keys:
        sent = layout.alert_sent.match(key)
        if sent is not None:
            outcomes.setdefault(sent[1], {})[sent[2]] = get_record(ledger, key, Settled)
    rows = []
    for key in filter(layout.alert.match, keys):
        alert = as_raised(get_record(ledger, key, Alert))
        channels = outcomes.get(alert.key, {})
        if layout.alert_muted(ledger.name, alert.key) in keys:
            rows.append(
                OutboxRow(owner=ledger.name, alert=alert, channels=channels, waiting=False, muted=True)
            )
            continue
        waiting = ledger.exists(layout.alert_index(ledger.name, alert.key))
        if not channels and not waiting:
            waiting = True
            if repair:
                enter_alert_index(ledger, alert.key, None)
        rows.append(OutboxRow(owner=ledger.name, alert=alert, channels=channels, waiting=waiting))
    return rows


def undelivered(deliveries: Sequence[Delivery]) -> bool:
    """Whether any of these deliveries failed, or was given up because it expired."""
    return any(delivery.status in ("failed", "expired") for delivery in deliveries)


def deliveries_in_words(deliveries: Sequence[Delivery]) -> str:
    """`2 alerts sent to 3 channels, 1 not delivered (spam/round-0003-breach to ops: ...)`, or nothing. A
    clause for the message of a run of Prefect, or for a terminal."""
    sent = [row for row in deliveries if row.status == "sent"]
    alerts, channels = len({(row.owner, row.key) for row in sent}), len({row.channel for row in sent})
    failed = [row for row in deliveries if row.status in ("failed", "expired")]
    to = f" to {channels} channels" if len(sent) > alerts else ""
    parts = [f"{wording.plural(alerts, 'alert', 'alerts')} sent{to}"] if sent else []
    if failed:
        failure = failed[0]
        place = f" to {failure.channel}" if failure.channel else ""
        parts.append(f"{len(failed)} not delivered ({failure.owner}/{failure.key}{place}: {failure.why})")
    return ", ".join(parts)
