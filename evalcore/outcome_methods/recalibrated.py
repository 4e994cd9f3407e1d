"""`recalibrated`: guesses recalibrated by the labels, and labels where the residuals spread.

    model       a mixture of guesses, or a regression on them, refitted after every round (`label_models.guesses`)
    cells       the predicted class and the guessed spread of an item's pull (`cut`)
    allocation  Neyman's, on the spread of residuals, learned as labels come; a part of it even
    estimate    the difference estimator (`reading`), classes drawn together (`composite`)
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cut import Cut, cut, profile
from assay.evalcore.outcome_methods.reading import read, sums
from assay.evalcore.outcome_methods.sampled import Sampled
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

CELLS = 60
EVEN = 0.15       # of the allocation, spread evenly
LEARNED = 12.0    # labels of a cell that its own spread must rest on to count for half


@dataclass(frozen=True, slots=True)
class Recalibrated(Sampled):
    """The method for any outcome."""

    name: ClassVar[str] = "recalibrated"
    says: ClassVar[str] = "Labels where they tell most, with probabilities or judges recalibrated by them."
    interval: ClassVar[str] = "model and design"
    interval_note: ClassVar[str] = (
        "Student's interval of the difference estimator, whose variance is drawn towards what was guessed "
        "while labels are few. docs/outcomes.md has how often it covered."
    )
    modelled: ClassVar[bool] = True

    def cut(self, stack: Stack, items: Items) -> Cut:
        """By predicted class and spread; by what judges say, for numbers."""
        found = profile(stack, items)
        return cut(stack, items, found, found.group, found.score, CELLS)

    def share(self, state: SampleState) -> Floats:
        """Root of the spread of residuals of each cell, drawn towards the guessed spread, and a part even."""
        weight = state.stack.weight
        guess = np.broadcast_to(state.cells.spread @ weight, state.labelled.shape)
        spread = guess
        if state.n:
            spread = self._learned(state, guess, weight)
        root = np.sqrt(spread)
        mean = (root * state.wanted).sum(axis=1) / np.maximum(state.wanted.sum(axis=1), 1)
        return np.asarray((1 - EVEN) * root + EVEN * mean[:, None])

    def _learned(self, state: SampleState, guess: Floats, weight: Floats) -> Floats:
        reading = read(state, self.modelled, self.least)
        slopes = state.stack.slopes(self.risk(state, reading), state.cells.known_sizes.tolist())
        drive = weight > 0
        pull = np.einsum("rnd,rqd->rnq", reading.residual, slopes[:, drive])
        square = (pull**2) @ weight[drive]
        found = sums(state.cell, square[..., None], state.cells.n_cells)[..., 0]
        expected = np.take_along_axis(guess, state.cell, axis=1).sum(axis=1)
        average = guess.mean(axis=1)
        scale = (square.sum(axis=1) + LEARNED * average) / np.maximum(expected + LEARNED * average, 1e-300)
        return np.asarray((found + LEARNED * scale[:, None] * guess) / (state.labelled + LEARNED))
