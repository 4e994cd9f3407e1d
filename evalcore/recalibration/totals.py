"""Measures as functions of two totals.

How many items are predicted positive is known, so with two classes a measure is a function of TP, the
positives among the predicted positives, and FN, the positives among the rest.
"""

import numpy as np

from evalcore.measures import Measure
from evalcore.types import Floats


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


def by_prediction(by_cell: Floats, predicted: Floats) -> Floats:
    """Sums (R, 2) of (R, C) over the cells of each prediction; predicted (C,) 0 or 1."""
    return np.stack([by_cell @ (1 - predicted), by_cell @ predicted], axis=1)


def _confusion(hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    items = by_prediction.reshape(len(by_prediction), *(1,) * (hits.ndim - 1), 2)
    rest = np.stack([items[..., 0] - missed, missed], axis=-1)
    chosen = np.stack([items[..., 1] - hits, hits], axis=-1)
    return np.stack([rest, chosen], axis=-2)
