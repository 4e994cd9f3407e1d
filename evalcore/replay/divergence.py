"""How far a method's proposal is from the best one, where every label is known.

Marchant & Rubinstein (2021) plot it above their errors (Figures 2, 6, 7 and 8).  With labels that do not
vary, the proposal of least total variance (their Proposition 1) is

    q*(x) ∝ ‖J(R) ℓ(x, y(x))‖        R the truth, y(x) the label of item x

and a proposal q is at a distance of

    KL(q* ‖ q) = Σ_x q*(x) log( q*(x) / q(x) )

from it, in nats: 0 where they are the same, infinite where q rules out an item that q* draws.  (The other
direction would be infinite for every proposal that gives a chance to items of no influence.)

    R   repeats;  C   cells
"""

from collections.abc import Sequence

import numpy as np

from assay.evalcore.design.proposal import total_pull
from assay.evalcore.design.round import Design
from assay.evalcore.measures.base import Measure
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Floats, Ints


def best_proposal(measures: Sequence[Measure], cells: Cells, by_label: Ints) -> Floats:
    """q* (C, 2) of an item of each cell by its label, for the measures that drive; by_label (C, 2).

    NaN where no item has an influence at the truth.
    """
    nothing_left = np.zeros((1, cells.n_cells))
    phi, _ = total_pull(measures, cells, by_label[None], nothing_left.astype(np.int64), nothing_left)
    with np.errstate(invalid="ignore"):
        return np.asarray(phi[0] / (by_label * phi[0]).sum())


def divergence(best: Floats, design: Design, by_label: Ints, labelled: Ints) -> Floats:
    """KL(q* ‖ q) (R,) in nats; best (C, 2): q*; labelled (R, C, 2): items labelled before the round.

    NaN for a design without replacement, which has no q.
    """
    if not design.replacement:
        return np.full(len(labelled), np.nan)
    unlabelled = np.broadcast_to(design.unlabelled[..., None], labelled.shape)
    total = np.zeros(len(labelled))
    for items, q in ((labelled, design.labelled), (by_label - labelled, unlabelled)):
        drawn = (items > 0) & (best > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(drawn, items * best * np.log(best / q), 0.0)
        total += each.sum(axis=(1, 2))
    return total
