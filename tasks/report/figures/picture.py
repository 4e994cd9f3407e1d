"""One figure as a page holds it: matplotlib's SVG inside a data URI, and what it shows in words.

An image cannot run scripts, fetch anything, or clash with the ids of another figure. Same data, same bytes:
matplotlib's ids are salted with a constant, and the date is left out.
"""

import io
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

INK, SOFT, GRID = "#1f2933", "#52606d", "#e4e7eb"
LINE, BAND = "#1d4e79", "#c6d8e8"
LIMIT, TRUTH = "#9b2c2c", "#2f6b3a"
_STYLE: Any = {
    "svg.hashsalt": "assay",
    "svg.fonttype": "none",             # text stays text
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],  # the first comes with matplotlib
    "font.size": 9.5,
    "text.parse_math": False,           # a `$` in a name is a `$`
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.useoffset": False,  # a tick says its value, not its distance from another
    "axes.unicode_minus": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "path.simplify": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure."""

    source: str      # of an <img>: a data URI
    told: str        # what it shows, for those who cannot see it


def picture(
    draw: Callable[[Any], None], size: tuple[float, float], told: str, style: Mapping[str, Any] | None = None
) -> Picture:
    """The figure that `draw` puts on a matplotlib Figure of this size in inches."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with rc_context(_STYLE | dict(style or {})):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        sink = io.BytesIO()
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return Picture(source="data:image/svg+xml;base64," + b64encode(sink.getvalue()).decode(), told=told)
