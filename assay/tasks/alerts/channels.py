"""Channels: where people are told. `open_channels` turns the spec's `alerts.channels` into them.

    env: VARIABLE     the variable holds one address, or several with blanks between them:
                        http(s)://...   a chat's webhook, if Apprise knows the host; else we POST JSON to it
                        anything else   an Apprise URL: mailtos://, slack://, msteams://, pagerduty://, ...
                                        (how incidents are opened and closed: below)
    block: TYPE/NAME  a notification block of Prefect, or its `webhook` block

Addresses are secrets. They are read when a channel is opened, live in memory only, and no error, log line or
key ever holds one: what went wrong is told as a status or the kind of an error.
"""

import inspect
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from assay.evalcore.errors import missing_extra
from assay.evalcore.json_values import JsonObject
from assay.tasks.alerts.alert import Alert
from assay.tasks.alerts.outbox import Channel, NotDelivered
from assay.tasks.alerts.presentable import plain_body, plain_subject
from assay.tasks.spec.alerts import Alerts, ChannelChoice, Severity

if TYPE_CHECKING:
    from apprise import NotifyBase
    from apprise.plugins.opsgenie import NotifyOpsgenie
    from apprise.plugins.pagerduty import NotifyPagerDuty

CHANNEL_TIMEOUT_SECONDS = 15.0   # seconds for a pager, or a webhook, to answer
_LONGEST_PAUSE = 86_400.0   # seconds that a channel may ask for
_LONGEST_KEY = 255     # PagerDuty's; Opsgenie takes 512
_LONGEST_SUMMARY = 1024   # characters, of PagerDuty
_LONGEST_MESSAGE = 130   # characters, of Opsgenie
_LONGEST_DESCRIPTION = 15_000   # characters, of Opsgenie
_UNSAID = 3            # the priority of an address that says none
_PRIORITIES: dict[Severity, str] = {"critical": "P1", "warning": "P3", "info": "P5"}


def incident(owner: str, alert: Alert) -> str:
    """What a breach, its repeats and its recovery share: the owner, and what of it the alert is about.

    Pagers: services that keep an incident open until they are told that it is over.

    The alert of a breach opens an incident, further alerts about the same thing are added to it, and the
    recovery closes it: all of them carry one key (`incident`). Apprise reads the addresses. The events are
    ours, because Apprise sends PagerDuty no key, and closes an alert of Opsgenie only from the process that
    opened it.

        pagerduty://KEY@API_KEY      Events API v2: trigger and resolve, by `dedup_key`
        opsgenie://API_KEY/#team     Alert API: create, and close by `alias`
    """
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


def _pagerduty(server: "NotifyPagerDuty", alert: Alert, owner: str) -> str:
    from apprise.plugins.pagerduty import PAGERDUTY_API_LOOKUP

    return post(PAGERDUTY_API_LOOKUP[server.region_name], pagerduty_event(server, alert, owner))


def pagerduty_event(server: "NotifyPagerDuty", alert: Alert, owner: str) -> JsonObject:
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


def _opsgenie(server: "NotifyOpsgenie", alert: Alert, owner: str) -> str:
    from apprise.plugins.opsgenie import OPSGENIE_API_LOOKUP

    address = OPSGENIE_API_LOOKUP[server.region_name]
    headers = {"Authorization": f"GenieKey {server.apikey}"}
    alias = incident(owner, alert)
    if alert.kind == "recovery":
        note = f"{alert.subject}\n\n{alert.body}"[:_LONGEST_DESCRIPTION]
        closing: JsonObject = {"source": owner, "note": note}
        return post(f"{address}/{quote(alias, safe='')}/close?identifierType=alias", closing, headers)
    return post(address, opsgenie_alert(server, alert, owner), headers)


def opsgenie_alert(server: "NotifyOpsgenie", alert: Alert, owner: str) -> JsonObject:
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
        # the body of the answer is not read: it may have no end
        with httpx.stream(
            "POST", address, json=what, headers=headers, timeout=CHANNEL_TIMEOUT_SECONDS
        ) as reply:
            status, asked = reply.status_code, reply.headers.get("retry-after")
    except Exception as error:   # the text of some of them holds the address
        return f"it could not be reached ({type(error).__name__})"
    return "" if status < 300 else Refusal.later(f"it answered with HTTP {status}", _seconds(asked))


class Refusal(str):
    """Why a channel did not take a message, and how long it asked not to be tried again (Retry-After)."""

    __slots__ = ("pause",)
    pause: timedelta

    @classmethod
    def later(cls, reason: str, seconds: float) -> "Refusal":
        """A refusal that holds the pause in seconds for which the channel asked, and has it in its words;
        without a pause (0) its words are the reason alone."""
        made = cls(f"{reason}, and asks for {seconds:.0f} s before the next try" if seconds else reason)
        made.pause = timedelta(seconds=seconds)
        return made


