"""The measure that the supplied probabilities expect of a window, for any kind of outcome.

The losses that they expect of each item are averaged over the window and put into the measure, as
`evalcore.monitoring.traffic.profile` does for two classes.
"""

import numpy as np

from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats


def expected_of(measure: OutcomeMeasure, items: Items) -> tuple[float | None, float]:
    """The expected value, and its standard deviation over samples of the window's population.

    By the delta method.  None, and 0, without probabilities, where it is undefined, and of a measure of
    several numbers.
    """
    if items.probability is None or len(measure.parts) > 1:
        return None, 0.0
    total: Floats = np.zeros(0)
    for where, piece in items.chunks():
        one = _losses(measure, piece).sum(axis=0)
        total = one if where.start == 0 else total + one
    risk = total / len(items)
    value = float(measure.value(risk)[0])
    if not np.isfinite(value):
        return None, 0.0
    slope = np.nan_to_num(measure.gradient(risk)[0], nan=0.0, posinf=0.0, neginf=0.0)
    first = second = 0.0
    for _, piece in items.chunks():
        pull = _losses(measure, piece)[:, : len(slope)] @ slope
        first, second = first + float(pull.sum()), second + float((pull**2).sum())
    n = len(items)
    return value, float(np.sqrt(max(second / n - (first / n) ** 2, 0.0) / n))


def _losses(measure: OutcomeMeasure, items: Items) -> Floats:
    """(n, d + d_k) of items whose outcomes are as probable as supplied."""
    phi = np.zeros((len(items), 0)) if items.probability is None else items.probability
    return np.concatenate(
        [*(loss.of(items, phi) for loss in measure.losses), *(loss.known(items) for loss in measure.losses)],
        axis=1,
    )
