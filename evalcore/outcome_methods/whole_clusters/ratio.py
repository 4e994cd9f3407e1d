"""What whole clusters say: how many items each stands for, and the errors of their ratio estimate.

The formulas are in `method`.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.outcome_methods.clusters import Between
from assay.evalcore.outcome_methods.errors import Errors, enough
from assay.evalcore.outcome_methods.reading import sums as sums_by
from assay.evalcore.outcome_methods.slopes import slopes_of_known
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.outcome_methods.whole_clusters.order import chances
from assay.evalcore.types import Bools, Floats, Ints

LEAST_DF = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """The clusters of a state: the open ones are those of which an item has an outcome."""

    open: Bools          # (R, C)
    items: Floats        # (R, C) N_j of those that can matter, without undecided ones
    chance: Floats       # (R, C) π
    stands: Floats       # (R, n) the items that each labelled one stands for: they add up to Σ N_j
    within: Floats       # (R, n) the items of its own cluster that it stands for: N_j/n_j

    @property
    def clusters(self) -> Ints:
        """m (R, 1)."""
        return np.asarray(self.open.sum(axis=1, keepdims=True))


def items_of(state: SampleState) -> Floats:
    """N_j (R, C) of the items that can matter, without undecided ones."""
    return np.asarray((state.cells.size - state.excluded) * state.cells.relevant, np.float64)


def drawn_of(state: SampleState, share: Floats) -> Drawn:
    """Of a state with a label; share (R, C): the measures that chances are in proportion to."""
    items, opened = items_of(state), (state.labelled > 0) & state.cells.relevant
    x = share * (items > 0)
    chance = chances(x, (items > 0).astype(np.float64), opened.sum(axis=1).astype(np.float64))
    per_item = items / np.maximum(state.labelled, 1)
    raw = np.take_along_axis(per_item / np.where(chance > 0, chance, 1.0), state.cell, axis=1)
    stands = raw * (items.sum(axis=1) / raw.sum(axis=1))[:, None]
    return Drawn(
        open=opened, items=items, chance=chance, stands=stands,
        within=np.take_along_axis(per_item, state.cell, axis=1),
    )


def errors_of(
    state: SampleState, drawn: Drawn, pull: Floats, risk: Floats, slopes: Floats, whole: Floats,
    exact: Bools,
) -> Errors:
    """V and B, with their degrees of freedom; pull (R, n, Q): J·(e - ē)."""
    m, c = drawn.clusters, state.labelled.shape[1]
    few = m / np.maximum(m - 1, 1)
    u = sums_by(state.cell, drawn.stands[..., None] * pull, c) / whole[..., None]
    part = state.labelled / np.maximum(drawn.items, 1.0)
    square = (1 - drawn.chance * part)[..., None] * u**2 * few[..., None]
    spent = state.stack.kind.label_model.spent(len(state.cells.first))
    variance = square.sum(axis=1) * (m / np.maximum(m - spent, m / 2))
    second, fourth, most = square.sum(axis=1) ** 2, (square**2).sum(axis=1), np.maximum(m - 1.0, LEAST_DF)
    excess = np.maximum(fourth - second / np.maximum(m, 1), 2 * second / most)
    df = np.where(excess > 0, 2 * second / np.where(excess > 0, excess, 1.0), most)
    skew = (u**3).sum(axis=1) / np.maximum((u**2).sum(axis=1), 1e-200) ** 1.5
    between = _between(state, drawn, risk, slopes, whole)
    # both parts are estimated from the same clusters: one knows no more than the other
    df = np.minimum(np.clip(df, LEAST_DF, most), np.maximum(between.df, LEAST_DF))
    return Errors(
        variance=np.where(exact[:, None], 0.0, variance) + between.variance, df=df,
        skew=np.where(exact[:, None], 0.0, skew), parts=between.parts,
        unknown=(~exact[:, None] & ~enough(state)) | between.alone,
    )


def _between(
    state: SampleState, drawn: Drawn, risk: Floats, slopes: Floats, whole: Floats
) -> Between:
    """B: Σ_j S_j²/π_j over the clusters drawn, S_j the sum of J·(ℓ - R) over the cluster."""
    if state.table is None:
        raise ValueError("there are no labels")
    d, c, m = state.stack.size, state.labelled.shape[1], drawn.clusters
    z = np.einsum("rnd,rqd->rnq", state.table.loss[state.item] - risk[:, None, :d], slopes)
    z = z + np.einsum("rnd,rqd->rnq", state.table.known[state.item] - risk[:, None, d:],
                      slopes_of_known(state.stack, state.cells.known_sizes.tolist(), risk))
    total = sums_by(state.cell, drawn.within[..., None] * z, c)                       # S_j
    each = sums_by(state.cell, (drawn.stands / drawn.within)[..., None], c) / \
        np.maximum(state.labelled, 1)[..., None]                                      # 1/π_j
    counted = drawn.open * drawn.items
    size = counted.sum(axis=1) ** 2 / np.maximum((counted**2).sum(axis=1), 1e-12)
    variance = (each * total**2).sum(axis=1) * m / np.maximum(m - 1, 1) / whole**2
    return Between(
        variance=variance, df=np.maximum(size - 1, 0.5)[:, None], alone=m < 2,
        parts=each * total / whole[..., None],
    )
