"""Which items of a cell a round takes."""

from collections.abc import Collection

import numpy as np

from assay.evalcore.types import Ints


def free_ranks(size: int, taken: Collection[int], n: int, rng: np.random.Generator) -> Ints:
    """n different ranks below `size` that are not taken, in random order; cost independent of `size`."""
    position = rng.choice(size - len(taken), size=n, replace=False, shuffle=True).astype(np.int64)
    # positions among the free ranks: each taken rank at or below a position moves it up by one
    for t in sorted(taken):
        position += position >= t
    return position
