"""What is asked of a pool, as functions of the positives in it.

How many items there are of each kind is known; how many of them are positive is not.  So a measure of two
classes is a function of the positives by group of cells, where the cells of a group have the same loss:

    F1, recall, accuracy ...     two groups: what is predicted positive, and the rest
    precision and recall at L thresholds, areas under curves     a group for each band of the score
    several systems              a group for each pattern of predictions

Methods give the positives of every group; everything that is said of a measure is said by its functions here.

    R repeats   G groups   C cells   S draws
    q numbers of a measure, one unless it is a curve or has one a class
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from assay.evalcore.measures import two_classes
from assay.evalcore.measures.two_classes import Measure, driving
from assay.evalcore.types import Bools, Floats, Ints

FEW_GROUPS = 8    # up to so many are added up one by one


@dataclass(frozen=True, slots=True, eq=False)
class CellGroups:
    """CellGroups of cells: of_cell (C,) the group of each, counted from 0."""

    of_cell: Ints
    rows: Floats         # (G, C) 1.0 where the cell is of the group

    @staticmethod
    def by_number(of_cell: Ints) -> "CellGroups":
        """Those with these numbers (C,)."""
        n_groups = int(of_cell.max()) + 1
        return CellGroups(of_cell, (of_cell == np.arange(n_groups)[:, None]).astype(np.float64))

    @staticmethod
    def by_prediction(predicted: Floats) -> "CellGroups":
        """Predicted negative, and positive; predicted (C,) 0.0 or 1.0."""
        return CellGroups(predicted.astype(np.int64), np.stack([1 - predicted, predicted]))

    def sums(self, by_cell: Floats) -> Floats:
        """Sums (R, G) over the cells of each group; by_cell (R, C)."""
        if len(self.rows) > FEW_GROUPS:
            return np.asarray(by_cell @ self.rows.T)
        return np.stack([by_cell @ row for row in self.rows], axis=1)

    def positives(self, rate: Floats, items: Floats) -> Floats:
        """Expected positives (R, S, G) at rates (R, S, C) of items (R, C)."""
        if len(self.rows) > FEW_GROUPS:
            return np.asarray(np.matmul(rate, items[:, :, None] * self.rows.T))
        return np.stack([np.matmul(rate, (items * row)[:, :, None])[..., 0] for row in self.rows], axis=-1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Quantity(ABC):
    """One measure of a pool that is cut into cells."""

    groups: CellGroups
    bounds: tuple[float, float]
    drives: bool                  # whether the choice of items serves it
    weight: float = 1.0           # of its numbers beside those of the other measures that drive
    _made: dict[tuple[str, int, int], tuple[Floats, Floats, Floats]] = field(default_factory=dict)

    @property
    @abstractmethod
    def size(self) -> int:
        """q."""

    @property
    @abstractmethod
    def label_matters(self) -> Bools:
        """(G,) whether a label can change the measure."""

    @abstractmethod
    def values(self, positives: Floats, items: Floats) -> Floats:
        """The measure (R, ..., q) of positives (R, ..., G) among items (R, G); NaN where it is undefined."""

    @abstractmethod
    def slopes(self, positives: Floats, items: Floats) -> Floats:
        """∂M/∂(a positive of the group) (R, q, G), at positives (R, G); 0 where the measure is undefined."""

    @abstractmethod
    def pulls(self, positives: Floats, items: Floats) -> Floats:
        """J·ℓ (R, q, G, 2): how an item of each group pulls at each number, by its label."""

    @abstractmethod
    def attainable(self, known: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """The least and largest values (R, q) that the labels still allow, if the measure exists at all.

        known, free (R, G): positives found, and items without a label.
        """

    def slack(self, positives: Floats, items: Floats) -> Floats:
        """(R, q) how far each number may be from what it stands for; 0 where it is exact."""
        return np.zeros((len(items), self.size))

    def once(self, name: str, positives: Floats, items: Floats) -> Floats:
        """`slopes` or `pulls`, made once of the same arrays for all numbers of the measure."""
        key = name, id(positives), id(items)
        if key not in self._made:     # the arrays are kept, so that their ids stay theirs
            self._made[key] = getattr(self, name)(positives, items), positives, items
        return self._made[key][0]

    @property
    def numbers(self) -> "list[Estimand]":
        """Its numbers, one by one."""
        return [Estimand(self, j) for j in range(self.size)]

    @property
    def matters(self) -> Bools:
        """(C,) whether a label of the cell can change the measure."""
        return np.asarray(self.label_matters[self.groups.of_cell])


@dataclass(frozen=True, slots=True, eq=False)
class Estimand:
    """Number `at` of a measure."""

    quantity: Quantity
    at: int

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value."""
        return self.quantity.bounds

    def value(self, positives: Floats, items: Floats) -> Floats:
        """(R, ...): see `Quantity.values`."""
        return self.quantity.values(positives, items)[..., self.at]

    def slope(self, positives: Floats, items: Floats) -> Floats:
        """(R, G): see `Quantity.slopes`."""
        return self.quantity.once("slopes", positives, items)[:, self.at]

    def pull(self, positives: Floats, items: Floats) -> Floats:
        """(R, G, 2): see `Quantity.pulls`."""
        return self.quantity.once("pulls", positives, items)[:, self.at]

    def attainable(self, known: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """(R,) each: see `Quantity.attainable`."""
        lower, upper = self.quantity.attainable(known, free, items)
        return lower[:, self.at], upper[:, self.at]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfConfusion(Quantity):
    """A measure of the predictions: its groups are the predicted negatives and the predicted positives."""

    measure: Measure

    @property
    def size(self) -> int:
        """1."""
        return 1

    @property
    def label_matters(self) -> Bools:
        """By prediction."""
        return self.measure.label_matters()

    def values(self, positives: Floats, items: Floats) -> Floats:
        """Of the confusion table."""
        return two_classes.of_totals(self.measure, positives[..., 1], positives[..., 0], items)[..., None]

    def slopes(self, positives: Floats, items: Floats) -> Floats:
        """By FN and TP."""
        missed, hits = positives[:, 0], positives[:, 1]
        return two_classes.slopes_by_prediction(self.measure, hits, missed, items)[:, None]

    def pulls(self, positives: Floats, items: Floats) -> Floats:
        """By prediction and label."""
        table = np.stack([np.maximum(items - positives, 0.0), positives], axis=-1)
        size = np.maximum(table.sum(axis=(1, 2), keepdims=True), 1.0)
        risk = np.einsum("rfy,fyd->rd", table / size, self.measure.loss)
        return self.measure.influence(risk)[:, None]

    def attainable(self, known: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """By how the measure moves with TP and FN."""
        lower, upper = two_classes.attainable_ends(self.measure, known, free, items)
        return lower[:, None], upper[:, None]


def of_predictions(measures: Sequence[Measure], predicted: Floats) -> tuple[OfConfusion, ...]:
    """Measures of the predictions (C,) of the cells, 0.0 or 1.0; they say which of them drive."""
    groups, drive = CellGroups.by_prediction(predicted), driving(measures)
    return tuple(
        OfConfusion(groups=groups, bounds=one.bounds, drives=m in drive, measure=one)
        for m, one in enumerate(measures)
    )
