"""Measures of one class against the rest as functions of the positives by group of cells.

A measure that the two-class registry has too, of the predictions of the (first) system, is that one: its
groups are what is predicted and the rest.  Any other has a group for all cells whose items have the same
losses, if they are of the class and if they are not.  A labelled item counts with its own losses; those of a
cell stand for its unlabelled items alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.errors import UnknownName
from assay.evalcore.measures.base import Measure
from assay.evalcore.measures.registry import named
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.comparing import leading
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import Axis, OutcomeCells
from assay.evalcore.recalibration.quantities import CellGroups, OfConfusion, Quantity
from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Bools, Floats, Ints

_OF_BOTH = ("accuracy", "cohen_kappa", "mcc", "matthews", "balanced_accuracy")   # the same for either class
_SHARES = (0.07, 0.31, 0.83)      # of the class, at which it is tried what moves a measure


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfLosses(Quantity):
    """A measure as a function of the positives by group; R repeats may differ."""

    measure: OutcomeMeasure
    loss: Floats         # (G, 2, D) of an item of each group, if it is of another class and of this one
    own: Floats          # (R, D) what the labelled items' own losses add to the mean
    known: Floats        # (R, D_k) what the pool alone tells
    moves: Bools         # (G,) whether a label can change the measure

    @property
    def size(self) -> int:
        """Its numbers."""
        return len(self.measure.parts)

    @property
    def label_matters(self) -> Bools:
        """Where its two losses differ in what the measure looks at."""
        return self.moves

    def values(self, positives: Floats, items: Floats) -> Floats:
        """By the mean losses; what divides nothing by nothing has no value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.measure.value(self._risk(positives, items))
        return np.where(np.isfinite(found), found, np.nan)

    def slopes(self, positives: Floats, items: Floats) -> Floats:
        """The pull of a positive less that of another item."""
        pull = self.pulls(positives, items)
        return np.asarray((pull[..., 1] - pull[..., 0]) / items.sum(axis=1)[:, None, None])

    def pulls(self, positives: Floats, items: Floats) -> Floats:
        """J·ℓ; 0 where the measure is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = self.measure.gradient(self._risk(positives, items))
        slope = np.nan_to_num(slope, posinf=0.0, neginf=0.0)
        return np.asarray(np.einsum("rqd,gyd->rqgy", slope[..., : self.loss.shape[2]], self.loss))

    def attainable(self, known: Floats, free: Floats, items: Floats) -> tuple[Floats, Floats]:
        """The measure's range."""
        shape = (len(known), self.size)
        return np.full(shape, self.bounds[0]), np.full(shape, self.bounds[1])

    def slack(self, positives: Floats, items: Floats) -> Floats:
        """As the measure says: areas under curves of very many scores are taken by bands."""
        if self.measure.slack is None:
            return np.zeros((len(items), self.size))
        return np.asarray(np.nan_to_num(self.measure.slack(self._risk(positives, items))))

    def _risk(self, positives: Floats, items: Floats) -> Floats:
        """(R, ..., D + D_k)."""
        between_ = (1,) * (positives.ndim - 2)
        total = items.sum(axis=1).reshape(-1, *between_, 1)
        base = (items @ self.loss[:, 0]).reshape(len(items), *between_, -1)
        own, known = (a.reshape(len(a), *between_, a.shape[1]) for a in (self.own, self.known))
        mean = (base + positives @ (self.loss[:, 1] - self.loss[:, 0])) / total + own
        return np.concatenate([mean, np.broadcast_to(known, (*mean.shape[:-1], known.shape[-1]))], axis=-1)


