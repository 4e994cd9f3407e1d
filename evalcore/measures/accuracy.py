"""Accuracy: the share of right predictions.

One loss, the error indicator, and g(R) = 1 - R: the size of the pool is known and is not estimated.
"""

import numpy as np

from assay.evalcore.measures.base import ERROR, Measure
from assay.evalcore.types import Floats


def _value(risk: Floats) -> Floats:
    return np.asarray(1 - risk[..., 0])


def _gradient(risk: Floats) -> Floats:
    return -np.ones_like(risk)


def _linear(limit: float) -> tuple[float, Floats]:
    return 1 - limit, -ERROR


MEASURES = (
    Measure(
        name="accuracy",
        title="Accuracy",
        meaning="share of all items whose prediction is right",
        undefined_when="the pool is empty",
        bounds=(0.0, 1.0),
        loss=ERROR[..., None],
        value=_value,
        gradient=_gradient,
        monotone=(1, -1),
        linear=_linear,
    ),
)
