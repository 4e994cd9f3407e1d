"""The correlation of prediction and label (Matthews 1975), called MCC.

    g = (t - y f) / D,   D = √(y (1 - y) f (1 - f))
    ∂g/∂y = -f/D - (t - y f)(1 - 2y) / (2 y (1 - y) D),   and the same with y and f exchanged
"""

import numpy as np

from assay.evalcore.measures.base import SHARES, Measure
from assay.evalcore.types import Floats


def _value(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    inside = y * (1 - y) * f * (1 - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        # the root may round down: 1 + 2e-16 is no correlation
        return np.where(inside > 0, np.clip((t - y * f) / np.sqrt(inside), -1, 1), np.nan)


def _gradient(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    inside = y * (1 - y) * f * (1 - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        root, joint = np.sqrt(inside), t - y * f
        by_y = -f / root - joint * (1 - 2 * y) / (2 * y * (1 - y) * root)
        by_f = -y / root - joint * (1 - 2 * f) / (2 * f * (1 - f) * root)
        g = np.stack([1 / root, by_y, by_f], axis=-1)
    return np.where((inside > 0)[..., None], g, np.nan)


MEASURES = (
    Measure(
        name="mcc",
        title="Matthews correlation",
        meaning="correlation of prediction and label, from −1 to 1",
        undefined_when="all items, or all predictions, are of one class",
        bounds=(-1.0, 1.0),
        loss=SHARES,
        value=_value,
        gradient=_gradient,
        monotone=(1, -1),
    ),
)
