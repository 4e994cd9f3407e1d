"""What no label has shown, in the intervals of design-based methods for two classes (`estimators.intervals`).

The unlabelled items of a cell may have another label than the labels of their prediction make one expect,
without any of them having been drawn.  How far that takes a measure is told by the measure itself: items are
moved in the estimated confusion table, most telling cells first, and the measure is taken of the table.

Shares of a simple random sample (accuracy, precision, recall ...) have exact intervals.  Of a share among
predictions the size of the group is known; among labels it is at most the pool's, which is on the safe side.

    R   repeats;  C   cells;  T   steps of t
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.intervals import depths, exact_share, furthest, hidden_items
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.methods.two_classes.base import MethodState
from assay.evalcore.types import Floats


def with_hidden_labels(
    state: MethodState, estimates: Sequence[EstimateArrays], table: Floats, caught: Floats, confidence: float
) -> list[EstimateArrays]:
    """The estimates of the state's measures, in order, with ends no nearer than what is hidden may reach.

    table (R, 2, 2): the estimated shares by [prediction, label], of any sum; caught (R, C): -log of the
    chance that an item was not drawn so far.
    """
    whole = table.sum(axis=(1, 2), keepdims=True)
    shares = np.maximum(table, 0.0) / np.where(whole > 0, whole, 1.0)
    return [
        _widened(state, measure, estimate, shares, caught, confidence)
        for measure, estimate in zip(state.measures, estimates, strict=True)
    ]


def _widened(
    state: MethodState, measure: Measure, found: EstimateArrays, shares: Floats, caught: Floats,
    confidence: float,
) -> EstimateArrays:
    tail = np.full(len(shares), (1 - confidence) / 2)
    below, above = (_reach(state, measure, found, shares, caught, tail, sign) for sign in (-1.0, 1.0))
    return replace(
        found,
        lower=np.fmin(found.lower, np.maximum(found.value - below, measure.bounds[0])),
        upper=np.fmax(found.upper, np.minimum(found.value + above, measure.bounds[1])),
    )


def _reach(
    state: MethodState, measure: Measure, found: EstimateArrays, shares: Floats, caught: Floats, tail: Floats,
    sign: float,
) -> Floats:
    """(R,) how far what is hidden may take the measure down (sign -1) or up (+1), with its error."""
    cells = state.cells
    pull = np.nan_to_num(measure.influence(np.einsum("rfy,fyd->rd", shares, measure.loss)))
    slope = sign * (pull[..., 1] - pull[..., 0])                              # (R, 2)
    row = shares.sum(axis=2)
    rate = shares[..., 1] / np.where(row > 0, row, 1.0)
    moved = (slope > 0) - rate         # an item that was expected to be positive at this rate is, or is not
    left = state.left.astype(np.float64)
    hidden = hidden_items((slope * moved)[:, cells.prediction], caught, left, depths(tail))
    change = np.stack([hidden[..., cells.prediction == f].sum(axis=2) for f in (0, 1)], axis=2)
    change = change * moved[:, None] / cells.n_items                          # (R, T, 2)
    after = np.maximum(shares[:, None] + change[..., None] * np.array([-1.0, 1.0]), 0.0)
    value = measure.of_confusion(shares)[:, None]
    far = np.maximum(np.nan_to_num(sign * (measure.of_confusion(after) - value)), 0.0)
    return furthest(far, np.sqrt(np.nan_to_num(found.variance)), tail)


def with_exact_shares(
    state: MethodState, estimates: Sequence[EstimateArrays], counts: Floats, confidence: float
) -> list[EstimateArrays]:
    """The estimates of a simple random sample, those that are shares with exact intervals.

    counts (R, 2, 2): labelled items by [prediction, label].
    """
    return [
        _exact(state, measure, estimate, counts, confidence)
        for measure, estimate in zip(state.measures, estimates, strict=True)
    ]


def _exact(
    state: MethodState, measure: Measure, found: EstimateArrays, counts: Floats, confidence: float
) -> EstimateArrays:
    ends = [measure.margin(limit) for limit in (0.0, 1.0)]
    if ends[0] is None or ends[1] is None:
        return found
    above = ends[0][0] + ends[0][1]
    below = above - (ends[1][0] + ends[1][1])
    if not (np.isin(above, (0.0, 1.0)) & np.isin(below, (0.0, 1.0)) & (above <= below)).all():
        return found
    open_items = state.cells.size - state.excluded
    of = [open_items[:, state.cells.prediction == f].sum(axis=1) for f in (0, 1)]
    told = bool((below[:, 0] == below[:, 1]).all())      # which items count does not depend on their labels
    items = sum(of[f] * (not told or below[f, 0] > 0) for f in (0, 1))
    labels, hits = (np.rint((counts * part).sum(axis=(1, 2))).astype(np.int64) for part in (below, above))
    there = labels > 0
    lower, upper = found.lower.copy(), found.upper.copy()
    lower[there], upper[there] = exact_share(
        hits[there], labels[there], np.asarray(items)[there], np.full(int(there.sum()), (1 - confidence) / 2)
    )
    return replace(found, lower=lower, upper=upper)
