"""Labels and items between the form a ledger keeps them in and the form the core takes.

A ledger has the codes of classes as integers, and -1 and -2 for items without a label
(`evalcore.evaluation.state.UNDECIDED`, `evalcore.evaluation.nonresponse.UNANSWERED`).
"""

import numpy as np

from assay.evalcore.evaluation import nonresponse
from assay.evalcore.evaluation import state as two_classes
from assay.evalcore.outcomes.codes import UNANSWERED, UNDECIDED
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints

_NO_LABEL = {two_classes.UNDECIDED: UNDECIDED, nonresponse.UNANSWERED: UNANSWERED}


def codes_of(labels: Ints) -> Floats:
    """The outcomes (T,) of the labels (T,) of a ledger."""
    codes = labels.astype(np.float64)
    for ours, theirs in _NO_LABEL.items():
        codes[labels == ours] = theirs
    return codes


def items_of(prediction: Ints, probability: Floats | None) -> Items:
    """What the pool says of items: the class predicted by one system (n,) or each of several (n, S), and the
    probability of each class (n, K)."""
    return Items(
        prediction=prediction.astype(np.float64).reshape(len(prediction), -1),
        probability=None if probability is None else probability.astype(np.float64),
    )


def stands_for(inclusion: Floats) -> Floats:
    """(T,) items of the pool that each asked item stands for: 1/π; 0 where it could not be asked."""
    possible = inclusion > 0
    return np.where(possible, 1 / np.where(possible, inclusion, 1.0), 0.0)
