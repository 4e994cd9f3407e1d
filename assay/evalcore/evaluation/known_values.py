"""What measures of a positive and a negative class are known to be before anybody has labelled anything.

Where every item is predicted to be of one class, some measures no longer depend on the labels.  With no
predicted positive there is no true positive: F1, recall and F-beta are 0 wherever they exist, specificity is
1, and precision does not exist.  Whoever asks people about such a pool pays for nothing; so a round of it
asks nobody, and its estimates are exact.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import WhereAlike, where_alike


def values_without_labels(measures: Any, cells: Any, systems: Sequence[str] = ()) -> list[WhereAlike] | None:
    """What each measure is, given the predictions alone, where they are all of one class; None elsewhere.

    measures, cells, systems   those of a `Question`

    None also for measures of any outcome, and where further systems are judged by the same labels.
    """
    if isinstance(measures, Stack) or systems or not cells.n_cells:
        return None
    predicted = np.unique(cells.prediction[cells.size > 0])
    return [where_alike(measure, int(predicted[0])) for measure in measures] if len(predicted) == 1 else None


def needs_no_label(values: Sequence[WhereAlike] | None) -> bool:
    """Whether no label can change any of the measures, and one of them at least has a value."""
    if values is None or not any(one.exists for one in values):
        return False
    return all(not one.exists or one.value is not None for one in values)
