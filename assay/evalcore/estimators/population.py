"""What the sampling of the pool itself adds to an interval: of the pool's value, and of the population's.

A pool of N items that is a simple random sample of a population has a value θ_N of its own.  As an estimate
of the population's θ, θ̂ errs by (θ̂ - θ_N) + (θ_N - θ): the labels' error, which ends when all is labelled,
and the pool's, which does not.  They are uncorrelated where θ̂ is unbiased given the pool, so each end moves
out as

    θ̂ - √((θ̂ - L)² + D²),      θ̂ + √((U - θ̂)² + E²)

L and U the ends for the pool, D and E what the second error may reach (MOVER: Zou & Donner 2008).

*The second error.*  With z = J·(ℓ - R) the pull of an item, θ_N - θ is about the mean of N independent pulls,
whose variance is S²/N.  Pulls are mostly a few kinds of events, often rare ones on one side, so D and E are
not normal: the mean of z is that of its positive part less that of its negative part, and each is a weighted
sum of Poisson counts, whose interval is that of Fay and Feuer (1997),

    upper end   gamma quantile of mean y + w and variance v + w²
    lower end   gamma quantile of mean y and variance v,             y = Σ z⁺/N,  v = Σ (z⁺)²/N²

w is what one item more may add.  Both parts are joined by the root of the sum of squares.  Of a share this
comes to Clopper and Pearson's interval within a few per cent.  With no event at all it is
-log(α/2) w: an exact bound, so no interval closes because all items were right.

w is the largest pull that outcomes allow while few labels differ from most, and the mean size of what was
seen (v N/y) once more do, as in `evalcore.methods.any_outcome.unseen_errors`.  The sums are over labels, each
for the items that it stands for; with m = (Σω)²/Σω² labels worth of evidence both reaches grow by Student's
quantile over the normal one, and v by m/(m - 1).

*A pool drawn in strata*, so many items of each, errs only as far as its items differ within them: in place of
z stand the residuals z - z̄_h in stratum h, times √(m_h/(m_h - 1)) for m_h labels, and S²/N becomes

    Σ_h W_h² S_h²/n_h            (Cochran 1977, ch. 5)

where the share W_h of a stratum is that of the pool, or what `pool.weight` makes of it: weights are in z.
Strata of fewer than two labels are taken together, which can only widen; for one without labels those of the
others stand.  w is the largest pull while there is a stratum of which few labels differ from most: what they
have not shown may weigh more than all that was seen.

*An average over classes* is a sum of a pull of each class.  A class whose few items are all right, or all
wrong, has shown nothing yet, however much the others differ.  So what is unseen of each class k is added: the
reach of its own pulls, with w as above, beyond that with w = v N/y,

    D² + Σ_k max(D_k² - D⁰_k², 0)

    n   kinds of items seen, or labels;  Q   numbers
"""

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import scipy

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Bools, Floats, Ints

About: TypeAlias = Literal["pool", "population"]
"""What an interval is about: the items of the pool, or what they are a sample of."""

