"""Estimates by segment under designs without replacement whose items had different chances.

Within a cell the items of a round are a simple random part of the unlabelled ones, whatever segment they are
in; so for a segment with N_sc items in cell c, every item has the inclusion probability of its cell.  The
difference estimate of a round (`evalcore.recalibration.sequential`) then holds for the segment as it does for
the pool: it is unbiased whatever the label model believes, also of a segment where the model is wrong.

    size of a segment in a cell, N_sc     known since the pool was frozen
    variance                              the larger of the scatter of its labels and the model's prediction
    interval                              of the effective number of labels (`evalcore.estimators`)
    too few labels for one                the whole range, and that is said

Items that people could not decide are out of the segment, as they are out of the pool.

    S   values of one segment column, the rows of all arrays;  C   cells;  T   draws of a round
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.design.round import Design, EstimateArrays, RoundLabels
from assay.evalcore.estimators.effective_number import KIND, TOO_FEW, interval_of
from assay.evalcore.evaluation.labelled_round import LabelledRound
from assay.evalcore.evaluation.nonresponse import adjusted, response
from assay.evalcore.measures import totals
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.totals import by_prediction
from assay.evalcore.outcomes.codes import UNANSWERED, UNDECIDED, is_outcome
from assay.evalcore.pool.cells import Cells
from assay.evalcore.recalibration.quantities import of_predictions
from assay.evalcore.recalibration.sequential import RoundSums
from assay.evalcore.types import Bools, Floats, Ints

_NO_CHANCE = 1e-12     # of an item that could not be drawn: a round tells next to nothing of its cell
_LEAST_RATE = 1e-3     # the model may be wrong in a segment: no rate is believed to be nearer to 0 or 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Known:
    """What is known of the segments, and what the rounds so far add up to."""

    size: Ints        # (S, C) items
    labelled: Ints    # (S, C, 2) by label
    undecided: Ints   # (S, C)
    sums: RoundSums   # R = S, Q measures

    @property
    def left(self) -> Ints:
        """Items (S, C) without a label."""
        return np.asarray(self.size - self.labelled.sum(axis=2) - self.undecided)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentEstimates:
    """Of one measure in every segment, (S,) each."""

    arrays: EstimateArrays
    labels: Ints      # items of the segment with a label
    exact: Bools      # every label that can change the measure is known
    too_few: Bools    # labels for an interval: it is the whole range

    def interval(self, i: int) -> str:
        """The kind of the i-th segment's interval."""
        return "exact" if self.exact[i] else TOO_FEW if self.too_few[i] else KIND


def difference_estimates(
    measures: Sequence[Measure], cells: Cells, rounds: Sequence[LabelledRound], column: str, size: Ints,
    confidence: float,
) -> list[SegmentEstimates]:
    """Each measure in every value of a segment column; size (S, C): its items by value and cell.

    Raises NothingToStandFor for a round with gaps where a prediction was asked and gave no answer.
    """
    n_segments, n_cells = size.shape
    quantities = of_predictions(measures, cells.prediction.astype(np.float64))
    known = Known(
        size=size,
        labelled=np.zeros((n_segments, n_cells, 2), np.int64),
        undecided=np.zeros((n_segments, n_cells), np.int64),
        sums=RoundSums.none(n_segments, quantities, n_cells),
    )
    seen: set[tuple[int, int]] = set()
    for one in rounds:
        known = add_round(known, measures, cells, one, column, seen)
    return [_estimate(m, q, cells, known, confidence) for q, m in enumerate(measures)]


