"""The convergence plots: estimate and interval against labels, as SVG to stand inside a page.

Same data, same bytes: matplotlib's ids are salted with a constant, dates are left out, and glyphs are text,
so the page's own font draws them. What matplotlib means for a file of its own (prolog, metadata, a style for
`*`) is taken out, and ids are prefixed, so that a page can hold several.
"""

import io
import re
from collections.abc import Sequence
from typing import Any

from assay.evalcore.measures.registry import named
from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow, ReportData
from assay.tasks.report.machine import rounds_and_reissue

_INK, _SOFT, _GRID = "#1f2933", "#52606d", "#e4e7eb"
_LINE, _BAND = "#1d4e79", "#c6d8e8"
_THRESHOLD, _TRUTH = "#9b2c2c", "#2f6b3a"
_STEPS = [1, 2, 2.5, 5, 10]           # of ticks
STYLE: Any = {
    "svg.hashsalt": "assay",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",       # ships with matplotlib: the layout is the same on every machine
    "font.size": 9.5,
    "text.parse_math": False,           # a `$` in a name is a `$`
    "axes.edgecolor": _SOFT,
    "axes.labelcolor": _INK,
    "axes.linewidth": 0.8,
    "axes.formatter.useoffset": False,  # a tick says its value, not its distance from another
    "axes.unicode_minus": True,
    "text.color": _INK,
    "xtick.color": _SOFT,
    "ytick.color": _SOFT,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "path.simplify": False,
}


def whole_pool_rows(data: ReportData) -> list[EstimateRow]:
    """The current estimates of the whole pool, one per measure, system and class."""
    return [row for row in data.estimates if row.segment is None]


def history_of(data: ReportData, of: EstimateRow) -> list[EstimateRow]:
    """What was known about one estimate after every round, oldest first."""
    key = (of.measure, of.system, of.class_name, of.segment)
    return [
        row
        for past in rounds_and_reissue(data)
        for row in past.estimates
        if (row.measure, row.system, row.class_name, row.segment) == key
    ]


def convergence_svg(data: ReportData, of: EstimateRow, title: str, description: str) -> str:
    """One estimate against labels: the line, its interval as a band, threshold and truth where known."""
    return _draw(data, [of], columns=1, size=(7.2, 3.5), prefix="f1-", title=title, description=description)


