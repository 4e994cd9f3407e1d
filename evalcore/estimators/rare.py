"""Intervals where errors are rare: what no label has shown, bounded by the chances of the draws.

A variance made of labels is blind to errors that none of them shows: of 200 random labels all right, it is 0,
and 1.8% of the pool may be wrong.  Two exact answers:

*A share, from a simple random sample.*  k of n labels drawn from N items are hits; the interval holds every
number of hits K under which neither k or fewer, nor k or more, is rarer than half of α:

    P(X ≤ k | N, K, n) > α/2  and  P(X ≥ k | N, K, n) > α/2,      X hypergeometric

(Clopper & Pearson 1934; for finite populations Buonaccorsi 1987, Wendell & Schmee 1996; Cochran 1977, sec.
3.6).  All right: K is at least N times about 1 - 3.7/n, at 95%.

*Anything else.*  Suppose B_c unlabelled items of cell c differ from what the labels made one expect, each by
as much as the measure's losses allow: they take the measure g_c further each.  The draws missed them all with
a chance of at most

    e^(-t),    t = Σ_c B_c h_c,    h_c = -log(1 - π_c)

π_c the chance of an item of cell c to have been drawn so far (for negatively associated draws, as here; of a
simple random sample it is a little less).  The most that t can hide, G(t) = max Σ B_c g_c, fills the cells in
the order of g_c/h_c, none beyond its unlabelled items.  The rest of the error is that of the labels, with
standard error s.  Both happen together with a chance of at most e^(-t) Φ(-x/s), so an end at

    max over t of  G(t) + s z(1 - (α/2) e^t),    0 ≤ t ≤ log(2/α)

from the estimate leaves no more than α/2 to any B: what could hide with chance e^(-t) needs only the rest of
the confidence.  Without spread among the labels it is G(log 2/α), the exact bound; where nothing can hide, or
errors are common, it is the normal end.

    R   repeats;  C   cells
"""

import numpy as np
from scipy.special import gammaln, ndtri

from assay.evalcore.types import Floats, Ints

STEPS = 24        # values of t
FURTHEST = 40.0   # standard errors


def hidden_reach(gain: Floats, caught: Floats, unlabelled: Floats, error: Floats, tail: Floats) -> Floats:
    """(R,) how far from the estimate an end is, with what no label has shown.

    gain (R, C): g, 0 or more; caught (R, C): h; unlabelled (R, C) items; error (R,): s; tail (R,): α/2.
    """
    hidden = hidden_items(gain, caught, unlabelled, depths(tail))
    return furthest((gain[:, None] * hidden).sum(axis=2), error, tail)


def depths(tail: Floats) -> Floats:
    """t (R, T) from 0 to log(1/tail); tail (R,)."""
    return np.asarray(-np.log(tail)[:, None] * np.arange(STEPS + 1) / STEPS)


def furthest(moved: Floats, error: Floats, tail: Floats) -> Floats:
    """(R,) max over t of G(t) + s z(1 - tail e^t); moved (R, T): G at `depths`, error (R,): s, tail (R,)."""
    rest = np.maximum(ndtri(1 - np.minimum(tail[:, None] * np.exp(depths(tail)), 1.0)), -FURTHEST)
    return np.asarray((moved + error[:, None] * rest).max(axis=1))


def hidden_items(gain: Floats, caught: Floats, unlabelled: Floats, depth: Floats) -> Floats:
    """B (R, T, C), the items of each cell that take the measure furthest at t = depth (R, T)."""
    room = caught * unlabelled                      # t that it takes to fill a cell
    worth = np.where(room > 0, gain / np.where(room > 0, caught, 1.0), np.where(gain > 0, np.inf, 0.0))
    order = np.argsort(-worth, axis=1, kind="stable")
    room = np.take_along_axis(room, order, axis=1)
    filled = depth[:, :, None] - (np.cumsum(room, axis=1) - room)[:, None]
    part = np.where(room[:, None] > 0, filled / np.where(room > 0, room, 1.0)[:, None], filled >= 0)
    hidden = np.empty(part.shape)
    np.put_along_axis(hidden, np.broadcast_to(order[:, None], part.shape), np.clip(part, 0.0, 1.0), axis=2)
    return hidden * unlabelled[:, None]


def exact_share(hits: Ints, labels: Ints, items: Ints, tail: Floats) -> tuple[Floats, Floats]:
    """The lower and upper ends (R,) of a share, from a simple random sample without replacement.

    hits (R,) among so many labels (R,), items (R,) of the pool, tail (R,): α/2.
    """
    asked, back = np.unique(
        np.stack([hits, labels, items, tail], axis=1).astype(np.float64), axis=0, return_inverse=True
    )
    k, n, n_items, at = asked.T
    upper = most_hits(k, n, n_items, at) / n_items
    lower = (n_items - most_hits(n - k, n, n_items, at)) / n_items
    back = back.ravel()
    return np.asarray(lower[back]), np.asarray(upper[back])


def most_hits(hits: Floats, labels: Floats, items: Floats, tail: Floats) -> Floats:
    """(M,) the largest K with P(X ≤ hits | items, K, labels) > tail; each (M,)."""
    low, high = hits.copy(), items - labels + hits
    while (high > low).any():
        middle = np.ceil((low + high) / 2)
        more = _at_most(hits, labels, items, middle) > tail
        low, high = np.where(more, middle, low), np.where(more, high, middle - 1)
    return low


def _at_most(hits: Floats, labels: Floats, items: Floats, there: Floats) -> Floats:
    """P(X ≤ hits) (M,) of the hypergeometric distribution, by the shorter of its two sums."""
    most = hits > labels / 2
    k = np.where(most, labels - hits - 1, hits)
    there = np.where(most, items - there, there)
    hit = np.arange(max(int(k.max()), 0) + 1.0)[None]
    other = labels[:, None] - hit
    inside = (hit <= np.minimum(k, there)[:, None]) & (other <= (items - there)[:, None]) & (other >= 0)
    ways = _choose(there[:, None], np.where(inside, hit, 0.0))
    ways = ways + _choose((items - there)[:, None], np.where(inside, other, 0.0))
    total = np.exp(np.where(inside, ways, -np.inf) - _choose(items, labels)[:, None]).sum(axis=1)
    return np.where(most, 1 - total, total)


def _choose(n: Floats, k: Floats) -> Floats:
    """The logarithm of n over k."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
