"""Systems side by side: the first measure of each, and its difference from the baseline's, with intervals."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from assay.evalcore.evaluation.estimate import Comparison
from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow
from assay.tasks.report.figures.picture import (
    BAND,
    LIMIT,
    LINE,
    SOFT,
    Picture,
    is_narrow,
    picture,
    shortened_name,
)

_LONGEST = 24   # characters of a name


def forest_figure(
    levels: Sequence[EstimateRow], differences: Sequence[tuple[EstimateRow, Comparison]], baseline: str
) -> Picture:
    """Two panels: every system, and every difference; a thin line is the simultaneous interval."""
    height = 1.1 + 0.28 * max(len(levels), len(differences))
    return picture(
        partial(_draw, levels, differences, baseline), (7.2, height), _told(differences),
        style={"font.size": 8.5, "axes.labelsize": 9}, narrow=2 * height,
    )


def _draw(
    levels: Sequence[EstimateRow], differences: Sequence[tuple[EstimateRow, Comparison]], baseline: str,
    figure: Any,
) -> None:
    left, right = figure.subplots(2, 1) if is_narrow(figure) else figure.subplots(1, 2)
    name = wording.measure_name(levels[0].measure)
    _panel(left, levels, [_name(row) for row in levels])
    left.set_xlabel(name)
    rows = [row for row, _ in differences]
    for y, (_, c) in enumerate(differences):
        if c.lower is not None and c.upper is not None:
            right.plot([c.lower, c.upper], [y, y], color=SOFT, linewidth=1.0, solid_capstyle="butt")
    _panel(right, rows, [_name(row) for row in rows])
    right.axvline(0, color=LIMIT, linewidth=1.0, dashes=(3, 2))
    right.set_xlabel(f"{name}, minus that of {shortened_name(baseline, _LONGEST)}")


def _panel(ax: Any, rows: Sequence[EstimateRow], names: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    for y, row in enumerate(rows):
        if row.lower is not None and row.upper is not None:
            ax.plot([row.lower, row.upper], [y, y], color=BAND, linewidth=6, solid_capstyle="butt", zorder=1)
        if row.value is not None:
            ax.plot([row.value], [y], marker="o", markersize=4.2, color=LINE, zorder=3)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.grid(axis="x")


def _name(row: EstimateRow) -> str:
    parts = [shortened_name(part, _LONGEST) for part in (row.system, row.class_name) if part]
    return ", ".join(parts)


def _told(differences: Sequence[tuple[EstimateRow, Comparison]]) -> str:
    """The figure in words."""
    told = "; ".join(
        f"{row.of} {wording.in_short(row.value, row.lower, row.upper)}" for row, _ in differences
    )
    return f"Differences of {wording.measure_name(differences[0][0].measure)}: {told}."
