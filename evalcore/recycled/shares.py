"""How samples of several systems share their labels: the allocation behind the method `recycle`.

    S systems, the parent first; C cells, the atoms of equal predictions; G groups of items
    N_g     items of a group: what a system calls positive, or what the parent calls negative
    t_c(n)  max over the groups of cell c of min(n, N_g) N_c / N_g, and at least one item

t_c(n) is what cell c must be asked so that every group has a proportional sample of n; Σ_c t_c(n) grows with
n, so a number of labels has a level n.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Whose samples the cells belong to."""

    size: Ints     # (C,) items of the cells
    member: Bools  # (G, C)
    items: Ints    # (G,) N_g


def predictions_of(cells: Cells) -> Ints:
    """What every system calls each cell, (S, C): the parent, then the children by the bits of the stratum."""
    children = max(cells.n_slots - 1, 0).bit_length()
    bits = [(cells.stratum >> s) & 1 for s in range(children)]
    return np.stack([cells.prediction, *bits]).astype(np.int64)


def groups_of(cells: Cells, predicted: Ints, *, negatives: bool) -> Groups:
    """The groups that are not empty. predicted (S, C), 0 or 1; `negatives`: with the parent's predicted
    negatives."""
    rows = [*(predicted == 1), *([predicted[0] == 0] if negatives else [])]
    member = np.stack([row for row in rows if row.any()] or [predicted[0] == 1])
    return Groups(size=cells.size, member=member, items=(member * cells.size).sum(axis=1))


def shares(groups: Groups, n: Floats) -> Floats:
    """t (R, C) at the levels n (R,)."""
    sampled = np.minimum(n[:, None], groups.items) / np.maximum(groups.items, 1)      # (R, G)
    largest = (sampled[:, :, None] * groups.member).max(axis=1)                      # (R, C)
    asked = largest * groups.size
    touched = groups.member.any(axis=0) & (n > 0)[:, None]
    return np.where(touched, np.maximum(asked, 1.0), 0.0)


def level(groups: Groups, labels: Ints) -> Floats:
    """The n (R,) whose shares add up to labels (R,); 0 while there is not one label for every cell."""
    low: Floats = np.zeros(len(labels))
    high: Floats = np.full(len(labels), float(groups.items.max(initial=1)))
    for _ in range(60):
        middle = (low + high) / 2
        enough = shares(groups, middle).sum(axis=1) >= labels
        low, high = np.asarray(np.where(enough, low, middle)), np.asarray(np.where(enough, middle, high))
    reached = shares(groups, high).sum(axis=1) <= labels + 1e-6
    return np.where(reached, high, 0.0)


def behind(groups: Groups, seen: Ints, wanted: Ints, size: Ints) -> Floats:
    """How many items (R, C) each cell lacks of its share of all labels so far and `size` (R,) more. seen,
    wanted (R, C): items labelled so far, and the most that may be added."""
    target = shares(groups, np.maximum(level(groups, seen.sum(axis=1) + size), 1e-9))
    return np.asarray(np.clip(target - seen, 0.0, wanted))


def separate_labels(groups: Groups, n: Floats) -> Floats:
    """Labels (R,) that a sample of n for each group would cost."""
    return np.asarray(np.minimum(n[:, None], groups.items).sum(axis=1))

