"""Drawing the items of a round one after the other, without replacement.

Every draw takes an unlabelled item with probability proportional to its weight:

    q = w / W,   W the sum of the weights of the items that are left

and the item is out.  So each draw has a known probability given the draws before it, which is what a monitor
needs to bet on single draws (`evalcore.monitoring.betting`).  A batch that is drawn together has only
inclusion probabilities.  Source: the weighted sampling of Shekhar, Xu, Lipton, Liang & Ramdas 2023,
"Risk-limiting financial audits via weighted sampling without replacement".

The estimate of such a round is the mean of n unbiased ones, one a draw: known labels + what the model says of
the items left + (y − m)/q.  Draw s appears in the known labels of the n − s draws after it, so in all

    known labels and model before the round + Σ_s ω_s (y_s − m_s),   ω_s = (1/q_s + n − s)/n,  s = 1 … n

(the weights of Farquhar, Gal & Rainforth 2021, "On statistical bias in active learning").  Which cells come
up does not depend on labels, and the items of a cell are exchangeable, so ω may be averaged over the draws of
a cell: the estimate stays unbiased, varies no more, and needs no order.

    R   repeats;  C   cells;  T   draws, in order; shorter rows end in cell −1
"""

import numpy as np

from assay.evalcore.design.draws import Draws, categorical
from assay.evalcore.design.round import Design
from assay.evalcore.types import Floats, Ints

_MOST = 0.95   # inclusion probabilities above this have the weight of this one: no item is nearly certain


CAUTIOUS = 0.5   # share of a batch


def with_cautious_share(design: Design, prediction: Ints) -> Floats:
    """Inclusion probabilities (R, C) of which a share CAUTIOUS is spread by a cautious Neyman allocation.

    A plan that trusts its label model leaves out what the model is sure of.  An estimate from the draws alone
    then varies much once the model is wrong, which is when a monitor needs it.  The cautious share takes the
    label model's rates for half as telling as they claim to be: π ∝ |g| √(p̃ (1 − p̃)), g the pull of a label
    on the first measure and p̃ half way from the rate of the cell to the mean rate of its prediction.

    design.unlabelled: as planned, 0 where an item is not to be drawn; prediction (C,).  Where no item has a
    pull they stay as they are.
    """
    inclusion, left = design.unlabelled, design.left
    rate = design.model.copy()
    for f in (0, 1):
        at = prediction == f
        if at.any():
            items = np.maximum(left[:, at].sum(axis=1), 1)
            rate[:, at] = (rate[:, at] + ((left * design.model)[:, at].sum(axis=1) / items)[:, None]) / 2
    scatter = np.sqrt(np.clip(rate * (1 - rate), 0.0, 0.25))
    pull = np.where(inclusion > 0, np.abs(design.gradient) * scatter, 0.0)
    size = (left * inclusion).sum(axis=1, keepdims=True)
    total = (left * pull).sum(axis=1, keepdims=True)
    cautious = np.divide(size * pull, total, out=inclusion.copy(), where=total > 0)
    return np.asarray(np.minimum((1 - CAUTIOUS) * inclusion + CAUTIOUS * cautious, 1.0))


def weights(inclusion: Floats) -> Floats:
    """Weights (R, C) under which items are included about as often as inclusion (R, C) says.

    −log(1 − π): an item that comes up at a constant rate is there with probability π after time 1.
    """
    return np.asarray(-np.log1p(-np.minimum(inclusion, _MOST)))


def draw_one_at_a_time(left: Ints, weight: Floats, size: Ints, rng: np.random.Generator) -> Draws:
    """Draw `size` (R,) items, or as many as there are with a weight.

    left (R, C): unlabelled items; weight (R, C): of each.
    """
    n_repeats = len(left)
    rows = np.arange(n_repeats)
    seen = np.zeros_like(left)
    mass = left * weight
    wanted = np.minimum(size, (left * (weight > 0)).sum(axis=1))
    cells = np.full((n_repeats, int(wanted.max(initial=0))), -1, np.int64)
    ordinals = cells.copy()
    for t in range(cells.shape[1]):
        active = rows[t < wanted]
        cell = categorical(np.cumsum(mass[active], axis=1), rng)
        cells[active, t], ordinals[active, t] = cell, seen[active, cell]
        seen[active, cell] += 1
        mass[active, cell] = (left[active, cell] - seen[active, cell]) * weight[active, cell]
    return Draws(cell=cells, ordinal=ordinals, known=np.zeros((*left.shape, 2), np.int64))


def stands_for(left: Ints, weight: Floats, cell: Ints) -> Floats:
    """ω (R, C): how many items a label of each cell stands for; 0 in cells that were not drawn.

    left, weight (R, C) before the round; cell (R, T).
    """
    rows = np.arange(len(left))
    number = (cell >= 0).sum(axis=1)
    total, drawn = np.zeros(left.shape), np.zeros(left.shape)
    total_weight = (left * weight).sum(axis=1)
    for t in range(cell.shape[1]):
        active = rows[cell[:, t] >= 0]
        c, n = cell[active, t], number[active]
        own = weight[active, c]
        total[active, c] += (np.maximum(total_weight[active] / own, 1.0) + n - (t + 1)) / n
        drawn[active, c] += 1
        total_weight[active] -= own
    return np.divide(total, drawn, out=np.zeros(left.shape), where=drawn > 0)
