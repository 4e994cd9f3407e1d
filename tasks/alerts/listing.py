"""What people see of outboxes: every alert in full, and what became of deliveries.

Reading an outbox in full also repairs an index that was lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.evalcore.printed import printed
from assay.evalcore.types import JsonObject
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import Delivery, enter_alert_index
from assay.tasks.alerts.tries import Settled
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.record import Ledger, get_record
from assay.tasks.report import wording


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRow:
    """One alert, and what became of it."""

    owner: str
    alert: Alert
    channels: Mapping[str, Settled]   # channel -> what it was told
    waiting: bool                     # to be delivered
    muted: bool = False               # raised during a mute: nobody is told

    def to_json(self) -> JsonObject:
        """Plain values."""
        channels = {channel: printed(told) for channel, told in self.channels.items()}
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
    told: dict[str, dict[str, Settled]] = {}   # alert -> channel -> what became of it
    for key in keys:
        sent = layout.alert_sent.match(key)
        if sent is not None:
            told.setdefault(sent[1], {})[sent[2]] = get_record(ledger, key, Settled)
    rows = []
    for key in filter(layout.alert.match, keys):
        alert = get_record(ledger, key, Alert)
        channels = told.get(alert.key, {})
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
    """Whether something did not reach its channel."""
    return any(one.status in ("failed", "expired") for one in deliveries)


def deliveries_in_words(deliveries: Sequence[Delivery]) -> str:
    """`2 alerts sent, 1 not delivered (spam/round-0003-breach to ops: ...)`; nothing for none."""
    sent = sum(one.status == "sent" for one in deliveries)
    failed = [one for one in deliveries if one.status in ("failed", "expired")]
    said = [f"{wording.plural(sent, 'alert', 'alerts')} sent"] if sent else []
    if failed:
        first = failed[0]
        where = f" to {first.channel}" if first.channel else ""
        said.append(f"{len(failed)} not delivered ({first.owner}/{first.key}{where}: {first.why})")
    return ", ".join(said)
