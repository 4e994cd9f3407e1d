"""Labels that go to segments: where segments drive, so that the worst of them is known soonest.

Cells are kept apart by segment.  With s_c² the guessed variance of the pull of an item of cell c on the first
number that drives, N_c its items and m_c the share of an item, the mean of segment g of N_g items has

    V_g ∝ Σ_{c in g} (N_c/N_g²) s_c²/m_c

and shares are those under which the largest V_g/δ_g² is least (`racing.racing_root`).  δ_g is how far segment
g is from the worst one; of the worst itself, how far the next is.  That is the rule of optimal computing budget
allocation for the selection of a best system (Chen, Lin, Yücesan & Chick 2000), with largest ratios in place of
sums.  A distance is never taken for less than the error of the two values, so segments that nobody can tell
apart share labels by their spread, and before LEAST_LABELS all do.

    R   repeats;  C   cells;  G   segments, of all columns together;  N   items
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.measured_pool import Beforehand, ItemProfile
from assay.evalcore.methods.any_outcome.racing import racing_root
from assay.evalcore.methods.any_outcome.reading import Reading, sums
from assay.evalcore.methods.any_outcome.state import OutcomeCells, SampleState
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Bools, Floats, Ints

LEAST_LABELS = 50    # before values decide which segments get labels
FEW_GROUPS = 4       # of predicted classes that are kept apart within a segment
_LEAST_SHARE = 0.02  # of the mean share: no segment is left without labels


@dataclass(frozen=True, slots=True)
class BySegment:
    """Groups of items of one segment in every column, and of one prediction where there are few."""

    pool_profile: Beforehand

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of the items of a shard."""
        if items.segment is None:
            raise ValueError("the items have no segments")
        item_profile = self.pool_profile(stack, items)
        few = self.pool_profile.places.ranked <= FEW_GROUPS
        place = items.segment[:, -1].astype(np.int64) * FEW_GROUPS
        return replace(item_profile, group=place + item_profile.group if few else place)


def segments_of_cells(stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
    """Sums (C, L) of the codes of L columns of segments, which are the same for all items of a cell."""
    if items.segment is None:
        return np.zeros((n_cells, 0))
    return np.stack([
        np.bincount(cell, weights=column, minlength=n_cells) for column in items.segment[:, :-1].T
    ], axis=1)


def members(cells: OutcomeCells) -> Bools:
    """(C, G) whether the items of a cell are of a segment; columns of one segment tell nothing apart."""
    if cells.segment is None:
        raise ValueError("the pool was not cut by segment")
    columns = [cells.segment[:, [at]] == np.unique(cells.segment[:, at]) for at in range(cells.segment.shape[1])]
    return np.concatenate(columns, axis=1)


def segment_root(state: SampleState, reading: Reading | None, spread: Floats) -> Floats:
    """(R, C) the share of one item of each cell; reading: of the labels so far, None before there are any;
    spread (C, Q) or (R, C, Q): the guessed variances of pulls."""
    cells, stack = state.cells, state.stack
    member = members(cells)
    of = np.asarray((state.wanted + state.by_cell) * cells.relevant, np.float64)
    size = np.maximum((cells.size[:, None] * member).sum(axis=0), 1)
    driving = np.flatnonzero(stack.weight > 0)
    by_number = np.broadcast_to(spread, (len(of), *spread.shape[-2:]))[..., driving[0]]
    by_segment = by_number[..., None] * member * (cells.n_items / size) ** 2
    gap: Floats = np.ones((len(of), member.shape[1]))
    if reading is not None and state.n >= LEAST_LABELS:
        gap = _squared_gaps(state, reading, member, by_segment)
    root = racing_root(by_segment, of, gap)
    mean = (root * of).sum(axis=1, keepdims=True) / np.maximum(of.sum(axis=1, keepdims=True), 1e-12)
    return np.maximum(root, _LEAST_SHARE * mean)


def _squared_gaps(state: SampleState, reading: Reading, member: Bools, by_segment: Floats) -> Floats:
    """(R, G) δ_g², never less than the variances of the two values."""
    value, labels = _values(state, reading, member), state.by_cell @ member.astype(np.float64)
    items = (state.cells.size[:, None] * member).sum(axis=0)
    # of the mean of the segment: the pull of an item on it, s N/N_g, in the mean over its items
    pull = np.einsum("rcg,c->rg", by_segment, state.cells.size / state.cells.n_items**2) * items
    variance = pull / np.maximum(labels, 0.5)
    value = np.where(np.isfinite(value), value, np.nanmean(value, axis=1, keepdims=True))
    lead = state.stack.parts[int(np.flatnonzero(state.stack.weight > 0)[0])][0]
    badness = value if state.stack.measures[lead].is_error else -value
    rows, worst = np.arange(len(value)), badness.argmax(axis=1)
    distance = badness[rows, worst][:, None] - badness
    distance[rows, worst] = np.inf
    distance[rows, worst] = distance.min(axis=1) if value.shape[1] > 1 else 0.0
    return np.maximum(distance**2, variance + variance[rows, worst][:, None])


def _values(state: SampleState, reading: Reading, member: Bools) -> Floats:
    """(R, G) the first driving number of each segment: what the guesses expect, and residuals."""
    cells, stack = state.cells, state.stack
    items = (cells.size[:, None] * member).sum(axis=0)
    expected = (reading.weights[:, None] * cells.guess).sum(axis=2)
    residual = sums(state.cell, reading.stands[..., None] * reading.residual, cells.n_cells)
    total = np.einsum("rcd,cg->rgd", expected + residual, member.astype(np.float64))
    known = np.einsum("ck,cg->gk", cells.told, member.astype(np.float64))
    risk = np.concatenate([total, np.broadcast_to(known, (len(total), *known.shape))], axis=2)
    values = stack.value(risk / np.maximum(items, 1)[:, None], cells.known_sizes.tolist())
    return np.asarray(values[..., int(np.flatnonzero(stack.weight > 0)[0])])
