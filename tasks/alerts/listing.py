"""An outbox in full, for people to look at, and the way to make a lost index anew."""

from typing import Any

from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import enter_index
from assay.tasks.alerts.tries import Settled
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import get_record


@retried
def outbox_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """The outbox in full, as JSON: every alert, what each channel was told, and whether it still waits.

    The keys are listed, not the index; an alert that nobody was told of and that is not in the index is
    entered again.
    """
    keys = list(ledger.keys(layout.alerts(ledger.name)))
    told: dict[str, dict[str, Any]] = {}   # alert -> channel -> what became of it
    for key in keys:
        sent = layout.alert_sent.match(key)
        if sent is not None:
            told.setdefault(sent[1], {})[sent[2]] = codec.plain(get_record(ledger, key, Settled))
    rows = []
    for key in filter(layout.alert.match, keys):
        alert = get_record(ledger, key, Alert)
        channels = told.get(alert.key, {})
        waiting = ledger.exists(layout.alert_index(ledger.name, alert.key))
        if not channels and not waiting:
            enter_index(ledger, alert.key, None)
            waiting = True
        rows.append({
            "owner": ledger.name, **codec.plain(alert), "channels": channels, "waiting": waiting
        })
    return rows
