"""Guaranteed intervals of measures of any outcome (`evalcore.estimators.guaranteed`).

A measure that a mean decides about has a margin: of a limit θ, a sum over the pool that is 0 or more exactly
while the measure is at or above θ.  θ is ruled out as too high once the largest total that the labels leave
open is below 0, and as too low once the least is above 0.  So the ends of a ratio (F1, recall) are found
where the total of the margin changes its sign, and those of a mean at one go.  What a label can add to the
margin has bounds in every cell (`Stack.largest_pull`); what the pool tells is taken off beforehand.

Few strata: the more there are, the more ways a value can be shared among them, and each must be ruled out.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.guaranteed import GUARANTEE_NOTE, GUARANTEED, crossing, least_total
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.methods.any_outcome.measured_pool import MeasuredPool
from assay.evalcore.methods.any_outcome.state import OutcomeCells, OutcomeEstimates, SampleState
from assay.evalcore.types import Floats

_SHARED_HALVINGS, _SHARED_STEPS = 6, 10   # to an end: of an interval first, then where a line crosses 0


class Guarantee:
    """Of a method whose items are drawn at random inside its cells: guaranteed intervals instead of its own.

    To be named before the method's class.
    """

    __slots__ = ()
    interval: ClassVar[str] = GUARANTEED
    interval_note: ClassVar[str] = GUARANTEE_NOTE
    coverage_slack: ClassVar[float] = 0.0

    def as_set(self) -> Self:
        """The method itself, since this class is already its guaranteed form."""
        return self

    @property
    def holds_at_every_look(self) -> bool:
        """Always true: guaranteed intervals hold all together, however often people look."""
        return True

    def cells(self, pool: MeasuredPool) -> OutcomeCells:
        """As the method cuts the pool.

        Raises BadInput as the method, for a measure that no mean decides about, and for clusters.
        """
        refuse_without_margin(pool.stack.measures)
        if pool.none.cluster is not None:
            raise BadInput("a guaranteed interval is of the pool's items, and these come in clusters; leave "
                           "pool.cluster or the guarantee out")
        return super().cells(pool)   # type: ignore[misc, no-any-return]

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The method's own estimates with guaranteed ends: every value that some pool, compatible with the
        labels at this confidence, could have lies between them. The ends enclose the estimate; where it
        is exact they are the value itself."""
        estimates: OutcomeEstimates = super().estimate(state, confidence)   # type: ignore[misc]
        if not state.n:
            return estimates
        ends_by_key: dict[tuple[int, bytes], tuple[Floats, Floats]] = {}

        def ends(confidences: Floats) -> tuple[Floats, Floats]:
            lower, upper = estimates.lower.copy(), estimates.upper.copy()
            for q in range(lower.shape[1]):
                key = q, confidences[:, q].tobytes()
                if key not in ends_by_key:
                    ends_by_key[key] = _ends(state, q, (1 - confidences[:, q]) / 2)
                lower[:, q], upper[:, q] = ends_by_key[key]
            inside = np.fmin(lower, estimates.value), np.fmax(upper, estimates.value)
            exact = estimates.exact[:, None]
            return np.where(exact, estimates.value, inside[0]), np.where(exact, estimates.value, inside[1])

        lower, upper = ends(np.full(estimates.value.shape, confidence))
        return replace(estimates, lower=lower, upper=upper, ends=ends, interval=GUARANTEED)


def refuse_without_margin(measures: Sequence[OutcomeMeasure]) -> None:
    """Raises BadInput for measures that no mean of bounded losses decides about."""
    for measure in measures:
        if measure.margin is None:
            kind = "has several numbers; name a class" if len(measure.parts) > 1 else \
                "is no mean, or ratio of means, of bounded losses; ask for another measure"
            raise BadInput(f"{measure.full_name} has no guaranteed interval: it {kind}, or leave the "
                           "guarantee out (numbers need a least and a largest value under labels)")


def _ends(state: SampleState, q: int, tail: Floats) -> tuple[Floats, Floats]:
    """Both ends (R,) of number q; tail (R,): the chance of either to be wrong."""
    measure = state.stack.measures[state.stack.parts[q][0]]
    low, high = (np.full(len(tail), bound) for bound in measure.bounds)
    margins = _Margins(state, measure, tail)
    # the largest limit that is too low, and the least that is too high
    lower = -crossing(lambda limit: margins.least(-limit, 1.0), -high, -low, _SHARED_HALVINGS, _SHARED_STEPS)
    upper = crossing(lambda limit: margins.least(limit, -1.0), low, high, _SHARED_HALVINGS, _SHARED_STEPS)
    return np.maximum(lower, low), np.minimum(upper, high)


class _Margins:
    """Totals of the margin of one measure; those of equal slopes are made once."""

    def __init__(self, state: SampleState, measure: OutcomeMeasure, tail: Floats) -> None:
        self._state, self._measure, self._tail = state, measure, tail
        stack, cells = state.stack, state.cells
        sizes = cells.known_sizes.tolist()
        columns = stack.columns(measure, sizes)
        self._own = columns[columns < stack.size]
        self._size = cells.size - state.excluded
        self._items = self._size.sum(axis=1)
        known_means = (cells.known - state.excluded_known) / self._items[:, None]
        self._known = known_means[:, columns[columns >= stack.size] - stack.size]
        self._sizes = sizes
        self._made: tuple[tuple[float, bytes], Floats] = (0.0, b""), np.zeros(0)

    def least(self, limit: Floats, sign: float) -> Floats:
        """(R,) the least mean of the margin of a limit (R,) that is not ruled out (sign 1); else the largest
        (-1), with its sign turned."""
        stack, table = self._state.stack, self._state.table
        constant, slopes = np.zeros(len(limit)), np.zeros((len(limit), stack.size))
        for r, at in enumerate(limit.tolist()):
            margin = self._measure.margin(at, self._known[r], sign < 0)      # type: ignore[misc]
            constant[r] = margin.constant + margin.known_slope @ self._known[r]
            slopes[r, self._own] = margin.slope
        key = sign, slopes.tobytes()
        if key != self._made[0]:
            worth = sign * np.einsum("rnd,rd->rn", table.loss[self._state.item], slopes)  # type: ignore[union-attr]
            low, high = -self._most(-sign * slopes), self._most(sign * slopes)
            total = least_total(worth, self._state.cell, self._size, low, high, self._tail)
            self._made = key, total / self._items
        return sign * constant + self._made[1]

    def _most(self, slopes: Floats) -> Floats:
        """(R, C) the largest that slopes (R, D) make of an item of each cell."""
        cells, no_known = self._state.cells, np.zeros(len(self._state.cells.known))
        pull_of_slope: dict[bytes, Floats] = {}
        for slope in slopes:
            if slope.tobytes() not in pull_of_slope:
                pull_of_slope[slope.tobytes()] = self._state.stack.largest_pull(
                    cells.said, np.concatenate([slope, no_known]), self._sizes,
                    together=cells.said.shape[1] > 1
                )
        return np.stack([pull_of_slope[slope.tobytes()] for slope in slopes])
