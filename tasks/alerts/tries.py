"""Attempts to tell a channel, as the ledger holds them; `outbox` decides, this reads and writes.

An attempt is a key that only one process can create. It ends in `.failed.json` beside it, in the channel's
`sent` record, or, if its process died, not at all: then it counts as lost after `CLAIM`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import uuid4

from assay.tasks.alerts.alert import Alert
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.record import Ledger, get_record, put_record

CLAIM = timedelta(minutes=5)            # longer than any channel may take to send
FIRST_RETRY = timedelta(seconds=30)     # after the first failure; doubled for each further one, up to
LAST_RETRY = timedelta(hours=6)

Status = Literal["sent", "held", "failed", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One attempt to deliver an alert."""

    number: int       # 1 for the first
    at: datetime
    failed: bool      # known to have failed
    asked: float = 0.0   # seconds that the channel asked not to be tried again

    @property
    def pause(self) -> timedelta:
        """How long it keeps others from trying."""
        if not self.failed:
            return CLAIM
        pause: timedelta = FIRST_RETRY * 2 ** min(self.number - 1, 20)
        return min(max(pause, timedelta(seconds=self.asked)), LAST_RETRY)

    def is_over(self, now: datetime) -> bool:
        """Whether another attempt may be made. A date far ahead says nothing: a clock was wrong."""
        return abs(now - self.at) >= self.pause


@dataclass(frozen=True, slots=True, kw_only=True)
class TryClaim:
    """`<alert>.tries/<channel>.0001.json`: somebody makes the attempt."""

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
    there = list(ledger.keys(layout.alert_tries(ledger.name, alert)))
    made = {key: values for key in there if (values := layout.alert_try.match(key)) is not None}

    def of_attempt(key: str, attempt: int) -> Try:
        failed_key = layout.alert_failed(ledger.name, alert, channel, attempt)
        failed = failed_key in there
        asked = get_record(ledger, failed_key, Settled).asked if failed else 0.0
        return Try(number=attempt, at=get_record(ledger, key, TryClaim).at, failed=failed, asked=asked)

    found = [of_attempt(key, attempt) for key, (_, _, tried, attempt) in made.items() if tried == channel]
    return sorted(found, key=lambda one: one.number)


@retried
def told_before(ledger: Ledger, channel: str, but: str) -> list[tuple[datetime, Alert]]:
    """What this channel was told by this owner, and when.

    but   the key of an alert to leave out: another sweep may have told of it a moment ago
    """
    found = []
    for key in ledger.keys(layout.alerts(ledger.name)):
        sent = layout.alert_sent.match(key)
        if sent is None or sent[1] == but or sent[2] != channel:
            continue
        settled = get_record(ledger, key, Settled)
        if settled.status == "sent":
            found.append((settled.at, get_record(ledger, layout.alert(ledger.name, sent[1]), Alert)))
    return found


@retried
def claim(ledger: Ledger, key: str, now: datetime) -> bool:
    """Whether this process makes the attempt. The bytes hold a random word, so a repeated put knows its
    own."""
    blob = record.encode(TryClaim(at=now, creator=uuid4().hex))
    return ledger.put(key, blob) == blob


@retried
def settle_try(
    ledger: Ledger, key: str, status: Status, now: datetime, why: str = "", pause: timedelta = timedelta(0)
) -> None:
    """End an attempt, or settle an alert for a channel. The first record counts."""
    put_record(ledger, key, Settled(at=now, status=status, why=why, asked=pause.total_seconds()))
