"""Labels that `acis` bought for one model, used for another model or another threshold.

Poms et al. (2021), section 4.4 and appendix B: the draws keep their weights p/q, and ŷ in equations 2, 5 and
6 is the other model's.  The estimate stays consistent where the other model's positives lie in the domain
that was searched.  Positives below its cut count as negative, for every model.

    T   draws of a round;  M   measures
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from assay.evalcore.estimators.importance import single_trial
from assay.evalcore.evaluation.state import LabelledRound
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.two_classes.acis import (
    Acis,
    Iterations,
    fixed_weight,
    labels_until,
    planned_labels,
)
from assay.evalcore.outcomes.base import UNANSWERED
from assay.evalcore.pool.partition import iteration_of
from assay.evalcore.pool.strata import Cells, relevant_cells
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawsOfRounds:
    """The draws of all rounds in a row, D of them."""

    cell: Ints         # (D,)
    round: Ints        # (D,)
    new: Bools         # (D,) the item got its label by this draw
    label: Ints        # (D,) 0, 1, or below 0 without one
    answered: Bools    # (D,) if only with a skip
    prediction: Ints   # (D,) of the model that is asked about
    weight: Floats     # (D,) p/q; 0 for what was asked for certain

    @staticmethod
    def from_rounds(cells: Cells, rounds: Sequence[LabelledRound]) -> "DrawsOfRounds":
        """The draws of these rounds, whose `prediction` is that of the model that is asked about. The draws
        were made for another model, whose chances they keep."""
        rows = []
        for number, labelled_round in enumerate(rounds):
            q = labelled_round.plan.design.unlabelled[0, labelled_round.plan.cell]
            certain = labelled_round.plan.census or not labelled_round.plan.design.replacement
            w = np.zeros(len(q)) if certain else 1 / (cells.n_items * q)
            new = labelled_round.new & labelled_round.plan.ask
            rows.append((
                labelled_round.plan.cell, np.full(len(q), number), new, labelled_round.label,
                labelled_round.code != UNANSWERED, labelled_round.prediction, w,
            ))
        columns = [np.concatenate(x) for x in zip(*rows, strict=True)]
        return DrawsOfRounds(**dict(zip((f.name for f in fields(DrawsOfRounds)), columns, strict=True)))


def shared_estimates(
    other_measures: Sequence[Measure], method: Acis, measures: Sequence[Measure], cells: Cells,
    rounds: Sequence[LabelledRound],
) -> list[tuple[float, float]]:
    """The value and variance of each of `other_measures`, NaN where it is undefined.

    method, measures, cells: the method of an evaluation, what it measures, and its cells; rounds: its closed
    rounds in order, `prediction` (T,) being the other model's.
    """
    drawn = DrawsOfRounds.from_rounds(cells, rounds)
    cut = iteration_of(cells) if method.top_k else np.ones(cells.n_cells)
    iterations, bounds = Iterations.none(1, len(other_measures)), _bounds(drawn, len(rounds))
    for i, (start, end) in enumerate(bounds):
        weight, squared = _sums(drawn, cells, measures, cut, i, (start, end), method)
        trials = np.array([single_trial(m, weight, squared) for m in other_measures])          # (M, 2, 1)
        iterations = iterations.plus(
            np.ones(1, np.bool_), np.array([i]), weight.sum(axis=(1, 2)), trials[:, 0].T, trials[:, 1].T
        )
    averages = [iterations.average(j, method.last, method.together) for j in range(len(other_measures))]
    return [(float(value[0]), float(variance[0])) for value, variance in averages]


def _bounds(drawn: DrawsOfRounds, n_rounds: int) -> list[tuple[int, int]]:
    """First round of each iteration, and the one after its last; the last may not be full."""
    labels_so_far = np.cumsum(np.bincount(drawn.round[drawn.new & (drawn.label >= 0)], minlength=n_rounds))
    bounds: list[tuple[int, int]] = []
    start = 0
    for number, labels in enumerate(labels_so_far):
        if labels >= labels_until(np.array([len(bounds) + 1]))[0]:
            bounds.append((start, number + 1))
            start = number + 1
    return bounds + ([(start, n_rounds)] if start < n_rounds else [])


def _sums(
    drawn: DrawsOfRounds, cells: Cells, measures: Sequence[Measure], cut: Floats, i: int, of: tuple[int, int],
    method: Acis,
) -> tuple[Floats, Floats]:
    """Sums of w and w² (1, 2, 2) of iteration i, from 0; of: its first round, and the one after its last."""
    start, end = of
    decided = drawn.label >= 0
    answered = drawn.new & (drawn.round < end) & drawn.answered
    open_items = cells.size - np.bincount(drawn.cell[answered], minlength=cells.n_cells)
    settled = not (open_items * relevant_cells(measures, cells) * (cut <= i + 1)).any()
    drawn_here = decided & (drawn.round >= start) & (drawn.round < end) & (drawn.weight > 0)
    fixed = answered & decided & (settled | (drawn.round < start) | (drawn.weight == 0))
    closed = np.array([i])
    share = ((answered & decided).sum() - labels_until(closed)) / planned_labels(closed)
    item_weight = fixed_weight(
        np.array([fixed.sum()]), np.array([drawn_here.sum()]), share, cells.n_items,
        by_draws=method.reuse == "draws" and not settled,
    )
    tables = np.zeros((2, 1, 2, 2))
    for power in (1, 2):
        np.add.at(
            tables[power - 1, 0], (drawn.prediction[fixed], drawn.label[fixed]), item_weight[0] ** power
        )
        if not settled:
            np.add.at(
                tables[power - 1, 0], (drawn.prediction[drawn_here], drawn.label[drawn_here]),
                drawn.weight[drawn_here] ** power
            )
    return tables[0], tables[1]
