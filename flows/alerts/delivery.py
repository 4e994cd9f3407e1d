"""Delivering what waits in the outboxes of a ledger.

Called by sweeps, by the flows that drive one evaluation, by the receiver of webhooks and by `assay alerts`,
any number of times, also at the same time: the outbox makes sure that each message is sent once.
"""

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from assay.evalcore.errors import AssayError
from assay.flows.alerts.verdicts import alert_choices
from assay.flows.record.finished import READERS
from assay.flows.record.opened import UnknownEvaluation, named_folders, open_evaluation, utc_now
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.channels import open_channels
from assay.tasks.alerts.listing import OutboxRow, outbox_rows
from assay.tasks.alerts.outbox import Delivery, NotDelivered, deliver_due, outbox_index
from assay.tasks.ledger import layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import Store

_log = logging.getLogger("assay.alerts")


def deliver(
    store: Store,
    owners: Iterable[str] | None = None,
    *,
    now: Callable[[], datetime] = utc_now,
    environment: Mapping[str, str] = os.environ,
) -> list[Delivery]:
    """Send the alerts that are due, of all owners or of these; returns what became of each.

    An owner whose outbox cannot be read is skipped, with a line in the log.
    """
    index = outbox_index(store)
    done: list[Delivery] = []
    for owner in sorted(index if owners is None else index.keys() & set(owners)):
        try:
            alerts = alert_choices(Ledger(store, owner))
            done += deliver_due(
                Ledger(store, owner), open_channels(alerts, environment), now(),
                cooldown=timedelta(hours=alerts.cooldown_hours), waiting=index[owner],
            )
        except AssayError as error:
            _log.error("%s: alerts were not delivered: %s", owner, error)
            done.append(Delivery(owner=owner, key="", channel="", status="failed", why=str(error)))
    return done


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
    """Send every channel of the owner a message that says it is a test. Nothing is written."""
    check_owner(store, owner)
    done: list[Delivery] = []
    alert = Alert(
        key="test", kind="failure", severity="critical", subject=f"{owner}: test of the alerts",
        body="This message tests the channel: it works. Nothing is wrong.",
    )
    for channel in open_channels(alert_choices(Ledger(store, owner)), environment):
        try:
            channel.send(alert, owner)
            said = Delivery(owner=owner, key="test", channel=channel.name, status="sent")
        except NotDelivered as error:
            said = Delivery(
                owner=owner, key="test", channel=channel.name, status="failed", why=str(error)
            )
        done.append(said)
    return done


def check_owner(store: Store, owner: str) -> None:
    """Raise BadInput unless this is an evaluation, or `monitors/<name>`, of this store."""
    name = layout.check_name(owner.removeprefix(layout.MONITORS_PREFIX))
    if not store.exists(layout.spec(owner)):
        open_evaluation(store, name)   # raises UnknownEvaluation, and says what there is
        raise UnknownEvaluation(f"{store.url} holds no monitor named {name!r}; an evaluation has that name")


def _owners(store: Store) -> list[str]:
    """All that may have an outbox, sorted."""
    of_monitors = [layout.monitor(name) for name in store.folders(layout.MONITORS_PREFIX)]
    return sorted([*named_folders(store), *of_monitors])
