"""What form the numbers of a question have, found by trying slopes at different means.

A number with the same slopes everywhere is a mean; one whose only slope is 1, and whose value is that of one
component of the losses, is that component's mean.

    Q   numbers;  D   components of the losses;  D_k   their known parts
"""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.measures.stack import Stack
from assay.evalcore.types import Bools, Floats, Ints

TRIED, GOLDEN = 3, 0.6180339887   # means that are tried: multiples, modulo 1
SLOPE_ROUNDING = 1e-9   # as far as rounding goes


def tried_means(stack: Stack, known_sizes: Sequence[int]) -> Floats:
    """(TRIED, D + D_k) some means; known_sizes: of the losses' known parts."""
    width = stack.size + sum(known_sizes)
    return np.asarray(np.arange(1.0, TRIED * width + 1).reshape(TRIED, width) * GOLDEN % 1, np.float64)


def are_means(stack: Stack, known_sizes: Sequence[int]) -> Bools:
    """Whether each of Q numbers is a mean, (Q,): its slopes are the same at all the means that are tried, up
    to rounding, so it is linear in the losses."""
    slopes = stack.slopes(tried_means(stack, known_sizes), known_sizes)
    return np.asarray((np.abs(slopes - slopes[:1]) < SLOPE_ROUNDING).all(axis=(0, 2)))


def component_means(stack: Stack, known_sizes: Sequence[int]) -> Ints:
    """(Q,) the component whose mean a number is; -1 where it is none's."""
    means = tried_means(stack, known_sizes)
    slopes = stack.slopes(means, known_sizes)
    component = np.argmax(slopes[0], axis=1)
    alone = (np.abs(slopes - np.eye(stack.size)[component]) < SLOPE_ROUNDING).all(axis=(0, 2))
    same = (np.abs(stack.value(means, known_sizes) - means[:, component]) < SLOPE_ROUNDING).all(axis=0)
    return np.asarray(np.where(alone & same, component, -1))
