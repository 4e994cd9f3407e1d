"""Drawing without replacement with a coin for every item: Poisson sampling, which Yilmaz et al. (2021) call
Bernoulli sampling (section 3).

The size of a batch is random, with mean Σ b and variance Σ b (1 - b).  `evalcore.design.systematic` has the
same chances and exact sizes.

A round must ask somebody, so where no coin shows heads all are thrown again.  An item's chance is then

    π = b / (1 - P₀),   P₀ = Π (1 - b) the chance of no head at all

which is the chance that designs record and estimates use, so nothing is biased.  P₀ is below e^(-Σ b): 4e-5
for a batch of 10 on average, and 1e-11 for one of 25.
"""

import numpy as np

from assay.evalcore.types import Floats, Ints


def inclusion(left: Ints, heads: Floats) -> Floats:
    """π (R, C) of one item; left (R, C) unlabelled items, heads (R, C) b of each one's coin."""
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.exp(np.where(left > 0, left * np.log1p(-heads), 0.0).sum(axis=1, keepdims=True))
        return np.where(heads > 0, np.minimum(heads / (1 - none), 1.0), 0.0)


def coins(left: Ints, heads: Floats, rng: np.random.Generator) -> Ints:
    """Items drawn of each cell (R, C), each of the `left` (R, C) items by its own coin; heads (R, C): b.

    At least one item in each repeat, unless no item has a chance.
    """
    counts = np.asarray(rng.binomial(left, heads), dtype=np.int64)
    possible = ((left > 0) & (heads > 0)).any(axis=1)
    while True:
        again = np.flatnonzero(possible & (counts.sum(axis=1) == 0))
        if not len(again):
            return counts
        counts[again] = rng.binomial(left[again], heads[again])
