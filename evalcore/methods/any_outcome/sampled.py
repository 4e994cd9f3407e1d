"""Stratified sampling without replacement, for a share of labels that each method decides on.

A round spends its labels on the cells furthest behind their share of all labels so far, so rounds add up to
the allocation.  Items are drawn systematically along the order of the cells, from a random start, and at
random inside a cell: neighbours in order are alike, so every stretch of the pool gets its part.

Drawn one at a time, items come up in proportion to weights that half follow what is behind and half the
share itself, so no item that can matter is nearly out of reach.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.evalcore.design.draws import draw_one_at_a_time
from assay.evalcore.design.draws import weights as draw_weights
from assay.evalcore.design.inclusion import waterfill
from assay.evalcore.design.round import Design
from assay.evalcore.methods.any_outcome import interval
from assay.evalcore.methods.any_outcome.base import OutcomeMethod
from assay.evalcore.methods.any_outcome.interval import bounds_of, errors, nothing_yet, reported
from assay.evalcore.methods.any_outcome.reading import (
    LEAST,
    Reading,
    fit_difference_estimator,
    off_centre,
    shrunken,
)
from assay.evalcore.methods.any_outcome.state import ItemWeights, OutcomeEstimates, SampleState
from assay.evalcore.methods.any_outcome.unseen_errors import unseen_errors
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Sampled(OutcomeMethod):
    """A method that is told apart by its cells, its share and its use of a label model."""

    modelled: ClassVar[bool] = False   # residuals are taken from a label model
    least: ClassVar[float] = LEAST     # labels of a group

    def propose(self, state: SampleState, size: Ints) -> Design:
        """Where the allocation of all labels so far is furthest behind."""
        left, wanted = state.left, state.wanted
        share = np.where(wanted > 0, np.maximum(self.share(state), 1e-12), 0.0)
        behind = np.maximum(self.allocation(state, state.n + int(size.max())) - state.by_cell, 0.0)
        per_item = np.divide(behind, left, out=np.zeros_like(behind), where=wanted > 0)
        inclusion = waterfill(per_item + 1e-6 * share / share.max(axis=1, keepdims=True) *
                              per_item.max(axis=1, keepdims=True), wanted, size)
        if self.one_at_a_time:
            inclusion = (inclusion + waterfill(share, wanted, size)) / 2
        return Design(left=left, unlabelled=inclusion, census=np.zeros(len(left), np.bool_))

    def allocation(self, state: SampleState, labels: int) -> Floats:
        """(R, C) how many of so many labels are meant for each cell."""
        items = (state.cells.size - state.excluded) * state.cells.relevant
        share = np.where(items > 0, np.maximum(self.share(state), 1e-12), 0.0)
        return items * waterfill(share, items, np.full(len(items), labels))

    def numbers_drawn(self, design: Design, rng: np.random.Generator) -> Ints:
        """Systematic along the cells, or one at a time."""
        if self.one_at_a_time:
            size = np.round((design.left * design.unlabelled).sum(axis=1)).astype(np.int64)
            cells = draw_one_at_a_time(design.left, draw_weights(design.unlabelled), size, rng).cell
            return np.stack([np.bincount(row[row >= 0], minlength=design.left.shape[1]) for row in cells])
        reach = np.cumsum(design.left * design.unlabelled, axis=1)
        reach[:, -1] = np.round(reach[:, -1])
        reach = np.minimum(reach, reach[:, -1:])
        steps = np.floor(reach + rng.random(len(reach))[:, None] * (1 - 1e-9) + 1e-9)
        return np.minimum(np.diff(steps, axis=1, prepend=0.0).astype(np.int64), design.left)

    def pull_spread(self, state: SampleState) -> Floats:
        """(C, Q) the guessed variances of pulls; (R, C, Q) where labels tell of them."""
        return state.cells.spread

    def weights(self, state: SampleState) -> ItemWeights:
        """Itself, and its part of the unlabelled items of its group; spread as in a stratified mean."""
        reading = fit_difference_estimator(state, self.allocation(state, state.n), False, self.least)
        group = reading.group[0]
        n = np.bincount(group, minlength=reading.open.shape[1])
        opened = reading.open[0]
        spread = opened * (opened / reading.effective[0] + 1) / np.maximum(n - 1, 1)
        alone = n[group] < 2
        return ItemWeights(
            weight=reading.stands[0], factor=spread[group], group=np.where(alone, -1, group)
        )

    def in_order(self, design: Design, size: int, rng: np.random.Generator) -> Ints:
        if not self.one_at_a_time:
            return OutcomeMethod.in_order(self, design, size, rng)
        drawn = draw_one_at_a_time(design.left, draw_weights(design.unlabelled), np.array([size]), rng)
        return np.asarray(drawn.cell[0])

    def expects(self, state: SampleState) -> Floats:
        """By the guesses as the labels weigh them, whether the estimate uses them or not."""
        weights = state.cells.first[:, None]
        if state.n:
            allocation = self.allocation(state, state.n)
            weights = fit_difference_estimator(state, allocation, True, self.least).weights[0]
        return np.asarray((weights * state.cells.guess).sum(axis=1) / state.cells.size[:, None])

    def risk(self, state: SampleState, reading: Reading) -> Floats:
        """R̂ (R, D + D_k)."""
        correction = reading.correction
        if self.modelled:
            correction = shrunken(state, reading, correction)
        known = (state.cells.known[None] - state.excluded_known) / reading.items[:, None]
        return np.concatenate([reading.modelled / reading.items[:, None] + correction, known], axis=1)

    def estimate(self, state: SampleState, confidence: float) -> OutcomeEstimates:
        """The difference estimate, with Student's interval by linearisation, and what no label has shown."""
        exact = np.asarray(~state.wanted.any(axis=1))
        if not state.n:
            return nothing_yet(state.stack, exact)
        reading = fit_difference_estimator(state, self.allocation(state, state.n), self.modelled, self.least)
        risk, known = self.risk(state, reading), state.cells.known_sizes.tolist()
        slopes = state.stack.slopes(risk, known)
        reading = replace(reading, spread=self.pull_spread(state))
        error = errors(state, reading, risk, slopes, exact)
        hidden = unseen_errors(state, reading, risk, slopes, error.variance)
        alike = (hidden.unknown & ~exact)[:, None]
        unbounded = np.asarray(np.isinf(bounds_of(state.stack)).any(axis=0))
        pull = off_centre(reading, slopes) if unbounded.any() else None
        error = replace(
            error, unknown=error.unknown | alike & unbounded,
            out=None if pull is None else interval.further(pull, unbounded),
        )
        found = with_known_differences(
            state, reported(state.stack, risk, known, error, exact, confidence, hidden)
        )
        if pull is None:
            return found
        return replace(
            found, largest=np.where(unbounded, interval.largest_share(reading, pull), np.nan),
            unseen=hidden.largest_share(confidence),
        )


