"""Probabilities as files have them: rounded, and with the errors of floating point."""

import numpy as np

from assay.evalcore.types import Bools, Floats

_BEYOND_RANGE = 1e-6   # by which a probability may be beyond 0 or 1
_LEAST_SUM_ERROR = 0.01   # by which a sum may always be off
_LARGEST_SUM_ERROR = 0.5   # and never more
_EXACT_CHANCE_DECIMALS = 6   # at which values count as not rounded
_FLOAT32 = 1e-7      # by which a number of 32 bits may be off
_FEWEST_DECIMALS = 2   # decimals that a row is taken to have, if others have as many


def within_0_and_1(numbers: Floats) -> tuple[Floats, Bools]:
    """(n,) the numbers, those a millionth beyond 0 or 1 as 0 and 1; (n,) which are further outside.

    >>> within_0_and_1(np.array([1.0000001, -1e-9, 0.5, 1.5]))[0].tolist()
    [1.0, 0.0, 0.5, 1.5]
    """
    near = (numbers >= -_BEYOND_RANGE) & (numbers <= 1 + _BEYOND_RANGE)
    return np.where(near, np.clip(numbers, 0.0, 1.0), numbers), ~near


def sum_to_one(table: Floats) -> Bools:
    """(n,) whether the probabilities (n, K) of a row sum to 1, as far as they are rounded.

    >>> sum_to_one(np.array([[0.33, 0.33, 0.33], [0.5, 0.25, 0.25], [0.5, 0.2, 0.2]])).tolist()
    [True, True, False]
    """
    sums = RowSums(len(table))
    for column in table.T:
        sums.add(column)
    return sums.are_one()


class RowSums:
    """Sums of rows of probabilities, a column at a time.

    A number that is rounded to d decimals is wrong by half a unit of the last one at most, and K of them by K
    times that: three thirds may be 0.33 each. The decimals are those of a row, but two if any row has two.
    """

    def __init__(self, rows: int) -> None:
        self.total = np.zeros(rows)
        self._decimals, self._columns = np.zeros(rows, np.int64), 0

    def add(self, column: Floats) -> None:
        """Take the next column (n,) of n probabilities: add it to the sums, and note how many decimals each
        row is written with."""
        self.total += column
        self._columns += 1
        needed = np.full(len(column), _EXACT_CHANCE_DECIMALS)
        for d in range(_EXACT_CHANCE_DECIMALS - 1, -1, -1):
            needed[np.abs(column - np.round(column, d)) < _FLOAT32] = d
        self._decimals = np.maximum(self._decimals, needed)

    def are_one(self) -> Bools:
        """(n,) whether each is 1, as far as its numbers are rounded."""
        decimals = np.maximum(self._decimals, min(_FEWEST_DECIMALS, int(self._decimals.max(initial=0))))
        tolerance = (
            np.clip(self._columns * 0.5 * 10.0**-decimals, _LEAST_SUM_ERROR, _LARGEST_SUM_ERROR)
            + _BEYOND_RANGE
        )
        return np.asarray((np.abs(self.total - 1) <= tolerance) & (self.total > 0))
