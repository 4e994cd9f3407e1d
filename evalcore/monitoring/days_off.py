"""Windows that a stream does not have: weekends and holidays.

    saturday, sunday           every such day
    2026-12-25                 one day
    2026-12-24..2027-01-01     these days, both ends included
    2026-W52                   one window of another kind, by its name

Days of the week and dates are for windows of a day or an hour.  A date is one of the windows' time zone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import Kind, Window, window_named

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class DaysOff:
    """On which windows nothing is expected."""

    weekdays: frozenset[int] = frozenset()       # 0 is Monday
    spans: tuple[tuple[date, date], ...] = ()    # first and last day
    names: frozenset[str] = frozenset()          # of windows

    def cover(self, window: Window) -> bool:
        """Whether this is a window that the stream does not have."""
        day = window.start.date()
        return (
            window.name in self.names
            or day.weekday() in self.weekdays
            or any(first <= day <= last for first, last in self.spans)
        )


def days_off(listed: Sequence[str], kind: Kind) -> DaysOff:
    """What the texts of a list mean.  Raises BadInput for one that means nothing for windows of this kind."""
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
    first, _, last = text.partition("..")
    try:
        days = date.fromisoformat(first), date.fromisoformat(last or first)
    except ValueError:
        raise BadInput(
            f"lists {text!r}, which is no day; write saturday, 2026-12-25 or 2026-12-24..2027-01-01"
        ) from None
    if days[0] > days[1]:
        raise BadInput(f"lists {text!r}, which ends before it begins")
    return days
