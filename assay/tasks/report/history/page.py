"""A history as a page: the newest verdict, a plot of the measure over windows, and a table."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.ledger.monitors import own_segment
from assay.tasks.report import wording
from assay.tasks.report.history.record import (
    HistoryRow,
    MonitorHistory,
    consequence_of,
    history_by_question,
    place_name,
    runs_without_data,
)
from assay.tasks.report.history.table import (
    changes_of_judges,
    compared_windows,
    confidences_in_words,
    joined_windows,
    place_interval,
    place_value,
    recent_of,
    unusual_confidence,
)
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
    response_in_words,
    value_in_words,
    why_open,
    windows_in_words,
)
from assay.tasks.report.rendering import LIMIT, LINE, Picture, is_narrow, picture, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceCells:
    """What is known of one window of the whole pool, or of a segment, as it is printed."""

    value: str
    interval: str
    labels: int
    limit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLine:
    """One line of the table of windows: a window, or several in a row without data, with its estimate, the
    mean over the last windows, labels, state, signals, and how often it was judged again."""

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
    """A version of the monitor's spec after the first, as texts: the first window it applies to, what
    changed, what that does to the evidence, and why."""

    version: int
    first: str
    changed: str
    consequence: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLine:
    """A segment in breach in one window, with the cells that the page prints for it."""

    window: str
    segment: str
    place: PlaceCells


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPart:
    """The windows as one of several questions has them, or the only one."""

    title: str           # nothing where one is asked
    figure: Picture
    joined: str
    rows: Sequence[WindowLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestVerdict:
    """The newest window with a verdict, as the head of the page prints it: what the verdict is about, its
    state and headline, a link to the window's page, and the estimate in cells."""

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
    """The history of a monitor as one HTML page in UTF-8, with every window and a link to the page of each
    judged one. Everything from outside is escaped."""
    return render("history.html.j2", **history_values(history, history.rows, page_of))


def history_values(
    history: MonitorHistory, shown: Sequence[HistoryRow], link: Callable[[str], str]
) -> dict[str, object]:
    """What the template of the page's body is filled in with.

    shown   the windows of the figure and the tables, in order; link: where a window's page is
    """
    newest_first = shown[::-1]
    newest = next((row for row in reversed(history.rows) if row.verdict is not None), None)
    parts = history_by_question(history)
    return {
        "told": history,
        "w": wording,
        "measure": " and ".join(wording.measure_name(part.measure) for part in parts),
        "newest": None if newest is None else _newest(history, newest, link),
        "parts": [
            _part(part, {row.window for row in shown}, link, with_title=len(parts) > 1) for part in parts
        ],
        "confidences": confidences_in_words(shown),
        "false_breaches": false_breaches(history),
        "judges": changes_of_judges(history),
        "judges_compared": compared_windows(history),
        "no_data": no_data_in_words(history),
        "segments": [
            SegmentLine(window=row.window, segment=place_name(place), place=place_cells(place))
            for row in newest_first for place in row.segments
            if place.verdict == "breach" and own_segment(place)
        ],
        "changes": [
            ChangeLine(
                version=amendment.number, first=amendment.first, changed=", ".join(amendment.changed),
                consequence=consequence_of(amendment), reason=amendment.reason,
            )
            for amendment in history.amendments
        ],
        "responses": [response_in_words(reply) for reply in reversed(history.responses)],
    }


def _part(
    history: MonitorHistory, shown: Collection[str], link: Callable[[str], str], *, with_title: bool
) -> QuestionPart:
    rows = tuple(row for row in history.rows if row.window in shown)
    return QuestionPart(
        title=wording.measure_name(history.measure) if with_title else "",
        figure=windows_figure(replace(history, rows=rows)), joined=_joined(history),
        rows=[_window(run, link) for run in reversed(runs_without_data(rows))],
    )


def page_of(window: str) -> str:
    """Where a window's page is, below the folder of the history."""
    return f"windows/{window}.html"


def place_cells(place: PlaceVerdict | None) -> PlaceCells:
    """The cells of a table for the whole or a segment, as they are printed. Where the place was not measured
    the cells are empty, and the labels 0."""
    return PlaceCells(
        value=place_value(place),
        interval=place_interval(place),
        labels=place.measured.labels if place else 0,
        limit="" if place is None else limits_in_words(place),
    )


def _newest(history: MonitorHistory, row: HistoryRow, link: Callable[[str], str]) -> NewestVerdict:
    news = first_news(news_in(history, row))
    return NewestVerdict(
        window=row.window,
        name=news.name,
        link=link(row.window),
        state=row.state,
        said=STATES[row.state],
        headline=alert_headline(news),
        why=why_open(news.place),
        known=news.place.measured.value is not None,
        place=place_cells(news.place),
    )


def _joined(history: MonitorHistory) -> str:
    """Of the newest mean over the last windows, what it is; nothing where there is none."""
    means = [row.recent for row in history.rows if row.recent is not None]
    return joined_windows(means[-1]) if means else ""


