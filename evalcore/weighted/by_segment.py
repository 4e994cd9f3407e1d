"""The measures of an evaluation in each of its segments, from the labels of the segment and their weights.

Within a cell the items asked are a random part of it, whatever segment they are in.  So what a labelled item
stands for in the pool it stands for in its segment, and the estimates are those of `weighted.estimate`: of
the segment's labels alone, with no label model, which may be wrong in a segment.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.evaluation.estimates import Estimate
from assay.evalcore.evaluation.labelled_round import Segments
from assay.evalcore.outcome_evaluation.labelled_round import LabelledOutcomes
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcomes.codes import is_outcome
from assay.evalcore.outcomes.items import joined
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import WeightedSample

MOST_NUMBERS = 50   # of a measure that is estimated by segment: no confusion matrix of eight classes


def estimates_by_segment(
    measures: Sequence[OutcomeMeasure], sample: WeightedSample, rounds: Sequence[LabelledOutcomes],
    segments: Segments, confidence: float,
) -> tuple[Estimate, ...]:
    """By column, then measure, then value, then the measure's classes; rounds: those of the sample."""
    with_label = [(one, is_outcome(one.code)) for one in rounds]
    items = joined([one.items.at(at) for one, at in with_label])
    place = {
        column: np.concatenate([one.segment[column][at] for one, at in with_label]) for column in segments
    }
    told = [measure for measure in measures if len(measure.parts) <= MOST_NUMBERS]
    return tuple(
        replace(estimate, segment=f"{column}={value}")
        for column, values in segments.items()
        for measure in told
        for i, value in enumerate(values)
        for estimate in weighted_estimates(
            measure.losses[0].kind, [measure], sample, Labelled(items=items, among=place[column] == i),
            confidence,
        )
    )
