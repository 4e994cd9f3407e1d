"""How the numbers asked for move with the part of the risk that the pool alone tells."""

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.types import Floats

_STEP = 1e-5
_AT_ONCE = 10**7   # numbers worked on together


def slopes_of_known(stack: Stack, known_sizes: list[int], risk: Floats) -> Floats:
    """(R, Q, D_k) by central differences; risk (R, D + D_k), known_sizes: of the losses' known parts."""
    width = risk.shape[1]
    steps = _STEP * np.eye(width)[stack.size :]
    if not len(steps):
        return np.zeros((len(risk), len(stack.parts), 0))
    block, parts = max(1, _AT_ONCE // (len(steps) * width)), []
    for start in range(0, len(risk), block):
        at = risk[start : start + block, None]
        up, down = (stack.value(at + sign * steps, known_sizes) for sign in (1, -1))   # (r, D_k, Q)
        parts.append(np.nan_to_num((up - down) / (2 * _STEP)))
    return np.asarray(np.moveaxis(np.concatenate(parts), 1, 2))
