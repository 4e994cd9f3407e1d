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

FEW_ADDED_GROUPS = 8   # up to so many are added up one by one


@dataclass(frozen=True, slots=True, eq=False)
class CellGroups:
    """CellGroups of cells: of_cell (C,) the group of each, counted from 0."""

    of_cell: Ints
    rows: Floats         # (G, C) 1.0 where the cell is of the group

    @staticmethod
    def by_number(of_cell: Ints) -> "CellGroups":
        """The groups of C cells that have these numbers, (C,) counted from 0: as many groups as the largest
        number plus one. A number without a cell has a group of no cells."""
        n_groups = int(of_cell.max()) + 1
        return CellGroups(of_cell, (of_cell == np.arange(n_groups)[:, None]).astype(np.float64))

    @staticmethod
    def by_prediction(predicted: Floats) -> "CellGroups":
        """Two groups of cells: those predicted negative, then those predicted positive. The predictions of
        the C cells are a vector (C,) of 0.0 and 1.0."""
        return CellGroups(predicted.astype(np.int64), np.stack([1 - predicted, predicted]))

    def sums(self, by_cell: Floats) -> Floats:
        """Sums (R, G) over the cells of each group; by_cell (R, C)."""
        if len(self.rows) > FEW_ADDED_GROUPS:
            return np.asarray(by_cell @ self.rows.T)
        return np.stack([by_cell @ row for row in self.rows], axis=1)

    def positives(self, rate: Floats, items: Floats) -> Floats:
        """Expected positives (R, S, G) at rates (R, S, C) of items (R, C). A group's number is the sum over
        its cells of rate times items."""
        if len(self.rows) > FEW_ADDED_GROUPS:
            return np.asarray(np.matmul(rate, items[:, :, None] * self.rows.T))
        return np.stack([np.matmul(rate, (items * row)[:, :, None])[..., 0] for row in self.rows], axis=-1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Quantity(ABC):
    """One measure of two classes on a pool that is cut into cells, as a function of how many positives there
    are in each group of cells. It has q numbers: one, unless it is a curve or has one for each class."""

    groups: CellGroups
    bounds: tuple[float, float]
    drives: bool                  # whether the choice of items serves it
    weight: float = 1.0           # of its numbers beside those of the other measures that drive
    _made: dict[tuple[str, int, int], tuple[Floats, Floats, Floats]] = field(default_factory=dict)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers q the measure has: one, unless it is a curve or has one for each class. A curve
        has one for each threshold."""

    @property
    @abstractmethod
    def label_matters(self) -> Bools:
        """Whether a label of an item of each group can change the measure at all, (G,) for G groups. Items
        of the other groups need no labels."""

    @abstractmethod
    def values(self, positives: Floats, items: Floats) -> Floats:
        """The measure (R, ..., q) of positives (R, ..., G) among items (R, G); NaN where it is undefined.
        Groups are what the cells of one prediction, or one score, make together."""

    @abstractmethod
    def slopes(self, positives: Floats, items: Floats) -> Floats:
        """∂M/∂(a positive of the group) (R, q, G), at positives (R, G); 0 where the measure is undefined.
        Uncertainty of the positives is carried to the measure by them (the delta method)."""

    @abstractmethod
    def pulls(self, positives: Floats, items: Floats) -> Floats:
        """J·ℓ (R, q, G, 2): how an item of each group pulls at each number, by its label. Methods draw items
        by its size (Marchant & Rubinstein 2021, eq. 8)."""

    @abstractmethod
    def attainable(self, labelled_positives: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """The least and largest values (R, q) that the labels still allow, if the measure exists at all.

        labelled_positives, free (R, G): positives found, and items without a label.
        """

    def slack(self, positives: Floats, items: Floats) -> Floats:
        """(R, q) how far each number may be from what it stands for; 0 where it is exact. A curve that is cut
        into bands is off by what lies within a band."""
        return np.zeros((len(items), self.size))

    def once(self, name: str, positives: Floats, items: Floats) -> Floats:
        """`slopes` or `pulls`, made once of the same arrays for all numbers of the measure. `name` is the
        function's name; a second call with the same arrays is free."""
        key = name, id(positives), id(items)
        if key not in self._made:     # the arrays are kept, so that their ids stay theirs
            self._made[key] = getattr(self, name)(positives, items), positives, items
        return self._made[key][0]

    @property
    def estimands(self) -> "list[Estimand]":
        """The q numbers of the measure, each as an `Estimand`, which gives the value and the slopes of that
        number alone."""
        return [Estimand(self, j) for j in range(self.size)]

    @property
    def matters(self) -> Bools:
        """(C,) whether a label of the cell can change the measure."""
        return np.asarray(self.label_matters[self.groups.of_cell])


@dataclass(frozen=True, slots=True, eq=False)
class Estimand:
    """One number of a measure, at position `at` of its q numbers: the same functions as `Quantity` has, with
    the axis of the numbers taken out. Slopes and pulls are computed once for all numbers of the measure."""

    quantity: Quantity
    at: int

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that this number can have: the range of the whole measure.
        Intervals are cut to it. It is the same for all numbers of a measure."""
        return self.quantity.bounds

    def value(self, positives: Floats, items: Floats) -> Floats:
        """The value of this number, (R, …) for R repeats, from the positives (R, …, G) among the items (R,
        G) of G groups; NaN where it is undefined."""
        return self.quantity.values(positives, items)[..., self.at]

    def slope(self, positives: Floats, items: Floats) -> Floats:
        """The derivative of this number by a positive of each group, (R, G) for R repeats and G groups; 0
        where the number is undefined."""
        return self.quantity.once("slopes", positives, items)[:, self.at]

    def pull(self, positives: Floats, items: Floats) -> Floats:
        """How an item of each group and label pulls at this number, J·ℓ, shape (R, G, 2) for R repeats and G
        groups; the last axis is negative, positive."""
        return self.quantity.once("pulls", positives, items)[:, self.at]

    def attainable(self, labelled_positives: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """The least and the largest value that the labels still allow this number, (R,) each for R repeats.
        Needed are the positives found and the items without a label, (R, G) each, by group."""
        lower, upper = self.quantity.attainable(labelled_positives, free, items)
        return lower[:, self.at], upper[:, self.at]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfConfusion(Quantity):
    """A measure of the predictions: its groups are the predicted negatives and the predicted positives."""

    measure: Measure

    @property
    def size(self) -> int:
        """How many numbers the measure has, 1: a measure of the confusion table is a single number. Curves
        have more."""
        return 1

    @property
    def label_matters(self) -> Bools:
        """Whether a label changes the measure for items predicted negative, and for items predicted
        positive, (2,): where both labels have the same loss it does not."""
        return self.measure.label_matters()

    def values(self, positives: Floats, items: Floats) -> Floats:
        """The measure of the confusion tables, (R, …, 1) for R repeats: the positives among the predicted
        negatives are FN, those among the predicted positives TP. NaN where it is undefined."""
        return two_classes.of_totals(self.measure, positives[..., 1], positives[..., 0], items)[..., None]

    def slopes(self, positives: Floats, items: Floats) -> Floats:
        """The derivatives of the measure by FN and by TP, (R, 1, 2) for R repeats: one positive more among
        the predicted negatives, and among the predicted positives. 0 where the measure is undefined."""
        missed, hits = positives[:, 0], positives[:, 1]
        return two_classes.slopes_by_prediction(self.measure, hits, missed, items)[:, None]

    def pulls(self, positives: Floats, items: Floats) -> Floats:
        """How an item pulls at the measure, J(R)·ℓ, shape (R, 1, 2, 2): by repeat, by prediction and by
        label. The gradient J is that of the measure at the confusion table in shares."""
        table = np.stack([np.maximum(items - positives, 0.0), positives], axis=-1)
        size = np.maximum(table.sum(axis=(1, 2), keepdims=True), 1.0)
        risk = np.einsum("rfy,fyd->rd", table / size, self.measure.loss)
        return self.measure.influence(risk)[:, None]

    def attainable(self, labelled_positives: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """The least and the largest value that the labels still allow, (R, 1) each. Where the measure
        declares that it rises or falls with TP and with FN they are corners of what is possible;
        otherwise they are the ends of its range."""
        lower, upper = two_classes.attainable_ends(self.measure, labelled_positives, free, items)
        return lower[:, None], upper[:, None]


def of_predictions(measures: Sequence[Measure], predicted: Floats) -> tuple[OfConfusion, ...]:
    """Measures of the predictions (C,) of the cells, 0.0 or 1.0; they say which of them drive. In the order
    of the measures, all with the same two groups of cells."""
    groups, drive = CellGroups.by_prediction(predicted), driving(measures)
    return tuple(
        OfConfusion(groups=groups, bounds=measure.bounds, drives=m in drive, measure=measure)
        for m, measure in enumerate(measures)
    )
