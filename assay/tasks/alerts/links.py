"""Signed links in the messages of a monitor: to a page of the receiver on which an incident is handled.

A link names the monitor and the incident, says until when it holds, and is signed with the receiver's secret.
Whoever has the message may acknowledge, assign or snooze what it is about, and nothing else. The signature is
made with a key of its own, derived from the secret, so no link helps to forge a webhook.

    ASSAY_HANDLE_URL       the address of the receiver, as people reach it
    ASSAY_WEBHOOK_SECRET   the same secret as the receiver's, in the processes that send messages
"""

import base64
import binascii
import hmac
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import Channel
from assay.tasks.ledger import layout
from assay.tasks.ledger.responses import incident_name
from assay.tasks.secrets import keyed_digest

ADDRESS_VARIABLE = "ASSAY_HANDLE_URL"
SECRET_VARIABLE = "ASSAY_WEBHOOK_SECRET"   # noqa: S105 - the name of a variable
HOLDS = timedelta(days=14)
_PURPOSE = b"assay incidents 1"
_LONGEST_LINK_TOKEN = 1024   # characters of a token that is looked at


@dataclass(frozen=True, slots=True)
class LinkedIncident:
    """What a signed link is about: the monitor, the incident, and until when it holds, in seconds since
    1970."""

    monitor: str
    incident: str
    until: int        # seconds since 1970


def incident_token(secret: bytes, about: LinkedIncident) -> str:
    """The text that names an incident in an address: what the link is about as URL-safe Base64, a dot, and
    its signature, an HMAC-SHA-256 with a key derived from the secret."""
    body = base64.urlsafe_b64encode(
        json.dumps([about.monitor, about.incident, about.until]).encode()
    ).rstrip(b"=")
    return f"{body.decode()}.{keyed_digest(secret, _PURPOSE, body)}"


def read_token(secret: bytes, token: str, moment: float | None = None) -> LinkedIncident | None:
    """What a token is about; None for one that was not signed with this secret, or holds no longer. `moment`
    is in seconds of Unix time, the clock's unless given."""
    body, _, signature = token[:_LONGEST_LINK_TOKEN].partition(".")
    expected = keyed_digest(secret, _PURPOSE, body.encode())
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        return None
    try:
        monitor, incident, until = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, binascii.Error):
        return None
    about = LinkedIncident(str(monitor), str(incident), int(until))
    return about if (time.time() if moment is None else moment) < about.until else None


class LinkedChannel:
    """A channel whose messages link to the page of their incident."""

    def __init__(self, channel: Channel, address: str, secret: bytes, clock: Callable[[], float]) -> None:
        self.name, self.min_severity, self.problem = channel.name, channel.min_severity, channel.problem
        self.after = channel.after
        self._channel, self._address, self._secret, self._clock = channel, address, secret, clock

    def send(self, alert: Alert, owner: str) -> None:
        """Send the alert through the channel within, with a signed link to the page of its incident added;
        alerts of evaluations, recoveries and alerts about mutes have none. Raises NotDelivered."""
        self._channel.send(replace(alert, links=(*alert.links, *self._links(alert, owner))), owner)

    def _links(self, alert: Alert, owner: str) -> tuple[str, ...]:
        if alert.kind in ("recovery", "muted") or not owner.startswith(layout.MONITORS_PREFIX):
            return ()
        about = LinkedIncident(
            owner.removeprefix(layout.MONITORS_PREFIX), incident_name(alert.group),
            int(self._clock() + HOLDS.total_seconds()),
        )
        return (f"{self._address}/incidents/{incident_token(self._secret, about)}",)


def with_handling(
    channel: Channel, environment: Mapping[str, str], clock: Callable[[], float] = time.time
) -> Channel:
    """The channel with links to the receiver's page, where address and secret are known."""
    address, secret = environment.get(ADDRESS_VARIABLE, ""), environment.get(SECRET_VARIABLE, "")
    if not address or not secret:
        return channel
    return LinkedChannel(channel, address.rstrip("/"), secret.encode(), clock)
