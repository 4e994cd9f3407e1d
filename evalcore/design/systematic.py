"""Drawing without replacement at given inclusion probabilities, in batches of exactly the size asked for.

Independent (Poisson, Bernoulli) draws make batches of random size, which may overrun a budget.  A systematic
draw over cells keeps every inclusion probability and fixes the size:

    count_c = ⌊cum_c + U⌋ - ⌊cum_{c-1} + U⌋,   cum the running sum of u_c π_c,  U uniform on [0, 1)

Inside a cell the count falls on a simple random sample.  The cells come in random order: in a fixed order
two neighbours of small probability could never both be drawn, and every other cell could be missed together.
"""

import numpy as np

from assay.evalcore.types import Floats, Ints


def systematic(left: Ints, inclusion: Floats, rng: np.random.Generator) -> Ints:
    """Items drawn of each cell, (R, C): u π rounded up or down, Σ rounded to the nearest whole number.

    left (R, C) unlabelled items; inclusion (R, C) their π.  The mean of every count is exactly u π when Σ u π
    is whole.
    """
    expected = left * inclusion
    certain = np.floor(expected + 1e-9)
    order = np.argsort(rng.random(left.shape), axis=1)
    fraction = np.take_along_axis(np.maximum(expected - certain, 0.0), order, axis=1)
    reach = np.cumsum(fraction, axis=1)
    reach[:, -1] = np.round(reach[:, -1])                          # rounding must not win or lose an item
    steps = np.floor(np.minimum(reach, reach[:, -1:]) + rng.random(len(left))[:, None])
    extra = np.diff(steps, axis=1, prepend=0.0)
    counts = certain
    np.put_along_axis(counts, order, np.take_along_axis(counts, order, axis=1) + extra, axis=1)
    return np.minimum(counts.astype(np.int64), left)