SAMPLING = "sampling of the pool"   # the kind of an interval whose labels are all known
FEW_EVENTS, EVENTS_POWER = 5.0, 4   # labels that differ: up to FEW_EVENTS do not tell how large events are
LEAST_DF_OF_STRATA = 2.0   # degrees of freedom, labels less strata, however few labels there are
LABELS_WITH_VARIANCE = 2.0 - 1e-9   # labels of a stratum that has a variance, less what rounding takes
HALF_WEIGHT = 0.5 - 1e-9   # off ties, whatever rounding says


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pulls:
    """How the items of a pool pull at Q numbers: for n kinds of items, or labels, the pulls z = J·(ℓ − R)
    and how many items of the pool each stands for, with the largest pulls that outcomes allow."""

    z: Floats            # (n, Q) J·(ℓ - R)
    items: Floats        # (n,) of the pool, that each row stands for: they add up to N
    most_down: Floats    # (Q,) the furthest that an item's outcome may pull a number down, and up
    most_up: Floats      # (Q,)
    labels: float        # m, what the labels are worth
    clusters: int | None = None   # that have labels, where items come in clusters
    within: Floats | None = None  # (n, Q) z within the strata that the pool was drawn in
    stratum: Ints | None = None   # (n,) the number of the stratum of each row; below 0 where it is of none
    strata: int = 1               # of two labels or more
    of_class: tuple["Pulls", ...] = ()   # of a number that sums over classes, those of each class

    @property
    def variance(self) -> Floats:
        """The variance that the sampling of the pool adds to each number, (Q,): S²/N, or that of the
        residuals within strata where the pool was drawn in strata."""
        n = self.items.sum()
        return np.asarray(self._few * (self.items @ self._pulled**2) / n**2)

    @property
    def _pulled(self) -> Floats:
        return self.z if self.within is None else self.within

    def sampling_reach(self, level: Floats) -> tuple[Floats, Floats]:
        """How far the sampling of the pool may take each number down and up, D and E, (Q,) each, at these
        confidences (Q,); for a number that sums over classes what is unseen of each class is added."""
        down, up = self._reach(level, self._differ)
        for part in self.of_class:
            with_unseen, without = part._reach(level, part._differ), part._reach(level, np.zeros(len(level)))
            down, up = (
                np.hypot(reach_of_weights, np.sqrt(np.maximum(unseen_reach**2 - seen_reach**2, 0.0)))
                for reach_of_weights, unseen_reach,
                seen_reach in zip((down, up), with_unseen, without, strict=True)
            )
        return down, up

    def _reach(self, level: Floats, differ: Floats) -> tuple[Floats, Floats]:
        """D and E (Q,) of these pulls alone; differ (Q,): `_differ`, or 0."""
        tail = (1 - level) / 2
        more_down, less_down = self._one_side(np.maximum(-self._pulled, 0.0), self.most_down, tail, differ)
        more_up, less_up = self._one_side(np.maximum(self._pulled, 0.0), self.most_up, tail, differ)
        df = max(self.labels - self.strata, LEAST_DF_OF_STRATA)
        wider = scipy.special.stdtrit(df, 1 - tail) / scipy.special.ndtri(1 - tail)
        return wider * np.hypot(more_down, less_up), wider * np.hypot(more_up, less_down)

    def unseen_cluster(self, level: Floats) -> tuple[Floats, Floats]:
        """What no cluster has shown may add (Q,) downwards and upwards; nothing once clusters differ. Q
        counts the numbers; few clusters that are all alike show nothing of the others."""
        share = -np.log((1 - level) / 2) / max(self.clusters or 1, 1)
        few = self._differ
        return few * np.minimum(share, 1.0) * self.most_down, few * np.minimum(share, 1.0) * self.most_up

    def _one_side(
        self, side: Floats, possible: Floats, tail: Floats, differ: Floats
    ) -> tuple[Floats, Floats]:
        """How far the mean of one part of the pulls may be above and below what was seen (Q,)."""
        n = self.items.sum()
        y, v = self.items @ side / n, self._few * (self.items @ side**2) / n**2
        typical = np.divide(v * n, y, out=np.zeros_like(y), where=y > 0)
        largest = np.maximum(possible, side.max(axis=0, initial=0.0))
        unseen_term = (typical + differ * np.maximum(largest - typical, 0.0)) / n
        return _gamma(1 - tail, y + unseen_term, v + unseen_term**2) - y, y - _gamma(tail, y, v)

    @property
    def _few(self) -> float:
        return self.labels / max(self.labels - 1, 1.0)

    @property
    def _differ(self) -> Floats:
        """(Q,) 1 while few labels differ from most, of some stratum, falling to 0."""
        if self.stratum is None:
            return _few_differ(self.z, self.items, self.labels)
        inside = [self.stratum == h for h in np.unique(self.stratum[self.stratum >= 0])]
        return np.asarray(np.max([
            _few_differ(self.z[at], self.items[at], _worth(self.items[at])) for at in inside
        ], axis=0))


def _few_differ(z: Floats, items: Floats, labels: float) -> Floats:
    """(Q,) 1 while few of so many labels differ from most, falling to 0."""
    off, n = np.abs(z - _medians(z, items)), float(items.sum())
    total = items @ off
    k = (items @ np.sqrt(off)) ** 2 / np.where(total > 0, total, 1.0) * (labels / n if n > 0 else 0.0)
    return np.asarray((FEW_EVENTS / np.maximum(k, FEW_EVENTS)) ** EVENTS_POWER)


def in_strata(pulls: Pulls, stratum: Floats) -> Pulls:
    """The pulls of a pool that was drawn in strata; stratum (n,): NaN of rows that stand for items of
    several, which stay as they are."""
    has_stratum = np.isfinite(stratum)
    _, number = np.unique(np.where(has_stratum, stratum, -1.0), return_inverse=True)
    count, items = int(number.max(initial=0)) + 1, pulls.items * has_stratum
    labels = _labels_of(number, items, count)
    few = labels[number] < LABELS_WITH_VARIANCE
    number = np.where(few, count, number)
    labels = _labels_of(number, items, count + 1)
    enough_labels = labels >= LABELS_WITH_VARIANCE
    total = np.bincount(number, items, count + 1)
    mean = np.stack([np.bincount(number, items * pull, count + 1) for pull in pulls.z.T], axis=1)
    mean = np.where(enough_labels[:, None], mean / np.where(total > 0, total, 1.0)[:, None], 0.0)
    wider = np.sqrt(np.where(enough_labels, labels / np.maximum(labels - 1, 1.0), 1.0))
    within = (pulls.z - mean[number]) * wider[number][:, None]
    within = np.where(is_nothing(within, np.abs(pulls.z).max(axis=0, initial=0.0)), 0.0, within)
    return replace(
        pulls, within=np.where(has_stratum[:, None], within, pulls.z),
        stratum=np.where(has_stratum, number, -1),
        strata=max(int(enough_labels.sum()), 1),
        # from the mean of its stratum an item may be taken further than from that of all by their distance
        most_down=pulls.most_down + np.maximum(mean, 0.0).max(axis=0),
        most_up=pulls.most_up + np.maximum(-mean, 0.0).max(axis=0),
    )


