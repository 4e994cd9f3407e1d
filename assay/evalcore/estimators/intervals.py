"""From an estimate and its variance to an interval, each kind in one function; and where errors are rare.

    value, variance   (R,)   the estimate and the estimated variance of the estimator
    told              (R,)   whether the variance is known
    lower, upper      (R,)   what is returned, cut to the measure's bounds

Where the variance is not known the interval is the measure's whole range.  Which kind a method reports is
part of the method as published; how often intervals of a kind were measured to cover the truth is said in
each method's `interval_note`.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Interval:
    """Both ends of an interval in every repeat, (R,) each."""

    lower: Floats  # (R,)
    upper: Floats  # (R,)


def normal(
    value: Floats, variance: Floats, has_variance: Bools, confidence: float, bounds: tuple[float, float]
) -> Interval:
    """value ± z √variance; z the normal quantile of the confidence."""
    return _symmetric(value, variance, has_variance, float(scipy.special.ndtri(0.5 + confidence / 2)), bounds)


def student(
    value: Floats,
    variance: Floats,
    has_variance: Bools,
    confidence: float,
    bounds: tuple[float, float],
    draws: Ints,
) -> Interval:
    """value ± t √variance with draws - 1 degrees of freedom (Sawade et al. 2010); draws (R,). R counts
    repeats; NaN without a variance, and ends are cut to the bounds."""
    freedom = np.maximum(draws - 1, 1)
    quantile = np.asarray(scipy.special.stdtrit(freedom, 0.5 + confidence / 2), dtype=np.float64)
    return _symmetric(value, variance, has_variance, quantile, bounds)


def _symmetric(
    value: Floats, variance: Floats, has_variance: Bools, quantile: Floats | float,
    bounds: tuple[float, float]
) -> Interval:
    half = quantile * np.sqrt(np.where(has_variance, variance, 0.0))
    lowest, highest = bounds
    return Interval(
        lower=np.where(has_variance, np.clip(value - half, lowest, highest), lowest),
        upper=np.where(has_variance, np.clip(value + half, lowest, highest), highest),
    )


def beta_fit(
    value: Floats, variance: Floats, has_variance: Bools, confidence: float | Floats,
    bounds: tuple[float, float]
) -> Interval:
    """Central quantiles of the beta distribution with this mean and variance (Yilmaz et al. 2021).

    confidence: one for all, or (R,).

    The measure's range is mapped to [0, 1] first.  With mean m and variance v the parameters are m·s and
    (1 - m)·s with s = m(1 - m)/v - 1; no beta distribution has a mean on the edge or a variance of m(1 - m)
    or more, and then the whole range is the answer.
    """
    lowest, highest = bounds
    span = highest - lowest
    mean = np.where(has_variance, (value - lowest) / span, 0.5)
    spread = np.where(has_variance, variance / span**2, 1.0)
    largest_variance = mean * (1 - mean)
    fits = has_variance & (largest_variance > 0) & (spread < largest_variance)
    strength = np.where(fits, largest_variance / np.where(fits, spread, 1.0) - 1, 1.0)
    safe = np.where(fits, mean, 0.5)
    tail = (1 - confidence) / 2
    low = scipy.special.betaincinv(safe * strength, (1 - safe) * strength, tail)
    high = scipy.special.betaincinv(safe * strength, (1 - safe) * strength, 1 - tail)
    # parameters far below 1 pile all mass on the edges and the quantile function may give up there
    low, high = np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=1.0)
    return Interval(
        lower=np.where(fits, lowest + span * low, lowest),
        upper=np.where(fits, lowest + span * high, highest),
    )


TOO_FEW = "too few labels"   # the kind of an interval that is the whole range for want of labels
KIND = "effective-number"    # the kind of the others
FEWEST = 10   # labels that matter; with fewer no interval is given
FEWEST_EFFECTIVE = 4.0  # labels of a simple random sample that they are worth


def effective_number(
    value: Floats, variance: Floats, labels: Floats, confidence: float | Floats
) -> Floats:
    """n* (R,): what the labels are worth in a simple random sample.

    value (R,) between 0 and 1, kept off both by half a label; variance (R,) of it, above 0; labels (R,) that
    V rests on; confidence: one for all, or (R,).

    An interval for a proportion-like measure from its effective number of labels.

    Korn & Graubard (1998, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data"): an estimate p with variance V is as good as n* = p (1 - p) / V labels of a
    simple random sample would be, times (z / t)² for the degrees of freedom that V has.  The interval is the
    exact one of Clopper & Pearson at n* labels, of which n* p are successes; n* need not be whole. Unlike p ±
    z √V it does not close where all labels agree, and it is as skewed as it should be near 0 and 1.

        R   estimates
    """
    half = 0.5 / np.maximum(labels, 1.0)
    p = np.clip(value, half, 1 - half)
    tail = 0.5 + confidence / 2
    student = np.asarray(scipy.special.stdtrit(np.maximum(labels - 1, 1.0), tail), dtype=np.float64)
    normal = scipy.special.ndtri(tail)
    return np.asarray(p * (1 - p) / np.maximum(variance, 1e-30) * (normal / student) ** 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rated:
    """Intervals of R estimates, and where there were too few labels for one."""

    interval: Interval
    number: Floats    # (R,) n*
    too_few: Bools    # (R,) the interval is the whole range


def interval_of(
    value: Floats, variance: Floats, labels: Ints, largest_number: Floats, confidence: float,
    bounds: tuple[float, float],
) -> Rated:
    """The interval of a measure (R,) with these bounds, by its effective number of labels.

    variance (R,), 0 or infinite where it is not known; labels (R,) that can change the measure;
    largest_number (R,): the largest effective number to believe.  With fewer than FEWEST labels, an effective
    number below FEWEST_EFFECTIVE, or no variance, it is the whole range.
    """
    lowest, highest = bounds
    span = highest - lowest
    safe = np.clip(np.nan_to_num((value - lowest) / span), 0.0, 1.0)
    spread = np.nan_to_num(variance, posinf=1e30) / span**2
    number = np.minimum(effective_number(safe, spread, labels.astype(np.float64), confidence), largest_number)
    unknown = ~np.isfinite(value) | is_nothing(np.sqrt(np.maximum(variance, 0.0)), span)
    too_few = np.asarray((labels < FEWEST) | (number < FEWEST_EFFECTIVE) | unknown)
    ends = clopper_pearson(safe, np.where(too_few, 1.0, number), confidence)
    return Rated(
        interval=Interval(
            lower=np.where(too_few, lowest, lowest + span * ends.lower),
            upper=np.where(too_few, highest, lowest + span * ends.upper),
        ),
        number=number, too_few=too_few,
    )


def clopper_pearson(value: Floats, number: Floats, confidence: float | Floats) -> Interval:
    """The exact interval of a proportion (R,) among so many labels (R,), which need not be whole numbers.

    confidence: one for all, or (R,).
    """
    tail = (1 - confidence) / 2
    yes, no = np.maximum(value * number, 0.0), np.maximum((1 - value) * number, 0.0)
    low = scipy.special.betaincinv(np.maximum(yes, 1e-9), no + 1, tail)
    high = scipy.special.betaincinv(yes + 1, np.maximum(no, 1e-9), 1 - tail)
    return Interval(
        lower=np.where(yes > 1e-9, np.nan_to_num(low, nan=0.0), 0.0),
        upper=np.where(no > 1e-9, np.nan_to_num(high, nan=1.0), 1.0),
    )


HIDDEN_DEPTHS = 24   # values of t
FURTHEST_ERRORS = 40.0   # standard errors


def widened_kind(kind: str) -> str:
    """The kind of an interval whose ends what no label has shown may have moved.

    >>> widened_kind("beta")
    'beta, and what no label has shown'

    Intervals where errors are rare: what no label has shown, bounded by the chances of the draws.

    A variance made of labels is blind to errors that none of them shows: of 200 random labels all right, it
    is 0, and 1.8% of the pool may be wrong.  Two exact answers:

    *A share, from a simple random sample.*  k of n labels drawn from N items are hits; the interval holds
    every number of hits K under which neither k or fewer, nor k or more, is rarer than half of α:

        P(X ≤ k | N, K, n) > α/2  and  P(X ≥ k | N, K, n) > α/2,      X hypergeometric

    (Clopper & Pearson 1934; for finite populations Buonaccorsi 1987, Wendell & Schmee 1996; Cochran 1977,
    sec. 3.6).  All right: K is at least N times about 1 - 3.7/n, at 95%.

    *Anything else.*  Suppose B_c unlabelled items of cell c differ from what the labels made one expect, each
    by as much as the measure's losses allow: they take the measure g_c further each.  The draws missed them
    all with a chance of at most

        e^(-t),    t = Σ_c B_c h_c,    h_c = -log(1 - π_c)

    π_c the chance of an item of cell c to have been drawn so far (for negatively associated draws, as here;
    of a simple random sample it is a little less).  The most that t can hide, G(t) = max Σ B_c g_c, fills the
    cells in the order of g_c/h_c, none beyond its unlabelled items.  The rest of the error is that of the
    labels, with standard error s.  Both happen together with a chance of at most e^(-t) Φ(-x/s), so an end at

        max over t of  G(t) + s z(1 - (α/2) e^t),    0 ≤ t ≤ log(2/α)

    from the estimate leaves no more than α/2 to any B: what could hide with chance e^(-t) needs only the rest
    of the confidence.  Without spread among the labels it is G(log 2/α), the exact bound; where nothing can
    hide, or errors are common, it is the normal end.

        R   repeats;  C   cells
    """
    return f"{kind}, and what no label has shown"


def hidden_reach(gain: Floats, caught: Floats, unlabelled: Floats, error: Floats, tail: Floats) -> Floats:
    """(R,) how far from the estimate an end is, with what no label has shown.

    gain (R, C): g, 0 or more; caught (R, C): h; unlabelled (R, C) items; error (R,): s; tail (R,): α/2.
    """
    hidden = hidden_items(gain, caught, unlabelled, depths(tail))
    return furthest((gain[:, None] * hidden).sum(axis=2), error, tail)


def depths(tail: Floats) -> Floats:
    """The depths t at which hidden errors are tried, (R, T): T = HIDDEN_DEPTHS + 1 even steps from 0 to
    log(1/tail), for tail probabilities (R,)."""
    return np.asarray(-np.log(tail)[:, None] * np.arange(HIDDEN_DEPTHS + 1) / HIDDEN_DEPTHS)


def furthest(moved: Floats, error: Floats, tail: Floats) -> Floats:
    """(R,) max over t of G(t) + s z(1 - tail e^t); moved (R, T): G at `depths`, error (R,): s, tail (R,). R
    counts repeats, and T the depths in the tail at which both are looked at."""
    beyond = np.minimum(tail[:, None] * np.exp(depths(tail)), 1.0)
    normal_quantile = np.maximum(scipy.special.ndtri(1 - beyond), -FURTHEST_ERRORS)
    return np.asarray((moved + error[:, None] * normal_quantile).max(axis=1))


def hidden_items(gain: Floats, caught: Floats, unlabelled: Floats, depth: Floats) -> Floats:
    """B (R, T, C), the items of each cell that take the measure furthest at t = depth (R, T). R counts
    repeats, T depths and C cells; cells that gain most for their depth are filled first."""
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
    distinct, back = np.unique(
        np.stack([hits, labels, items, tail], axis=1).astype(np.float64), axis=0, return_inverse=True
    )
    k, n, n_items, at = distinct.T
    upper = most_hits(k, n, n_items, at) / n_items
    lower = (n_items - most_hits(n - k, n, n_items, at)) / n_items
    back = back.ravel()
    return np.asarray(lower[back]), np.asarray(upper[back])


def most_hits(hits: Floats, labels: Floats, items: Floats, tail: Floats) -> Floats:
    """(M,) the largest K with P(X ≤ hits | items, K, labels) > tail; each (M,). M counts the questions; the
    upper end of the exact interval of a finite pool's count."""
    low, high = hits.copy(), items - labels + hits
    while (high > low).any():
        middle = np.ceil((low + high) / 2)
        still_likely = at_most_hits(hits, labels, items, middle) > tail
        low, high = np.where(still_likely, middle, low), np.where(still_likely, high, middle - 1)
    return low


def at_most_hits(hits: Floats, labels: Floats, items: Floats, positives: Floats) -> Floats:
    """P(X ≤ hits) (M,) of the hypergeometric distribution, by the shorter of its two sums."""
    upper_tail = hits > labels / 2
    k = np.where(upper_tail, labels - hits - 1, hits)
    positives = np.where(upper_tail, items - positives, positives)
    hit = np.arange(max(int(k.max()), 0) + 1.0)[None]
    misses = labels[:, None] - hit
    inside = (
        (hit <= np.minimum(k, positives)[:, None]) & (misses <= (items - positives)[:, None]) & (misses >= 0)
    )
    ways = _choose(positives[:, None], np.where(inside, hit, 0.0))
    ways = ways + _choose((items - positives)[:, None], np.where(inside, misses, 0.0))
    total = np.exp(np.where(inside, ways, -np.inf) - _choose(items, labels)[:, None]).sum(axis=1)
    return np.where(upper_tail, 1 - total, total)


def _choose(n: Floats, k: Floats) -> Floats:
    """The logarithm of n over k."""
    log_factorial = scipy.special.gammaln
    return np.asarray(log_factorial(n + 1) - log_factorial(k + 1) - log_factorial(n - k + 1))
