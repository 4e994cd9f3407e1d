"""What the labels cannot exclude: a bound for positives nobody has seen that needs no model of the labels.

Suppose B positives sit among the unlabelled items.  Whatever a round drew, it missed all of them with a
probability that its design alone tells, and the rounds multiply:

    P(all missed so far) ≤ exp(−B H),    H = min over their cells of Σ_t h_tc

    with replacement, b_t new items       h = b_t q_c / Σ left q       each of them hits B with q(B)/Σ or more
    without, negatively associated        h = −log(1 − π_c)            simple random and pivotal draws
    without, any other draw               h = −log(1 − m_c / u_c)      m_c of u_c drawn: simple random there

so with confidence 1 − α there are at most −log(α)/H of them (3.00/H at 95%), and H is at least the smallest
cumulative inclusion probability.  Σ_t may be the realised one: exp(B Σ h) 1[all missed] is a supermartingale.
A systematic draw lets positives in alternate cells hide together; its counts are used and not its π.  The
bound speaks only while no positive was found where it looks, and says nothing (is vacuous) when it is not
below the number of items there: usual on a rare class, where 50,000 items share a handful of labels.
"""

from dataclasses import dataclass
from math import floor, log

import numpy as np

from assay.evalcore.design.round import Design
from assay.evalcore.plurals import plural
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenBound:
    """An upper confidence bound for positives among unlabelled items, or why there is none."""

    positives: int | None      # at most so many; None when nothing can be said
    items: int                 # unlabelled items the bound is about
    reason: str | None         # why there is no bound


def reach(design: Design, asked: Ints, *, negatively_associated: bool) -> Floats:
    """h (C,) of one round.  design: of one repeat; asked (C,): items asked and answered in each cell.

    negatively_associated: of draws without replacement, whether their indicators of inclusion are; the method
    says so (`evalcore.methods.capabilities`).  A census leaves nothing unlabelled that it wanted: 0.
    """
    left = design.left[0].astype(np.float64)
    if bool(design.census[0]):
        return np.zeros(len(left))
    if design.replacement:
        mass = float((left * design.unlabelled[0]).sum())
        q = design.unlabelled[0] / mass if mass > 0 else np.zeros(len(left))
        return np.asarray(asked.sum() * q, dtype=np.float64)
    if negatively_associated:
        share = design.unlabelled[0]
    else:
        share = np.divide(asked, left, out=np.zeros(len(left)), where=left > 0)
    return np.asarray(-np.log1p(-np.minimum(share, 1 - 1e-12)), dtype=np.float64)


def unseen_bound(
    cells: Cells, labelled: Ints, left: Ints, reached: Floats, confidence: float, matters: Bools
) -> UnseenBound:
    """The bound for a measure whose labels matter where the prediction is f with matters[f]; matters (2,).

    labelled (C, 2), left (C,), reached (C,): Σ h.  Before the first positive it speaks of every unlabelled
    item that matters; afterwards of those predicted negative, until one of them turns out positive.
    """
    positives = labelled[:, 1]
    where = matters[cells.prediction]
    if positives[where].sum() > 0:
        where = where & (cells.prediction == 0)
        found = int(positives[where].sum())
        if found:
            return UnseenBound(
                positives=None, items=int(left[where].sum()),
                reason=f"{plural(found, 'item')} predicted negative turned out positive",
            )
    items = int(left[where].sum())
    if items == 0:
        return UnseenBound(positives=0, items=0, reason=None)
    least = float(reached[where & (left > 0)].min())
    bound = floor(-log(1 - confidence) / least) if least > 0 else items
    if bound >= items:
        return UnseenBound(
            positives=None, items=items,
            reason=f"labels are too few to exclude any of the {items:,} unlabelled items there",
        )
    return UnseenBound(positives=bound, items=items, reason=None)
