"""What earlier systems say of items that a new system answers: a factor model of right and wrong.

    y_ij ~ Bernoulli(expit(a_j + b_j · f_i))      item i, system j

f_i has K factors with a standard normal prior, b_j a normal prior around an even slope, and both are fitted
in turns by Newton's method.  A result that is missing counts for nothing.  What is expected of a system that
nobody has seen is the mean over the systems that somebody has: the new system's own results are not used, so
labels judge this guess as they judge any other.

Of hundreds of systems few say more than the factors: those are found by pivoting, each the one that explains
most of what those before it leave of all results.
"""

from dataclasses import dataclass

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.reproducible import steady
from assay.evalcore.types import Floats, Ints

MOST_SYSTEMS = 20   # whose results stand beside the factors as judges
_TURNS = 30   # between the items and the systems
_STEPS_OF_TURN = 2   # of Newton's method in each turn
_FIRST_SLOPE = 1.0   # slope that a system has beforehand, in the first factor


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactorFit:
    """A factor model of the results of M earlier systems on n items: K factors of each item, and an
    intercept and slopes of each system."""

    item: Floats          # (n, K) f
    intercept: Floats     # (M,) a
    slope: Floats         # (M, K) b

    def of_systems(self) -> Floats:
        """(n, M) how probable it is that each of the systems is right."""
        return _expit(self.item @ self.slope.T + self.intercept)

    def of_new_system(self) -> Floats:
        """The chance that a new system like these is right on each item, (n,): the mean over the earlier
        systems. n counts the items, and nothing but earlier results is used."""
        return np.asarray(self.of_systems().mean(axis=1))


def n_factors(systems: int) -> int:
    """The number of factors that so many systems can bear: 1, with 8 or more systems 2, with 50 or more 3.
    Factors are what the results of earlier systems have in common."""
    return 1 + (systems >= 8) + (systems >= 50)


def fit_factors(results: Floats) -> FactorFit:
    """Fit a matrix (n, M) of 1 for right, 0 for wrong, and NaN where a system has no result.

    Raises BadInput where a system has no result at all, or there are none of any item.
    """
    has_result = ~np.isnan(results)
    if not results.size or not has_result.any(axis=0).all():
        raise BadInput("an earlier system has no result on these items; leave it out")
    y, weight = np.where(has_result, results, 0.0), has_result.astype(np.float64)
    n, m = results.shape
    k = n_factors(m)
    rate = (y.sum(axis=0) + 0.5) / (weight.sum(axis=0) + 1)
    intercept: Floats = np.log(rate / (1 - rate))
    slope: Floats = np.zeros((m, k))
    item: Floats = np.zeros((n, k))
    slope[:, 0] = _FIRST_SLOPE
    for factor in range(1, k):            # further factors begin as contrasts between the systems
        slope[:, factor] = 0.3 * np.cos(np.pi * factor * (np.arange(m) + 0.5) / m)
    for _ in range(_TURNS):
        for _ in range(_STEPS_OF_TURN):
            item = item + _newton(item, slope, (y, weight, intercept[None, :]), np.zeros(k))
        design, prior = np.column_stack([item, np.ones(n)]), np.array([_FIRST_SLOPE, *np.zeros(k - 1), 0.0])
        for _ in range(_STEPS_OF_TURN):
            coefficients = np.column_stack([slope, intercept])
            coefficients = coefficients + _newton(
                coefficients, design, (y.T, weight.T, np.zeros((1, 1))), prior
            )
            slope, intercept = coefficients[:, :k], coefficients[:, k]
    return FactorFit(item=item, intercept=intercept, slope=slope)


def most_telling(results: Floats, max_systems: int = MOST_SYSTEMS) -> Ints:
    """The systems (at most so many) whose results together say most of the others', best first.

    A missing result counts as the system's mean.
    """
    mean = np.nanmean(results, axis=0)
    unexplained = np.where(np.isnan(results), mean, results) - mean
    chosen: list[int] = []
    for _ in range(min(max_systems, results.shape[1])):
        size = steady((unexplained**2).sum(axis=0))
        # how much of all that is left each one explains
        shared = ((unexplained.T @ unexplained) ** 2).sum(axis=0)
        explained = np.divide(shared, size, out=np.zeros(len(size)), where=size > 1e-9)
        explained[chosen] = -1.0
        best = int(np.argmax(steady(explained)))
        if explained[best] <= 0:
            break
        chosen.append(best)
        column = unexplained[:, best]
        unexplained = unexplained - np.outer(column, column @ unexplained / (column @ column))
    return np.array(chosen, np.int64)


def _newton(
    of: Floats, design: Floats, data: tuple[Floats, Floats, Floats], prior: Floats
) -> Floats:
    """A step (r, k) for every row of coefficients; data: results (r, c), which are seen, an offset."""
    y, has_result, offset = data
    p = _expit(of @ design.T + offset)
    slope = (has_result * (y - p)) @ design - (of - prior)
    weight = has_result * np.maximum(p * (1 - p), 1e-6)
    curve = np.einsum("rc,ck,cl->rkl", weight, design, design, optimize=True) + np.eye(of.shape[1])
    step = np.linalg.solve(curve, slope[..., None])[..., 0]
    return np.asarray(np.clip(step, -1.0, 1.0))


def _expit(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -30, 30))))
