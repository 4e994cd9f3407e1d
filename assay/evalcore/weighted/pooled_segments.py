"""Segments that share what they know: what stands beside the direct estimates of `weighted.segments`.

A direct estimate is of a segment's labels alone; with ten of them its interval is the whole range.  Here each
number of a measure is estimated in all segments of a column at once (`estimators.partial_pooling`): drawn
towards what the label model, or judges and probabilities, predict for the segment's items, or else towards
the other segments.  Nothing is assumed of the segments but that they are exchangeable beyond what is
predicted; so the segment that differs most from all others is drawn too far, and covered less often than the
rest.

    S   values of one segment column;  C   cells
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.estimators.area_likelihood import DirectEstimates
from assay.evalcore.estimators.partial_pooling import PooledEstimates, pooled_estimates
from assay.evalcore.evaluation.estimate import Band, MeasureEstimate, PooledSegment
from assay.evalcore.evaluation.state import LabelledRound, Question
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentColumn:
    """One number in all segments of a column: the rows, and what they rest on, (S,) each."""

    rows: Sequence[MeasureEstimate]
    value: Floats        # NaN where there is none; of few labels too
    variance: Floats     # NaN or 0 where it is not known
    labels: Floats       # what the labels are worth, as far as their weights say
    items: Floats        # of the segment
    predicted: Floats    # NaN of all where nothing is predicted
    bounds: tuple[float, float]
    is_error: bool
    population: bool     # it is about what the items are a sample of


def with_pooled(column: SegmentColumn, confidence: float) -> list[MeasureEstimate]:
    """The rows, each with its pooled estimate beside it; as they are where fewer than three segments have
    labels.  A row that is exact has none: nothing is left to learn from others.
    """
    pooled = pooled_estimates(
        DirectEstimates(
            value=column.value, variance=column.variance, labels=column.labels, predicted=column.predicted,
            items=column.items,
            population=column.population,
        ),
        confidence, column.bounds,
    )
    if pooled is None:
        return list(column.rows)
    worst = pooled.chance_highest if column.is_error else pooled.chance_lowest
    return [
        row if row.interval == "exact" else replace(row, pooled=_pooled_segment(pooled, worst, s))
        for s, row in enumerate(column.rows)
    ]


def _pooled_segment(pooled: PooledEstimates, worst: Floats, s: int) -> PooledSegment:
    return PooledSegment(
        value=float(pooled.value[s]), lower=float(pooled.lower[s]), upper=float(pooled.upper[s]),
        towards=float(pooled.towards[s]), own_share=float(pooled.own_share[s]), spread=pooled.spread,
        together=Band(lower=float(pooled.lower_together[s]), upper=float(pooled.upper_together[s])),
        chance_worst=float(worst[s]),
    )


def predicted_of_counts(
    question: Question, rounds: Sequence[LabelledRound], column: str, measure: Measure, n_segments: int
) -> Floats:
    """(S,) the measure of every segment of two classes, as the label model saw the pool when it planned the
    last round; NaN of all where the items of a segment in each cell are not known.

    A segment in which it does not exist is expected to be as the others are in the mean.
    """
    size: Ints | None = question.by_segment.get(column)
    if size is None or not rounds or rounds[-1].plan.design.model is None:
        return np.full(n_segments, np.nan)
    positive = size * np.clip(rounds[-1].plan.design.model[0], 0.0, 1.0)         # (S, C)
    counts = np.zeros((n_segments, 2, 2))
    for f in (0, 1):
        cells = question.cells.prediction == f
        counts[:, f, 1] = positive[:, cells].sum(axis=1)
        counts[:, f, 0] = (size - positive)[:, cells].sum(axis=1)
    return with_mean_in_gaps(measure.of_confusion(counts))


def with_mean_in_gaps(predicted: Floats) -> Floats:
    """(S,) with the mean of the others in the place of NaN."""
    exists = np.isfinite(predicted)
    return np.where(exists, predicted, predicted[exists].mean() if exists.any() else np.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictedSegments:
    """What is known of the segments of one column before their own labels."""

    items: Floats              # (S,)
    risk: Floats | None        # (S, D + D_k) mean losses that are guessed of their items
    stack: Stack
    known_sizes: Sequence[int]

    def predicted_values(self, measure: OutcomeMeasure) -> Floats:
        """(S, q) each number of a measure of the stack; NaN of all where nothing is predicted. S counts
        segments and q the numbers."""
        if self.risk is None:
            return np.full((len(self.items), len(measure.parts)), np.nan)
        places = [q for q, (m, _) in enumerate(self.stack.parts) if self.stack.measures[m] is measure]
        with np.errstate(divide="ignore", invalid="ignore"):
            predicted = self.stack.value(self.risk, self.known_sizes)[:, places]
        return np.stack([with_mean_in_gaps(column) for column in predicted.T], axis=1)


def predicted_of_guesses(question: Question, column: str, values: Mapping[str, int]) -> PredictedSegments:
    """What the guesses of an outcome, judges and probabilities, say of the segments before any label. Partial
    pooling draws segments towards it.

    values: value -> items.
    """
    return PredictedSegments(
        items=np.array(list(values.values()), np.float64), risk=question.expected_by_segment.get(column),
        stack=question.measures, known_sizes=tuple(question.cells.known_sizes.tolist()),
    )
