"""What a measure of two classes is: a loss for each item, and a function g of the mean loss.

Marchant & Rubinstein (2021), definition 1: a loss vector per item, R its mean over the pool, and a map g.
For two classes the loss depends on the item only through its prediction f and label y, so it is a table:

    loss (2, 2, d)   loss[f, y] is the loss vector of an item predicted f whose label is y
    R    (..., d)    its mean over the pool
    g(R) (...)       the measure;  J(R) (..., d) its gradient

A value that does not exist (0/0) is NaN inside these arrays and nowhere else: `Estimate` turns it into
"undefined" with a reason.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.evalcore.measures.measure import DeclaredMeasure
from assay.evalcore.types import Bools, Floats, Ints

# indicator tables (2, 2) over [prediction, label], from which losses are put together
PREDICTED = np.array([[0.0, 0.0], [1.0, 1.0]])
POSITIVE = np.array([[0.0, 1.0], [0.0, 1.0]])
TRUE_POSITIVE = PREDICTED * POSITIVE
TRUE_NEGATIVE = (1 - PREDICTED) * (1 - POSITIVE)
ERROR = 1 - TRUE_POSITIVE - TRUE_NEGATIVE
# R = (t, y, f): the shares of true positives, of positives and of predicted positives
SHARES = np.stack([TRUE_POSITIVE, POSITIVE, PREDICTED], axis=-1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measure(DeclaredMeasure):
    """A measure of a classifier with two classes.  g: R (..., d) -> (...), J: R (..., d) -> (..., d)."""

    loss: Floats                            # (2, 2, d), indexed [prediction, label]
    # how it moves with the numbers of (true positives, false negatives) while predictions stay: +1 it never
    # falls, -1 it never rises; None: neither is known, and no label bounds its value for certain
    monotone: tuple[int, int] | None = None
    # the form in which a mean decides about it, see `margin`; None for what is no ratio of means
    linear: Callable[[float], tuple[float, Floats]] | None = None
    is_error: bool = False                  # the smaller the better
    # whether it drives the sampling; None: as the method has it, see `driving` and `served`
    drives: bool | None = None

    @property
    def full_name(self) -> str:
        """Its name: a measure of two classes is of the positive one, and has its settings in its name. Tables
        and JSON name it so."""
        return self.name

    def margin(self, limit: float) -> tuple[float, Floats] | None:
        """(k, t) such that g ≥ limit exactly when the pool's mean of k + t[prediction, label] is ≥ 0.

        t (2, 2).  None for measures that are no ratio of means: no mean decides about those.
        """
        return None if self.linear is None else self.linear(limit)

    def of_confusion(self, counts: Floats) -> Floats:
        """The measure (...) of confusion counts (..., 2, 2) indexed [prediction, label]; NaN if undefined.
        Counts may be shares or expected numbers as well. The leading axes are kept, so many tables can be
        given at once."""
        total = counts.sum(axis=(-2, -1))
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.einsum("...fy,fyd->...d", counts, self.loss) / total[..., None]
        return self.value(np.asarray(risk))

    def influence(self, risk: Floats) -> Floats:
        """J(R)·ℓ(f, y): how one item of each kind pulls at the measure; (..., 2, 2) for risk R (..., d).
        Marchant & Rubinstein (2021), definition 1, of the measure's gradient J at R."""
        return np.asarray(np.einsum("...d,fyd->...fy", self.gradient(risk), self.loss))

    def touched(self) -> Floats:
        """Whether the loss of an item (f, y) is non-zero: (2, 2) of 0 and 1. Where it is 0 the item plays no
        part, whatever its label."""
        return np.where(np.any(self.loss != 0, axis=-1), 1.0, 0.0)

    def label_matters(self) -> Bools:
        """Whether the label of an item predicted f changes the measure at all: (2,), indexed by f. Where it
        is False nobody needs to be asked."""
        return np.asarray(np.any(self.loss[:, 0] != self.loss[:, 1], axis=-1))


def driving(measures: Sequence[Measure]) -> list[int]:
    """Which measures drive the sampling: those that say so, or else the first."""
    return [i for i, measure in enumerate(measures) if measure.drives] or [0]


def served(measures: Sequence[Measure]) -> list[Measure]:
    """The measures that drive the sampling of a method that serves all: those that say so, or else all. In
    their order, and never none."""
    return [measure for measure in measures if measure.drives] or list(measures)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Family:
    """Measures of two classes that differ by one number, such as fbeta with its β: the name of the family,
    its usual number, and the function that makes the measure of any number."""

    name: str                               # as in a spec: {name: fbeta, beta: 2}
    usual: float                            # the number in examples, and where all measures are listed
    member: Callable[[float], Measure]      # raises BadInput for a number that makes no measure


