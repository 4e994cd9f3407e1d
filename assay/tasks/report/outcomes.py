"""What a page shows of one kind of outcome beside the estimates: a figure, a table, or both.

Classes are shown as a confusion matrix, numbers as labels against predictions, tags as a table with a line
for each, preferences as shares of win, loss and tie.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.types import Floats
from assay.tasks.report import wording
from assay.tasks.report.data import MATRIX, PAIRS, ReportData, whole_pool_rows
from assay.tasks.report.rendering import (
    BAND,
    INK,
    LIMIT,
    LINE,
    SOFT,
    Picture,
    is_narrow,
    picture,
    shortened_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSection:
    """What the page shows of one kind of outcome beside the estimates: a title and a caption with a figure,
    a table, or both. Each row is a name and the texts under the heads."""

    title: str
    caption: str
    figure: Picture | None = None
    of: str = ""                                     # what the rows are
    heads: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[str]]] = ()   # name -> what is under the heads


def outcome_section(data: ReportData) -> OutcomeSection | None:
    """The section of the kind of outcome that the labels are; None where it has none, or nothing to show. A
    section has texts, tables and pictures that only this kind needs."""
    make = _SECTIONS.get(data.outcome.name) if data.outcome is not None else None
    return None if make is None else make(data)


def _numbers(data: ReportData) -> OutcomeSection | None:
    pairs = PAIRS.value_in(data)
    if not pairs:
        return None
    return OutcomeSection(
        title="Predictions and labels",
        caption="The labelled items, each with its prediction. They were not drawn evenly, so the cloud is "
                "not a picture of the pool; the estimates weigh each item by what it stands for. The ring "
                "marks the largest error.",
        figure=label_against_prediction(pairs),
    )


def _tags(data: ReportData) -> OutcomeSection | None:
    of_tag = [
        row for row in data.estimates
        if row.class_name is not None and row.segment is None and data.systems is None
    ]
    measures = list(dict.fromkeys(row.measure for row in of_tag))
    cells = {(row.measure, row.class_name): row for row in of_tag}
    tags = list(dict.fromkeys(row.class_name for row in of_tag if row.class_name))
    if not tags:
        return None
    return OutcomeSection(
        title="Tag by tag",
        caption="The measures of each tag by itself, with their intervals. With several intervals side by "
                "side, some miss the truth by chance alone.",
        of="Tag",
        heads=[wording.measure_name(name) for name in measures],
        rows=[(tag, [_cell(cells.get((name, tag))) for name in measures]) for tag in tags],
    )


def _cell(row: MeasureEstimate | None) -> str:
    return "–" if row is None else wording.row_in_short(row)


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
    """Whether all measures can be drawn on one scale: grades and shares cannot, nor numbers and squares. One
    figure then shows them all; otherwise each has an axis of its own."""
    if data.outcome is None:
        return True
    ends = {
        wording.measure_bounds(row.measure, data.outcome, row.question)[1] for row in whole_pool_rows(data)
    }
    return len(ends) == 1 and bool(data.outcome.parts or isfinite(ends.pop()))


def label_against_prediction(pairs: Sequence[tuple[float, float]]) -> Picture:
    """Two panels: label against prediction, with the line of equality; error against prediction."""
    return picture(partial(_draw_points, pairs), (7.2, 3.4), _points_in_words(pairs), narrow=5.6)


def _draw_points(pairs: Sequence[tuple[float, float]], figure: "Figure") -> None:
    fit_ax, gap_ax = figure.subplots(2, 1) if is_narrow(figure) else figure.subplots(1, 2)
    f, y = np.array(pairs).T
    ends = [float(min(f.min(), y.min())), float(max(f.max(), y.max()))]
    fit_ax.plot(ends, ends, color=SOFT, linewidth=1, dashes=(4, 3))
    _plot_dots(fit_ax, f, y)
    fit_ax.set_xlabel("prediction")
    fit_ax.set_ylabel("label")
    gap_ax.axhline(0, color=SOFT, linewidth=1, dashes=(4, 3))
    _plot_dots(gap_ax, f, f - y)
    worst = int(np.abs(f - y).argmax())
    gap_ax.plot(f[worst], (f - y)[worst], linestyle="none", marker="o", markersize=7, markerfacecolor="none",
               markeredgecolor=LIMIT)
    gap_ax.set_xlabel("prediction")
    gap_ax.set_ylabel("prediction minus label")
    for ax in (fit_ax, gap_ax):
        ax.grid(axis="y")


def _plot_dots(ax: "Axes", x: Floats, y: Floats) -> None:
    """A small dot at each point (n,), with no line between them."""
    ax.plot(x, y, linestyle="none", marker="o", markersize=3.2, color=LINE, alpha=0.7, markeredgewidth=0)


def _points_in_words(pairs: Sequence[tuple[float, float]]) -> str:
    f, y = np.array(pairs).T
    worst = int(np.abs(f - y).argmax())
    error, predicted, label = (wording.limit_number(float(x[worst])) for x in (f - y, f, y))
    return (
        f"Prediction and label of {wording.plural(len(f), 'labelled item')}. The largest error is {error}, "
        f"where {predicted} was predicted and the label is {label}."
    )


def share_bars(rows: Sequence[MeasureEstimate]) -> Picture:
    """A figure with a bar and an interval for each outcome's share of the pool. The SVG has a text with the
    same numbers for those who cannot see it."""
    text = "; ".join(
        f"{row.class_name}: {wording.row_in_short(row)}" for row in rows
    )
    return picture(partial(_draw_shares, rows), (6.4, 0.6 + 0.5 * len(rows)), f"Shares of the pool. {text}.")


def _draw_shares(rows: Sequence[MeasureEstimate], figure: "Figure") -> None:
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


MOST_SQUARES_CLASSES = 12   # classes up to which the numbers are written into the squares, and in a table


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusionMatrix:
    """The confusion matrix as the page shows it: a figure, the classes, and a table with one row for each
    predicted class, empty where there are too many classes."""

    figure: Picture
    classes: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]   # predicted class -> its numbers; none where they are too many


def confusion_matrix(data: ReportData) -> ConfusionMatrix | None:
    """The matrix, where it was asked for: K² estimates, by predicted class and then by label. Shares of the
    pool, with their intervals, and K at least 2."""
    cells = [row for row in data.estimates if row.measure == MATRIX and row.segment is None]
    k = len(data.classes)
    if not cells or len(cells) != k * k:
        return None
    share = np.array([np.nan if row.value is None else row.value for row in cells]).reshape(k, k)
    few = k <= MOST_SQUARES_CLASSES
    rows = [
        (name, [_number(row) for row in cells[k * f : k * (f + 1)]]) for f, name in enumerate(data.classes)
    ]
    side = min(2.2 + 0.42 * k, 9.0)
    return ConfusionMatrix(
        figure=picture(
            partial(_draw, share, data.classes, few), (side + 1.0, side), _told(share, data.classes),
            style={"font.size": 8, "axes.labelsize": 9}, narrow=4.6,
        ),
        classes=data.classes,
        rows=rows if few else (),
    )


def _number(row: MeasureEstimate) -> str:
    return wording.row_in_short(row)


def _draw(share: Floats, classes: Sequence[str], few: bool, figure: "Figure") -> None:
    ax = figure.subplots()
    # within each predicted class, so that a rare class is seen as well as a frequent one
    rows = share / np.maximum(np.nansum(share, axis=1, keepdims=True), 1e-12)
    image = ax.imshow(rows, cmap="Blues", vmin=0, vmax=1, aspect="equal")
    longest = 12 if is_narrow(figure) else 18
    names = [shortened_name(name, longest) for name in classes]
    turned = len("".join(names)) > 5 * figure.get_figwidth()
    size = 8 if few else 6
    ax.set_xticks(range(len(names)), names, rotation=90 if turned else 0, fontsize=size)
    ax.set_yticks(range(len(names)), names, fontsize=size)
    ax.set_xlabel("label")
    ax.set_ylabel("predicted")
    ax.grid(visible=False)
    figure.colorbar(
        image, ax=ax, shrink=0.8, label="share of the predicted class",
        location="bottom" if is_narrow(figure) else "right",
    )
    for f, y in np.argwhere(np.isfinite(rows)) if few else ():
        ax.text(y, f, wording.percent(round(float(share[f, y]), 3)), ha="center", va="center", fontsize=7.5,
                color="white" if rows[f, y] > 0.6 else "black")


def _told(share: Floats, classes: Sequence[str]) -> str:
    """The figure in words: the most frequent confusions."""
    wrong = np.where(np.eye(len(classes)) > 0, -1.0, np.nan_to_num(share))
    worst = [divmod(int(at), len(classes)) for at in np.argsort(-wrong, axis=None)[:3]]
    text = "; ".join(
        f"{wording.percent(round(float(share[f, y]), 4))} of the items are predicted {classes[f]} and "
        f"labelled {classes[y]}" for f, y in worst if wrong[f, y] > 0
    )
    return f"Confusion matrix of {len(classes)} classes. " + (f"{text}." if text else "No confusions.")
