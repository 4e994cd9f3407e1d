"""What is known of a measure, without a label, where every item is predicted the same."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.base import Measure

_SHARES = 101     # shares of positives among the labels, from none to all, at which the measure is tried
_SAME = 1e-12     # values closer than this are one value


@dataclass(frozen=True, slots=True)
class WhereAlike:
    """Whether the measure can exist, and its value where it has only one; None where labels decide it."""

    exists: bool
    value: float | None


def where_alike(measure: Measure, predicted: int) -> WhereAlike:
    """With every item predicted `predicted`, 0 or 1.

    F1 with no predicted positive is 0 if there is any positive, and does not exist otherwise.
    """
    share = np.linspace(0, 1, _SHARES)
    table = np.zeros((_SHARES, 2, 2))
    table[:, predicted] = np.stack([1 - share, share], axis=-1)
    values = measure.of_confusion(table)
    values = values[np.isfinite(values)]
    if not len(values):
        return WhereAlike(exists=False, value=None)
    return WhereAlike(exists=True, value=float(values[0]) if np.ptp(values) <= _SAME else None)
