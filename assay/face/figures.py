"""Figures for notebooks."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

from matplotlib.figure import Figure

_DOTS = 100     # an inch, of a picture in a notebook
_LINE = 95      # characters of a line below a figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One value with its interval, where it has one, and the wide interval beside it."""

    label: str
    value: float
    lower: float | None
    upper: float | None
    wide: tuple[float, float] | None = None


def bars_figure(title: str, bars: Sequence[Bar], confidence: str = "", notes: Sequence[str] = ()) -> Figure:
    """Values with their intervals, the first at the top; notes below."""
    below = "\n".join(fill(note, _LINE) for note in notes)
    lines = below.count("\n") + 1 if below else 0
    figure = Figure(figsize=(7, 1.1 + 0.4 * max(1, len(bars)) + 0.15 * lines), layout="constrained")
    axes = figure.add_subplot()
    for place, bar in enumerate(bars):
        if bar.wide is not None:
            axes.hlines(place, *bar.wide, color="0.5", linewidth=1)
        if bar.lower is not None and bar.upper is not None:
            axes.hlines(place, bar.lower, bar.upper, color="0.5", linewidth=4)
        axes.plot([bar.value], [place], "o", color="C0")
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_title(title)
    said = f"thick: {confidence} interval".replace(":  ", ": ")
    if any(bar.wide is not None for bar in bars):
        said += "; thin: if positives hide where nobody looked"
    axes.set_xlabel("\n".join([said, below]) if below else said, fontsize="small", loc="left")
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