# The difference of two systems once every item on which they can differ is labelled.
#
# Of an item that both systems call the same no outcome changes the difference of two means of one loss.  So
# the difference is known then, and exact, whatever is not known of either system.

def with_known_differences(state: SampleState, found: OutcomeEstimates) -> OutcomeEstimates:
    """The estimates, differences that are known being exact; as they are where items come in clusters."""
    stack, cells = state.stack, state.cells
    if state.clustered or state.table is None or not any(m.versus is not None for m in stack.measures):
        return found
    settled = np.zeros(found.value.shape, np.bool_) if found.settled is None else found.settled.copy()
    value, sizes = found.value.copy(), cells.known_sizes.tolist()
    decided = cells.size - state.excluded                                     # (R, C)
    for q, (m, _) in enumerate(stack.parts):
        measure = stack.measures[m]
        if measure.versus is None or measure.margin is None:
            continue
        columns = stack.columns(measure, sizes)
        slope = np.zeros(stack.size + len(cells.known))
        margin = measure.margin(0.0, np.zeros(int((columns >= stack.size).sum())), True)
        slope[columns] = np.concatenate([margin.slope, margin.told])
        if slope[stack.size :].any():
            continue
        most = stack.largest_pull(cells.said, slope, sizes, together=True)
        least = -stack.largest_pull(cells.said, -slope, sizes, together=True)
        open_ = most - least > _SAME                                             # (C,)
        if stack.weights is not None:      # what a closed cell adds is its weight's, unless it is nothing
            open_ |= np.abs(most) > _SAME
        known = (state.left * open_).sum(axis=1) == 0
        pull = (state.table.loss[state.item] @ slope[: stack.size]) * open_[state.cell]
        total = pull.sum(axis=1) + (decided * np.where(open_, 0.0, most)).sum(axis=1)
        whole = np.maximum(decided.sum(axis=1), 1) if stack.weights is None else \
            cells.known[-1] - state.excluded_known[:, -1]
        value[:, q] = np.where(known, total / whole, value[:, q])
        settled[:, q] |= known
    if not settled.any():
        return found
    return replace(
        found, value=value, settled=settled, lower=np.where(settled, value, found.lower),
        upper=np.where(settled, value, found.upper), variance=np.where(settled, 0.0, found.variance),
    )


_SAME = 1e-12   # what an item may add to a difference, and is nothing