def small_multiples_svg(data: ReportData, of: Sequence[EstimateRow], title: str, description: str) -> str:
    """The same for several estimates, side by side, three to a row."""
    rows = -(-len(of) // 3)
    return _draw(
        data, of, columns=3, size=(7.2, 2.05 * rows), prefix="f2-", title=title, description=description
    )


def _draw(
    data: ReportData,
    of: Sequence[EstimateRow],
    *,
    columns: int,
    size: tuple[float, float],
    prefix: str,
    title: str,
    description: str,
) -> str:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    single = len(of) == 1 and prefix == "f1-"
    with rc_context(STYLE if single else STYLE | {"font.size": 8}):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.subplots(-(-len(of) // columns), columns, squeeze=False).ravel()
        for ax, row in zip(axes, of, strict=False):
            _plot(ax, data, row, detailed=single)
        for ax in axes[len(of) :]:
            ax.set_axis_off()
        sink = io.StringIO()
        figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    return embeddable(sink.getvalue(), size, prefix, title, description)


def _plot(ax: Any, data: ReportData, of: EstimateRow, *, detailed: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    rows = history_of(data, of)
    with_interval = [r for r in rows if r.lower is not None and r.upper is not None]
    known = [r for r in rows if r.value is not None]
    marker = {"marker": "o", "markersize": 3.6 if detailed else 2.2}
    ax.fill_between(
        [r.labels for r in with_interval],
        [r.lower for r in with_interval],
        [r.upper for r in with_interval],
        color=_BAND, linewidth=0, label=f"{wording.percent(of.confidence)} interval",
    )
    if len(with_interval) == 1:      # a band of one point has no area
        r = with_interval[0]
        ax.plot([r.labels] * 2, [r.lower, r.upper], color=_BAND, linewidth=6, solid_capstyle="butt")
    ax.plot(
        [r.labels for r in rows],
        [float("nan") if r.value is None else r.value for r in rows],
        color=_LINE, linewidth=1.6 if detailed else 1.2, label="estimate", **marker,
    )
    if data.truth is not None and of.measure in data.truth:
        ax.axhline(
            data.truth[of.measure], color=_TRUTH, linewidth=1.2, dashes=(5, 2.5),
            label=f"true value ({wording.number(data.truth[of.measure])})",
        )
    if of is data.estimates[0]:
        for edge in (data.threshold_min, data.threshold_max):
            if edge is not None:
                ax.axhline(
                    edge, color=_THRESHOLD, linewidth=1.2, dashes=(1.5, 1.8),
                    label=f"threshold ({wording.plain(edge)})",
                )
    low, high = _range(data, of, with_interval, known)
    undefined = [r.labels for r in rows if r.value is None]
    if undefined:
        ax.plot(
            undefined, [low] * len(undefined), linestyle="none", marker="x", markersize=5, color=_THRESHOLD,
            clip_on=False, label="undefined", zorder=5,
        )
    last = max((r.labels for r in rows), default=1)
    ax.set_xlim(0, max(last, 1) * 1.03)
    ax.xaxis.set_major_locator(MaxNLocator(9 if detailed else 4, integer=True, steps=_STEPS))
    ax.yaxis.set_major_locator(MaxNLocator(8 if detailed else 4, steps=_STEPS))
    ax.set_ylim(low, high)
    ax.grid(axis="y", color=_GRID, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=3)
    if detailed:
        ax.set_xlabel("items labelled")
        ax.set_ylabel(wording.measure_name(of.measure))
        ax.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False, handlelength=1.8,
            columnspacing=1.4, fontsize=9,
        )
    else:
        ax.set_title(plot_title(of), fontsize=8.5, loc="left", pad=4)


def plot_title(row: EstimateRow) -> str:
    """Measure, and system and class where there are several."""
    return ", ".join(part for part in (wording.measure_name(row.measure), row.system, row.class_name) if part)


def _range(
    data: ReportData,
    of: EstimateRow,
    with_interval: Sequence[EstimateRow],
    known: Sequence[EstimateRow],
) -> tuple[float, float]:
    """The smallest window that hides nothing of the interval, with air, within the measure's own bounds."""
    lowest, highest = named(of.measure).bounds
    seen = [end for r in with_interval for end in (r.lower, r.upper) if end is not None]
    seen += [r.value for r in known if r.value is not None]
    if data.truth is not None and of.measure in data.truth:
        seen.append(data.truth[of.measure])
    if of is data.estimates[0]:
        seen += [edge for edge in (data.threshold_min, data.threshold_max) if edge is not None]
    if not seen:
        return lowest, highest
    low, high = min(seen), max(seen)
    air = 0.06 * (high - low) or 0.05
    # a hair beyond the bounds, so that a line on the bound is drawn whole
    hair = 0.01 * (high - low + 2 * air)
    return max(low - air, lowest - hair), min(high + air, highest + hair)


def embeddable(svg: str, size: tuple[float, float], prefix: str, title: str, description: str) -> str:
    """The <svg> element alone, with a title and a description for those who cannot see it.

    size: of the figure in inches; matplotlib draws 72 units to the inch.
    """
    from markupsafe import escape

    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}", svg)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="0 0 {72 * size[0]:g} {72 * size[1]:g}" role="img" '
        f'aria-labelledby="{prefix}title {prefix}description">'
        f'<title id="{prefix}title">{escape(title)}</title>'
        f'<desc id="{prefix}description">{escape(description)}</desc>'
    )
    return head + svg.partition(">")[2].strip()
