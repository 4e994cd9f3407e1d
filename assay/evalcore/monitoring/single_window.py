"""How surprising the draws of a single window are while its limit is kept: for the day of a large fall.

The bets of `evalcore.monitoring.betting` hold whatever the draws are, and pay for that: a fall by 0.20 that a
hundred labels show beyond doubt takes them a second window in half of all cases.  So a share of the error
rate is spent on each window by itself (`evalcore.monitoring.verdicts`), on the chance

    p = P(X̄ ≤ x̄)      X̄ the mean of T draws,  x̄ what the window's draws came to,

under the most likely distribution F on the draws X_j and their bound b that keeps the limit, E_F X = 0.  That
is the empirical likelihood's, with what no draw showed at its worst place (Owen 2001, "Empirical likelihood";
Honda & Takemura 2010 for the bound):

    F_j = 1/(T (1 − λ X_j)),  the rest at b,      λ in [0, 1/b] with Σ_j X_j/(1 − λ X_j) = 0, or at its end.

The tail of its mean comes from the saddlepoint t, K'(t) = x̄, K the cumulant function of F (Lugannani & Rice
1980, "Saddle point approximation for the distribution of the sum of independent random variables", eq. 10):

    p = Φ(r + log(q/r)/r),   r = −√(2T (t x̄ − K(t))),   q = −(1 − exp(t d))/d √(T K''(t)),

and is at most Chernoff's exp(−T (t x̄ − K(t))), which is the exact chance where every draw is the worst there
is.  q is that of sums which come in steps of d (Daniels 1987, "Tail probability approximations", section 5):
d is the step from the mean of the draws below 0 to that of the values above, under F.  Of a share in a simple
random sample these are the two values that there are, and p is the tail of the binomial; of draws with more
values p is a little too large.  Unlike a bet's, this bound is measured and not proven
(docs/measured/single-windows.md): draws with unequal chances are taken for alike.

    R   repeats;  T   draws, in order
"""

import numpy as np
import scipy

from assay.evalcore.monitoring.betting import CERTAIN
from assay.evalcore.types import Bools, Floats

FEWEST_DRAWS = 5     # without which nothing is concluded from a window alone
_HALVINGS = 60       # of an interval that holds a root
_STEEPEST = 60.0     # of t, in units of the spread of a draw under F
_SLACK = 1e-9        # of a log factor, so that no rounding takes an alarm away
_NEAR_MEAN = 1e-3    # |r| below which x̄ is F's mean, and p a half


def chance_of_draws(draws: Floats, bound: Floats) -> Floats:
    """p (R,): the chance of a mean as low as that of the draws while the true mean is 0 or more.

    draws (R, T): X_j, each of which has the mean that is tested given those before it; NaN where there was no
    draw; bound (R, T): the largest value that each could have taken.  1 where their mean is not below 0, or
    where there are fewer than FEWEST_DRAWS.
    """
    drawn = np.isfinite(draws)
    count = np.maximum(drawn.sum(axis=1), 1)
    x = np.where(drawn, draws, 0.0)
    unit = np.sqrt((x**2).sum(axis=1) / count)
    x = x / np.where(unit > 0, unit, 1.0)[:, None]
    highest = np.where(drawn, bound, 0.0).max(axis=1, initial=0.0) / np.where(unit > 0, unit, 1.0)
    mean = x.sum(axis=1) / count
    below = (mean < 0) & (drawn.sum(axis=1) >= FEWEST_DRAWS)
    value, mass = _most_likely(x, drawn, count, np.maximum(highest, 1e-9))
    chance = np.ones(len(x))
    if below.any():
        chance[below] = _tail(value[below], mass[below], mean[below], count[below])
    return chance


def factor_alone(chance: Floats, level: float) -> Floats:
    """(R,) the log factor of windows by themselves: −log of the level where the chance is at most that, else
    −CERTAIN."""
    return np.where(chance <= level, _SLACK - np.log(level), -CERTAIN)


def _most_likely(x: Floats, drawn: Floats, count: Floats, bound: Floats) -> tuple[Floats, Floats]:
    """The values (R, T + 1) and their chances under the most likely distribution whose mean is 0."""
    low: Floats = np.zeros(len(x))
    high: Floats = (1 - 1e-12) / bound
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rises = (x / (1 - middle[:, None] * x)).sum(axis=1) < 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    mass = np.where(drawn, 1 / (1 - ((low + high) / 2)[:, None] * x), 0.0) / count[:, None]
    unseen_mass = np.maximum(1 - mass.sum(axis=1), 0.0)
    mass = np.concatenate([mass, unseen_mass[:, None]], axis=1)
    return np.concatenate([x, bound[:, None]], axis=1), mass / mass.sum(axis=1, keepdims=True)


def _tail(value: Floats, mass: Floats, mean: Floats, count: Floats) -> Floats:
    """(R,) the chance that the mean of `count` draws of these values is at most `mean`, which is below 0."""
    spread = np.sqrt((mass * value**2).sum(axis=1))
    value, mean = value / spread[:, None], mean / spread
    low: Floats = np.full(len(value), -_STEEPEST)
    high: Floats = np.zeros(len(value))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = _cumulants(value, mass, middle)[1] < mean
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    t = (low + high) / 2
    k, _, curvature = _cumulants(value, mass, t)
    exponent = np.maximum(count * (t * mean - k), 0.0)
    step = _mean_where(value > 0, value, mass) - _mean_where(value <= 0, value, mass)
    r = -np.sqrt(2 * exponent)
    q = np.expm1(t * step) / step * np.sqrt(count * np.maximum(curvature, 0.0))
    near = -r < _NEAR_MEAN
    with np.errstate(divide="ignore", invalid="ignore"):
        saddle = scipy.special.ndtr(np.where(near, 0.0, r + np.log(q / r) / r))
    return np.asarray(np.minimum(np.where(np.isfinite(saddle), saddle, 1.0), np.exp(-exponent)))


def _mean_where(chosen: Bools, value: Floats, mass: Floats) -> Floats:
    """(R,) the mean of the chosen values."""
    weight = np.where(chosen, mass, 0.0)
    return np.asarray((weight * value).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300))


def _cumulants(value: Floats, mass: Floats, t: Floats) -> tuple[Floats, Floats, Floats]:
    """K(t), K'(t) and K''(t), each (R,)."""
    power = t[:, None] * value
    top = np.where(mass > 0, power, -np.inf).max(axis=1)
    tilted = mass * np.exp(np.minimum(power - top[:, None], 0.0))
    total = tilted.sum(axis=1)
    slope = (tilted * value).sum(axis=1) / total
    return top + np.log(total), slope, (tilted * value**2).sum(axis=1) / total - slope**2
