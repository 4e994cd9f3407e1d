"""Windows of time: which one a moment belongs to, what it is called, and which a stream does not have.

    {year}                      2026         a window a year
    {year} {month}              2026-11      a month
    {year} {week}               2026-W47     an ISO week; {year} is then the ISO year
    {week_start}, {week_end}    2026-W47     the same, in files named by its Monday or its Sunday
    {date}, {year}{month}{day}  2026-11-20   a day
    {date} {hour}               2026-11-20T06  an hour

The finest placeholder decides.  A window's name goes into the names of evaluations and sorts by time among
windows of its kind.  Days, weeks, months and years begin at midnight of a time zone.  Hours are those of UTC:
elsewhere one hour comes twice when the clocks go back, and two windows would have one name.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Literal

from assay.evalcore.errors import BadInput, did_you_mean

Kind = Literal["hour", "day", "week", "month", "year"]
_PLACEHOLDER = re.compile(r"\{([a-z_]*)\}")
_KNOWN = ("date", "year", "month", "week", "week_start", "week_end", "day", "hour")
_ENDS_OF_WEEK = {"week_start", "week_end"}
_NAMES: dict[Kind, tuple[re.Pattern[str], str]] = {
    "year": (re.compile(r"\d{4}"), "2026"),
    "month": (re.compile(r"\d{4}-\d{2}"), "2026-11"),
    "week": (re.compile(r"\d{4}-W\d{2}"), "2026-W47"),
    "day": (re.compile(r"\d{4}-\d{2}-\d{2}"), "2026-11-20"),
    "hour": (re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}"), "2026-11-20T06"),
}


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """From `start` up to but not including `end`, both in the time zone of the windows."""

    start: datetime
    end: datetime
    kind: Kind

    @property
    def name(self) -> str:
        """The name of the window as people write it, which sorts by time among windows of its kind: 2026,
        2026-11, 2026-W47, 2026-11-16 or 2026-11-16T06."""
        s = self.start
        match self.kind:
            case "year":
                return f"{s:%Y}"
            case "month":
                return f"{s:%Y-%m}"
            case "week":
                return f"{s:%G}-W{s:%V}"
            case "day":
                return f"{s:%Y-%m-%d}"
            case "hour":
                return f"{s:%Y-%m-%dT%H}"

    def next(self) -> "Window":
        """The window after it, of the same kind and in the same time zone. A day that clocks make longer or
        shorter is one day."""
        return at(self.end, self.kind, self.end.tzinfo or UTC)

    def fill(self, template: str) -> str:
        """The template with the placeholders of time, such as {year} and {week}, filled in for this window;
        other placeholders stay as they are. With weeks {year} is the ISO year."""
        s = self.start
        year = f"{s:%G}" if self.kind == "week" else f"{s:%Y}"
        monday = s - timedelta(days=s.weekday())
        values = {
            "date": f"{s:%Y-%m-%d}", "year": year, "month": f"{s:%m}", "week": f"{s:%V}",
            "week_start": f"{monday:%Y-%m-%d}", "week_end": f"{monday + timedelta(days=6):%Y-%m-%d}",
            "day": f"{s:%d}", "hour": f"{s:%H}",
        }
        return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def length_of_windows(template: str) -> Kind:
    """How long the windows of a source template are. Raises BadInput where the template leaves that open. It
    is the finest of the placeholders' units."""
    names = set(_PLACEHOLDER.findall(template))
    strange = sorted(names - set(_KNOWN))
    if strange:
        placeholders = ", ".join(f"{{{name}}}" for name in _KNOWN)
        suggestion = did_you_mean(strange[0], _KNOWN)
        raise BadInput(f"{{{strange[0]}}} is no placeholder; {suggestion}there are {placeholders}")
    if not names:
        raise BadInput(
            "names no window of time; put {date}, {week_start}, {year}, {month}, {week} or {hour} into it"
        )
    day = "date" in names or {"year", "month", "day"} <= names
    if "hour" in names and day:
        return "hour"
    if day and not names & {"hour", "week"}:
        return "day"
    if names == {"year", "week"} or (names & _ENDS_OF_WEEK and names <= {"year", "week", *_ENDS_OF_WEEK}):
        return "week"
    if names == {"year", "month"}:
        return "month"
    if names == {"year"}:
        return "year"
    raise BadInput(
        "does not say which window it means: use {year}; {year} and {month}; {year} and {week}; "
        "{week_start}; {date}; or {date} and {hour}"
    )


