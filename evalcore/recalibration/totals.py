"""Measures as functions of two totals.

How many items are predicted positive is known, so with two classes a measure is a function of TP, the
positives among the predicted positives, and FN, the positives among the rest.
"""

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Floats


def value(measure: Measure, hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    """The measure of TP = hits and FN = missed, shapes (R, ...); by_prediction (R, 2): items by prediction.

    NaN where it is undefined.
    """
    return measure.of_confusion(_confusion(hits, missed, by_prediction))


def gradient(measure: Measure, hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    """∂M/∂FN and ∂M/∂TP, shape (R, 2) indexed by the prediction; 0 where the measure is undefined."""
    counts = _confusion(hits, missed, by_prediction)
    total = np.maximum(counts.sum(axis=(-2, -1)), 1.0)
    risk = np.einsum("rfy,fyd->rd", counts, measure.loss) / total[:, None]
    pull = measure.influence(risk)
    slope = (pull[..., 1] - pull[..., 0]) / total[:, None]
    return np.where(np.isfinite(slope), slope, 0.0)


def attainable(
    measure: Measure, known: Floats, free: Floats, by_prediction: Floats
) -> tuple[Floats, Floats]:
    """The least and largest value (R,) the labels still allow, if the measure exists at all.

    known, free (R, 2): positives found and items unlabelled, by prediction.  Every measure rises with TP and
    falls with FN, so the ends are two corners; where a corner has no value, its neighbour by one positive or
    one negative has.  Without a value at any of them, the measure's range.
    """
    least, most = known, known + free
    ends = []
    for hits, missed, instead in (
        (least[:, 1], most[:, 0], measure.bounds[0]),
        (most[:, 1], least[:, 0], measure.bounds[1]),
    ):
        corners = [(hits, missed)]
        for step in (1.0, -1.0):
            corners += [(np.clip(hits + step, least[:, 1], most[:, 1]), missed),
                        (hits, np.clip(missed + step, least[:, 0], most[:, 0]))]
        end: Floats = np.full(len(hits), np.nan)
        for h, m in corners:
            end = np.where(np.isfinite(end), end, value(measure, h, m, by_prediction))
        ends.append(np.where(np.isfinite(end), end, instead))
    return np.minimum(*ends), np.maximum(*ends)


def by_prediction(by_cell: Floats, predicted: Floats) -> Floats:
    """Sums (R, 2) of (R, C) over the cells of each prediction; predicted (C,) 0 or 1."""
    return np.stack([by_cell @ (1 - predicted), by_cell @ predicted], axis=1)


def _confusion(hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    items = by_prediction.reshape(len(by_prediction), *(1,) * (hits.ndim - 1), 2)
    rest = np.stack([items[..., 0] - missed, missed], axis=-1)
    chosen = np.stack([items[..., 1] - hits, hits], axis=-1)
    return np.stack([rest, chosen], axis=-2)
