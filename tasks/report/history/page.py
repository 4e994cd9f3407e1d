"""A history as a page: the newest verdict, a plot of the measure over windows, and a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.report import wording
from assay.tasks.report.history.figure import windows_figure
from assay.tasks.report.history.judges import changes_of_judges, compared_windows
from assay.tasks.report.history.record import HistoryRow, MonitorHistory, consequence_of, runs_without_data
from assay.tasks.report.history.table import joined_windows, place_interval, place_value, recent_of
from assay.tasks.report.history.words import (
    SIGNALS,
    STATES,
    again_in_words,
    alert_headline,
    false_breaches,
    first_news,
    limits_in_words,
    news_in,
    no_data_in_words,
    why_no_breach,
    windows_in_words,
)
from assay.tasks.report.rendering import render


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceCells:
    """What is known of one window of the whole pool, or of a segment, as it is printed."""

    value: str
    interval: str
    labels: int
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLine:
    """One window of the table."""

    window: str
    link: str            # to its page; nothing before it is judged
    place: PlaceCells
    recent: str          # the mean over the last windows
    bought: int
    state: str
    said: str
    more: int | None     # labels that would decide it
    signals: str
    again: str           # predictions replaced, verdict reissued


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLine:
    """A further version of the spec."""

    version: int
    first: str
    changed: str
    consequence: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLine:
    """One segment in breach."""

    window: str
    segment: str | None
    place: PlaceCells


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestVerdict:
    """The newest window that is judged."""

    window: str
    name: str            # of what is told: the measure, and the segment if only segments are in breach
    link: str
    state: str
    said: str
    headline: str
    why: str             # it is no breach, although the interval lies beyond the limit
    known: bool
    place: PlaceCells


def history_html(history: MonitorHistory) -> bytes:
    """The page. Everything from outside is escaped."""
    newest_first = history.rows[::-1]
    return render(
        "history.html.j2",
        told=history,
        w=wording,
        measure=wording.measure_name(history.measure),
        newest=next((_newest(history, row) for row in newest_first if row.verdict is not None), None),
        figure=windows_figure(history),
        joined=_joined(history),
        false_breaches=false_breaches(history),
        judges=changes_of_judges(history),
        judges_compared=compared_windows(history),
        rows=[_window(run) for run in reversed(runs_without_data(history.rows))],
        no_data=no_data_in_words(history),
        segments=[
            SegmentLine(window=row.window, segment=place.segment, place=place_cells(place))
            for row in newest_first for place in row.segments if place.verdict == "breach"
        ],
        changes=[
            ChangeLine(
                version=one.number, first=one.first, changed=", ".join(one.changed),
                consequence=consequence_of(one), reason=one.reason,
            )
            for one in history.amendments
        ],
    )


def page_of(window: str) -> str:
    """Where a window's page is, below the folder of the history."""
    return f"windows/{window}.html"


def place_cells(place: PlaceVerdict | None) -> PlaceCells:
    """As it is printed."""
    return PlaceCells(
        value=place_value(place),
        interval=place_interval(place),
        labels=place.measured.labels if place else 0,
        limit="" if place is None else limits_in_words(place),
    )


def _newest(history: MonitorHistory, row: HistoryRow) -> NewestVerdict:
    news = first_news(news_in(history, row))
    return NewestVerdict(
        window=row.window,
        name=news.name,
        link=page_of(row.window),
        state=row.state,
        said=STATES[row.state],
        headline=alert_headline(news),
        why=why_no_breach(news),
        known=news.place.measured.value is not None,
        place=place_cells(news.place),
    )


def _joined(history: MonitorHistory) -> str:
    """Of the newest mean over the last windows, what it is; nothing where there is none."""
    means = [row.recent for row in history.rows if row.recent is not None]
    return joined_windows(means[-1]) if means else ""


def _window(run: Sequence[HistoryRow]) -> WindowLine:
    """One window, or several that follow each other and have no data."""
    row, many = run[0], "" if len(run) == 1 else f": {wording.plural(len(run), 'window')}"
    return WindowLine(
        window=windows_in_words(run),
        link=page_of(row.window) if row.verdict is not None else "",
        place=place_cells(row.overall),
        recent=recent_of(row.recent),
        bought=row.bought,
        state=row.state,
        said=STATES[row.state] + many + (f"; {STATES[row.wrong.state]}" if row.verdict and row.wrong else ""),
        more=row.verdict.labels_to_decide if row.verdict else None,
        signals=", ".join(map(_signal, row.raised)),
        again=again_in_words(row),
    )


def _signal(signal: Signal) -> str:
    name = SIGNALS.get(signal.name, signal.name)
    if signal.level is not None and signal.usual is not None:
        return f"{name} {_figure(signal.level)} (usually {_figure(signal.usual)})"
    if signal.why:
        return f"{name}: {signal.why}"
    return f"{name} {_figure(signal.value)}".rstrip()


def _figure(value: float | None) -> str:
    return "" if value is None else wording.number(value, 3)
