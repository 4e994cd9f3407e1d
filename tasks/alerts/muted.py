"""Alerts that were raised during a mute, and the one that sums them up."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import Muted
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitoring.mutes import Mute
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import find_record, get_record
from assay.tasks.report import wording
from assay.tasks.spec.alerts import Severity

_MOST_LISTED = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MutedAlert:
    """An alert that nobody was told of."""

    alert: Alert
    mute: int      # the number of the mute


def read_muted(ledger: Ledger) -> list[MutedAlert]:
    """All of an owner, in the order they were raised."""
    found = []
    for key in list(ledger.keys(layout.alerts(ledger.name))):
        values = layout.alert_muted.match(key)
        alert = None if values is None else find_record(ledger, layout.alert(*values), Alert)
        if alert is not None:
            muted = get_record(ledger, key, Muted)
            found.append((muted.at, MutedAlert(alert=alert, mute=muted.mute)))
    return [one for _, one in sorted(found, key=lambda pair: (pair[0], pair[1].alert.key))]


def summary_alert(
    monitor: str, ended: Mute, muted: Sequence[MutedAlert], standing: Sequence[Alert], severity: Severity
) -> Alert:
    """What is told when a mute has ended.

    muted      at least one
    standing   alerts of what has not ended, which are told by themselves
    """
    number = wording.plural(len(muted), "alert", "alerts")
    lines = [f"Muted since {ended.at:%Y-%m-%d %H:%M} UTC: {ended.reason}"]
    lines += [f"- {one.alert.subject}" for one in muted[:_MOST_LISTED]]
    if len(muted) > _MOST_LISTED:
        lines.append(f"- and {len(muted) - _MOST_LISTED} more: assay alerts monitors/{monitor}")
    if standing:
        lines.append("Still in breach, and told by itself: " + "; ".join(one.subject for one in standing))
    else:
        lines.append("No breach of these still stands.")
    return Alert(
        key=f"mute-{ended.number:04d}-ended", kind="muted", severity=severity, group="muted",
        subject=f"{monitor}: the mute has ended; {number} muted", body="\n".join(lines),
    )
