"""Measures as functions of two totals.

How many items are predicted positive is known, so with two classes a measure is a function of TP, the
positives among the predicted positives, and FN, the positives among the rest.
"""

from collections.abc import Callable

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Floats


def value(measure: Measure, hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    """The measure of TP = hits and FN = missed, shapes (R, ...); by_prediction (R, 2): items by prediction.

    NaN where it is undefined.
    """
    return measure.of_confusion(_confusion(hits, missed, by_prediction))


def gradient(measure: Measure, hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    """∂M/∂FN and ∂M/∂TP, shape (R, 2) indexed by the prediction; 0 where the measure is undefined.

    hits, missed (R,): TP and FN; by_prediction (R, 2): items by prediction.
    """
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

    known, free (R, 2): positives found and items unlabelled, by prediction; by_prediction (R, 2): items.
    Where the measure declares how it moves with TP and FN (`Measure.monotone`), the ends are two corners of
    what is possible; a corner without a value has neighbours, by one positive or one negative.  Without
    a value there either, and for a measure that declares nothing, it is the measure's range.
    """
    lowest, highest = (np.full(len(known), bound) for bound in measure.bounds)
    if measure.monotone is None:
        return lowest, highest
    rises = np.array([measure.monotone[1], measure.monotone[0]]) > 0            # by prediction: FN, TP
    least, most = known, known + free
    lower = _end(measure, np.where(rises, least, most), least, most, by_prediction, np.fmin)
    upper = _end(measure, np.where(rises, most, least), least, most, by_prediction, np.fmax)
    lower = np.where(np.isfinite(lower), lower, lowest)
    upper = np.where(np.isfinite(upper), upper, highest)
    return np.minimum(lower, upper), np.maximum(lower, upper)


def _end(
    measure: Measure,
    corner: Floats,
    least: Floats,
    most: Floats,
    items: Floats,
    better: Callable[[Floats, Floats], Floats],
) -> Floats:
    """The value (R,) at a corner (R, 2), or the better of those next to it; NaN where none has one."""
    steps = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])        # by prediction
    values = [
        value(measure, place[:, 1], place[:, 0], items)
        for place in (corner, *(np.clip(corner + step, least, most) for step in steps))
    ]
    beside = values[1]
    for other in values[2:]:
        beside = better(beside, other)
    return np.where(np.isfinite(values[0]), values[0], beside)


def by_prediction(by_cell: Floats, predicted: Floats) -> Floats:
    """Sums (R, 2) over the cells of each prediction; by_cell (R, C), predicted (C,) 0 or 1."""
    return np.stack([by_cell @ (1 - predicted), by_cell @ predicted], axis=1)


def _confusion(hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    items = by_prediction.reshape(len(by_prediction), *(1,) * (hits.ndim - 1), 2)
    rest = np.stack([items[..., 0] - missed, missed], axis=-1)
    chosen = np.stack([items[..., 1] - hits, hits], axis=-1)
    return np.stack([rest, chosen], axis=-2)
