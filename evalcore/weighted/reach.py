"""Whether a measure depends on items that could not be drawn: then no weight stands for them."""

import numpy as np

from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints
from assay.evalcore.weighted.estimate import Labelled, linearised
from assay.evalcore.weighted.sample import WeightedSample

_SOME = 1e-12


def depends_on(
    kind: OutcomeKind, measure: OutcomeMeasure, sample: WeightedSample, of: Labelled, prediction: Floats
) -> bool:
    """Whether the label of an item with one of these predictions (m,) can change the measure.

    Where it has no value yet, or needs more of an item than its prediction, it counts as depending on it.
    """
    found = linearised(Stack(kind=kind, measures=(measure,)), measure, sample, of)
    items = Items(prediction=np.repeat(prediction[:, None], of.items.systems, axis=1))
    if of.items.probability is not None and any(loss.pull(items, np.ones(loss.size)) is None
                                                for loss in measure.losses):
        return True
    if not np.isfinite(found.value).all():
        return True
    phi = np.full((len(prediction), kind.width), 1 / kind.width)
    stack = Stack(kind=kind, measures=(measure,))
    return bool((stack.spread(items, phi, found.slopes) > _SOME).any())


def unreached(size: Ints, sample: WeightedSample) -> int:
    """How many items cannot be drawn; size (C,)."""
    return int(size[~sample.reached].sum())