def add_round(
    known: Known, measures: Sequence[Measure], cells: Cells, one: LabelledRound, column: str,
    seen: set[tuple[int, int]],
) -> Known:
    """With one more round; seen: the addresses of items answered before it, to which its own are added."""
    plan = one.plan
    address = list(zip(plan.cell.tolist(), plan.rank.tolist(), strict=True))
    fresh = np.array([item not in seen for item in address], np.bool_)
    now = plan.ask & fresh & (one.code != UNANSWERED)
    seen.update(item for item, answered in zip(address, now.tolist(), strict=True) if answered)
    decided, undecided = now & is_outcome(one.code), now & (one.code == UNDECIDED)
    new, gone = np.zeros_like(known.labelled), np.zeros_like(known.undecided)
    segment = one.segment[column]
    np.add.at(new, (segment[decided], plan.cell[decided], one.label[decided]), 1)
    np.add.at(gone, (segment[undecided], plan.cell[undecided]), 1)
    sums = known.sums.add(
        of_predictions(measures, cells.prediction.astype(np.float64)), known.labelled, known.undecided,
        _design_of(known, cells, one), RoundLabels(new=new, drawn_new=new, drawn_known=np.zeros_like(new)),
        gone,
    )
    return replace(
        known, labelled=known.labelled + new, undecided=known.undecided + gone, sums=sums
    )


def _design_of(known: Known, cells: Cells, one: LabelledRound) -> Design:
    """The design of a round in every segment: its own items, the chances and rates of their cells."""
    plan, shape = one.plan, known.size.shape
    design: Design = plan.design
    if one.gaps:
        found = response(cells, plan.cell[plan.ask], one.code[plan.ask] != UNANSWERED)
        # a census with gaps is a sample again
        design = adjusted(design, cells, found, np.isin(np.arange(cells.n_cells), plan.cell[plan.ask]))
    return replace(
        design,
        size=known.size,
        left=known.left,
        unlabelled=np.broadcast_to(np.maximum(design.unlabelled, _NO_CHANCE), shape),
        model=np.broadcast_to(np.clip(design.model, _LEAST_RATE, 1 - _LEAST_RATE), shape),
        census=np.full(shape[0], bool(design.census[0])),
    )


def _estimate(
    measure: Measure, q: int, cells: Cells, known: Known, confidence: float
) -> SegmentEstimates:
    predicted = cells.prediction.astype(np.float64)
    matters = measure.label_matters()[cells.prediction]
    left = by_prediction(known.left.astype(np.float64), predicted)
    positives = by_prediction(known.labelled[..., 1].astype(np.float64), predicted)
    items = by_prediction((known.size - known.undecided).astype(np.float64), predicted)
    exact: Bools = np.asarray((known.left * matters).sum(axis=1) == 0)
    found, empirical, modelled = known.sums.totals[q].combined()
    found = np.where(exact[:, None], positives, np.clip(found, positives, positives + left))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = totals.value(measure, found[:, 1], found[:, 0], items)
    possible = positives, positives + left
    variance = _variance(measure, found, np.maximum(empirical, modelled), possible, items)
    relevant = (known.labelled.sum(axis=2) * matters).sum(axis=1)
    rated = interval_of(value, variance, relevant, np.full(len(value), np.inf), confidence, measure.bounds)
    too_few = ~exact & rated.too_few
    return SegmentEstimates(
        arrays=EstimateArrays(
            value=value,
            lower=np.where(exact, value, rated.interval.lower),
            upper=np.where(exact, value, rated.interval.upper),
            variance=np.where(exact | too_few, 0.0, variance),
            diagnostics={"effective_labels": np.where(exact, 0.0, rated.number)},
        ),
        labels=known.labelled.sum(axis=(1, 2)), exact=exact, too_few=too_few,
    )


def _variance(
    measure: Measure, found: Floats, spread: Floats, possible: tuple[Floats, Floats], items: Floats
) -> Floats:
    """The variance (S,) of the measure at these totals (S, 2), by the delta method.

    spread (S, 2): the variance of the totals.  Where a total is uncertain the measure may be much steeper
    nearby, as recall is where hardly a miss is left; so it is the largest of the variances at the totals and
    at those a standard error below and above, kept to what the labels leave possible.
    """
    error = np.sqrt(np.where(np.isfinite(spread), spread, 0.0))
    largest = np.zeros(len(found))
    for steps in (0.0, -1.0, 1.0):
        at = np.clip(found + steps * error, *possible)
        slope = totals.gradient(measure, at[:, 1], at[:, 0], items)
        largest = np.maximum(largest, (slope**2 * np.where(slope != 0, spread, 0.0)).sum(axis=1))
    return largest
