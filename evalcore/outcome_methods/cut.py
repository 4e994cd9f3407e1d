"""Cutting a pool into cells by how far the label of an item may move the measures.

Passes over the pool, by shard and in pieces: the first sums what the guesses expect, which gives the risk R
and the slopes J expected before any label; the second guesses for every item the variance of its pull,

    s_i² = Σ_q Var(J_q·ℓ(x_i, y))/target_q²        over the numbers that drive the sampling,

under the first weights of the guesses (`cutting.profile`).  Items are sorted by group
(`OutcomeKind.places`: the predicted class) and by s inside it, and every group is cut where the cumulative
sum of s rises by equal steps: many items of little influence make one cell, few of great influence another.
Items of one s stay together, in the step in which the first of them lies: five different s, of many items
each, make five cells.
Where the pool has more than one shard, nobody sorts all items: `cutting.edges` finds where groups are cut,
and the cell of an item follows from its own group and s.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.cells import OutcomeCells
from assay.evalcore.outcome_methods.cutting.edges import find_edges
from assay.evalcore.outcome_methods.cutting.pool import MeasuredPool
from assay.evalcore.outcome_methods.cutting.profile import By, Profile
from assay.evalcore.outcome_methods.cutting.spreads import Expecting
from assay.evalcore.outcome_methods.cutting.sums import Further, Summed, summed
from assay.evalcore.outcome_methods.cutting.tallies import Keys
from assay.evalcore.outcomes.items import Items
from assay.evalcore.rounding import steady
from assay.evalcore.types import Bools, Floats, Ints

PASSIVE_SIZE = 0.3      # weight of an item beside its spread when a group is cut
_LEAST = 1e-12          # weight that every item has
_IRRELEVANT = 1 << 32   # added to the groups of items that are not relevant: they come last


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cut:
    """A pool in cells."""

    cells: OutcomeCells
    cell: Ints          # (N,) the cell of each item


def cut(
    pool: MeasuredPool, found: Expecting, by: By, n_cells: int, further: Further | None = None
) -> Summed:
    """Cells of items alike in group, then in score: about `n_cells`, at least one a group.

    by: group and score of items, and the pull that counts.  Every cell holds relevant items only, or
    irrelevant ones only.
    """
    by = _Steady(by)
    if pool.n_shards > 1:
        edges = find_edges(pool, _Weighed(by), n_cells, PASSIVE_SIZE)
        return summed(pool, found, _ByEdges(by, edges), len(edges), further)
    whole = pool.in_first(by)
    cell = numbered(whole, n_cells)
    return summed(pool, found, _Known(cell, whole.relevant), int(cell.max()) + 1, further)


def numbered(found: Profile, n_cells: int) -> Ints:
    """The cell (N,) of each item of a pool in memory; `cutting.edges` finds the same by shard."""
    groups = np.unique(_groups(found), return_inverse=True)[1].ravel()
    score = found.score
    order = np.lexsort((np.arange(len(score)), score, groups))
    mass = found.pull[order] + _LEAST
    mass = mass / mass.sum() + PASSIVE_SIZE / len(mass)
    mass = mass / mass.sum()
    step = np.cumsum(mass) * n_cells
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    begin = np.repeat(step[starts] - mass[starts] * n_cells, np.diff([*starts, len(order)]))
    piece = np.floor(step - begin - 1e-9).astype(np.int64)
    other_group = np.diff(groups[order], prepend=-1) != 0
    # items of one score stay together: in the piece in which the first of them lies
    run = np.flatnonzero(other_group | (np.diff(score[order], prepend=np.nan) != 0))
    new = other_group
    new[run] |= np.diff(piece[run], prepend=0) != 0
    number = np.cumsum(new) - 1
    cell = np.empty(len(order), np.int64)
    cell[order] = number
    return cell


def _groups(found: Profile) -> Ints:
    """(n,) with irrelevant items in groups of their own."""
    return np.where(found.relevant, found.group, found.group + _IRRELEVANT)


@dataclass(frozen=True, slots=True)
class _Steady:
    """Items that matter alike have the same score, however their sums were rounded."""

    by: By

    def __call__(self, stack: Stack, items: Items) -> Profile:
        found = self.by(stack, items)
        return replace(found, score=steady(found.score))


@dataclass(frozen=True, slots=True)
class _Weighed:
    by: By

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Floats, Floats]:
        found = self.by(stack, items)
        return _groups(found), found.score, found.pull + _LEAST


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    cell: Ints
    relevant: Bools

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        return self.cell, self.relevant


@dataclass(frozen=True, slots=True, eq=False)
class _ByEdges:
    by: By
    edges: Keys

    def __call__(self, stack: Stack, items: Items) -> tuple[Ints, Bools]:
        found = self.by(stack, items)
        return self.edges.up_to(_groups(found), found.score) - 1, found.relevant