def _worth(items: Floats) -> float:
    """How many labels of a simple random sample labels that stand for so many items tell as much as."""
    square = float(items @ items)
    return float(items.sum() ** 2 / square) if square > 0 else 0.0


def _labels_of(number: Ints, items: Floats, count: int) -> Floats:
    """(count,) what the labels of each stratum are worth."""
    square = np.bincount(number, items**2, count)
    return np.asarray(np.bincount(number, items, count) ** 2 / np.where(square > 0, square, 1.0))


def _gamma(p: Floats, mean: Floats, variance: Floats) -> Floats:
    """Quantiles of the gamma distributions of these means and variances; 0 where the mean is."""
    positive = (mean > 0) & (variance > 0)
    m, v = np.where(positive, mean, 1.0), np.where(positive, variance, 1.0)
    return np.where(positive, scipy.special.gammaincinv(m**2 / v, p) * v / m, 0.0)


def _medians(z: Floats, items: Floats) -> Floats:
    """(Q,) of the pulls (n, Q), each counting for its items."""
    order = np.argsort(z, axis=0, kind="stable")
    reach = np.cumsum(items[order], axis=0)
    at = np.minimum((reach < reach[-1] * HALF_WEIGHT).sum(axis=0), len(z) - 1)
    return np.asarray(np.take_along_axis(np.take_along_axis(z, order, axis=0), at[None], axis=0)[0])


Bounds: TypeAlias = tuple[float, float]


def ends_for_population(
    value: Floats, ends: tuple[Floats, Floats], reach: tuple[Floats, Floats], bounds: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """The ends for the population, of those for the pool; all (..., Q). NaN where there is no value. The
    variances of the pool's estimate and of its own sampling are added."""
    lower = value - np.hypot(np.maximum(value - ends[0], 0.0), reach[0])
    upper = value + np.hypot(np.maximum(ends[1] - value, 0.0), reach[1])
    return np.maximum(lower, bounds[0]), np.minimum(upper, bounds[1])


def for_population(
    estimates: list[EstimateArrays], pulls: Pulls, bounds: list[Bounds], confidence: float
) -> list[EstimateArrays]:
    """The estimates of the pool (R = 1), with the intervals of the population. The pool's own sampling from
    its population is added to each."""
    low, high = (np.array(ends, np.float64) for ends in zip(*bounds, strict=True))
    value = np.concatenate([estimate.value for estimate in estimates])[None]
    level = np.full(len(estimates), confidence)
    lower, upper = ends_for_population(
        value, (_row(estimates, "lower"), _row(estimates, "upper")), pulls.sampling_reach(level), (low, high)
    )
    inner = estimates[0].ends
    kinds: Bools = np.array([
        estimate.exact is not None and bool(estimate.exact[0]) for estimate in estimates
    ])

    def ends(levels: Floats) -> tuple[Floats, Floats]:
        if inner is None:
            raise ValueError("there are no other ends")
        return ends_for_population(value, inner(levels), pulls.sampling_reach(levels[0]), (low, high))

    band = pulls.sampling_reach(np.full(len(estimates), 1 - (1 - confidence) / max(len(estimates), 1)))
    return [
        replace(
            estimate, lower=lower[:, q], upper=upper[:, q], variance=estimate.variance + pulls.variance[q],
            exact=np.zeros(1, np.bool_), ends=None if inner is None else ends,
            interval=SAMPLING if kinds[q] and estimate.lower[0] == estimate.upper[0] else estimate.interval,
            band=None if estimate.band is None else ends_for_population(
                estimate.value, estimate.band, (band[0][q : q + 1], band[1][q : q + 1]), (low[q], high[q])
            ),
        )
        for q, estimate in enumerate(estimates)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """The ends of one interval about the population, and the variance that the sampling of the pool adds to
    it."""

    lower: float
    upper: float
    variance: float    # that the sampling of the pool adds


def apart(
    value: float, ends: tuple[float, float], pulls: Pulls, q: int, bounds: Bounds, confidence: float,
    *, labels: float | None = None,
) -> Apart:
    """Of number q, from the ends for the pool; labels: of an even sample, which is one of the population too:
    no end is nearer than it says."""
    level, at = np.full(pulls.z.shape[1], confidence), slice(q, q + 1)
    down, up = (reach[at] for reach in pulls.sampling_reach(level))
    lower, upper = ends_for_population(
        np.array([value]), (np.array([ends[0]]), np.array([ends[1]])), (down, up),
        (np.array([bounds[0]]), np.array([bounds[1]])),
    )
    if labels is not None:
        down, up = replace(pulls, items=pulls.items * (labels / pulls.items.sum())).sampling_reach(level)
        lower = np.fmin(lower, max(value - down[q], bounds[0]))
        upper = np.fmax(upper, min(value + up[q], bounds[1]))
    return Apart(lower=float(lower[0]), upper=float(upper[0]), variance=float(pulls.variance[q]))


def _row(estimates: list[EstimateArrays], name: str) -> Floats:
    return np.asarray(np.concatenate([getattr(estimate, name) for estimate in estimates])[None])
