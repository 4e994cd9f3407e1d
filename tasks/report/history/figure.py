"""The figure of a monitor's history: estimate and interval of every window, its limits, and the verdict."""

from collections.abc import Sequence
from typing import Any

from assay.tasks.report import wording
from assay.tasks.report.figures.picture import LIMIT, LINE, Picture, is_narrow, picture
from assay.tasks.report.history.record import HistoryRow, MonitorHistory, runs_without_data
from assay.tasks.report.history.words import windows_in_words

_COLOURS = {"ok": LINE, "breach": LIMIT, "inconclusive": "#7b8794"}
_GAP = "#e4e7eb"
_MOST_TICKS = 12      # a phone has half of them


def windows_figure(history: MonitorHistory) -> Picture:
    """Every window of a history, in order."""
    rows = history.rows
    runs = runs_without_data(rows)
    in_words = " ".join(f"{windows_in_words(run)}: {_in_short(run[0])}, {run[0].state}." for run in runs)

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for state, colour in _COLOURS.items():
            _estimates(ax, rows, state, colour)
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
    return wording.in_short(m.value, m.lower, m.upper)


def _estimates(ax: Any, rows: Sequence[HistoryRow], state: str, colour: str) -> None:
    found = [
        (i, row.overall.measured)
        for i, row in enumerate(rows) if row.state == state and row.overall is not None
    ]
    drawn = [
        (i, m.value, max(m.value - m.lower, 0.0), max(m.upper - m.value, 0.0))
        for i, m in found if m.value is not None and m.lower is not None and m.upper is not None
    ]
    if not drawn:
        return
    at, values, low, high = zip(*drawn, strict=True)
    ax.errorbar(
        at, values, yerr=[low, high], fmt="o", markersize=4, linewidth=1.3, capsize=2.5, color=colour,
        label=state,
    )


def _gaps(ax: Any, rows: Sequence[HistoryRow]) -> None:
    """Windows without predictions, shaded: an empty place could be an oversight."""
    at, label = 0, "no data"
    for run in runs_without_data(rows):
        if run[0].has_no_data:
            ax.axvspan(at - 0.5, at + len(run) - 0.5, color=_GAP, linewidth=0, label=label, zorder=0)
            label = "_later"    # one entry in the legend
        at += len(run)


def _limits(ax: Any, rows: Sequence[HistoryRow]) -> None:
    limits = [
        {limit.name: limit.value for limit in row.overall.limits} if row.overall else {} for row in rows
    ]
    for name in dict.fromkeys(name for of_window in limits for name in of_window):
        ax.plot(
            range(len(rows)), [of_window.get(name, float("nan")) for of_window in limits],
            color=LIMIT, linewidth=1.1, dashes=(1.5, 1.8), drawstyle="steps-mid", label=name,
        )
