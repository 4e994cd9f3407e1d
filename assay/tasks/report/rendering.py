"""How pages are rendered: a template filled in, and figures as images within the page.

Everything from outside is escaped by the template. A figure is matplotlib's SVG inside a data URI: an image
cannot run scripts, fetch anything, or clash with the ids of another figure. Same data, same bytes:
matplotlib's ids are salted with a constant, and the date is left out.
"""

import io
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from assay.tasks.report.wording import shown_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.figure import Figure


def render(template: str, **values: object) -> bytes:
    """The page that a template makes of these values, in UTF-8, with the stylesheet of reports. Characters
    that UTF-8 cannot hold become question marks. `template` is a file of this package's templates."""
    environment, style = _templates()
    return environment.get_template(template).render(style=style, **values).encode("utf-8", "replace")


@cache
def _templates() -> tuple["Environment", str]:
    """Where templates are found, and the stylesheet: compiled once a process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("assay.tasks.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        finalize=shown_text,
    )
    return environment, Markup(loader.get_source(environment, "style.css")[0])  # noqa: S704  our own file


INK, SOFT, GRID = "#1f2933", "#52606d", "#e4e7eb"
LINE, BAND = "#1d4e79", "#c6d8e8"
LIMIT, TRUTH = "#9b2c2c", "#2f6b3a"
PHONE = 3.8          # inches
_STYLE: dict[str, object] = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
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
    """A figure of a page, drawn once for wide screens and once for phones, each an SVG in a data URI, with a
    text that tells what it shows."""

    source: str      # of an <img>: a data URI
    narrow: str      # the same drawn for a phone
    told: str        # what it shows, for those who cannot see it


def picture(
    draw: Callable[["Figure"], None], size: tuple[float, float], text: str,
    style: Mapping[str, object] | None = None, narrow: float | None = None,
) -> Picture:
    """The figure that `draw` puts on a matplotlib Figure of this size in inches.

    narrow   the height of the drawing for phones; as high as `size` says unless given
    """
    of_phone = (min(size[0], PHONE), size[1] if narrow is None else narrow)
    from matplotlib import RcParams, rc_context

    with rc_context(RcParams(_STYLE | dict(style or {}))):
        wide = _drawn(draw, size)
        return Picture(source=wide, narrow=wide if of_phone == size else _drawn(draw, of_phone), told=text)


def is_narrow(figure: "Figure") -> bool:
    """Whether it is drawn for a phone: panels then stand below each other."""
    return bool(figure.get_figwidth() <= PHONE)


def shortened_name(name: str, length: int) -> str:
    """A name of at most so many characters; what is cut off is marked."""
    return name if len(name) <= length else name[: length - 1] + "…"


def _drawn(draw: Callable[["Figure"], None], size: tuple[float, float]) -> str:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    canvas: Any = FigureCanvasSVG(figure)
    figure.dpi = 72                         # what SVG has: layout and drawing agree
    draw(figure)
    sink = io.BytesIO()
    # as `savefig` would, which draws everything once more to lay it out
    canvas.print_svg(sink, metadata={"Date": None, "Creator": None})
    return "data:image/svg+xml;base64," + b64encode(sink.getvalue()).decode()
