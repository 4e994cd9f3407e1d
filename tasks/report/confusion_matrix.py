"""The confusion matrix as a heat map: shares of the pool by predicted class and label."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.types import Floats
from assay.tasks.report import wording
from assay.tasks.report.data import ReportData
from assay.tasks.report.rendering import Picture, is_narrow, picture, shortened_name

MATRIX = "confusion_matrix"
MOST_NUMBERS = 12     # classes up to which the numbers are written into the squares, and in a table


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusionMatrix:
    """What the page's section needs."""

    figure: Picture
    classes: Sequence[str]
    rows: Sequence[tuple[str, Sequence[str]]]   # predicted class -> its numbers; none where they are too many


def confusion_matrix(data: ReportData) -> ConfusionMatrix | None:
    """The matrix, where it was asked for: K² estimates, by predicted class and then by label."""
    found = [row for row in data.estimates if row.measure == MATRIX and row.segment is None]
    k = len(data.classes)
    if not found or len(found) != k * k:
        return None
    share = np.array([np.nan if row.value is None else row.value for row in found]).reshape(k, k)
    few = k <= MOST_NUMBERS
    rows = [
        (name, [_number(row) for row in found[k * f : k * (f + 1)]]) for f, name in enumerate(data.classes)
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
    return wording.in_short(row.value, row.lower, row.upper)


def _draw(share: Floats, classes: Sequence[str], few: bool, figure: Any) -> None:
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
    told = "; ".join(
        f"{wording.percent(round(float(share[f, y]), 4))} of the items are predicted {classes[f]} and "
        f"labelled {classes[y]}" for f, y in worst if wrong[f, y] > 0
    )
    return f"Confusion matrix of {len(classes)} classes. " + (f"{told}." if told else "No confusions.")
