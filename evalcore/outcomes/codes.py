"""Outcomes as numbers in memory, and the two codes that stand for no outcome.

    classes   the number of the class, 0 .. K - 1
    numbers   the number itself
    tags      a bit mask: bit k is set where tag k is

Codes are float64 throughout, so that one column holds any kind; whole numbers up to 2^53 are exact.  No
outcome is as low as the two constants, and a column of codes holds no NaN.
"""

from typing import Final

import numpy as np

from assay.evalcore.types import Bools, Floats

UNDECIDED: Final = -1e300    # people could not decide
UNANSWERED: Final = -2e300   # the item was asked and nobody answered
LARGEST: Final = 1e30        # a number that is an outcome: squares of squared errors stay finite


def is_outcome(codes: Floats) -> Bools:
    """Whether each code (...) is an outcome, neither UNDECIDED nor UNANSWERED."""
    return np.asarray(codes > UNDECIDED)
