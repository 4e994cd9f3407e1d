"""A guard for the time until positives below the threshold were found (`recalibrated:guard=true`).

How many positives the items predicted negative hold rests on how steeply the model takes the rates to fall,
until some were found there.  Where they do not fall so steeply, the first labels show none, and the interval
is sure of too few: the value of F1 is too high, and the lower end with it.  So until FEW of them were found
the interval reaches as far as the wide one.

It does so on dense pools only: where a label among the predicted negatives stands for fewer items than were
predicted positive.  There some positives should have turned up.  On a rare class none does in any number of
labels that people pay for, and the wide interval stands beside the main one.

docs/ideas.md has what it does.
"""

import numpy as np

from assay.evalcore.recalibration.combine import Counts
from assay.evalcore.recalibration.interval.usual import Ends
from assay.evalcore.recalibration.quantities import Estimand
from assay.evalcore.types import Bools

FEW = 3     # positives found among the predicted negatives, from which on there is no guard


def guarded(estimand: Estimand, ends: Ends, wide: Ends, counts: Counts) -> Ends:
    """The interval (R,), out to the wide one where the guard is up."""
    up = guard_is_up(estimand, counts)
    return (
        np.where(up, np.fmin(ends[0], wide[0]), ends[0]),
        np.where(up, np.fmax(ends[1], wide[1]), ends[1]),
    )


def guard_is_up(estimand: Estimand, counts: Counts) -> Bools:
    """Whether (R,) few positives were found among the predicted negatives, and labels there are dense.

    Never where they have no part in the measure, or where it is not one of predictions.
    """
    matters = estimand.quantity.label_matters
    if len(matters) != 2 or not matters[0]:
        return np.zeros(len(counts.items), np.bool_)
    each = counts.items[:, 0] / np.maximum(counts.labelled[:, 0], 1.0)
    return np.asarray((counts.known[:, 0] < FEW) & (each < counts.items[:, 1]))
