"""Where the items of a pool belong: a group, and a score inside it, by which it is cut into cells."""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.joint import Joint
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """By spread alone.  Subclasses know of the pool what they need."""

    @property
    def ranked(self) -> int:
        """How many groups there are, if they are to be put in the order of their items' mean spread; or 0."""
        return 0

    def group(self, items: Items) -> Ints:
        """(n,) group of each item."""
        return np.zeros(len(items), np.int64)

    def score(self, items: Items, spread: Floats) -> Floats:
        """(n,) spread (n,): how far an item's outcome may move the measures, as guessed beforehand."""
        return spread


@dataclass(frozen=True, slots=True, eq=False)
class ByPrediction(Places):
    """By predicted class, and by spread.

    Classes come in the order of their items' mean spread: neighbours matter about as much, and the order of
    the names does not matter at all.
    """

    classes: int

    @property
    def ranked(self) -> int:
        """The classes."""
        return self.classes

    def group(self, items: Items) -> Ints:
        """What the system predicts."""
        return items.prediction[:, 0].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class ByJoint(Places):
    """By what several systems predict together, and by spread."""

    joint: Joint

    @property
    def ranked(self) -> int:
        """The frequent joint predictions, and all others."""
        return self.joint.groups

    def group(self, items: Items) -> Ints:
        """The joint prediction."""
        return self.joint.of(items.prediction)


@dataclass(frozen=True, slots=True, eq=False)
class BySaid(Places):
    """By the mean of what is said, each column scaled to a variance of 1."""

    columns: int
    judged: bool
    deviations: tuple[float, ...]   # of each column

    def score(self, items: Items, spread: Floats) -> Floats:
        """The sum of the scaled columns."""
        table = items.judge if self.judged and items.judge is not None else items.prediction
        score: Floats = np.zeros(len(items))
        for column, deviation in zip(table.T[: self.columns], self.deviations, strict=True):
            score = score + column / max(deviation, 1e-12)
        return score
