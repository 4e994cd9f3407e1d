"""What a measure is: a loss for each item, and a function g of the mean loss.

Marchant & Rubinstein (2021), definition 1: a loss vector per item, R its mean over the pool, and a map g.
For two classes the loss depends on the item only through its prediction f and label y, so it is a table:

    loss (2, 2, d)   loss[f, y] is the loss vector of an item predicted f whose label is y
    R    (..., d)    its mean over the pool
    g(R) (...)       the measure;  J(R) (..., d) its gradient

A value that does not exist (0/0) is NaN inside these arrays and nowhere else: `Estimate` turns it into
"undefined" with a reason.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.evalcore.types import Bools, Floats

# indicator tables (2, 2) over [prediction, label], from which losses are put together
PREDICTED = np.array([[0.0, 0.0], [1.0, 1.0]])
POSITIVE = np.array([[0.0, 1.0], [0.0, 1.0]])
TRUE_POSITIVE = PREDICTED * POSITIVE
TRUE_NEGATIVE = (1 - PREDICTED) * (1 - POSITIVE)
ERROR = 1 - TRUE_POSITIVE - TRUE_NEGATIVE
# R = (t, y, f): the shares of true positives, of positives and of predicted positives
SHARES = np.stack([TRUE_POSITIVE, POSITIVE, PREDICTED], axis=-1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measure:
    """A measure of a classifier with two classes, and everything that is said of it anywhere."""

    name: str                               # as in a spec: f1
    title: str                              # as on a page: F1
    meaning: str                            # half a sentence; {positive} and {negative} stand for the classes
    undefined_when: str                     # when it is 0/0, said to people
    bounds: tuple[float, float]             # the smallest and largest value; plots never reach beyond them
    loss: Floats                            # (2, 2, d), indexed [prediction, label]
    value: Callable[[Floats], Floats]       # g: R (..., d) -> (...), NaN where undefined
    gradient: Callable[[Floats], Floats]    # J: R (..., d) -> (..., d), NaN where undefined
    # how it moves with the numbers of (true positives, false negatives) while predictions stay: +1 it never
    # falls, -1 it never rises; None: neither is known, and no label bounds its value for certain
    monotone: tuple[int, int] | None = None
    # the form in which a mean decides about it, see `margin`; None for what is no ratio of means
    linear: Callable[[float], tuple[float, Floats]] | None = None
    # whether it drives the sampling; None: as the method has it, see `driving` and `served`
    drives: bool | None = None

    def margin(self, limit: float) -> tuple[float, Floats] | None:
        """(k, t) such that g ≥ limit exactly when the pool's mean of k + t[prediction, label] is ≥ 0.

        t (2, 2).  None for measures that are no ratio of means: no mean decides about those.
        """
        return None if self.linear is None else self.linear(limit)

    def of_confusion(self, counts: Floats) -> Floats:
        """The measure (...) of confusion counts (..., 2, 2) indexed [prediction, label]; NaN if undefined."""
        total = counts.sum(axis=(-2, -1))
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.einsum("...fy,fyd->...d", counts, self.loss) / total[..., None]
        return self.value(np.asarray(risk))

    def influence(self, risk: Floats) -> Floats:
        """J(R)·ℓ(f, y): how one item of each kind pulls at the measure; (..., 2, 2) for risk R (..., d)."""
        return np.asarray(np.einsum("...d,fyd->...fy", self.gradient(risk), self.loss))

    def touched(self) -> Floats:
        """Whether the loss of an item (f, y) is non-zero: (2, 2) of 0 and 1."""
        return np.where(np.any(self.loss != 0, axis=-1), 1.0, 0.0)

    def label_matters(self) -> Bools:
        """Whether the label of an item predicted f changes the measure at all: (2,), indexed by f."""
        return np.asarray(np.any(self.loss[:, 0] != self.loss[:, 1], axis=-1))


def driving(measures: Sequence[Measure]) -> list[int]:
    """Which measures drive the sampling: those that say so, or else the first."""
    return [i for i, one in enumerate(measures) if one.drives] or [0]


def served(measures: Sequence[Measure]) -> list[Measure]:
    """The measures that drive the sampling of a method that serves all: those that say so, or else all."""
    return [one for one in measures if one.drives] or list(measures)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Family:
    """Measures that differ by one number, such as fbeta."""

    name: str                               # as in a spec: {name: fbeta, beta: 2}
    usual: float                            # the number in examples, and where all measures are listed
    member: Callable[[float], Measure]      # raises BadInput for a number that makes no measure
