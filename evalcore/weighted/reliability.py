"""Whether the pool's probabilities hold: the share of positives among items of about one probability.

With several classes: the share that is predicted right, by the probability of the class that is predicted.
The share is estimated from the labels and their weights with the interval of `weighted.estimate`, bin by bin;
bins without a label are left out. That of positives is the accuracy of predicting all items positive.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_measures.registry import outcome_measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats
from assay.evalcore.weighted.estimate import Labelled, weighted_estimates
from assay.evalcore.weighted.sample import WeightedSample

BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """The items whose probability lies from `lower` to below `upper`; in the last bin 1 counts too."""

    lower: float
    upper: float
    labels: int
    predicted: float                # their mean probability, by the weights of the labelled ones
    share: float | None             # that is positive, or predicted right; an estimate; None: see the reason
    share_lower: float | None
    share_upper: float | None
    undefined_reason: str | None


def reliability(
    sample: WeightedSample, probability: Floats, names: Sequence[str], pool_size: int, confidence: float
) -> tuple[ReliabilityBin, ...]:
    """The bins that hold labels. probability (n,): of the positive class; names: of the negative and the
    positive class."""
    items = Items(prediction=np.ones((len(sample), 1)))
    return reliability_of_predictions(
        Classes(names=tuple(names)), sample, items, probability, pool_size, confidence
    )


def of_predicted(predicted: Floats, probability: Floats) -> Floats:
    """(n,) the probability of the class that is predicted. predicted (n,): codes; probability (n, K)."""
    return np.take_along_axis(probability, predicted.astype(np.int64)[:, None], axis=1)[:, 0]


def reliability_of_predictions(
    kind: OutcomeKind, sample: WeightedSample, items: Items, probability: Floats, pool_size: int,
    confidence: float,
) -> tuple[ReliabilityBin, ...]:
    """The bins that hold labels. items: with one prediction each; probability (n,): of the class that is
    predicted."""
    measure = outcome_measure("accuracy", kind, pool_size)
    at = np.clip(np.floor(probability * BINS), 0, BINS - 1)
    found = []
    for i in np.unique(at).astype(np.int64).tolist():
        among = at == i
        (e,) = weighted_estimates(kind, [measure], sample, Labelled(items=items, among=among), confidence)
        found.append(ReliabilityBin(
            lower=i / BINS, upper=(i + 1) / BINS, labels=e.labels,
            predicted=float(np.average(probability[among], weights=sample.weight[among])),
            share=e.value, share_lower=e.lower, share_upper=e.upper, undefined_reason=e.undefined_reason,
        ))
    return tuple(found)