def window_named(name: str, kind: Kind, zone: tzinfo = UTC) -> Window:
    """The window of this name.  A week may also be named by its Monday.

    Raises BadInput for a name of another kind.
    """
    pattern, example = _NAMES[kind]
    try:
        if kind == "week" and _NAMES["day"][0].fullmatch(name):
            return _week_of_monday(name, zone)
        if not pattern.fullmatch(name):
            raise ValueError
        match kind:
            case "year":
                start = datetime(int(name), 1, 1)
            case "week":
                start = datetime.fromisocalendar(int(name[:4]), int(name[6:]), 1)
            case "month":
                start = datetime.fromisoformat(f"{name}-01")
            case "day" | "hour":
                start = datetime.fromisoformat(name)
    except ValueError:
        raise BadInput(f"{name!r} is not a {kind}; one is written {example}") from None
    return at(start.replace(tzinfo=zone), kind, zone)


def _week_of_monday(date: str, zone: tzinfo) -> Window:
    """Raises ValueError for no date, BadInput for another day of the week."""
    day = datetime.fromisoformat(date).replace(tzinfo=zone)
    week = at(day, "week", zone)
    if week.start != day:
        raise BadInput(f"{date!r} is no Monday; its week, {week.name}, begins on {week.start:%Y-%m-%d}")
    return week


def at(moment: datetime, kind: Kind, zone: tzinfo = UTC) -> Window:
    """The window that a moment (of any time zone) belongs to."""
    local = moment.astimezone(zone)
    # sums are those of a clock on the wall: a day is as long as the time zone makes it
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
    match kind:
        case "hour":
            start = local.replace(minute=0, second=0, microsecond=0)
            return Window(start, start + timedelta(hours=1), kind)
        case "day":
            return Window(day, day + timedelta(days=1), kind)
        case "week":
            start = day - timedelta(days=day.weekday())
            return Window(start, start + timedelta(days=7), kind)
        case "month":
            start = day.replace(day=1)
            return Window(start, (start + timedelta(days=32)).replace(day=1), kind)
        case "year":
            start = day.replace(month=1, day=1)
            return Window(start, start.replace(year=start.year + 1), kind)


def due(
    first_window: Window, last_window: Window | None, moment: datetime, settle: timedelta
) -> Iterator[Window]:
    """The windows from `first_window` (to `last_window`) that ended at least `settle` ago, in order. None for
    a first window that is still running."""
    window = first_window
    while ended(window, settle, moment) and (last_window is None or window.start <= last_window.start):
        yield window
        window = window.next()


def ended(window: Window, settle: timedelta, moment: datetime) -> bool:
    """Whether the window had ended for at least the time `settle` at that moment. Both moments are compared
    in UTC."""
    return window.end.astimezone(UTC) + settle <= moment


_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysOff:
    """The windows in which no data are expected: days of the week, spans of days, or windows by name. A
    monitor does not miss them.

    Windows that a stream does not have: weekends and holidays.

        saturday, sunday           every such day
        2026-12-25                 one day
        2026-12-24..2027-01-01     these days, both ends included
        2026-W52                   one window of another kind, by its name

    Days of the week and dates are for windows of a day or an hour.  A date is one of the windows' time zone.
    """

    weekdays: frozenset[int] = frozenset()       # 0 is Monday
    spans: tuple[tuple[date, date], ...] = ()    # first and last day
    names: frozenset[str] = frozenset()          # of windows

    def cover(self, window: Window) -> bool:
        """Whether this is a window that the stream does not have."""
        day = window.start.date()
        return (
            window.name in self.names
            or day.weekday() in self.weekdays
            or any(first_day <= day <= last_day for first_day, last_day in self.spans)
        )


def days_off(listed: Sequence[str], kind: Kind) -> DaysOff:
    """What the texts of a list mean. Raises BadInput for one that means nothing for windows of this kind.
    Names of weekdays, dates and spans of dates are meant."""
    if kind not in ("day", "hour"):
        return DaysOff(names=frozenset(window_named(text, kind).name for text in listed))
    weekdays, spans = set(), []
    for text in listed:
        if text.lower() in _WEEKDAYS:
            weekdays.add(_WEEKDAYS.index(text.lower()))
        else:
            spans.append(_span(text))
    if len(weekdays) == len(_WEEKDAYS):
        raise BadInput("lists every day of the week: no window would be left")
    return DaysOff(weekdays=frozenset(weekdays), spans=tuple(spans))


def _span(text: str) -> tuple[date, date]:
    first_day, _, last_day = text.partition("..")
    try:
        days = date.fromisoformat(first_day), date.fromisoformat(last_day or first_day)
    except ValueError:
        raise BadInput(
            f"lists {text!r}, which is no day; write saturday, 2026-12-25 or 2026-12-24..2027-01-01"
        ) from None
    if days[0] > days[1]:
        raise BadInput(f"lists {text!r}, which ends before it begins")
    return days


def seasons(window: Window) -> tuple[str, ...]:
    """From the finest to the coarsest; empty for windows of a week or longer. Names of what repeats, such as
    the weekday and the hour; windows of one season are compared."""
    start = window.start
    match window.kind:
        case "hour":
            return f"{start:%a %H}", f"{start:%H}"
        case "day":
            return (f"{start:%a}",)
        case _:
            return ()
