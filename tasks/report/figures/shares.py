"""Preferences: the shares of win, loss and tie as bars with their intervals."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow
from assay.tasks.report.figures.picture import BAND, INK, Picture, picture


def share_bars(rows: Sequence[EstimateRow]) -> Picture:
    """A bar for each outcome."""
    told = "; ".join(
        f"{row.class_name}: {wording.in_short(row.value, row.lower, row.upper)}" for row in rows
    )
    return picture(partial(_draw, rows), (6.4, 0.6 + 0.5 * len(rows)), f"Shares of the pool. {told}.")


def _draw(rows: Sequence[EstimateRow], figure: Any) -> None:
    ax = figure.subplots()
    places = range(len(rows))
    ax.barh(places, [row.value or 0.0 for row in rows], height=0.6, color=BAND)
    for place, row in zip(places, rows, strict=True):
        if row.lower is not None and row.upper is not None:
            ax.plot([row.lower, row.upper], [place, place], color=INK, linewidth=1.6)
            ax.plot([row.lower, row.upper], [place, place], linestyle="none", marker="|", color=INK)
    ax.set_yticks(places, [row.class_name or "" for row in rows])
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel("share of the pool")
    ax.grid(axis="x")
