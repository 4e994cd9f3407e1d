"""The figure of a monitor's history: estimate and interval of every window, its limits, and the verdict."""

from collections.abc import Mapping
from typing import Any

from assay.tasks.report import wording
from assay.tasks.report.figures.picture import LIMIT, LINE, Picture, picture

_COLOURS = {"ok": LINE, "breach": LIMIT, "inconclusive": "#7b8794"}
_MOST_TICKS = 12


def windows_figure(told: Mapping[str, Any]) -> Picture:
    """Every window of a history, in order."""
    windows = list(told["windows"])
    in_words = " ".join(
        f"{w['window']}: {wording.in_short(w['value'], w['lower'], w['upper'])}, {w['state']}."
        for w in windows
    )

    def draw(figure: Any) -> None:
        ax = figure.subplots()
        for state, colour in _COLOURS.items():
            _estimates(ax, windows, state, colour)
        _limits(ax, windows)
        step = -(-max(len(windows), 1) // _MOST_TICKS)
        at = list(range(0, len(windows), step))
        ax.set_xticks(at, [windows[i]["window"] for i in at], rotation=30, ha="right")
        ax.set_xlim(-0.6, max(len(windows), 1) - 0.4)
        ax.set_ylabel(wording.measure_name(told["measure"]))
        ax.grid(axis="y")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5)

    return picture(draw, (7.2, 3.5), f"{told['measure']} of {told['monitor']} over windows. {in_words}")


def _estimates(ax: Any, windows: list[Mapping[str, Any]], state: str, colour: str) -> None:
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
            color=LIMIT, linewidth=1.1, dashes=(1.5, 1.8), drawstyle="steps-mid", label=name,
        )
