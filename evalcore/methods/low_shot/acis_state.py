"""What `acis` knows between rounds, and what follows from it at once.

    R   repeats;  C   cells;  i   the iteration under way, from 1;  L   items labelled before it;  N   items
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.estimators.single_trial import single_trial
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.low_shot.acis_average import Iterations
from assay.evalcore.methods.low_shot.calibration import Strata
from assay.evalcore.methods.state import MethodState
from assay.evalcore.types import Bools, Floats, Ints

_FIRST = 10   # labels of the first iteration; each has twice as many as the one before


def planned_labels(closed: Ints) -> Ints:
    """Labels of the iteration after so many closed ones: 10, 20, 40 ..."""
    return np.asarray(_FIRST * 2**closed)


def labels_until(closed: Ints) -> Ints:
    """Labels of so many iterations together: 0, 10, 30, 70, 150 ..."""
    return np.asarray(_FIRST * (2**closed - 1))


def fixed_weight(items: Ints, draws: Ints, share: Floats, n_items: int, *, by_draws: Bools | bool) -> Floats:
    """What each of `items` (R,) items counts that were labelled before the iteration, or asked for certain.

    draws (R,): of the iteration; share (R,): of its labels that are there; by_draws: see `acis`.
    """
    return np.asarray(np.where(by_draws, draws, items * np.minimum(share, 1.0)) / n_items)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AcisState(MethodState):
    """The calibration and proposal in force, the draws of this iteration, and what those before it said."""

    strata: Strata
    reuse_draws: bool     # L weighs |draws|/N instead of |L|/N
    cut: Floats           # (C,) the first iteration whose domain has the cell: see `domain`
    prior: Floats         # (C,) c₀
    rate: Floats          # (R, C) the calibration in force
    pull: Floats          # (R, 2, 2) what a label pulls at the first measure, by [prediction, label]
    iteration: Ints       # (R,) iterations closed
    known: Ints           # (R, C, 2) L, and items that were asked for certain since
    weight: Floats        # (R, 2, 2) Σ w over the draws of this iteration
    squared: Floats       # (R, 2, 2) Σ w²
    draws: Ints           # (R,)
    closed: Iterations

    @property
    def domain(self) -> Bools:
        """Cells (R, C) of the fewest whole strata that hold the 3 (i + 1) n_pos highest scores."""
        return np.asarray(self.cut[None] <= self.iteration[:, None] + 1)

    @property
    def planned(self) -> Ints:
        """Labels (R,) of this iteration when it is full."""
        return planned_labels(self.iteration)

    @property
    def gathered(self) -> Ints:
        """Labels (R,) of this iteration so far."""
        return np.asarray(self.labelled.sum(axis=(1, 2)) - labels_until(self.iteration))

    @property
    def settled(self) -> Bools:
        """Whether (R,) all of the domain is labelled."""
        return np.asarray(~(self.wanted * self.domain).any(axis=1))

    def exhausted(self, size: Ints) -> Bools:
        """Whether (R,) the domain has no more than `size` (R,) items left to ask."""
        return np.asarray((self.wanted * self.domain).sum(axis=1) <= size)

    def sums(self) -> tuple[Floats, Floats]:
        """Sums of w and w² (R, 2, 2) by [prediction, label] of this iteration: its draws and L.

        The items of L weigh |L|/N each.  In an iteration that is not full they weigh that much times its
        share of labels so far.  When all of the domain is labelled, all labelled items are L and there are no
        draws.
        """
        settled = self.settled
        fixed = np.where(settled[:, None, None], self.labelled, self.known)
        counts = self._by_prediction(fixed)
        each = fixed_weight(
            fixed.sum(axis=(1, 2)), self.draws, self.gathered / self.planned, self.cells.n_items,
            by_draws=self.reuse_draws & ~settled,
        )
        drawn = np.where(settled, 0.0, 1.0)[:, None, None]
        weight = drawn * self.weight + each[:, None, None] * counts
        return weight, drawn * self.squared + each[:, None, None] ** 2 * counts

    def current(self, measure: Measure) -> tuple[Floats, Floats, Floats]:
        """|W_i|₁, Ĝ_i and its variance, each (R,), from this iteration's labels so far."""
        weight, squared = self.sums()
        value, variance = single_trial(measure, weight, squared)
        return weight.sum(axis=(1, 2)), value, variance

    def _by_prediction(self, counts: Ints) -> Floats:
        """counts (R, C, 2) by [prediction, label]."""
        prediction = self.cells.prediction
        return np.stack([counts[:, prediction == f].sum(axis=1) for f in (0, 1)], axis=1).astype(np.float64)
