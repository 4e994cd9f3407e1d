"""Pagers: services that keep an incident open until they are told that it is over.

The alert of a breach opens an incident, further alerts about the same thing are added to it, and the recovery
closes it: all of them carry one key (`incident`). Apprise reads the addresses. The events are ours, because
Apprise sends PagerDuty no key, and closes an alert of Opsgenie only from the process that opened it.

    pagerduty://KEY@API_KEY      Events API v2: trigger and resolve, by `dedup_key`
    opsgenie://API_KEY/#team     Alert API: create, and close by `alias`
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from assay.evalcore.types import JsonObject
from assay.tasks.alerts.alert import Alert
from assay.tasks.spec.alerts import Severity

TIMEOUT = 15.0         # seconds for a pager, or a webhook, to answer
_LONGEST_KEY = 255     # PagerDuty's; Opsgenie takes 512
_LONGEST_SUMMARY = 1024
_LONGEST_MESSAGE = 130
_LONGEST_DESCRIPTION = 15_000
_UNSAID = 3            # the priority of an address that says none
_PRIORITIES: dict[Severity, str] = {"critical": "P1", "warning": "P3", "info": "P5"}


def incident(owner: str, alert: Alert) -> str:
    """What a breach, its repeats and its recovery share: the owner, and what of it the alert is about."""
    key = f"assay/{owner}/{alert.group}".rstrip("/")
    if len(key) <= _LONGEST_KEY:
        return key
    digest = sha256(key.encode()).hexdigest()[:16]
    return f"{key[:_LONGEST_KEY - 17]}-{digest}"


def pager_for(server: object) -> Callable[[Any, Alert, str], str] | None:
    """How to tell a service that Apprise knows, where it is a pager; None for any other.

    The function takes the service, the alert and its owner, and returns why it was not told, or nothing.
    """
    return _PAGERS.get(type(server).__name__)


def _pagerduty(server: Any, alert: Alert, owner: str) -> str:
    from apprise.plugins.pagerduty import PAGERDUTY_API_LOOKUP

    return post(PAGERDUTY_API_LOOKUP[server.region_name], pagerduty_event(server, alert, owner))


def pagerduty_event(server: Any, alert: Alert, owner: str) -> JsonObject:
    """An event of PagerDuty's Events API v2. `server`: what Apprise read from the address."""
    payload: JsonObject = {
        "summary": alert.subject[:_LONGEST_SUMMARY],
        "source": owner,
        "severity": alert.severity,
        "component": server.component,
        "custom_details": {"what": alert.body, "reference": f"{owner}/{alert.key}", **server.details},
    }
    if alert.group or server.group:
        payload["group"] = alert.group or server.group
    if server.class_id:
        payload["class"] = server.class_id
    event: JsonObject = {
        "routing_key": server.integration_key,
        "event_action": "resolve" if alert.kind == "recovery" else "trigger",
        "dedup_key": incident(owner, alert),
        "client": "Assay",
        "payload": payload,
    }
    if alert.links:
        event["client_url"] = alert.links[0]
        event["links"] = [{"href": link, "text": "The page of this window or report"} for link in alert.links]
    return event


def _opsgenie(server: Any, alert: Alert, owner: str) -> str:
    from apprise.plugins.opsgenie import OPSGENIE_API_LOOKUP

    address = OPSGENIE_API_LOOKUP[server.region_name]
    headers = {"Authorization": f"GenieKey {server.apikey}"}
    alias = incident(owner, alert)
    if alert.kind == "recovery":
        note = f"{alert.subject}\n\n{alert.body}"[:_LONGEST_DESCRIPTION]
        told: JsonObject = {"source": owner, "note": note}
        return post(f"{address}/{quote(alias, safe='')}/close?identifierType=alias", told, headers)
    return post(address, opsgenie_alert(server, alert, owner), headers)


def opsgenie_alert(server: Any, alert: Alert, owner: str) -> JsonObject:
    """What opens an alert at Opsgenie. `server`: what Apprise read from the address."""
    subject = alert.subject
    links = "".join(f"\n{link}" for link in alert.links)
    opened: JsonObject = {
        "message": subject if len(subject) <= _LONGEST_MESSAGE else f"{subject[:_LONGEST_MESSAGE - 1]}…",
        "alias": incident(owner, alert),
        "description": f"{subject}\n\n{alert.body}\n{links}"[:_LONGEST_DESCRIPTION],
        "source": owner,
        "entity": server.entity or owner,
        "priority": _PRIORITIES[alert.severity] if server.priority == _UNSAID else f"P{server.priority}",
        "details": {
            "kind": alert.kind, "severity": alert.severity, "reference": f"{owner}/{alert.key}",
            **server.details,
        },
    }
    if server.targets:
        opened["responders"] = list(server.targets)
    tags = getattr(server, "_NotifyOpsgenie__tags", None)
    if tags:
        opened["tags"] = list(tags)
    return opened


def post(address: str, what: JsonObject, headers: dict[str, str] | None = None) -> str:
    """POST JSON; why it was not taken, or nothing. Never repeats the address."""
    import httpx

    try:
        reply = httpx.post(address, json=what, headers=headers, timeout=TIMEOUT)
    except Exception as error:   # the text of some of them holds the address
        return f"it could not be reached ({type(error).__name__})"
    if reply.status_code < 300:
        return ""
    asked = _seconds(reply.headers.get("retry-after"))
    return Refusal.later(f"it answered with HTTP {reply.status_code}", asked)


class Refusal(str):
    """Why a channel did not take a message, and how long it asked not to be tried again (Retry-After)."""

    __slots__ = ("pause",)
    pause: timedelta

    @classmethod
    def later(cls, why: str, seconds: float) -> "Refusal":
        """With the pause in its words, where there is one."""
        made = cls(f"{why}, and asks for {seconds:.0f} s before the next try" if seconds else why)
        made.pause = timedelta(seconds=seconds)
        return made


def _seconds(said: str | None) -> float:
    """Of a Retry-After: seconds, or a date; 0 for anything else."""
    if said is None:
        return 0.0
    try:
        return max(float(int(said)), 0.0)
    except ValueError:
        pass
    try:
        at = parsedate_to_datetime(said)
    except (TypeError, ValueError):
        return 0.0
    return max((at - datetime.now(UTC)).total_seconds(), 0.0) if at.tzinfo else 0.0


_PAGERS: dict[str, Callable[[Any, Alert, str], str]] = {
    "NotifyPagerDuty": _pagerduty,
    "NotifyOpsgenie": _opsgenie,
}