def quantities_asked(stack: Stack, cells: OutcomeCells, axis: Axis, loss: Floats) -> Iterator[Quantity]:
    """Each measure as a function of positives, without what single items tell.

    loss (C, 2, D): the mean losses of each cell, if its items are of another class and of this one.
    """
    compared = any(one.versus is not None for one in stack.measures)
    first = leading(stack.measures) if compared else tuple(m == 0 for m in range(len(stack.measures)))
    predicted = CellGroups.by_prediction(axis.prediction.astype(np.float64))
    alike: dict[bytes, CellGroups] = {}
    number = 0
    for measure, drives in zip(stack.measures, stack.drive or first, strict=True):
        weight = max(float(stack.weight[number]), 0.0)
        number += len(measure.parts)
        confusion = _of_predictions(stack, measure, axis)
        if confusion is not None:
            yield OfConfusion(
                groups=predicted, bounds=confusion.bounds, drives=drives, weight=weight, measure=confusion
            )
            continue
        mine = loss[:, :, _columns(stack, cells, measure)[0]]
        groups = _alike(mine, alike)
        _, where = np.unique(groups.of_cell, return_index=True)
        one = OfLosses(
            groups=groups, bounds=measure.bounds, drives=drives, weight=weight, measure=measure,
            loss=mine[where], own=np.zeros((1, 0)), known=np.zeros((1, 0)),
            moves=np.ones(len(where), np.bool_),
        )
        nothing, known = np.zeros((1, stack.size)), cells.known[None] / cells.n_items
        whole = with_own_losses(one, stack, cells, nothing, known)
        yield replace(one, bounds=_range(whole, cells), moves=_moves(whole, cells))


def _of_predictions(stack: Stack, measure: OutcomeMeasure, axis: Axis) -> Measure | None:
    """The measure of a confusion table that it is, if it is one of the (first) system's predictions."""
    if measure.versus is not None or measure.system != 0 or len(measure.parts) > 1:
        return None
    part, kind = measure.parts[0] or stack.kind.counted, stack.kind
    mine = kind.parts.index(part) == axis.part if part is not None else measure.name in _OF_BOTH
    try:
        return named(measure.name) if mine else None
    except UnknownName:
        return None


def _columns(stack: Stack, cells: OutcomeCells, measure: OutcomeMeasure) -> tuple[Ints, Ints]:
    """Where the losses of a measure stand among all, and what is known of them among what is known."""
    columns = np.asarray(stack.columns(measure, cells.known_sizes.tolist()), np.int64)
    return columns[columns < stack.size], columns[columns >= stack.size] - stack.size


def with_own_losses(
    one: OfLosses, stack: Stack, cells: OutcomeCells, own: Floats, known: Floats
) -> OfLosses:
    """With what labelled items add, own (R, D), and what the pool alone tells, known (R, D_k)."""
    mine, told = _columns(stack, cells, one.measure)
    return replace(one, own=own[:, mine], known=known[:, told])


def _alike(loss: Floats, found: dict[bytes, CellGroups]) -> CellGroups:
    """Groups of cells of the same loss (C, 2, D), in the order in which they first come."""
    rows = loss.reshape(len(loss), -1) + 0.0
    _, first, of_cell = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))
    groups = CellGroups.by_number(place[of_cell.ravel()])
    return found.setdefault(groups.of_cell.tobytes(), groups)


def _range(one: OfLosses, cells: OutcomeCells) -> tuple[float, float]:
    """The bounds of the measure; where it has none, beyond what it is if all items are of one class."""
    items = one.groups.sums(cells.size[None].astype(np.float64))
    ends = np.stack([one.values(share * items, items)[0] for share in (0.0, 0.5, 1.0)])
    least, most = float(np.nanmin(ends, initial=0.0)), float(np.nanmax(ends, initial=0.0))
    low, high = one.bounds
    return (low if np.isfinite(low) else 2 * least - most, high if np.isfinite(high) else 2 * most - least)


def _moves(one: OfLosses, cells: OutcomeCells) -> Bools:
    """(G,) whether a label of the group can change the measure, tried at some shares of the class."""
    items = one.groups.sums(cells.size[None].astype(np.float64))
    found = np.zeros(items.shape[1], np.bool_)
    for share in _SHARES:
        pull = one.pulls(share * items, items)[0]                              # (q, G, 2)
        found |= ~is_nothing(pull[..., 1] - pull[..., 0], np.abs(pull).sum(axis=-1)).all(axis=0)
    # a measure without a value at any of them may be moved by whatever its losses show
    return np.asarray(found if found.any() else (one.loss[:, 1] != one.loss[:, 0]).any(axis=1))
