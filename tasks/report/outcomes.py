"""What a page shows of one kind of outcome beside the estimates: a figure, a table, or both.

Numbers are shown as labels against predictions, tags as a table with a line for each, preferences as
shares of win, loss and tie.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.tasks.report import wording
from assay.tasks.report.convergence import whole_pool_rows
from assay.tasks.report.data import ReportData
from assay.tasks.report.rendering import BAND, INK, LIMIT, LINE, SOFT, Picture, is_narrow, picture


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSection:
    """What the page's section needs."""

    title: str
    caption: str
    figure: Picture | None = None
    of: str = ""                                     # what the rows are
    heads: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[str]]] = ()   # name -> what is under the heads


def outcome_section(data: ReportData) -> OutcomeSection | None:
    """The section of the kind of outcome that the labels are; None where it has none, or nothing to show."""
    make = _SECTIONS.get(data.outcome.name) if data.outcome is not None else None
    return None if make is None else make(data)


def _numbers(data: ReportData) -> OutcomeSection | None:
    if not data.pairs:
        return None
    return OutcomeSection(
        title="Predictions and labels",
        caption="The labelled items, each with its prediction. They were not drawn evenly, so the cloud is "
                "not a picture of the pool; the estimates weigh each item by what it stands for. The ring "
                "marks the largest error.",
        figure=label_against_prediction(data.pairs),
    )


def _tags(data: ReportData) -> OutcomeSection | None:
    of_tag = [
        row for row in data.estimates
        if row.class_name is not None and row.segment is None and data.systems is None
    ]
    measures = list(dict.fromkeys(row.measure for row in of_tag))
    found = {(row.measure, row.class_name): row for row in of_tag}
    tags = list(dict.fromkeys(row.class_name for row in of_tag if row.class_name))
    if not tags:
        return None
    return OutcomeSection(
        title="Tag by tag",
        caption="The measures of each tag by itself, with their intervals. With several intervals side by "
                "side, some miss the truth by chance alone.",
        of="Tag",
        heads=[wording.measure_name(name) for name in measures],
        rows=[(tag, [_cell(found.get((name, tag))) for name in measures]) for tag in tags],
    )


def _cell(row: MeasureEstimate | None) -> str:
    return "–" if row is None else wording.in_short(row.value, row.lower, row.upper)


def _preferences(data: ReportData) -> OutcomeSection | None:
    shares = [row for row in data.estimates if row.measure == "rate" and row.segment is None]
    if not shares:
        return None
    return OutcomeSection(
        title="Who won",
        caption="Shares of the pool by what people prefer, with their intervals. People saw the two answers "
                "side by side as A and B, in an order drawn for each item, and were not told which is which.",
        figure=share_bars(shares),
    )


_SECTIONS: Mapping[str, Callable[[ReportData], OutcomeSection | None]] = {
    "number": _numbers, "tags": _tags, "preference": _preferences,
}


def scales_alike(data: ReportData) -> bool:
    """Whether all measures can be drawn on one scale: grades and shares cannot, nor numbers and squares."""
    if data.outcome is None:
        return True
    ends = {wording.measure_bounds(row.measure, data.outcome)[1] for row in whole_pool_rows(data)}
    return len(ends) == 1 and bool(data.outcome.parts or isfinite(ends.pop()))


# Numbers: what was predicted against what people said, and the errors.

def label_against_prediction(pairs: Sequence[tuple[float, float]]) -> Picture:
    """Two panels: label against prediction, with the line of equality; error against prediction."""
    return picture(partial(_draw_points, pairs), (7.2, 3.4), _points_in_words(pairs), narrow=5.6)


def _draw_points(pairs: Sequence[tuple[float, float]], figure: Any) -> None:
    left, right = figure.subplots(2, 1) if is_narrow(figure) else figure.subplots(1, 2)
    f, y = np.array(pairs).T
    ends = [float(min(f.min(), y.min())), float(max(f.max(), y.max()))]
    left.plot(ends, ends, color=SOFT, linewidth=1, dashes=(4, 3))
    dots: Any = {"linestyle": "none", "marker": "o", "markersize": 3.2, "color": LINE, "alpha": 0.7,
                 "markeredgewidth": 0}
    left.plot(f, y, **dots)
    left.set_xlabel("prediction")
    left.set_ylabel("label")
    right.axhline(0, color=SOFT, linewidth=1, dashes=(4, 3))
    right.plot(f, f - y, **dots)
    worst = int(np.abs(f - y).argmax())
    right.plot(f[worst], (f - y)[worst], linestyle="none", marker="o", markersize=7, markerfacecolor="none",
               markeredgecolor=LIMIT)
    right.set_xlabel("prediction")
    right.set_ylabel("prediction minus label")
    for ax in (left, right):
        ax.grid(axis="y")


def _points_in_words(pairs: Sequence[tuple[float, float]]) -> str:
    f, y = np.array(pairs).T
    worst = int(np.abs(f - y).argmax())
    error, predicted, said = (wording.limit_number(float(x[worst])) for x in (f - y, f, y))
    return (
        f"Prediction and label of {wording.plural(len(f), 'labelled item')}. The largest error is {error}, "
        f"where {predicted} was predicted and the label is {said}."
    )


# Preferences: the shares of win, loss and tie as bars with their intervals.

def share_bars(rows: Sequence[MeasureEstimate]) -> Picture:
    """A bar for each outcome."""
    told = "; ".join(
        f"{row.class_name}: {wording.in_short(row.value, row.lower, row.upper)}" for row in rows
    )
    return picture(partial(_draw_shares, rows), (6.4, 0.6 + 0.5 * len(rows)), f"Shares of the pool. {told}.")


def _draw_shares(rows: Sequence[MeasureEstimate], figure: Any) -> None:
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
