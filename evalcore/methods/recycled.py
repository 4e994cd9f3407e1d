"""`recycle` for a pool with one system: precision from one sample, recall from one false-omission rate.

The recycled-samples paper (see evalcore.recycle, which serves several systems at once) estimates with two
simple random samples: one of the predicted positives, which gives the precision, and one of the predicted
negatives, which gives the false-omission rate φ and with it

    recall = PP · precision / (PP · precision + (N - PP) φ).

A pool with a single system is the parent alone: nothing is recycled, and any measure follows from the two
rates, as the size of both groups is known.  Half of every round goes to each group, or less where a group
runs out or its labels cannot change a measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalcore import intervals
from evalcore.cells import Cells
from evalcore.design import Design, EstimateArrays, Outcome
from evalcore.draws import Draws, without_replacement
from evalcore.measures import Measure
from evalcore.methods.base import MethodState, known_confusion, unlabelled_state
from evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Recycled:
    """Two simple random samples without replacement, with finite-pool variances."""

    name: str = "recycle"
    interval: str = "two-sample-normal"
    interval_note: str = (
        "Delta-method normal intervals of two simple random samples. With no positive among the predicted "
        "negatives, as on a rare class, the false-omission rate counts as 0 and recall's interval is too "
        "narrow."
    )

    def edges(self, scores: Floats, predictions: Any) -> tuple[Floats, int]:
        """One stratum: the two predictions are its cells."""
        return np.empty(0), 1

    def start(self, cells: Cells, measures: Sequence[Measure], repeats: int) -> MethodState:
        """Nothing is known."""
        return unlabelled_state(cells, measures, repeats)

    def propose(self, state: MethodState, size: Ints) -> Design:
        """Every item of a group has the same chance."""
        left, counts = state.left, _halves(state.wanted, size)
        seen = state.labelled.sum(axis=2)
        return Design(
            replacement=False,
            size=np.broadcast_to(state.cells.size, left.shape),
            left=left,
            unlabelled=np.divide(counts, left, out=np.zeros(left.shape), where=left > 0),
            labelled=np.zeros_like(state.labelled, dtype=np.float64),
            model=(state.labelled[:, :, 1] + 1) / (seen + 2),
            gradient=np.zeros(left.shape),
            census=state.wanted.sum(axis=1) <= size,
        )

    def draw(self, state: MethodState, design: Design, size: Ints, rng: np.random.Generator) -> Draws:
        """Half of the round from each group."""
        return without_replacement(_halves(state.wanted, size))

    def observe(
        self, state: MethodState, design: Design, outcome: Outcome, excluded: Ints
    ) -> MethodState:
        """Count the labels."""
        return state.with_labels(outcome, excluded)

    def estimate(
        self, state: MethodState, confidence: float, rng: np.random.Generator
    ) -> list[EstimateArrays]:
        """Each measure at the two rates."""
        counts = known_confusion(state)
        groups = np.stack(
            [
                (state.cells.size - state.excluded)[:, state.cells.prediction == f].sum(axis=1)
                for f in (0, 1)
            ],
            axis=1,
        )
        return [_from_rates(m, counts, groups, confidence) for m in state.measures]


def _halves(wanted: Ints, size: Ints) -> Ints:
    """Items (R, C) of each group; C is 1 or 2.  What one group lacks the other gives."""
    if wanted.shape[1] == 1:
        return np.minimum(wanted, size[:, None])
    positive = np.minimum(wanted[:, 1], (size + 1) // 2)
    negative = np.minimum(wanted[:, 0], size - positive)
    positive = np.minimum(wanted[:, 1], size - negative)
    return np.stack([negative, positive], axis=1)


def _from_rates(measure: Measure, counts: Floats, groups: Ints, confidence: float) -> EstimateArrays:
    """counts (R, 2, 2) of labels by [prediction, label]; groups (R, 2) items by prediction."""
    n = counts.sum(axis=2)
    matters = measure.label_matters() & (groups > 0)
    rate = counts[:, :, 1] / np.maximum(n, 1)
    total = groups[:, :, None] * np.stack([1 - rate, rate], axis=-1)
    value = np.where((matters & (n == 0)).any(axis=1), np.nan, measure.of_confusion(total))
    n_items = np.maximum(groups.sum(axis=1), 1)
    risk = np.einsum("rfy,fyd->rd", total, measure.loss) / n_items[:, None]
    influence = measure.influence(risk)
    slope = np.where(matters, influence[:, :, 1] - influence[:, :, 0], 0.0)
    thinned = 1 - n / np.maximum(groups, 1)
    of_rate = thinned * rate * (1 - rate) / np.maximum(n - 1, 1)
    variance = ((groups / n_items[:, None]) ** 2 * of_rate * slope**2).sum(axis=1)
    told = np.isfinite(value) & np.isfinite(variance) & (variance > 1e-14)
    told &= ~(matters & (n < 2) & (n < groups)).any(axis=1)
    ends = intervals.normal(value, variance, told, confidence, measure.bounds)
    return EstimateArrays(
        value=value,
        lower=ends.lower,
        upper=ends.upper,
        variance=np.where(told, variance, 0.0),
        diagnostics={"positive_sample": n[:, 1], "negative_sample": n[:, 0]},
    )
