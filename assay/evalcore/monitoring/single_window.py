"""How surprising the draws of a single window are while its limit is kept: for the day of a large fall.

The bets of `evalcore.monitoring.betting` hold whatever the draws are, and pay for that: a fall by 0.20 that a
hundred labels show beyond doubt takes them a second window in half of all cases.  So a share of the error
rate is spent on each window by itself (`evalcore.monitoring.verdicts`), on the chance

    p = P(S ≤ s)      S = Σ_h Z̄_h + Σ_o B_o,     Z̄_h the mean of the T_h draws of stratum h

of what the draws came to, s.  A draw of stratum h says what its total is, Z (`strata_of_draws`); B_o is the
largest total of a stratum without a draw.  The chance is under the most likely distributions F_h of the draws
of each stratum, of at most b_h, that keep the limit, E_F S = 0.  These are the empirical likelihood's, with
what no draw showed at its worst place (Owen 2001, "Empirical likelihood", chapter 4 for several samples;
Honda & Takemura 2010 for the bound):

    F_hj = 1/(η_h − λ Z_j),  the rest at b_h,      η_h the root of Σ_j F_hj = 1, or λ b_h where that is larger

with the one λ ≥ 0 at which E_F S = 0.  The tail of S comes from the saddlepoint t, K'(t) = s, K the sum of
the cumulant functions of Z̄_h (Lugannani & Rice 1980, "Saddle point approximation for the distribution of the
sum of independent random variables", eq. 10):

    p = Φ(r + log(q/r)/r),   r = −√(2 (t s − K(t))),   q = −(1 − exp(t d))/d √K''(t),

and is at most Chernoff's exp(K(t) − t s), which is the exact chance where every draw is the worst there is.
q is that of sums which come in steps of d (Daniels 1987, "Tail probability approximations", section 5): of
one stratum the step from the mean of the draws below E_F Z to that of those above, over T.  Of a share in a
simple random sample these are the two values that there are, and p is the tail of the binomial.  Steps of
several strata differ, so about half of the sums that lie a step together lie below s: d is half of their
mean, weighted by what each stratum adds to K''.  Unlike a bet's, this bound is measured and not proven
(docs/measured/single-windows.md).

    R   repeats;  T   draws, in order;  H   strata
"""

import numpy as np
import scipy

from assay.evalcore.monitoring.betting import CERTAIN
from assay.evalcore.monitoring.strata_of_draws import DrawsByStratum
from assay.evalcore.types import Floats, Ints

FEWEST_DRAWS = 5     # without which nothing is concluded from a window alone
_ROOT_HALVINGS = 60   # of an interval that holds a root
_CONVEX_NEWTON_STEPS = 40   # steps to a root of a convex function, at most
_WIDEST = 20.0       # of log λ, from where λ is one in units of the draws
_STEEPEST = 60.0     # of t, in units of the spread of S under F
_SLACK = 1e-9        # of a log factor, so that no rounding takes an alarm away
_NEAR_MEAN = 1e-3    # |r| below which s is F's mean, and p a half


def chance_of_draws(draws: DrawsByStratum) -> Floats:
    """p (R,): the chance of a sum as low as that of the draws while the true sum is 0 or more.

    1 where the sum is not below 0, or where there are fewer than FEWEST_DRAWS draws.
    """
    count = (draws.drawn >= 0).sum(axis=1)
    chance = np.ones(len(count))
    table = _Table(draws.drawn, draws.total, draws.most.shape[1])
    low = (count >= FEWEST_DRAWS) & (table.sums_of_means(draws.most) < 0)
    if low.any():
        chance[low] = _tail(
            draws.drawn[low], draws.total[low], draws.bound[low], draws.most[low]
        )
    return chance


def factor_alone(chance: Floats, level: float) -> Floats:
    """(R,) the log factor of windows by themselves: −log of the level where the chance is at most that, else
    −CERTAIN."""
    return np.where(chance <= level, _SLACK - np.log(level), -CERTAIN)