def of_totals(measure: Measure, hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    """The measure of TP = hits and FN = missed, shapes (R, ...); by_prediction (R, 2): items by prediction.

    NaN where it is undefined.

    Measures as functions of two totals.

    How many items are predicted positive is known, so with two classes a measure is a function of TP, the
    positives among the predicted positives, and FN, the positives among the rest.
    """
    return measure.of_confusion(_confusion(hits, missed, by_prediction))


def slopes_by_prediction(measure: Measure, hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    """∂M/∂FN and ∂M/∂TP, shape (R, 2) indexed by the prediction; 0 where the measure is undefined.

    hits, missed (R,): TP and FN; by_prediction (R, 2): items by prediction.
    """
    counts = _confusion(hits, missed, by_prediction)
    total = np.maximum(counts.sum(axis=(-2, -1)), 1.0)
    risk = np.einsum("rfy,fyd->rd", counts, measure.loss) / total[:, None]
    pull = measure.influence(risk)
    slope = (pull[..., 1] - pull[..., 0]) / total[:, None]
    return np.where(np.isfinite(slope), slope, 0.0)


def attainable_ends(
    measure: Measure, labelled_positives: Floats, free: Floats, by_prediction: Floats
) -> tuple[Floats, Floats]:
    """The least and largest value (R,) the labels still allow, if the measure exists at all.

    labelled_positives, free (R, 2): positives found and items unlabelled, by prediction; by_prediction (R,
    2): items. Where the measure declares how it moves with TP and FN (`Measure.monotone`), the ends are two
    corners of what is possible; a corner without a value has neighbours, by one positive or one negative.
    Without a value there either, and for a measure that declares nothing, it is the measure's range.
    """
    lowest, highest = (np.full(len(labelled_positives), bound) for bound in measure.bounds)
    if measure.monotone is None:
        return lowest, highest
    rises = np.array([measure.monotone[1], measure.monotone[0]]) > 0            # by prediction: FN, TP
    fewest, largest = labelled_positives, labelled_positives + free
    lower = _end(measure, np.where(rises, fewest, largest), fewest, largest, by_prediction, np.fmin)
    upper = _end(measure, np.where(rises, largest, fewest), fewest, largest, by_prediction, np.fmax)
    lower = np.where(np.isfinite(lower), lower, lowest)
    upper = np.where(np.isfinite(upper), upper, highest)
    return np.minimum(lower, upper), np.maximum(lower, upper)


def _end(
    measure: Measure,
    corner: Floats,
    fewest: Floats,
    largest: Floats,
    items: Floats,
    better: Callable[[Floats, Floats], Floats],
) -> Floats:
    """The value (R,) at a corner (R, 2), or the better of those next to it; NaN where none has one."""
    steps = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])        # by prediction
    values = [
        of_totals(measure, place[:, 1], place[:, 0], items)
        for place in (corner, *(np.clip(corner + step, fewest, largest) for step in steps))
    ]
    beside = values[1]
    for candidate in values[2:]:
        beside = better(beside, candidate)
    return np.where(np.isfinite(values[0]), values[0], beside)


def by_prediction(by_cell: Floats, predicted: Floats) -> Floats:
    """Sums (R, 2) over the cells of each prediction; by_cell (R, C), predicted (C,) 0 or 1. First of the
    cells predicted negative, then of those predicted positive."""
    return np.stack([by_cell @ (1 - predicted), by_cell @ predicted], axis=1)


def _confusion(hits: Floats, missed: Floats, by_prediction: Floats) -> Floats:
    items = by_prediction.reshape(len(by_prediction), *(1,) * (hits.ndim - 1), 2)
    not_chosen = np.stack([items[..., 0] - missed, missed], axis=-1)
    chosen = np.stack([items[..., 1] - hits, hits], axis=-1)
    return np.stack([not_chosen, chosen], axis=-2)


# shares of positives among the labels, from none to all, at which the measure is tried
_TRIED_PREVALENCES = 101
_VALUE_ROUNDING = 1e-12   # values closer than this are one value


@dataclass(frozen=True, slots=True)
class WhereAlike:
    """Whether the measure can exist, and its value where it has only one; None where labels decide it."""

    exists: bool
    value: float | None


def where_alike(measure: Measure, predicted: int) -> WhereAlike:
    """With every item predicted `predicted`, 0 or 1.

    F1 with no predicted positive is 0 if there is any positive, and does not exist otherwise.
    """
    share = np.linspace(0, 1, _TRIED_PREVALENCES)
    table = np.zeros((_TRIED_PREVALENCES, 2, 2))
    table[:, predicted] = np.stack([1 - share, share], axis=-1)
    values = measure.of_confusion(table)
    values = values[np.isfinite(values)]
    if not len(values):
        return WhereAlike(exists=False, value=None)
    return WhereAlike(exists=True, value=float(values[0]) if np.ptp(values) <= _VALUE_ROUNDING else None)


LinearForm = Callable[[float], tuple[float, Floats]]


def with_known_items(measure: Measure, labelled_items: Ints, n_others: int) -> Measure:
    """The measure of the whole pool as a function of the mean loss of its `n_others` items.

    labelled_items (2, 2): items of known label by [prediction, label]; n_others: the number of other items,
    at least 1.

    A measure of a pool some of whose labels are known beforehand, as a measure of the other items alone.

    Outcomes that arrive by themselves (chargebacks, churn) are no random sample: what comes early differs
    from what comes late.  So the items they belong to are taken out of what is sampled, and their losses are
    added exactly.  With R' the mean loss of the other N' items and K that of the N - N' known ones,

        g(R) = g((N'/N) R' + (1 - N'/N) K),        the gradient by R' is (N'/N) J at that R

    Whoever samples the other items and estimates this measure of them estimates the measure of the whole
    pool; no label that came by itself is ever taken for a draw.
    """
    items = int(labelled_items.sum()) + n_others
    share = n_others / items
    offset = np.einsum("fy,fyd->d", labelled_items.astype(np.float64), measure.loss) / items

    def whole(risk: Floats) -> Floats:
        return np.asarray(share * risk + offset)

    def moved(margin: LinearForm, limit: float) -> tuple[float, Floats]:
        constant, table = margin(limit)
        # the pool's sum of k + t is what the known items add to it, and the others' sum
        return constant + float((labelled_items * (constant + table)).sum()) / n_others, table

    return replace(
        measure,
        value=lambda risk: measure.value(whole(risk)),
        gradient=lambda risk: share * measure.gradient(whole(risk)),
        linear=None if measure.linear is None else partial(moved, measure.linear),
    )
