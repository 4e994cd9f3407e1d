"""An outbox in full, for people to look at, and the way to make a lost index anew."""

from dataclasses import asdict
from typing import Any

from assay.tasks.alerts.alert import alert_from
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger


@retried
def outbox_rows(ledger: Ledger) -> list[dict[str, Any]]:
    """The outbox in full, as JSON: every alert, what each channel was told, and whether it still waits.

    The keys are listed, not the index; an alert that nobody was told of and that is not in the index is
    entered again.
    """
    prefix = layout.alerts(ledger.name)
    names = list(ledger.keys(prefix))
    rows = []
    for name in names:
        if "/" in name.removeprefix(prefix):
            continue
        alert = alert_from(ledger.get(name), name)
        sent = f"{prefix}{alert.key}.sent/"
        channels = {
            key.removeprefix(sent).removesuffix(".json"): codec.from_json(ledger.get(key), key)
            for key in names if key.startswith(sent)
        }
        waiting = ledger.exists(layout.alert_index(ledger.name, alert.key))
        if not channels and not waiting:
            ledger.put(layout.alert_index(ledger.name, alert.key), codec.to_json({}))
            waiting = True
        said = {field: value for field, value in asdict(alert).items() if field != "links"}
        rows.append({
            "owner": ledger.name, **said, "links": list(alert.links), "channels": channels, "waiting": waiting
        })
    return rows
