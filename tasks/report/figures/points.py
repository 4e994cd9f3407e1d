"""Numbers: what was predicted against what people said, and the errors."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from assay.tasks.report import wording
from assay.tasks.report.figures.picture import LIMIT, LINE, SOFT, Picture, is_narrow, picture


def label_against_prediction(pairs: Sequence[tuple[float, float]]) -> Picture:
    """Two panels: label against prediction, with the line of equality; error against prediction."""
    return picture(partial(_draw, pairs), (7.2, 3.4), _told(pairs), narrow=5.6)


def _draw(pairs: Sequence[tuple[float, float]], figure: Any) -> None:
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


def _told(pairs: Sequence[tuple[float, float]]) -> str:
    f, y = np.array(pairs).T
    worst = int(np.abs(f - y).argmax())
    error, predicted, said = (wording.limit_number(float(x[worst])) for x in (f - y, f, y))
    return (
        f"Prediction and label of {wording.plural(len(f), 'labelled item')}. The largest error is {error}, "
        f"where {predicted} was predicted and the label is {said}."
    )
