"""What a simple random sample would have needed for the half-width of an estimate, for any kind of outcome.

With z = J·ℓ the pull of an item's loss and S² its variance over the pool, estimated from the labelled items
and their weights, n labels of a simple random sample give a half-width of

    h(n) = z_p √((1 - n/N) S²/n)          (Cochran 1977, sec. 2.6),  solved for n.

What the pool tells of the losses is known to both.
"""

from math import ceil, isfinite

import numpy as np
from scipy.special import ndtri

from assay.evalcore.outcome_evaluation.state import Question, State
from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Floats

MOST_NUMBERS = 12   # of a measure whose numbers get a price
_NOTHING = "the labels show no error yet, so the error of random sampling cannot be told"


def pull_variances(question: Question, state: State) -> Floats:
    """S² (Q,) of each number; zeros before any label, and NaN where one is undefined."""
    inner, stack = state.inner, question.stack
    if inner.table is None or not inner.n:
        return np.zeros(len(stack.parts))
    weight = question.method.weights(inner).weight
    loss = inner.table.loss[inner.item[0]]
    mean = weight @ loss / weight.sum()
    known = question.cells.known / question.cells.n_items
    slopes = stack.slopes(np.concatenate([mean, known]), question.cells.known_sizes.tolist())
    pull = (loss - mean) @ slopes.T
    size = (np.abs(loss) + np.abs(mean)) @ np.abs(slopes).T
    pull = np.where(is_nothing(pull, size), 0.0, pull)
    return np.asarray(weight @ pull**2 / weight.sum())


def random_labels(
    variance: float, half_width: float, n_items: int, confidence: float
) -> tuple[int | None, str | None]:
    """Labels that random sampling would have needed, or why that cannot be said."""
    if not isfinite(half_width) or half_width <= 0:
        return None, "there is no interval to match"
    if not isfinite(variance) or variance <= 0:
        return None, _NOTHING
    z2 = float(ndtri(0.5 + confidence / 2)) ** 2 * variance
    return min(ceil(n_items * z2 / (n_items * half_width**2 + z2)), n_items), None
