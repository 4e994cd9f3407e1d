"""Balanced accuracy: the mean of recall and specificity, ½ (t/y + (1 - y - f + t)/(1 - y))."""

import numpy as np

from assay.evalcore.measures.base import SHARES, Measure
from assay.evalcore.types import Floats


def _value(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        v = 0.5 * (t / y + (1 - y - f + t) / (1 - y))
    return np.where((y > 0) & (y < 1), v, np.nan)


def _gradient(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_t = 0.5 * (1 / y + 1 / (1 - y))
        by_y = 0.5 * (-t / y**2 + (t - f) / (1 - y) ** 2)
        by_f = -0.5 / (1 - y)
    g = np.stack([by_t, by_y, by_f], axis=-1)
    return np.where(((y > 0) & (y < 1))[..., None], g, np.nan)


MEASURES = (
    Measure(
        name="balanced_accuracy",
        title="Balanced accuracy",
        meaning="mean of recall and specificity",
        undefined_when="the pool has items of one class only",
        bounds=(0.0, 1.0),
        loss=SHARES,
        value=_value,
        gradient=_gradient,
        monotone=(1, -1),
    ),
)
