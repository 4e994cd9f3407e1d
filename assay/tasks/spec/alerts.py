"""The `alerts` part of a spec: who is told, of what, how urgently and how often.

A spec names channels; where a channel leads is a secret (the address of a chat's webhook lets anybody write
there), so it is in an environment variable of the process that delivers, or in a Prefect block, and never
here:

    alerts:
      channels:
        - {name: ops, env: ASSAY_ALERT_OPS}       # it holds an Apprise URL, or a webhook's address
        - {name: pager, block: pager-duty-webhook/on-call, min_severity: critical}
      tell: [breach, recovery, inconclusive]
      cooldown_hours: 24
"""

import re
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import Field, Strict, field_validator, model_validator

from assay.tasks.schema import Finite, GrownPart, Location, Part, wrong

Severity = Literal["info", "warning", "critical"]
Kind = Literal[
    "breach", "recovery", "inconclusive", "failure",
    # of monitors
    "missing", "stale", "spent", "unlabelled", "empty", "small", "muted", "collapse", "signal",
    "silent",
]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")   # least first
KINDS: tuple[Kind, ...] = get_args(Kind)
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_BLOCK = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*/[a-z0-9]+(-[a-z0-9]+)*")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_RESERVED = "default"   # the channel of those who name none


class ChannelChoice(GrownPart):
    """One channel: a name, and where its address is to be found."""

    later: ClassVar[tuple[str, ...]] = ("after_hours",)

    name: str = Field(description="a name for the channel: small letters, digits and dashes")
    env: str | None = Field(default=None, description="the environment variable that holds its address")
    block: str | None = Field(default=None, description="a Prefect block, such as slack-webhook/ops")
    min_severity: Severity = Field(default="info", description="less severe alerts are not sent here")
    after_hours: Annotated[Finite, Field(ge=0, le=24 * 365)] = Field(
        default=0.0, description="escalation: told only of what nobody has acknowledged after so many hours"
    )

    @field_validator("name")
    @classmethod
    def _part_of_keys(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or name == _RESERVED:
            raise wrong(f"{name!r} cannot name a channel: 1 to 40 small letters, digits and dashes (and not "
                        f"{_RESERVED!r}, which is the channel of specs that name none)")
        return name

    @field_validator("env")
    @classmethod
    def _a_name_and_no_address(cls, variable: str | None) -> str | None:
        if variable is not None and not _VARIABLE.fullmatch(variable):
            raise wrong("must be the name of an environment variable, in capitals, such as ASSAY_ALERT_OPS; "
                        "an address holds a secret and never stands in a spec")
        return variable

    @field_validator("block")
    @classmethod
    def _a_block_and_no_address(cls, block: str | None) -> str | None:
        if block is not None and not _BLOCK.fullmatch(block):
            raise wrong("must be TYPE/NAME of a Prefect block, such as slack-webhook/ops; an address holds a "
                        "secret and never stands in a spec")
        return block

    @model_validator(mode="after")
    def _exactly_one(self) -> "ChannelChoice":
        if (self.env is None) == (self.block is None):
            have = "both" if self.env is not None else "neither"
            raise wrong(f"needs exactly one of `env` and `block`, got {have}")
        return self


class AlertSeverity(GrownPart):
    """How severe each kind of alert is. A recovery is as severe as the breach it ends."""

    later: ClassVar[tuple[str, ...]] = ("collapse", "signal", "silent")

    breach: Severity = Field(default="critical", description="info, warning or critical")
    inconclusive: Severity = Field(default="info", description="info, warning or critical")
    failure: Severity = Field(default="warning", description="info, warning or critical")
    missing: Severity = Field(default="warning", description="info, warning or critical")
    stale: Severity = Field(default="warning", description="info, warning or critical")
    spent: Severity = Field(default="warning", description="info, warning or critical")
    unlabelled: Severity = Field(default="info", description="info, warning or critical")
    empty: Severity = Field(default="info", description="info, warning or critical")
    small: Severity = Field(default="info", description="info, warning or critical")
    muted: Severity = Field(default="info", description="info, warning or critical")
    collapse: Severity = Field(default="critical", description="info, warning or critical")
    signal: Severity = Field(default="warning", description="info, warning or critical")
    silent: Severity = Field(default="warning", description="info, warning or critical")

    def of_kind(self, kind: Kind) -> Severity:
        """The severity of an alert of this kind, as the spec sets it: info, warning or critical. A recovery
        has that of a breach."""
        severity: Severity = getattr(self, "breach" if kind == "recovery" else kind)
        return severity


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
EveryDay = Literal["day", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class Maintenance(Part):
    """A time that comes again in which nobody is told of anything."""

    every: EveryDay = Field(description="day, or a day of the week")
    begins: str = Field(description='when it begins, such as "02:00"')
    hours: Annotated[Finite, Field(gt=0, le=24)] = Field(description="how long it takes")
    timezone: str = Field(default="UTC", description='where that time is: "Europe/Berlin"')

    @field_validator("begins")
    @classmethod
    def _a_time(cls, text: str) -> str:
        if not _TIME.fullmatch(text):
            raise wrong(f"{text!r} is no time of a day; write it in quotes, as \"02:00\"")
        return text

    @field_validator("timezone")
    @classmethod
    def _a_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise wrong(f"{name!r} is no time zone; one is Europe/Berlin") from None
        return name

    def covers(self, moment: datetime) -> bool:
        """Whether a moment lies in this span, by the clock of its own time zone. One that began the day
        before counts while it lasts."""
        local_time = moment.astimezone(ZoneInfo(self.timezone))
        hour, minute = map(int, self.begins.split(":"))
        for back in (0, 1):     # it may have begun the day before
            day = local_time.date() - timedelta(days=back)
            begin = datetime(day.year, day.month, day.day, hour, minute, tzinfo=local_time.tzinfo)
            right_day = self.every == "day" or _DAYS[day.weekday()] == self.every
            if right_day and begin <= local_time < begin + timedelta(hours=self.hours):
                return True
        return False


class Alerts(GrownPart):
    """Who is told of what: the section `alerts` of a spec."""

    later: ClassVar[tuple[str, ...]] = ("tell", "maintenance")

    channels: Annotated[tuple[ChannelChoice, ...], Strict(False)] = Field(
        default=(), description="where people are told; if none is named, the addresses in ASSAY_ALERTS"
    )
    tell: Annotated[tuple[Kind, ...], Strict(False)] = Field(
        default=("breach", "recovery", "failure", "missing", "stale", "spent", "muted", "collapse",
                 "silent"),
        description="kinds of alerts that are raised",
    )
    severity: AlertSeverity = Field(default_factory=AlertSeverity, description="how severe each kind is")
    cooldown_hours: Annotated[Finite, Field(ge=0, le=24 * 365)] = Field(
        default=24.0, description="hours in which a channel is not told the same thing again"
    )
    maintenance: Annotated[tuple[Maintenance, ...], Strict(False)] = Field(
        default=(), description="times that come again in which nobody is told: {every: sunday, begins: "
                                "\"02:00\", hours: 4}; what still stands is told afterwards"
    )
    each_round: bool = Field(
        default=False, description="judge after every round, not only at the end: more false alarms"
    )
    report_url: Location | None = Field(
        default=None,
        description="link to the report of {evaluation}, or of a monitor to the page of {window}",
    )

    def in_maintenance(self, moment: datetime) -> bool:
        """Whether a moment lies in any of the spans of maintenance, so that nobody is told of anything.
        Windows are judged all the same, and summed up afterwards."""
        return any(period.covers(moment) for period in self.maintenance)

    @field_validator("channels")
    @classmethod
    def _each_name_once(cls, channels: tuple[ChannelChoice, ...]) -> tuple[ChannelChoice, ...]:
        names = [channel.name for channel in channels]
        for name in names:
            if names.count(name) > 1:
                raise wrong(f"names two channels {name!r}; give them different names")
        return channels

    @field_validator("tell", mode="before")
    @classmethod
    def _known_kinds(cls, value: object) -> object:
        for kind in value if isinstance(value, list | tuple) else ():
            if kind not in KINDS:
                raise wrong(f"lists {kind!r}; it may hold {', '.join(KINDS)}")
        return value

    @field_validator("report_url")
    @classmethod
    def _a_web_address(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise wrong(f"{url!r} is not an http:// or https:// address")
        return url


def report_links(alerts: Alerts, *evaluations: str) -> tuple[str, ...]:
    """Where the reports of these evaluations are, if the spec says so."""
    address = alerts.report_url
    return () if address is None else tuple(address.replace("{evaluation}", name) for name in evaluations)


def window_links(alerts: Alerts, monitor: str, window: str) -> tuple[str, ...]:
    """Where the page of a monitor's window is, if the spec says so."""
    address = alerts.report_url
    return () if address is None else (address.replace("{monitor}", monitor).replace("{window}", window),)
