"""Attempts to tell a channel, as the ledger holds them; `outbox` decides, this reads and writes.

An attempt is a key that only one process can create. It ends in `.failed.json` beside it, in the channel's
`sent` record, or, if its process died, not at all: then it counts as lost after `CLAIM`.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid4

from assay.tasks.alerts.alert import Alert, alert_from
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import Store

CLAIM = timedelta(minutes=5)            # longer than any channel may take to send
FIRST_RETRY = timedelta(seconds=30)     # after the first failure; doubled for each further one, up to
LAST_RETRY = timedelta(hours=6)
_TRY = re.compile(r"(.+)\.(\d{4,})\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One attempt."""

    number: int       # 1 for the first
    at: datetime
    failed: bool      # known to have failed

    @property
    def next_at(self) -> datetime:
        """When another attempt may be made."""
        if not self.failed:
            return self.at + CLAIM
        pause: timedelta = FIRST_RETRY * 2 ** min(self.number - 1, 20)
        return self.at + min(pause, LAST_RETRY)


@retried
def read_tries(ledger: Ledger, key: str, channel: str) -> list[Try]:
    """The attempts to tell this channel of an alert, in order."""
    prefix = layout.alert_tries(ledger.name, key)
    names = {name.removeprefix(prefix): name for name in ledger.keys(prefix)}
    found = []
    for name, full in names.items():
        match = _TRY.fullmatch(name)
        if match and match[1] == channel:
            failed = name.removesuffix(".json") + ".failed.json" in names
            found.append(Try(number=int(match[2]), at=_time_in(ledger.store, full), failed=failed))
    return sorted(found, key=lambda one: one.number)


@retried
def told_before(ledger: Ledger, channel: str) -> list[tuple[datetime, Alert]]:
    """What this channel was told by this owner, and when."""
    found = []
    ending = f".sent/{channel}.json"
    for key in ledger.keys(layout.alerts(ledger.name)):
        if key.endswith(ending) and codec.from_json(ledger.get(key), key)["status"] == "sent":
            alert = key.removesuffix(ending) + ".json"
            found.append((_time_in(ledger.store, key), alert_from(ledger.get(alert), alert)))
    return found


@retried
def claim(store: Store, key: str, now: datetime) -> bool:
    """Whether the attempt is ours: a repeated put finds its own bytes, which hold a word nobody else has."""
    blob = codec.to_json({"at": now.isoformat(), "creator": uuid4().hex})
    return store.put(key, blob) == blob


@retried
def settle(store: Store, key: str, status: str, now: datetime, why: str = "") -> None:
    """End an attempt, or settle an alert for a channel. The first one to say so stands."""
    store.put(key, codec.to_json({"at": now.isoformat(), "status": status, "why": why}))


def _time_in(store: Store, key: str) -> datetime:
    moment: str = codec.from_json(store.get(key), key)["at"]
    return datetime.fromisoformat(moment)