class _Table:
    """Sums over the draws of each stratum, (R, H)."""

    def __init__(self, drawn: Ints, value: Floats, strata: int) -> None:
        """drawn, value (R, T)."""
        self.shape = len(drawn), strata
        self.is_draw = drawn >= 0
        self.place = np.where(self.is_draw, np.arange(len(drawn))[:, None] * strata + drawn, 0)
        self.value = np.where(self.is_draw, value, 0.0)
        self.count = self.sums(np.ones(drawn.shape))

    def sums(self, of_draws: Floats) -> Floats:
        """(R, H) of numbers (R, T)."""
        size = self.shape[0] * self.shape[1]
        flat = np.bincount(self.place[self.is_draw], of_draws[self.is_draw], size)
        return np.asarray(flat.reshape(self.shape), np.float64)

    def of_draws(self, of_strata: Floats) -> Floats:
        """(R, T) the numbers (R, H) of the stratum of each draw."""
        return np.asarray(of_strata.ravel()[self.place])

    def largest(self, of_draws: Floats) -> Floats:
        """(R, H) the largest of numbers (R, T); −∞ where there is no draw. R counts repeats, H strata and T
        draws."""
        result = np.full(self.shape[0] * self.shape[1], -np.inf)
        np.maximum.at(result, self.place[self.is_draw], of_draws[self.is_draw])
        return result.reshape(self.shape)

    def sums_of_means(self, most: Floats) -> Floats:
        """(R,) s: the means of the strata with draws, and the largest totals of those without. R counts
        repeats; below 0 where the draws speak against the limit."""
        mean = self.sums(self.value) / np.maximum(self.count, 1)
        return np.asarray(np.where(self.count > 0, mean, most).sum(axis=1))


def _tail(drawn: Ints, total: Floats, bound: Floats, most: Floats) -> Floats:
    """p (R,) of draws whose sum is below 0."""
    unit = np.sqrt(np.where(drawn >= 0, total**2, 0.0).sum(axis=1) / (drawn >= 0).sum(axis=1))[:, None]
    total, bound, most = (x / np.where(unit > 0, unit, 1.0) for x in (total, bound, most))
    table = _Table(drawn, total, most.shape[1])
    highest = np.where(table.count > 0, table.largest(np.where(table.is_draw, bound, 0.0)), 0.0)
    without_draws = np.where(table.count > 0, 0.0, most).sum(axis=1)
    mass, unseen = _most_likely(table, highest, without_draws)
    return _saddlepoint(table, mass, highest, unseen, table.sums_of_means(most) - without_draws)


def _most_likely(table: _Table, highest: Floats, without_draws: Floats) -> tuple[Floats, Floats]:
    """F: the chance of each draw (R, T), and of what no draw showed (R, H)."""
    low: Floats = np.full(len(highest), -_WIDEST)
    high: Floats = np.full(len(highest), _WIDEST)
    for _ in range(_ROOT_HALVINGS):
        middle = (low + high) / 2
        mass, unseen = _masses(table, highest, np.exp(middle))
        mean = (table.sums(mass * table.value) + unseen * highest).sum(axis=1)
        under = mean + without_draws < 0
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return _masses(table, highest, np.exp((low + high) / 2))


def _masses(table: _Table, highest: Floats, steepness: Floats) -> tuple[Floats, Floats]:
    """F at a λ (R,): see `_most_likely`."""
    power = steepness[:, None] * table.value
    largest = np.where(table.count > 0, table.largest(power), 0.0)
    gap = table.of_draws(largest) - power                          # ≥ 0
    # η less λ times the largest Z, from the left of the root: the sum is convex in it, and falls
    root = np.maximum(1.0, table.count - table.sums(gap) / np.maximum(table.count, 1))
    for _ in range(_CONVEX_NEWTON_STEPS):
        inverse = 1 / (table.of_draws(root) + gap)
        missing = np.where(table.count > 0, table.sums(inverse) - 1, 0.0)
        step = missing / np.maximum(table.sums(inverse**2), 1e-300)
        root = root + step
        if (np.abs(step) <= 1e-14 * root).all():
            break
    edge = steepness[:, None] * highest - largest
    mass = 1 / (table.of_draws(np.maximum(root, edge)) + gap)
    unseen = np.where(edge > root, np.maximum(1 - table.sums(mass), 0.0), 0.0)
    total = np.where(table.count > 0, table.sums(mass) + unseen, 1.0)
    return np.where(table.is_draw, mass / table.of_draws(total), 0.0), unseen / total


