"""What measures of a positive and a negative class are known to be from the predictions alone.

Where every item is predicted to be of one class, some measures no longer depend on the labels.  With no
predicted positive there is no true positive: F1, recall and F-beta are 0 wherever they exist, specificity is
1, and precision does not exist.  Such a measure exists as soon as there is one item of the class that it is
about.  That is known once one is labelled, or once labels of earlier windows leave no doubt:

    labels of items like these, a positive and b negative ones of a cell, say that none of its n items is
    positive with the chance  B(a, b + 1/C + n) / B(a, b + 1/C)  (a Beta posterior; C cells share one
    further negative label);  over cells these multiply

From then on the value is exact, and asking anybody would be paid for nothing.

So is the difference of two systems that predict every item alike, of any outcome: it is 0.
"""

from collections.abc import Collection, Sequence

import numpy as np
import scipy

from assay.evalcore.measures.stack import Stack
from assay.evalcore.measures.two_classes import Measure, WhereAlike, where_alike
from assay.evalcore.methods.any_outcome.state import OutcomeCells, may_differ
from assay.evalcore.methods.method import PredictedCells
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats, Ints

NO_DOUBT = 1e-3    # chance that no item is of a class, below which one is taken to be there


def values_without_labels(
    measures: Sequence[Measure] | Stack, cells: PredictedCells, systems: Sequence[str] = ()
) -> list[WhereAlike] | None:
    """What each measure is, given the predictions alone, where they are all of one class; None elsewhere.

    measures, cells, systems   those of a `Question`

    None also for measures of any outcome, and where further systems are judged by the same labels.
    """
    prediction = cells.prediction
    if isinstance(measures, Stack) or systems or prediction is None or not cells.n_cells:
        return None
    predicted = np.unique(prediction[cells.size > 0])
    return [where_alike(measure, int(predicted[0])) for measure in measures] if len(predicted) == 1 else None


def differences_of_alike(measures: Sequence[Measure] | Stack, cells: PredictedCells) -> Bools | None:
    """(Q,) which numbers are differences of two systems that predict every item alike, and with the same
    probabilities: they are 0, whatever any label says.  None of a positive and a negative class.

    What the guesses expect of the losses of both, and what is known of them, is then the same in every cell,
    and no label can move their difference.
    """
    if not isinstance(measures, Stack) or not isinstance(cells, OutcomeCells):
        return None
    known_sizes = cells.known_sizes.tolist()
    known = ~may_differ(measures, cells)
    sums = np.concatenate([
        cells.guess, np.broadcast_to(cells.told[:, None], (*cells.guess.shape[:2], cells.told.shape[1])),
    ], axis=2)
    for q, (m, _) in enumerate(measures.parts):
        measure = measures.measures[m]
        columns = measures.columns(measure, known_sizes)
        of_losses = columns < measures.size
        known[q] &= measure.versus is not None and all(
            bool(is_nothing(sums[..., one] - two, np.abs(sums[..., one]) + np.abs(two)).all())
            for part in (columns[of_losses], columns[~of_losses])
            for one, two in [(part[: len(part) // 2], sums[..., part[len(part) // 2 :]])]
        )
    return known


def no_label_matters(values: Sequence[WhereAlike]) -> bool:
    """Whether no label can change any of the measures where it exists, and one of them at least may exist.
    The values are then known without anybody's help."""
    return any(alike.exists for alike in values) and all(
        not alike.exists or alike.value is not None for alike in values
    )


def both_classes_are_there(labelled: Collection[int], evidence: Floats | None, sizes: Ints) -> bool:
    """Whether items of both classes are in the pool.

    labelled   the classes of the items labelled so far
    evidence   (C, 2) earlier labels by cell and class, or None
    sizes      (C,) items by cell
    """
    return all(
        label in labelled or (evidence is not None and chance_of_none(evidence, sizes, label) <= NO_DOUBT)
        for label in (0, 1)
    )


def chance_of_none(evidence: Floats, sizes: Ints, label: int) -> float:
    """The chance that no item of the pool is of a class, by earlier labels (C, 2) of items like them.

    >>> round(chance_of_none(np.array([[6.0, 4.0]]), np.array([60]), 1), 5)
    0.00023
    """
    a, b = evidence[:, label], evidence[:, 1 - label] + 1 / len(evidence)
    has_evidence = a > 0
    logs = scipy.special.betaln(
        a[has_evidence], b[has_evidence] + sizes[has_evidence]
    ) - scipy.special.betaln(a[has_evidence], b[has_evidence])
    return float(np.exp(logs.sum()))
