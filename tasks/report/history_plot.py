"""The plot of a history: estimate and interval of every window, its limits, and what was said of it."""

import io
from collections.abc import Mapping
from typing import Any

from assay.tasks.report import wording
from assay.tasks.report.plot import STYLE, embeddable

_SIZE = (7.2, 3.5)
_COLOURS = {"ok": "#1d4e79", "breach": "#9b2c2c", "inconclusive": "#7b8794"}
_MOST_TICKS = 12


def history_svg(told: Mapping[str, Any]) -> str:
    """As SVG to stand inside a page. Same history, same bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    windows = list(told["windows"])
    with rc_context(STYLE):
        figure = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        ax = figure.subplots()
        for state, colour in _COLOURS.items():
            _draw(ax, windows, state, colour)
        _limits(ax, windows)
        step = -(-max(len(windows), 1) // _MOST_TICKS)
        at = list(range(0, len(windows), step))
        ax.set_xticks(at, [windows[i]["window"] for i in at], rotation=30, ha="right")
        ax.set_xlim(-0.6, max(len(windows), 1) - 0.4)
        ax.set_ylabel(wording.measure_name(told["measure"]))
        ax.grid(axis="y", color="#e4e7eb", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False, fontsize=9)
        sink = io.StringIO()
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    title = f"{told['measure']} of {told['monitor']} over windows"
    return embeddable(sink.getvalue(), _SIZE, "h-", title, _described(windows))


def _draw(ax: Any, windows: list[Mapping[str, Any]], state: str, colour: str) -> None:
    at = [i for i, w in enumerate(windows) if w["state"] == state and w["value"] is not None]
    if not at:
        return
    values = [windows[i]["value"] for i in at]
    low = [max(v - windows[i]["lower"], 0.0) for i, v in zip(at, values, strict=True)]
    high = [max(windows[i]["upper"] - v, 0.0) for i, v in zip(at, values, strict=True)]
    ax.errorbar(
        at, values, yerr=[low, high], fmt="o", markersize=4, linewidth=1.3, capsize=2.5, color=colour,
        label=state,
    )


def _limits(ax: Any, windows: list[Mapping[str, Any]]) -> None:
    names = dict.fromkeys(limit["name"] for w in windows for limit in w["limits"])
    for name in names:
        values = [next((x["value"] for x in w["limits"] if x["name"] == name), None) for w in windows]
        ax.plot(
            range(len(windows)), [float("nan") if v is None else v for v in values],
            color="#9b2c2c", linewidth=1.1, dashes=(1.5, 1.8), drawstyle="steps-mid", label=name,
        )


def _described(windows: list[Mapping[str, Any]]) -> str:
    return " ".join(
        f"{w['window']}: {'no estimate' if w['value'] is None else format(w['value'], '.4f')}, {w['state']}."
        for w in windows
    )
