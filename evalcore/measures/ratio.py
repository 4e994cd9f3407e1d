"""The form g(R) = R₀ / R₁, which precision, recall, specificity and F have in common."""

import numpy as np

from assay.evalcore.measures.base import Measure
from assay.evalcore.types import Floats


def ratio(
    *,
    name: str,
    title: str,
    meaning: str,
    undefined_when: str,
    above: Floats,
    below: Floats,
    monotone: tuple[int, int] | None = None,
) -> Measure:
    """The measure Σ above / Σ below over the pool, which lies between 0 and 1; undefined where Σ below is 0.

    above, below (2, 2), indexed [prediction, label], 0 ≤ above ≤ below; the rest as in `Measure`.
    """

    def value(risk: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(risk[..., 1] > 0, risk[..., 0] / risk[..., 1], np.nan)

    def gradient(risk: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            g = np.stack([1 / risk[..., 1], -risk[..., 0] / risk[..., 1] ** 2], axis=-1)
        return np.where(risk[..., 1:] > 0, g, np.nan)

    def linear(limit: float) -> tuple[float, Floats]:
        return 0.0, above - limit * below

    return Measure(
        name=name,
        title=title,
        meaning=meaning,
        undefined_when=undefined_when,
        bounds=(0.0, 1.0),
        loss=np.stack([above, below], axis=-1),
        value=value,
        gradient=gradient,
        monotone=monotone,
        linear=linear,
    )
