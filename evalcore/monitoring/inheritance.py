"""Warm start: what the labels of an earlier window are worth to the label model of the next.

A power prior (Ibrahim & Chen 2000): the likelihood of the earlier labels, raised to a discount a in (0, 1],
is the prior of the next window.  For counts that means a pseudo-labels for every label; and since the earlier
window did the same, a label that is k windows old is worth a^k, until it is worth less than WORTHLESS.

Only the label model inherits.  An estimate made of the new window's own draws, each weighted by the chance it
really had (the Dirichlet trees), stays conditionally unbiased whatever the prior says: a wrong prior costs
precision alone.  An estimate that uses the label model (`recalibrated`) takes over its errors in part, so its
errors in successive windows are correlated (`evalcore.monitoring.recent`).

    M   inherited labels;  C cells of the new window
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.pool.partition import Partition
from assay.evalcore.pool.strata import assign
from assay.evalcore.types import Floats, Ints

WORTHLESS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inherited:
    """Labelled items of earlier windows."""

    score: Floats        # (M,)
    prediction: Ints     # (M,) 0 or 1
    label: Ints          # (M,) 0 or 1
    weight: Floats       # (M,) what each is worth, in (0, 1]


def evidence_by_cell(partition: Partition, inherited: Inherited) -> Floats:
    """Pseudo-labels (C, 2) of each cell and label: every inherited item goes where its score puts it.

    Where the new pool has no cell of that stratum and prediction, the nearest stratum with that prediction
    takes it; and where nothing is predicted so, the nearest stratum.
    """
    cells = partition.cells
    evidence = np.zeros((cells.n_cells, 2))
    if not len(inherited.score):
        return evidence
    stratum = assign(partition.edges, inherited.score)
    cell = np.empty(len(stratum), np.int64)
    for f in (0, 1):
        here = np.flatnonzero(inherited.prediction == f)
        candidates = np.flatnonzero(cells.prediction == f)
        candidates = candidates if len(candidates) else np.arange(cells.n_cells)
        at = cells.stratum[candidates]                                   # rising: cells are ordered
        right = np.minimum(np.searchsorted(at, stratum[here]), len(at) - 1)
        left = np.maximum(right - 1, 0)
        closer = np.abs(at[left] - stratum[here]) < np.abs(at[right] - stratum[here])
        cell[here] = candidates[np.where(closer, left, right)]
    np.add.at(evidence, (cell, inherited.label), inherited.weight)
    return evidence
