"""Partial pooling: parts of a pool share what they know (small area estimation).

Each part s has a direct estimate y_s from its own labels, and a prediction x_s: what the label model expects
of its items.  The area-level model of Fay & Herriot (1979), on the scale g of `estimators.area_likelihood`,
is

    y_s | θ_s  ~  the likelihood of its labels          g(θ_s) = μ + β (g(x_s) - mean) + u_s

so that θ_s is drawn towards what is predicted, the more the fewer labels a part has and the less parts
differ. u_s is Student's with 4 degrees of freedom and scale τ, since one part may lie far from all others
(Xie et al. 2007).  Everything is learned: where parts lie (μ), how far the prediction is believed (β from 0
to 1.5), and how much parts differ beyond it (τ).  The posterior of (μ, β, τ) is summed over a grid, with the
half-Cauchy prior of Gelman (2006) for τ; so the interval has in it what τ leaves uncertain, which one at an
estimated τ lacks (Morris 1983).

What is estimated is the mean over the items of a part, not over all that might come: of m items without a
label it scatters about θ by (variance of an item) / m, and all of them may be at a bound, with the chance E
θ^m.

    S   parts;  G   points of the grid of g;  M   points of the grid of μ
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.area_likelihood import AreaScale, Binomial, DirectEstimates, area_scale
from assay.evalcore.types import Floats

FEWEST_PARTS = 3          # with labels; with fewer, how much parts differ cannot be learned
SPREADS = 24              # points of τ, at even quantiles of its prior
BELIEFS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)    # points of β
CENTRES = 41              # points of μ
CLOSER = 6                # times that the grid of μ closes in on its posterior
REACH = 5.0               # its width, in standard deviations on either side
_HAIR = 1e-9              # of a step: what rounding may take from a whole number of items
_NO_POSTERIOR = 1e-9   # of the posterior: a point of the grid that is left out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PooledEstimates:
    """Of one number in every part, (S,) each but for the spread."""

    value: Floats            # posterior means
    variance: Floats
    towards: Floats          # what a part is expected to be but for its own labels
    own_share: Floats        # of the way from there to its own estimate, 0 to 1
    spread: float            # the scale of what parts differ by beyond what is predicted, at their mean value
    chance_lowest: Floats    # that the part is the lowest of all
    chance_highest: Floats
    lower: Floats
    upper: Floats
    lower_together: Floats   # ends that hold for all parts at once (Bonferroni)
    upper_together: Floats


def pooled_estimates(
    direct: DirectEstimates, confidence: float, bounds: tuple[float, float],
    chance_of_none: float | None = None,
) -> PooledEstimates | None:
    """The posterior of every part; None with fewer than FEWEST_PARTS parts that have labels, and where the
    labels show no variance at all.

    bounds: of the measure; infinite where it has none.  chance_of_none: the prior chance that parts do not
    differ at all, on the least of the SPREADS; no more than any other has unless said
    (docs/measured/pooled-segments.md has what it gains and costs).  Raises BadInput for a confidence that is
    none.
    """
    if not 0 < confidence < 1:
        raise BadInput(f"confidence: must be between 0 and 1, got {confidence}")
    if direct.present.sum() < FEWEST_PARTS:
        return None
    scale = area_scale(direct, bounds)
    mass: Floats = np.full(SPREADS, 1 / SPREADS)
    if chance_of_none is not None:
        mass = np.where(np.arange(SPREADS) == 0, chance_of_none, (1 - chance_of_none) / (SPREADS - 1))
    return None if scale is None else _estimates(scale, direct, confidence, mass)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Piece:
    """The posterior of μ at one β and τ."""

    spread: float
    centres: Floats     # (M,)
    log_weight: Floats  # (M,)


def _student_of_four(z: Floats) -> Floats:
    """Student's distribution function with 4 degrees of freedom (Johnson, Kotz & Balakrishnan 1995, ch. 28).

    >>> _student_of_four(np.array([0.0, 2.776445])).round(4).tolist()
    [0.5, 0.975]
    """
    squared = np.minimum(np.abs(z), 1e8) ** 2 / 4
    root = np.sqrt(squared / (1 + squared)) * np.sign(z)
    return np.asarray(0.5 + 0.75 * root * (1 - root**2 / 3))


def _kernel(grid: Floats, centres: Floats, spread: float) -> Floats:
    """(G, M) the chance of each step of the grid, μ + u about each centre."""
    half = (grid[1] - grid[0]) / 2
    edges = np.concatenate([[-1e9], grid[:-1] + half, [1e9]])
    return np.diff(_student_of_four((edges[:, None] - centres[None]) / max(spread, half / 4)), axis=0)


@lru_cache(maxsize=4 * SPREADS)
def _whole_kernel(low: float, high: float, points: int, spread: float) -> Floats:
    """The same of centres over the whole grid: shares of one precision have one."""
    grid, centres = (np.linspace(low, high, n, dtype=np.float64) for n in (points, CENTRES))
    return _kernel(grid, centres, spread)


def _closing_in(scale: AreaScale, likelihood: Floats, spread: float) -> _Piece:
    """At one β and τ; likelihood (S, G).  The grid of μ closes in on its posterior."""
    low, high = float(scale.grid[0]), float(scale.grid[-1])
    for closer in range(CLOSER):
        centres = np.linspace(low, high, CENTRES, dtype=np.float64)
        step = centres[1] - centres[0]
        kernel = _kernel(scale.grid, centres, spread) if closer else \
            _whole_kernel(low, high, len(scale.grid), spread)
        evidence = np.maximum(likelihood @ kernel, 1e-300)
        log_weight = np.log(evidence).sum(axis=0) + np.log(step) + scale.prior_of_centre(centres)
        weight = np.exp(log_weight - log_weight.max())
        mean = float(weight @ centres / weight.sum())
        deviation = max(float(np.sqrt(weight @ (centres - mean) ** 2 / weight.sum())), step)
        if closer == CLOSER - 1 or high - low < 3 * REACH * deviation:
            break
        low, high = max(low, mean - REACH * deviation), min(high, mean + REACH * deviation)
    return _Piece(spread=spread, centres=centres, log_weight=log_weight)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Posterior:
    """Of g(θ) in every part, on a grid of even steps."""

    edges: Floats        # (G + 1,)
    cumulative: Floats   # (S, G + 1)
    expected: Floats     # (S,) of a part's value, but for its own labels
    spread: float        # the median of τ

    def ends(self, tail: float) -> tuple[Floats, Floats]:
        """(S,) each: the values of g that leave `tail` on either side."""
        lower, upper = (
            np.array([np.interp(level, row, self.edges) for row in self.cumulative])
            for level in (tail, 1 - tail)
        )
        return lower, upper


def _posterior(scale: AreaScale, mass_of_spreads: Floats) -> _Posterior:
    grid, offset, n_parts = scale.grid, scale.offset, len(scale.offset)
    spreads = scale.spread * np.tan(np.pi / 2 * (np.arange(SPREADS) + 0.5) / SPREADS)
    log_masses = (np.log(mass_of_spreads) - np.log(1 / SPREADS)).tolist()
    half, reach = (grid[1] - grid[0]) / 2, float(np.abs(offset).max())
    points = int(np.ceil((np.ptp(grid) + 2 * reach) / 2 / half)) + 1
    fine = np.linspace(grid[0] - reach, grid[-1] + reach, points)
    edges = np.concatenate([fine - (fine[1] - fine[0]) / 2, [fine[-1] + (fine[1] - fine[0]) / 2]])
    steps = np.concatenate([grid - half, [grid[-1] + half]])
    by_belief: list[tuple[float, Floats, list[_Piece]]] = []
    for belief in BELIEFS if reach > 0 else BELIEFS[:1]:
        # a part's g(θ) is its place on the grid plus β times its offset
        log = scale.likelihood.log(grid[None] + belief * offset[:, None])
        largest = log.max(axis=1, keepdims=True)
        likelihood = np.exp(log - largest)
        pieces = [_closing_in(scale, likelihood, spread) for spread in spreads.tolist()]
        by_belief.append((belief, likelihood, [
            replace(p, log_weight=p.log_weight + float(largest.sum()) + log_mass)
            for p, log_mass in zip(pieces, log_masses, strict=True)
        ]))
    every = np.concatenate([piece.log_weight for _, _, pieces in by_belief for piece in pieces])
    most = float(every.max())
    total = float(np.exp(every - most).sum())
    cumulative, expected = np.zeros((n_parts, len(edges))), np.zeros(n_parts)
    of_spread = np.zeros(SPREADS)
    # with one bound the mean of exp(g) exists only because the grid ends: the middle on the scale of g stands
    geometric = bool(np.isfinite(scale.bounds[0]) != np.isfinite(scale.bounds[1]))
    for belief, likelihood, pieces in by_belief:
        mass, apart = np.zeros_like(likelihood), np.zeros(len(grid))
        for t, piece in enumerate(pieces):
            weight = np.exp(piece.log_weight - most) / total
            of_spread[t] += weight.sum()
            if weight.sum() < _NO_POSTERIOR:
                continue
            kernel = _kernel(grid, piece.centres, piece.spread)
            evidence = np.maximum(likelihood @ kernel, 1e-300)
            mass += likelihood * ((weight / evidence) @ kernel.T)
            apart += kernel @ weight
        running = np.concatenate([np.zeros((n_parts, 1)), np.cumsum(mass, axis=1)], axis=1)
        for s in range(n_parts):
            cumulative[s] += np.interp(edges, steps + belief * offset[s], running[s])
            places = grid + belief * offset[s]
            expected[s] += float(apart @ (places if geometric else scale.back(places)))
    return _Posterior(
        edges=edges, cumulative=cumulative / cumulative[:, -1:],
        expected=scale.back(expected) if geometric else expected,
        spread=float(spreads[np.searchsorted(np.cumsum(of_spread), of_spread.sum() / 2)]),
    )


def _estimates(
    scale: AreaScale, direct: DirectEstimates, confidence: float, mass_of_spreads: Floats
) -> PooledEstimates:
    posterior = _posterior(scale, mass_of_spreads)
    edges = posterior.edges
    at, density = scale.back((edges[:-1] + edges[1:]) / 2), np.diff(posterior.cumulative, axis=1)
    items, tail = _of_items(scale, direct, density, at), (1 - confidence) / 2
    lower, upper = items.ends(scale, posterior, tail)
    lower_together, upper_together = items.ends(scale, posterior, tail / len(direct.value))
    gap = np.where(direct.present, np.nan_to_num(direct.value), posterior.expected) - posterior.expected
    own_share = (items.value - posterior.expected) / np.where(np.abs(gap) > _NO_POSTERIOR, gap, np.inf)
    lowest, highest = _chance_of_ends(density)
    return PooledEstimates(
        value=items.value, variance=items.variance, towards=posterior.expected,
        own_share=np.clip(own_share, 0.0, 1.0), spread=_in_units(scale, posterior.spread, items.value.mean()),
        chance_lowest=lowest, chance_highest=highest, lower=lower, upper=upper,
        lower_together=lower_together, upper_together=upper_together,
    )


def _in_units(scale: AreaScale, spread: float, value: float) -> float:
    """A spread on the scale of g, at a value of the measure: by the slope there."""
    low, high = scale.bounds
    if np.isfinite(low) and np.isfinite(high):
        return float(spread * (value - low) * (high - value) / (high - low))
    bound = low if np.isfinite(low) else high
    return float(spread * abs(value - bound)) if np.isfinite(bound) else spread


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Items:
    chance: Floats        # (S,) the posterior mean of θ
    value: Floats         # (S,)
    variance: Floats      # (S,)
    widened: Floats       # (S,) standard deviation of the items' mean over that of θ
    at_low: Floats        # (S,) the chance that all are at the lower bound
    at_high: Floats
    step: Floats          # (S,) by which a share changes with one item; 0 of other measures

    def ends(self, scale: AreaScale, posterior: _Posterior, tail: float) -> tuple[Floats, Floats]:
        """Lower and upper (S,), with such a tail on either side; of a share, whole items. S counts the parts,
        and ends are cut to the bounds."""
        low, high = scale.bounds
        below, above = posterior.ends(tail)
        lower = np.maximum(self.value - self.widened * (self.chance - scale.back(below)), low)
        upper = np.minimum(self.value + self.widened * (scale.back(above) - self.chance), high)
        step = np.where(self.step > 0, self.step, 1.0)
        if self.step.any():
            lower = np.where(self.step > 0, low + np.floor((lower - low) / step + _HAIR) * step, lower)
            upper = np.where(self.step > 0, high - np.floor((high - upper) / step + _HAIR) * step, upper)
        return np.where(self.at_low > tail, low, lower), np.where(self.at_high > tail, high, upper)


def _of_items(scale: AreaScale, direct: DirectEstimates, density: Floats, at: Floats) -> _Items:
    """density (S, G) of θ at (G,)."""
    chance = density @ at
    variance = np.maximum(density @ at**2 - chance**2, 1e-30)
    share = np.where(direct.present, direct.labelled_share, 0.0) * (not direct.population)
    left = np.where(direct.present, direct.items * (1 - direct.labelled_share), direct.items)
    left = np.full(len(left), np.inf) if direct.population else left
    scatter = (density * scale.likelihood.scatter(at)).sum(axis=1)
    of_items = np.where(left > 0, (1 - share) ** 2 * (variance + scatter / np.maximum(left, 1.0)), 0.0)
    none: Floats = np.zeros(len(chance))
    at_low, at_high, step = none, none, none
    if isinstance(scale.likelihood, Binomial):
        labels = scale.likelihood
        place = (at - labels.low) / labels.span
        at_low, at_high = (
            np.where(
                hits < _NO_POSTERIOR, (density * np.maximum(p, 1e-300) ** left[:, None]).sum(axis=1), 0.0
            )
            for hits, p in ((labels.hits, 1 - place), (labels.number - labels.hits, place))
        )
        step = labels.span / direct.items * (not direct.population)
    return _Items(
        chance=chance, value=share * np.nan_to_num(direct.value) + (1 - share) * chance, variance=of_items,
        widened=np.sqrt(of_items / variance), at_low=at_low, at_high=at_high, step=step,
    )


def _chance_of_ends(density: Floats) -> tuple[Floats, Floats]:
    """(S,) the chance of each part to be the lowest, and the highest; density (S, G), parts independent."""
    below = np.cumsum(density, axis=1) - density / 2
    chances = []
    for side in (1 - below, below):
        logs = np.log(np.maximum(side, 1e-300))
        chance = (density * np.exp(logs.sum(axis=0) - logs)).sum(axis=1)
        chances.append(np.asarray(chance / chance.sum()))
    return chances[0], chances[1]
