"""The measures of an evaluation in each of its segments, from the labels of the segment and their weights.

Within a cell the items asked are a random part of it, whatever segment they are in.  So what a labelled item
stands for in the pool it stands for in its segment, and the estimates are those of `weighted.estimate`: of
the segment's labels alone, with no label model, which may be wrong in a segment.

*Where systems are compared* every difference is estimated by segment too.  Whether one is better is judged by
intervals that hold together (Bonferroni, as for the whole pool: `evaluation.estimates`): a family is all
differences of one measure in all segments of one column.  So if no system differs from another in any of
them, the chance that any is called better somewhere is at most 1 less the confidence.

    S   values of one segment column;  Q   the numbers of a family
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.evaluation import segments as by_segment
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.estimates import EstimatedDifference, chance_above, comparison_of
from assay.evalcore.evaluation.population import IntervalsAbout, about_of, rows_about
from assay.evalcore.evaluation.questions import asks_several, each_question
from assay.evalcore.evaluation.state import LabelledRound, Question, Segments, State
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.interval import interval_ends
from assay.evalcore.outcomes.base import is_outcome
from assay.evalcore.outcomes.items import joined_items
from assay.evalcore.types import Floats
from assay.evalcore.weighted.estimate import Labelled, Linearised, row_as_told, weighted_rows
from assay.evalcore.weighted.sample import WeightedSample, weighted_sample

_LEAST_LEVEL = 1e-6   # a confidence, below which Student's quantile is nothing but rounding
MOST_NUMBERS = 50   # of a measure that is estimated by segment: no confusion matrix of eight classes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Number:
    """One number of a measure in one segment."""

    measure: OutcomeMeasure
    part: int
    found: Linearised
    row: MeasureEstimate

    @property
    def variance(self) -> float:
        """With what the sampling of the pool adds, where the interval is about the population."""
        own, pulls = float(self.found.variance[self.part]), self.found.pulls
        if self.row.about == "pool" or self.found.clusters is not None or pulls is None:
            return own
        return own + float(pulls().variance[self.part])


def estimates_by_segment(
    question: Question, state: State, rounds: Sequence[LabelledRound], segments: Segments
) -> tuple[MeasureEstimate, ...]:
    """By column, then measure, then value, then the measure's classes; rounds: all that were closed.

    A positive and a negative class have estimates of their own (`evalcore.evaluation.segments`).  Nothing
    before the first label of other outcomes.
    """
    if not segments:
        return ()
    if not isinstance(question.measures, Stack):
        found = by_segment.segment_rows(question, state, rounds, segments)
        return rows_about(question, state, rounds, segments, found)
    if asks_several(question):
        return tuple(
            replace(row, question=one.name)
            for one in each_question(question, state)
            for row in estimates_by_segment(one.question, one.state, one.rounds(rounds), segments)
        )
    if not state.labels:
        return ()
    sample = weighted_sample(question, state, rounds)
    with_label = [(one, is_outcome(one.code)) for one in rounds]
    items = joined_items([one.items.at(at) for one, at in with_label])
    if about_of(question, state) == "pool":
        items = replace(items, cluster=None)
    rows: list[MeasureEstimate] = []
    for column, values in segments.items():
        place = np.concatenate([one.segment[column][at] for one, at in with_label])
        parts = {
            f"{column}={value}": Labelled(items=items, among=place == i) for i, value in enumerate(values)
        }
        rows += _of_column(question, state, sample, parts)
    return tuple(rows)


def _of_column(
    question: Question, state: State, sample: WeightedSample, parts: Mapping[str, Labelled]
) -> list[MeasureEstimate]:
    """Of the segments of one column, by name."""
    told = [measure for measure in question.measures.measures if len(measure.parts) <= MOST_NUMBERS]
    asked = IntervalsAbout(about=about_of(question, state), beside=question.beside)
    numbers = [
        _Number(measure=measure, part=part, found=found, row=row_as_told(
            _named(question, measure, part, name, row), found, part, measure, asked
        ))
        for measure in told
        for name, of in parts.items()
        for part, (row, found) in enumerate(
            weighted_rows(question.measures.kind, measure, sample, of, question.confidence)
        )
    ]
    families: dict[tuple[str, tuple[str | None, ...]], list[int]] = {}
    for q, number in enumerate(numbers):
        if number.measure.versus is not None:
            families.setdefault((number.measure.name, number.measure.parts), []).append(q)
    rows = [number.row for number in numbers]
    for family in families.values():
        for q, difference in zip(
            family, _differences([numbers[q] for q in family], question.confidence), strict=True
        ):
            said = comparison_of(difference, len(family), state.labels, question.cells.n_items)
            rows[q] = replace(rows[q], comparison=said)
    return rows


def _named(
    question: Question, measure: OutcomeMeasure, part: int, segment: str, row: MeasureEstimate
) -> MeasureEstimate:
    """The row with the segment, the systems and the threshold that it is of."""
    if measure.points:
        point = measure.points[part]
        row = replace(row, measure=point.measure, at=point.at, curve=measure.name)

    def name(system: int | None) -> str | None:
        return None if system is None or not question.systems else question.systems[system]

    return replace(row, segment=segment, system=name(measure.system), versus=name(measure.versus))


def _differences(family: Sequence[_Number], confidence: float) -> list[EstimatedDifference]:
    """The differences of a family, with intervals that hold together; NaN of those that have no value."""
    told = [number for number in family if number.row.value is not None]
    value = np.array([[number.row.value for number in told]], np.float64)
    settled = np.array([[number.row.interval == "exact" for number in told]])
    variance = np.array([[number.variance for number in told]])
    df, skew = (
        np.array([[getattr(number.found, name)[number.part] for number in told]])
        for name in ("steady_df", "skew")
    )
    bounds = np.array([number.measure.bounds for number in told], np.float64).reshape(-1, 2)

    def interval(level: Floats) -> tuple[Floats, Floats]:
        lower, upper = interval_ends(
            value, np.maximum(variance, 1e-30), df, skew, np.maximum(level, _LEAST_LEVEL),
            (bounds[:, 0], bounds[:, 1]),
        )
        return np.where(settled, value, lower), np.where(settled, value, upper)

    lower, upper = interval(np.full(value.shape, 1 - (1 - confidence) / len(family)))
    above = chance_above(value, interval)
    known = iter(
        EstimatedDifference(measure=number.measure, value=x, lower=low, upper=high, chance_above=chance)
        for number, x, low, high, chance in zip(
            told, *(of[0].tolist() for of in (value, lower, upper, above)), strict=True
        )
    )
    return [
        EstimatedDifference(measure=number.measure) if number.row.value is None else next(known)
        for number in family
    ]
