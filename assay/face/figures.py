"""Figures for notebooks."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

_DOTS = 100     # an inch, of a picture in a notebook


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value with its interval, where it has one."""

    label: str
    value: float
    lower: float | None
    upper: float | None


def bars_figure(title: str, bars: Sequence[Bar]) -> Figure:
    """Values with their intervals, the first at the top."""
    figure = Figure(figsize=(7, 0.8 + 0.4 * max(1, len(bars))), layout="constrained")
    axes = figure.add_subplot()
    for place, bar in enumerate(bars):
        if bar.lower is not None and bar.upper is not None:
            axes.hlines(place, bar.lower, bar.upper, color="0.5", linewidth=2)
        axes.plot([bar.value], [place], "o", color="C0")
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_title(title)
    return figure


def shown(figure: Figure) -> Figure:
    """The figure; in a notebook, a cell that ends with it shows a picture."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        formatters = shell.display_formatter.formatters
        if Figure not in formatters["image/png"]:
            formatters["image/png"].for_type(Figure, _as_png)
    return figure


def _as_png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=_DOTS)
    return out.getvalue()
