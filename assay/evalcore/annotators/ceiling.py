"""What two people reach against each other: the measure that a system is held against.

Of an item with the answers of m people, each is taken once for the prediction and each other one for the
label, so an item of weight w gives m (m - 1) rows of weight w / (m (m - 1)). A measure of these rows is that
of one person held against another; F1 is then the agreement that Hripcsak and Rothschild (2005) propose where
the other class has no size. All rows of an item are one cluster, because they tell of the same item: the
interval is over items.

A system that reaches this does as well as another person would. Where people err it can reach more, if the
label is made of several answers.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import NO_GROUP, WeightedSample

FEWEST_SHARED = 10      # items that two people answered, below which nothing is said


def people_against_each_other(
    kind: OutcomeKind, measures: Sequence[OutcomeMeasure], sample: WeightedSample,
    answers: Sequence[Sequence[float]], confidence: float, weight: Floats | None = None,
) -> list[MeasureEstimate]:
    """The estimate of each number of each measure with one person's answers for predictions.

    measures of one system; answers: of each labelled item, in the order of the sample (n), the codes that
    different people answered; weight (n, 1): what the items count for, None where all count alike. Items
    with one answer are left out, and measures that need more than a prediction, such as curves. Nothing where
    fewer than FEWEST_SHARED items have two answers.
    """
    shared = [at for at, codes in enumerate(answers) if len(codes) > 1]
    if len(shared) < FEWEST_SHARED:
        return []
    pairs = np.array([
        (at, label, predicted, 1 / (len(answers[at]) * (len(answers[at]) - 1)))
        for at in shared
        for i, label in enumerate(answers[at]) for j, predicted in enumerate(answers[at]) if i != j
    ])
    item, label, predicted, share = pairs[:, 0].astype(np.int64), *pairs[:, 1:].T
    rows = _rows(sample, item, label, share)
    labelled = Labelled(
        items=Items(
            prediction=predicted[:, None], cluster=pairs[:, :1],
            weight=None if weight is None else weight[item],
        ),
        among=np.ones(len(item), np.bool_),
    )
    estimates: list[MeasureEstimate] = []
    for measure in measures:
        try:
            estimates += [
                replace(row, labels=len(shared))
                for row in weighted_estimates(kind, [measure], rows, labelled, confidence)
            ]
        except BadInput:       # it is of scores, ranks or the like, which people do not answer
            continue
    return estimates


def _rows(sample: WeightedSample, item: Ints, label: Floats, share: Floats) -> WeightedSample:
    """The sample with a row for each pair of answers; item (p,) the labelled item that each is about."""
    return WeightedSample(
        cell=sample.cell[item], rank=sample.rank[item], round=sample.round[item], draw=sample.draw[item],
        label=label, probability=sample.probability[item], weight=sample.weight[item] * share,
        factor=sample.factor[item] * share**2, group=np.full(len(item), NO_GROUP), reached=sample.reached,
        exact=False,
    )
