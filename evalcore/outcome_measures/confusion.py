"""The confusion matrix: the share of items by predicted class and label, K² numbers."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import Asked, Loss, MeasureFamily, OutcomeMeasure
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

MOST = 40   # classes


@dataclass(frozen=True, slots=True)
class Pairs(Loss):
    """1 for the pair of the predicted class and the label."""

    @property
    def size(self) -> int:
        """K²."""
        return self.kind.width**2

    def of(self, items: Items, phi: Floats) -> Floats:
        """(n, K²), predicted class first."""
        predicted = self.kind.phi(items.prediction[:, self.system])
        return (predicted[:, :, None] * phi[:, None, :]).reshape(len(phi), -1)

    def pull(self, items: Items, slope: Floats) -> Floats:
        """(n, K)."""
        predicted = self.kind.phi(items.prediction[:, self.system])
        return predicted @ slope.reshape(self.kind.width, -1)

    def most(self, said: Floats, slope: Floats, told: Floats) -> Floats:
        """One pair is there."""
        return np.full(len(said), slope.max())


def _confusion(asked: Asked) -> OutcomeMeasure:
    k = asked.kind.width
    if k > MOST:
        raise BadInput(f"a confusion matrix is for at most {MOST} classes, not {k}; ask for recall by class")
    names = asked.kind.parts
    return OutcomeMeasure(
        name="confusion_matrix", title="Confusion matrix",
        meaning="share of items by predicted class and label", undefined_when="the pool is empty",
        bounds=(0.0, 1.0), losses=(Pairs(asked.kind, asked.system),), value=lambda risk: risk,
        gradient=lambda risk: np.broadcast_to(np.eye(k * k), (*risk.shape[:-1], k * k, k * k)),
        parts=tuple(f"{predicted} → {label}" for predicted in names for label in names),
        system=asked.system,
    )


FAMILIES = (
    MeasureFamily(name="confusion_matrix", title="Confusion matrix",
                  meaning="share of items by predicted class and label", kinds=("classes",), make=_confusion,
                  one_system="is a table of one system"),
)
