"""Labels that go to segments: where segments drive, so that the worst of them is known soonest.

Cells are kept apart by segment.  With s_c² the guessed variance of the pull of an item of cell c on the first
number that drives, N_c its items and m_c the share of an item, the mean of segment g of N_g items has

    V_g ∝ Σ_{c in g} (N_c/N_g²) s_c²/m_c

and shares are those under which the largest V_g is least (`racing.racing_root`): whichever segment is the
worst, its value is known as well as that of any other.

Shares that follow the values too, and leave segments that look good, find the worst more often (in 0.70
against 0.61 of the runs of twelve segments at 300 labels, 0.68 against 0.48 of twenty at 400).  They were
left out: a segment that is left has a value that is mostly too good, all of them lean to one side, and the
whole pool's interval covered 0.88 to 0.93.

    R   repeats;  C   cells;  G   segments, of all columns together;  N   items
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.measured_pool import Beforehand, ItemProfile
from assay.evalcore.methods.any_outcome.racing import racing_root
from assay.evalcore.methods.any_outcome.state import OutcomeCells, SampleState
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Bools, Floats, Ints

PREDICTIONS_OF_SEGMENT = 4   # of predicted classes that are kept apart within a segment


@dataclass(frozen=True, slots=True)
class BySegment:
    """Groups of items of one segment in every column, and of one prediction where there are few."""

    pool_profile: Beforehand

    def __call__(self, stack: Stack, items: Items) -> ItemProfile:
        """Of the items of a shard."""
        if items.segment is None:
            raise ValueError("the items have no segments")
        item_profile = self.pool_profile(stack, items)
        few = self.pool_profile.places.ranked <= PREDICTIONS_OF_SEGMENT
        place = items.segment[:, -1].astype(np.int64) * PREDICTIONS_OF_SEGMENT
        return replace(item_profile, group=place + item_profile.group if few else place)


def segments_of_cells(stack: Stack, items: Items, cell: Ints, n_cells: int) -> Floats:
    """Sums (C, L) of the codes of L columns of segments, which are the same for all items of a cell. The last
    column of `items.segment` is not among them; (C, 0) where items have no segments."""
    if items.segment is None:
        return np.zeros((n_cells, 0))
    return np.stack([
        np.bincount(cell, weights=column, minlength=n_cells) for column in items.segment[:, :-1].T
    ], axis=1)


def segment_members(cells: OutcomeCells) -> Bools:
    """(C, G) whether the items of a cell are of a segment.  Raises ValueError for cells of another cut."""
    if cells.segment is None:
        raise ValueError("the pool was not cut by segment")
    return np.concatenate([
        column[:, None] == np.unique(column) for column in cells.segment.T
    ], axis=1)


def segment_root(state: SampleState, spread: Floats) -> Floats:
    """(R, C) the share of one item of each cell; spread (C, Q) or (R, C, Q): the guessed variances of pulls.
    Of the Q numbers only the first that drives is looked at; R counts repeats."""
    cells, stack = state.cells, state.stack
    member, driving = segment_members(cells), int(np.flatnonzero(stack.weight > 0)[0])
    of = np.asarray((state.wanted + state.by_cell) * cells.relevant, np.float64)
    size = np.maximum((cells.size[:, None] * member).sum(axis=0), 1)
    by_number = np.broadcast_to(spread, (len(of), *spread.shape[-2:]))[..., driving]
    by_segment = by_number[..., None] * member * (cells.n_items / size) ** 2
    return racing_root(by_segment, of, np.ones((len(of), member.shape[1])))
