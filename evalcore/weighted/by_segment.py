"""The measures of an evaluation in each of its segments, from the labels of the segment and their weights.

Within a cell the items asked are a random part of it, whatever segment they are in.  So what a labelled item
stands for in the pool it stands for in its segment, and the estimates are those of `weighted.estimate`: of
the segment's labels alone, with no label model, which may be wrong in a segment.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.evaluation import by_segment
from assay.evalcore.evaluation.estimate import Estimate
from assay.evalcore.evaluation.labelled_round import LabelledRound, Segments
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.codes import is_outcome
from assay.evalcore.outcomes.items import joined
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.item_weights import weighted_sample

MOST_NUMBERS = 50   # of a measure that is estimated by segment: no confusion matrix of eight classes


def estimates_by_segment(
    question: Question, state: State, rounds: Sequence[LabelledRound], segments: Segments
) -> tuple[Estimate, ...]:
    """By column, then measure, then value, then the measure's classes; rounds: all that were closed.

    A positive and a negative class have estimates of their own (`evalcore.evaluation.by_segment`).  Nothing
    before the first label of other outcomes.
    """
    if not segments:
        return ()
    if not isinstance(question.measures, Stack):
        return by_segment.segment_rows(question, state, rounds, segments)
    if not state.labels:
        return ()
    sample = weighted_sample(question, state, rounds)
    with_label = [(one, is_outcome(one.code)) for one in rounds]
    items = joined([one.items.at(at) for one, at in with_label])
    place = {
        column: np.concatenate([one.segment[column][at] for one, at in with_label]) for column in segments
    }
    told = [measure for measure in question.measures.measures if len(measure.parts) <= MOST_NUMBERS]
    return tuple(
        replace(estimate, segment=f"{column}={value}")
        for column, values in segments.items()
        for measure in told
        for i, value in enumerate(values)
        for estimate in weighted_estimates(
            question.measures.kind, [measure], sample, Labelled(items=items, among=place[column] == i),
            question.confidence,
        )
    )