def _window(run: Sequence[HistoryRow], link: Callable[[str], str]) -> WindowLine:
    """One window, or several that follow each other and have no data."""
    row, many = run[0], "" if len(run) == 1 else f": {wording.plural(len(run), 'window')}"
    return WindowLine(
        window=windows_in_words(run),
        link=link(row.window) if row.verdict is not None else "",
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


_COLOURS = {"ok": LINE, "breach": LIMIT, "inconclusive": "#7b8794"}
_GAP = "#e4e7eb"
_MOST_TICKS = 12      # a phone has half of them


def windows_figure(history: MonitorHistory) -> Picture:
    """A figure of the measure over the windows of a history, in order: estimates with intervals coloured by
    verdict, the interval of each window with the windows before it, what probabilities expect, limits,
    and gaps without data."""
    rows = history.rows
    runs = runs_without_data(rows)
    in_words = " ".join(f"{windows_in_words(run)}: {_in_short(run[0])}, {run[0].state}." for run in runs)

    def draw(figure: "Figure") -> None:
        ax = figure.subplots()
        for state, colour in _COLOURS.items():
            _estimates(ax, rows, state, colour)
        _with_those_before(ax, rows)
        _expected(ax, rows)
        _limits(ax, rows)
        _gaps(ax, rows)
        step = -(-max(len(rows), 1) // (_MOST_TICKS // 2 if is_narrow(figure) else _MOST_TICKS))
        at = list(range(0, len(rows), step))
        ax.set_xticks(at, [rows[i].window for i in at], rotation=30, ha="right")
        ax.set_xlim(-0.6, max(len(rows), 1) - 0.4)
        ax.set_ylabel(wording.measure_name(history.measure))
        ax.grid(axis="y")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3 if is_narrow(figure) else 5)

    return picture(draw, (7.2, 3.5), f"{history.measure} of {history.monitor} over windows. {in_words}")


def _in_short(row: HistoryRow) -> str:
    if row.overall is None:
        return wording.in_short(None, None, None)
    m = row.overall.measured
    if m.exact:
        return value_in_words(m)
    return wording.in_short(m.value, m.lower, m.upper) + unusual_confidence(m)


def _estimates(ax: "Axes", rows: Sequence[HistoryRow], state: str, colour: str) -> None:
    points = [
        (i, row.overall.measured)
        for i, row in enumerate(rows) if row.state == state and row.overall is not None
    ]
    drawn = [
        (i, m.value, max(m.value - m.lower, 0.0), max(m.upper - m.value, 0.0))
        for i, m in points if m.value is not None and m.lower is not None and m.upper is not None
    ]
    if not drawn:
        return
    at, values, low, high = zip(*drawn, strict=True)
    ax.errorbar(
        at, values, yerr=[low, high], fmt="o", markersize=4, linewidth=1.3, capsize=2.5, color=colour,
        label=state,
    )


def _with_those_before(ax: "Axes", rows: Sequence[HistoryRow]) -> None:
    """The interval of each window with the windows before it, as a band."""
    tracks = [None if row.overall is None else row.overall.tracked for row in rows]
    if any(tracks):
        nothing = float("nan")
        ax.fill_between(
            range(len(rows)), [nothing if track is None else track.lower for track in tracks],
            [nothing if track is None else track.upper for track in tracks],
            color=LINE, alpha=0.15, linewidth=0, label="with windows before", zorder=0.5,
        )


def _expected(ax: "Axes", rows: Sequence[HistoryRow]) -> None:
    """What the probabilities expect of each window."""
    points = [(i, row.expected) for i, row in enumerate(rows) if row.expected is not None]
    if points:
        at, values = zip(*points, strict=True)
        ax.plot(at, values, linestyle="none", marker="x", markersize=4, color=_COLOURS["inconclusive"],
                label="the model expects")


def _gaps(ax: "Axes", rows: Sequence[HistoryRow]) -> None:
    """Windows without predictions, shaded: an empty place could be an oversight."""
    at, label = 0, "no data"
    for run in runs_without_data(rows):
        if run[0].has_no_data:
            ax.axvspan(at - 0.5, at + len(run) - 0.5, color=_GAP, linewidth=0, label=label, zorder=0)
            label = "_later"    # one entry in the legend
        at += len(run)


def _limits(ax: "Axes", rows: Sequence[HistoryRow]) -> None:
    limits = [
        {limit.name: limit.value for limit in row.overall.limits} if row.overall else {} for row in rows
    ]
    for name in dict.fromkeys(name for of_window in limits for name in of_window):
        ax.plot(
            range(len(rows)), [of_window.get(name, float("nan")) for of_window in limits],
            color=LIMIT, linewidth=1.1, dashes=(1.5, 1.8), drawstyle="steps-mid", label=name,
        )
