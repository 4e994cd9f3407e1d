"""`guesses`: guesses recalibrated by the labels, and labels where their residuals may spread.

    model       a mixture of guesses, or a regression on them, refitted to all labels (`label_models.guesses`)
    cells       the predicted class and the guessed spread of an item's pull (`cut`)
    allocation  Neyman's on the guessed spread, a part of it even.  It does not follow the residuals: cells
                whose first labels happen to agree would get no more, and stay wrong
    estimate    the difference estimator (`reading`), classes drawn together (`composite`)
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cut import cut
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.profile import profile
from assay.evalcore.outcome_methods.sampled import Sampled
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.types import Floats

CELLS = 60
EVEN = 0.25       # of the allocation, spread evenly


@dataclass(frozen=True, slots=True)
class Guesses(Sampled):
    """The difference estimator on a mixture of guesses."""

    name: ClassVar[str] = "guesses"
    says: ClassVar[str] = "Labels where they tell most, with probabilities or judges recalibrated by them."
    interval: ClassVar[str] = "model and design"
    interval_note: ClassVar[str] = (
        "Student's interval of the difference estimator, whose variance is drawn towards what was guessed "
        "while labels are few."
    )
    modelled: ClassVar[bool] = True

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """By predicted class and spread; by what judges say, for numbers."""
        found = profile(pool)
        return cut(pool, found, found, CELLS).cells

    def share(self, state: SampleState) -> Floats:
        """Root of the guessed spread of an item's pull, and a part even."""
        root = np.sqrt(state.cells.spread @ state.stack.weight)
        wanted = state.cells.size * state.cells.relevant
        mean = (root * wanted).sum() / max(int(wanted.sum()), 1)
        return np.broadcast_to((1 - EVEN) * root + EVEN * mean, state.labelled.shape)
