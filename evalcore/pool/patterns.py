"""Items grouped by what further systems predict of them."""

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.types import Array, Ints

MOST_SYSTEMS = 10


def pattern_of(predictions: Array) -> tuple[Ints, int]:
    """The pattern (N,) of each item, and how many patterns there can be.

    predictions (N, S), 0 or 1: what each of S systems predicts; bit s of a pattern is what system s says.
    Raises BadInput for more than MOST_SYSTEMS.
    """
    n_systems = predictions.shape[1]
    if n_systems > MOST_SYSTEMS:
        raise BadInput(f"pool.systems: {n_systems} systems; at most {MOST_SYSTEMS} can share labels")
    bits = np.left_shift(1, np.arange(n_systems, dtype=np.int64))
    return np.asarray(predictions, np.int64) @ bits, 1 << n_systems
