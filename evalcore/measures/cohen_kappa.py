"""Cohen's kappa: agreement of prediction and label beyond what chance would give (Cohen 1960, eq. 1).

With p_o the share of right predictions and p_e = y f + (1 - y)(1 - f) that of independent ones,

    g = (p_o - p_e) / (1 - p_e) = 2 (t - y f) / D,   D = y (1 - f) + f (1 - y)
    ∂g/∂y = -(2 f + g (1 - 2 f)) / D,   and the same with y and f exchanged
"""

import numpy as np

from assay.evalcore.measures.base import SHARES, Measure
from assay.evalcore.types import Floats


def _value(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    below = y * (1 - f) + f * (1 - y)
    with np.errstate(divide="ignore", invalid="ignore"):
        # rounding may lead beyond perfect agreement
        return np.where(below > 0, np.clip(2 * (t - y * f) / below, -1, 1), np.nan)


def _gradient(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    below = y * (1 - f) + f * (1 - y)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = 2 * (t - y * f) / below
        by_y = -(2 * f + kappa * (1 - 2 * f)) / below
        by_f = -(2 * y + kappa * (1 - 2 * y)) / below
        g = np.stack([2 / below, by_y, by_f], axis=-1)
    return np.where((below > 0)[..., None], g, np.nan)


MEASURES = (
    Measure(
        name="cohen_kappa",
        title="Cohen's kappa",
        meaning="agreement of prediction and label beyond chance, from −1 to 1",
        undefined_when="all items and all predictions are of one class",
        bounds=(-1.0, 1.0),
        loss=SHARES,
        value=_value,
        gradient=_gradient,
        monotone=(1, -1),
    ),
)