def _seconds(header: str | None) -> float:
    """Of a Retry-After: seconds, or a date; 0 for anything else, and a day at most."""
    if header is None:
        return 0.0
    if header.isascii() and header.isdecimal():
        return min(float(header), _LONGEST_PAUSE)
    try:
        at = parsedate_to_datetime(header)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max((at - datetime.now(UTC)).total_seconds(), 0.0), _LONGEST_PAUSE) if at.tzinfo else 0.0


_PAGERS: dict[str, Callable[[Any, Alert, str], str]] = {
    "NotifyPagerDuty": _pagerduty,
    "NotifyOpsgenie": _opsgenie,
}


DEFAULT = "default"
DEFAULT_VARIABLE = "ASSAY_ALERTS"
_TYPES = {"critical": "failure", "warning": "warning", "info": "info"}   # as Apprise calls them


def open_channels(
    alerts: Alerts | None, environment: Mapping[str, str] = os.environ
) -> list[Channel]:
    """The channels of a spec, or the default one: ASSAY_ALERTS, if it is set. Nothing is sent yet. Raises
    BadInput for one whose secret is not in the environment."""
    if alerts is not None and alerts.channels:
        opened = [
            channel if not choice.after_hours else Escalation(channel, timedelta(hours=choice.after_hours))
            for choice in alerts.channels for channel in _open(choice, environment)
        ]
    else:
        opened = _at(environment.get(DEFAULT_VARIABLE, "").split(), DEFAULT, "info")
    if find_spec("apprise") is None:
        problem = str(missing_extra("service", "alerts", "apprise"))
        return [NoChannel(channel.name, channel.min_severity, problem) for channel in opened]
    return opened


def message(alert: Alert, owner: str) -> str:
    """The body as channels for people carry it: what moved, where to look, and what to quote. Plain text;
    each channel escapes it as its own format demands."""
    links = "".join(f"\n{link}" for link in alert.links)
    return f"{alert.body}\n{links}\nReference: {owner}/{alert.key}".replace("\n\n\n", "\n\n")


def _presentable(alert: Alert) -> Alert:
    """The alert as every channel may carry it, whoever raised it and whatever is in it."""
    return replace(alert, subject=plain_subject(alert.subject), body=plain_body(alert.body))


def _open(choice: ChannelChoice, environment: Mapping[str, str]) -> list[Channel]:
    if choice.block is not None:
        return [BlockChannel(choice.name, choice.min_severity, choice.block)]
    variable = choice.env or ""
    addresses = environment.get(variable, "").split()
    if not addresses:
        problem = f"the environment variable {variable} is not set"
        return [NoChannel(choice.name, choice.min_severity, problem)]
    return _at(addresses, choice.name, choice.min_severity)


def _at(addresses: Sequence[str], name: str, min_severity: Severity) -> list[Channel]:
    """A channel for each address: if one cannot be reached, the others are not told twice."""
    names = [name if i == 0 else f"{name}.{i + 1}" for i in range(len(addresses))]
    return [
        AddressChannel(name, min_severity, address) for name, address in zip(names, addresses, strict=True)
    ]


class Escalation:
    """A channel that is told only of what nobody has acknowledged for so long."""

    def __init__(self, channel: Channel, after: timedelta) -> None:
        self.name, self.min_severity, self.problem = channel.name, channel.min_severity, channel.problem
        self.after, self._channel = after, channel

    def send(self, alert: Alert, owner: str) -> None:
        """Send the alert through the channel within, as it is. That nobody has acknowledged it for long
        enough is for the caller to see. Raises NotDelivered."""
        self._channel.send(alert, owner)


class NoChannel:
    """One that this machine cannot reach: nothing is tried, and nothing is noted in the ledger."""

    after = timedelta(0)

    def __init__(self, name: str, min_severity: Severity, problem: str) -> None:
        self.name, self.min_severity, self.problem = name, min_severity, problem

    def send(self, alert: Alert, owner: str) -> None:
        """Raise NotDelivered, always, with the reason why this machine cannot use the channel."""
        raise NotDelivered(self.problem)


class AddressChannel:
    """An address: an Apprise URL, or a webhook of one's own."""

    problem = ""
    after = timedelta(0)

    def __init__(self, name: str, min_severity: Severity, address: str) -> None:
        self.name, self.min_severity, self._address = name, min_severity, address

    def __repr__(self) -> str:
        return f"AddressChannel({self.name!r})"

    def send(self, alert: Alert, owner: str) -> None:
        with quiet():
            reason = self._send(_presentable(alert), owner)
        if reason:   # raised here, outside of any handler: an exception would carry its cause along
            raise NotDelivered(reason, reason.pause if isinstance(reason, Refusal) else timedelta(0))

    def _send(self, alert: Alert, owner: str) -> str:
        import apprise

        try:
            asset = apprise.AppriseAsset(app_id="Assay", app_desc="Assay")   # as messages are signed
            server = apprise.Apprise.instantiate(self._address, asset=asset)
            if server is not None:
                return _through(server, alert, owner)
        except Exception as error:
            return f"it could not be reached ({type(error).__name__})"
        if self._address.startswith(("http://", "https://")):
            what = payload(alert, owner)
            return post(self._address, what, {"Idempotency-Key": str(what["reference"])})
        return "Apprise does not know this kind of address"