def _saddlepoint(table: _Table, mass: Floats, highest: Floats, unseen: Floats, at: Floats) -> Floats:
    """(R,) the chance that the means of the draws of all strata come to at most `at`, under F."""
    number = np.maximum(table.count, 1)
    mean = table.sums(mass * table.value) + unseen * highest
    value = table.value - table.of_draws(mean)
    above = highest - mean
    variance = (table.sums(mass * value**2) + unseen * above**2) / number
    spread = np.sqrt(variance.sum(axis=1))[:, None]
    value, above = value / table.of_draws(number * spread), above / (number * spread)
    variance, at = variance / spread**2, (at - mean.sum(axis=1)) / spread[:, 0]

    def cumulants(t: Floats) -> tuple[Floats, Floats, Floats]:
        power, unseen_power = t[:, None] * value, t[:, None] * above
        top = np.maximum(
            table.largest(np.where(mass > 0, power, -np.inf)), np.where(unseen > 0, unseen_power, -np.inf)
        )
        top = np.where(np.isfinite(top), top, 0.0)
        tilted = mass * np.exp(np.minimum(power - table.of_draws(top), 0.0))
        tilted_unseen = unseen * np.exp(np.minimum(unseen_power - top, 0.0))
        total = np.where(table.count > 0, table.sums(tilted) + tilted_unseen, 1.0)
        slope = (table.sums(tilted * value) + tilted_unseen * above) / total
        square = (table.sums(tilted * value**2) + tilted_unseen * above**2) / total
        k = np.where(table.count > 0, table.count * (top + np.log(total)), 0.0)
        return (
            k.sum(axis=1), (table.count * slope).sum(axis=1), (table.count * (square - slope**2)).sum(axis=1)
        )

    low: Floats = np.full(len(at), -_STEEPEST)
    high: Floats = np.zeros(len(at))
    for _ in range(_ROOT_HALVINGS):
        middle = (low + high) / 2
        under = cumulants(middle)[1] < at
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    t = (low + high) / 2
    k, _, curvature = cumulants(t)
    exponent = np.maximum(t * at - k, 0.0)
    step = (variance * _steps(table, mass, value, above, unseen)).sum(axis=1)
    step = np.where((table.count > 0).sum(axis=1) > 1, step / 2, step)
    r = -np.sqrt(2 * exponent)
    q = np.expm1(t * step) / step * np.sqrt(np.maximum(curvature, 0.0))
    near = -r < _NEAR_MEAN
    with np.errstate(divide="ignore", invalid="ignore"):
        saddle = scipy.special.ndtr(np.where(near, 0.0, r + np.log(q / r) / r))
    return np.asarray(np.minimum(np.where(np.isfinite(saddle), saddle, 1.0), np.exp(-exponent)))


def _steps(table: _Table, mass: Floats, value: Floats, above: Floats, unseen: Floats) -> Floats:
    """(R, H) from the mean of the values of a stratum below 0 to that of those above it."""
    upper = np.where(value > 0, mass, 0.0)
    rise = table.sums(upper * value) + unseen * np.maximum(above, 0.0)
    rise = rise / np.maximum(table.sums(upper) + np.where(above > 0, unseen, 0.0), 1e-300)
    lower = mass - upper
    fall = table.sums(lower * value) + unseen * np.minimum(above, 0.0)
    fall = fall / np.maximum(table.sums(lower) + np.where(above > 0, 0.0, unseen), 1e-300)
    return np.asarray(rise - fall)
