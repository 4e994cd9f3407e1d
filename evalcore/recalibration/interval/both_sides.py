"""How far the interval may be narrowed: by what the labels have shown of both sides of a measure.

Every kind of labelled item (group, label) pulls the measure up or down: F1 is raised by true
positives and lowered by false positives and false negatives alike.  A posterior that has seen several of both
knows its measure; one that has seen one side only leans on its prior for the other, and is wrong where the
prior is: it stops short of 1 on a pool without errors, and of 0 where no hit was found.
"""

import numpy as np

from assay.evalcore.recalibration.combine import Counts
from assay.evalcore.recalibration.quantities import Estimand
from assay.evalcore.types import Floats

ENOUGH = 20.0    # labelled items that raise the measure, and as many that lower it


def earned_share(estimand: Estimand, counts: Counts) -> Floats:
    """The share (R,) of the way from the widest interval to the narrowest: 0 to 1, at ENOUGH both ways."""
    return np.minimum(shown_both_ways(estimand, counts) / ENOUGH, 1.0)


def shown_both_ways(estimand: Estimand, counts: Counts) -> Floats:
    """Labelled items that raise the measure, or those that lower it, whichever are fewer: (R,).

    An item counts by its pull, as a share of the strongest pull in the same direction: of balanced accuracy
    on a rare class, a true negative is worth next to nothing beside a true positive.  0 where the measure is
    undefined at the expected counts.
    """
    expected = _by_label(counts.expected, counts.items)
    size = np.maximum(expected.sum(axis=(1, 2), keepdims=True), 1.0)
    pull = estimand.pull(counts.expected, counts.items)
    pull = pull - (pull * expected / size).sum(axis=(1, 2), keepdims=True)
    pull = np.where(np.isfinite(pull), pull, 0.0)
    found = _by_label(counts.known, counts.labelled)
    return np.minimum(_weighed(found, np.maximum(pull, 0.0)), _weighed(found, np.maximum(-pull, 0.0)))


def _by_label(positives: Floats, items: Floats) -> Floats:
    """(R, G, 2) by group and label, from positives and items (R, G)."""
    return np.stack([np.maximum(items - positives, 0.0), positives], axis=-1)


def _weighed(found: Floats, pull: Floats) -> Floats:
    """Items (R,) found of the kinds that pull, each as a share of the strongest: both (R, G, 2)."""
    strongest = pull.max(axis=(1, 2))
    total = (found * pull).sum(axis=(1, 2))
    return np.where(strongest > 0, total / np.where(strongest > 0, strongest, 1.0), 0.0)