class BlockChannel:
    """A block of Prefect's, loaded when it is needed: it may be changed in Prefect's UI at any time."""

    problem = ""
    after = timedelta(0)

    def __init__(self, name: str, min_severity: Severity, block: str) -> None:
        self.name, self.min_severity, self.block = name, min_severity, block

    def send(self, alert: Alert, owner: str) -> None:
        with quiet():
            reason = self._send(_presentable(alert), owner)
        if reason:
            raise NotDelivered(reason, reason.pause if isinstance(reason, Refusal) else timedelta(0))

    def _send(self, alert: Alert, owner: str) -> str:
        import prefect.blocks.notifications
        import prefect.blocks.webhook  # noqa: F401 - both register the kinds of blocks
        from prefect.blocks.abstract import NotificationBlock
        from prefect.blocks.core import Block

        try:
            block: object = Block.load(self.block)
        except ValueError:
            return f"there is no block {self.block} in Prefect"
        except Exception as error:
            return f"the block {self.block} could not be loaded ({type(error).__name__})"
        try:
            servers = list(getattr(block, "_apprise_client", None) or ())
            if servers and all(pager_for(server) for server in servers):
                return "; ".join(filter(None, (_through(server, alert, owner) for server in servers)))
            for server in servers:
                _plain_text(server)
            if isinstance(block, NotificationBlock):
                if hasattr(block, "notify_type"):
                    block.notify_type = _type_of(alert)
                with block.raise_on_failure():
                    _awaited(block.notify(body=message(alert, owner), subject=alert.subject))
                return ""
            if hasattr(block, "call"):
                reply = _awaited(block.call(payload(alert, owner)))
                return "" if reply.status_code < 300 else f"it answered with HTTP {reply.status_code}"
        except Exception as error:
            return f"the block {self.block} did not deliver it ({type(error).__name__})"
        return f"the block {self.block} is not a notification block"


def _through(server: "NotifyBase", alert: Alert, owner: str) -> str:
    """Tell a service that Apprise knows; why it was not told, or nothing."""
    import apprise

    pager = pager_for(server)
    if pager is not None:
        return pager(server, alert, owner)
    _plain_text(server)
    success = server.notify(
        body=message(alert, owner), title=alert.subject,
        notify_type=apprise.NotifyType(_type_of(alert)), body_format=apprise.NotifyFormat.TEXT,
    )
    return "" if success else f"{server.service_name} did not take the message"


def _plain_text(server: "NotifyBase") -> None:
    """Send text as text: HTML made of it loses the line breaks where a reader shows it as text again."""
    import apprise

    if server.notify_format == apprise.NotifyFormat.HTML:
        server.notify_format = apprise.NotifyFormat.TEXT


def _awaited(result: object) -> Any:
    """The result itself: some blocks are asynchronous wherever they are called from."""
    from prefect.utilities.asyncutils import run_coro_as_sync

    return run_coro_as_sync(result) if inspect.iscoroutine(result) else result


def payload(alert: Alert, owner: str) -> JsonObject:
    """What a webhook of one's own is sent.

    `reference` is the same whenever the same alert is sent again; `incident` is the same for a breach, its
    repeats and its recovery.
    """
    return {
        "reference": f"{owner}/{alert.key}", "owner": owner, "key": alert.key, "kind": alert.kind,
        "severity": alert.severity, "group": alert.group, "incident": incident(owner, alert),
        "subject": alert.subject, "body": alert.body, "links": list(alert.links),
    }


def _type_of(alert: Alert) -> str:
    return "success" if alert.kind == "recovery" else _TYPES[alert.severity]


_TALKATIVE = (
    "apprise", "requests", "urllib3", "urllib3.connectionpool", "urllib3.connection", "urllib3.util.retry",
    "httpx", "httpcore", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy",
    "asyncio", "markdown", "MARKDOWN",
)
_sending: ContextVar[bool] = ContextVar("sending an alert", default=False)


class _Silent(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _sending.get()


_SILENT = _Silent()   # one object: adding it again to a logger that has it does nothing


@contextmanager
def quiet() -> Iterator[None]:
    """A context in which nothing is logged of what the libraries that send messages say, since their lines
    may hold addresses, which are secrets. Other threads log as before.

    While a channel is told, the libraries that tell it keep their logs to themselves.

    The address of a chat's webhook is a secret, and urllib3, requests, httpx and Apprise write addresses,
    paths and payloads into their logs: httpx at INFO already. A filter on each of their loggers drops what
    they say while this thread is sending; other threads, and other times, are not affected.
    """
    for name in _TALKATIVE:
        logging.getLogger(name).addFilter(_SILENT)
    token = _sending.set(True)
    try:
        yield
    finally:
        _sending.reset(token)
