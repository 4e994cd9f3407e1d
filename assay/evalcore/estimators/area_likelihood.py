"""What the labels of a part say of it, and on which scale parts are compared (`estimators.partial_pooling`).

Ten labels do not show their own variance: where they agree it is 0.  So the variance is a function of the
value that is learned from all parts together, a generalised variance function (Wolter 2007, ch. 7), with one
c:

    bounds             g(θ)                            variance of y        likelihood
    two                logit of the place between      c p (1 - p) / n      binomial, n* = n / c trials
    one                log of the distance from it     c d² / n             gamma, of shape n / c
    none               θ                               σ² / n               Student's, σ² moderated

The binomial one at an effective number of labels is Korn & Graubard's (1998); moderated variances are Smyth's
(2004).

    S   parts;  G   points of a grid
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from assay.evalcore.types import Bools, Floats

FURTHEST_LOGIT = 9.0      # 0.0001 from a bound
LARGEST_GRID = 2_001   # points
SMALLEST_GRID = 201   # points
COARSEST_STEP = 0.1       # in logits, and logarithms
STEPS_PER_ERROR = 4.0     # of the smallest standard error of a part
SPREAD_OF_LOGITS = 1.0    # scale of the prior of what parts differ by, in logits; half of it in logarithms
SPREAD_IN_ERRORS = 2.0    # the same, in standard errors of a part
FEWEST_WITH_VARIANCE = 3  # parts; with fewer there is no variance to learn from
LEAST_EFFECT = 0.05       # of a variance on that of a share: below it a mean of losses is no share
NEAR_A_BOUND = 0.1        # of the way from one bound to the other
_LEAST_SHARE = 1e-6   # by which a variance is divided at least


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DirectEstimates:
    """Of one number in every part, (S,) each."""

    value: Floats       # NaN where a part has none
    variance: Floats    # of it; NaN or 0 where a part does not show one
    labels: Floats      # behind it, weights taken into account; 0 where there is none
    predicted: Floats   # what is expected of the part before its own labels; NaN of all where nothing is
    items: Floats       # of the part, labelled ones included
    population: bool = False   # whether it is about what these items are a sample of

    @property
    def present(self) -> Bools:
        """(S,) whether the part has an estimate of its own."""
        return np.asarray(np.isfinite(self.value) & (self.labels > 0))

    @property
    def labelled_share(self) -> Floats:
        """(S,) of the items of a part; 0 of one whose labels are all there and vary still (drawn again). S
        counts the parts; the finite pool's correction is made of it."""
        share = np.minimum(self.labels / np.maximum(self.items, 1.0), 1.0)
        return np.asarray(np.where((share < 1) | ~(self.variance > 0), share, 0.0))

    @property
    def variance_of_draws(self) -> Floats:
        """(S,) the variance, had the labels been drawn from a population."""
        return np.asarray(self.variance / np.maximum(1 - self.labelled_share, _LEAST_SHARE))


class AreaLikelihood(Protocol):
    """Of S parts."""

    def log(self, at: Floats) -> Floats:
        """(S, G) at values of g (S, G); 0 of a part without labels. S counts parts and G the points of the
        grid."""
        ...

    def scatter(self, value: Floats) -> Floats:
        """(S, G) or (S, 1) the variance of one item about a part's value (G,). S counts parts and G the
        points of the grid."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AreaScale:
    """The likelihood of every part on the scale on which they are compared, and the way back."""

    grid: Floats               # (G,) of g(θ), in even steps
    likelihood: AreaLikelihood
    offset: Floats             # (S,) g of what is predicted, less its mean; 0 where nothing is
    spread: float              # scale of the prior of what parts differ by
    bounds: tuple[float, float]

    def back(self, at: Floats) -> Floats:
        """The measure at these values of g."""
        low, high = self.bounds
        if np.isfinite(low) and np.isfinite(high):
            return np.asarray(low + (high - low) * scipy.special.expit(at))
        if np.isfinite(low):
            return np.asarray(low + np.exp(at))
        return np.asarray(high - np.exp(-at)) if np.isfinite(high) else at

    def prior_of_centre(self, at: Floats) -> Floats:
        """The logarithm of the prior of the place of an average part: Jeffreys' of a share, flat else. One
        number a point of `at`, up to a constant."""
        if not np.isfinite(self.bounds).all():
            return np.zeros(len(at))
        return np.asarray(-0.5 * np.logaddexp(0.0, -at) - 0.5 * np.logaddexp(0.0, at))


def area_scale(direct: DirectEstimates, bounds: tuple[float, float]) -> AreaScale | None:
    """The scale of a measure with these bounds; None where no variance can be learned. Shares have log odds,
    and numbers without bounds are as they are."""
    finite = np.isfinite(bounds)
    if finite.all():
        (low, high), here = bounds, direct.present
        share, labels = np.clip((direct.value[here] - low) / (high - low), 0.0, 1.0), direct.labels[here]
        effect = design_effect(share, direct.variance_of_draws[here] / (high - low) ** 2, labels)
        if effect >= LEAST_EFFECT or not labels.sum():
            return _logits(direct, bounds)
        place = float(share @ labels / labels.sum())
        bounds = (low if place < NEAR_A_BOUND else -np.inf, high if place > 1 - NEAR_A_BOUND else np.inf)
        finite = np.isfinite(bounds)
    return _logarithms(direct, bounds) if finite.any() else _as_it_is(direct)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binomial:
    """θ^(n* p) (1 - θ)^(n* (1 - p)), of shares p (S,)."""

    hits: Floats        # (S,) n* p
    number: Floats      # (S,) n*
    low: float
    span: float

    def log(self, at: Floats) -> Floats:
        """(S, G)."""
        number, hits = self.number[:, None], self.hits[:, None]
        return np.asarray(-hits * np.logaddexp(0.0, -at) - (number - hits) * np.logaddexp(0.0, at))

    def scatter(self, value: Floats) -> Floats:
        """θ (1 - θ) in units of the measure: the most that a mean of losses between its bounds has. One row,
        (1, G), for all parts alike."""
        return np.asarray((value - self.low) * (self.low + self.span - value))[None]


def design_effect(share: Floats, variance: Floats, labels: Floats) -> float:
    """c = Σ n² V / Σ n p (1 - p): how many labels are worth one of a random sample.

    share, variance, labels (S,).  1 where no part shows a variance.  V = c p (1 - p) / n is fitted to all
    parts together (Wolter 2007, ch. 7). """
    shown = np.isfinite(variance) & (variance > 0) & (labels > 1)
    below = float((labels * share * (1 - share))[shown].sum())
    return float((labels**2 * variance)[shown].sum() / below) if below > 0 else 1.0


def _logits(direct: DirectEstimates, bounds: tuple[float, float]) -> AreaScale:
    low, span = bounds[0], bounds[1] - bounds[0]
    here = direct.present
    share = np.where(here, np.clip((np.nan_to_num(direct.value) - low) / span, 0.0, 1.0), 0.5)
    effect = design_effect(share[here], direct.variance_of_draws[here] / span**2, direct.labels[here])
    number = np.where(here, direct.labels / max(effect, _LEAST_SHARE), 0.0)
    place = np.clip((direct.predicted - low) / span, 1e-4, 1 - 1e-4)
    step = min(COARSEST_STEP, 2 / np.sqrt(max(float(number.max()), 1.0)) / STEPS_PER_ERROR)
    points = min(int(2 * FURTHEST_LOGIT / step) | 1, LARGEST_GRID)
    return AreaScale(
        grid=np.linspace(-FURTHEST_LOGIT, FURTHEST_LOGIT, points, dtype=np.float64),
        likelihood=Binomial(hits=number * share, number=number, low=low, span=span),
        offset=_offset(scipy.special.logit(place)), spread=SPREAD_OF_LOGITS, bounds=bounds,
    )


def _offset(predicted: Floats) -> Floats:
    """(S,) how far what is predicted of each part is from the mean; 0 where nothing is predicted."""
    return predicted - predicted.mean() if np.isfinite(predicted).all() else np.zeros(len(predicted))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gamma:
    """Of distances d (S,) from a bound: log-likelihood -k (g + d e^-g) of the gamma distribution of shape
    k."""

    shape: Floats       # (S,) n / c
    distance: Floats    # (S,)
    relative: float     # c: the variance of one item, in squares of the distance
    sign: float         # -1 where the bound is the upper, and g falls as the distance grows
    bound: float

    def log(self, at: Floats) -> Floats:
        """(S, G)."""
        g = self.sign * at
        return np.asarray(-self.shape[:, None] * (g + self.distance[:, None] * np.exp(-g)))

    def scatter(self, value: Floats) -> Floats:
        """(1, G) c d²."""
        return np.asarray(self.relative * (value - self.bound) ** 2)[None]


def _logarithms(direct: DirectEstimates, bounds: tuple[float, float]) -> AreaScale | None:
    sign = 1.0 if np.isfinite(bounds[0]) else -1.0
    bound = bounds[0] if sign > 0 else bounds[1]
    here = direct.present
    distance = np.where(here, sign * (np.nan_to_num(direct.value) - bound), 1.0)
    variance, labels = direct.variance_of_draws[here], direct.labels[here]
    shown = np.isfinite(variance) & (variance > 0) & (labels > 1)
    below = float((labels * distance[here] ** 2)[shown].sum())
    if shown.sum() < FEWEST_WITH_VARIANCE or below <= 0:
        return None
    relative = float((labels**2 * variance)[shown].sum() / below)
    shape = np.where(here, direct.labels / relative, 0.0)
    middle = float(distance[here] @ labels / labels.sum())
    step = min(COARSEST_STEP, 1 / np.sqrt(max(float(shape.max()), 1.0)) / STEPS_PER_ERROR)
    if 2 * FURTHEST_LOGIT / step > 4 * LARGEST_GRID:     # no grid is fine enough: far from the bound
        return _as_it_is(direct)
    points = min(int(2 * FURTHEST_LOGIT / step) | 1, LARGEST_GRID)
    predicted = sign * (direct.predicted - bound)
    usable = np.isfinite(predicted).all() and bool((predicted > 0).all())
    return AreaScale(
        grid=sign * np.log(middle) + np.linspace(-FURTHEST_LOGIT, FURTHEST_LOGIT, points),
        likelihood=Gamma(shape=shape, distance=distance, relative=relative, sign=sign, bound=bound),
        offset=_offset(sign * np.log(predicted)) if usable else np.zeros(len(distance)),
        spread=SPREAD_OF_LOGITS / 2, bounds=bounds,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Student:
    """Student's density of (θ - y) / error, up to its constant."""

    value: Floats       # (S,) y
    error: Floats       # (S,) infinite where there is none
    df: Floats          # (S,)
    by_label: Floats    # (S,) the variance of one label

    def log(self, at: Floats) -> Floats:
        """(S, G)."""
        z, df = (at - self.value[:, None]) / self.error[:, None], self.df[:, None]
        return np.asarray(-(df + 1) / 2 * np.log1p(z**2 / df))

    def scatter(self, value: Floats) -> Floats:
        """(S, 1): the same at any value."""
        return np.asarray((self.by_label * self.df / np.maximum(self.df - 2, 1.0))[:, None])


def moderated_variances(variance: Floats, df: Floats) -> tuple[Floats, Floats]:
    """Variances drawn towards those of all parts (S,), and their degrees of freedom (S,).

    variance, df (S,), each above 0.  With s² ~ σ² χ²_d / d and 1/σ² ~ χ²_d0 / (d0 s0²), s0² and d0 are
    estimated by the mean and variance of log s² (Smyth 2004, sec. 6.2); the moderated variance is
    (d0 s0² + d s²) / (d0 + d), his eq. 7.
    """
    half = df / 2
    logs = np.log(variance) - scipy.special.digamma(half) + np.log(half)
    mean = float(logs.mean())
    beyond = float(logs.var(ddof=1) - scipy.special.polygamma(1, half).mean())
    if beyond <= 1e-6:  # no more scatter than that of so few labels: all parts have one variance
        return np.full(len(df), float(df @ variance / df.sum())), np.full(len(df), float(df.sum()))
    prior_half = float(np.exp(scipy.optimize.brentq(
        lambda logarithm: scipy.special.polygamma(1, np.exp(logarithm)) - beyond, -15.0, 15.0
    )))
    prior = np.exp(mean + scipy.special.digamma(prior_half) - np.log(prior_half))
    d0 = 2 * prior_half
    return (d0 * prior + df * variance) / (d0 + df), df + d0


def _as_it_is(direct: DirectEstimates) -> AreaScale | None:
    here = direct.present
    shown = here & np.isfinite(direct.variance) & (direct.variance > 0) & (direct.labels > 1)
    if shown.sum() < FEWEST_WITH_VARIANCE:
        return None
    moderated, freedom = moderated_variances(
        (direct.variance_of_draws * direct.labels)[shown], direct.labels[shown] - 1
    )
    by_label, df = np.full(len(here), np.median(moderated)), np.full(len(here), np.median(freedom))
    by_label[shown], df[shown] = moderated, freedom
    error = np.full(len(here), np.inf)
    error[here] = np.sqrt(by_label[here] / direct.labels[here])
    value, offset = np.where(here, np.nan_to_num(direct.value), 0.0), _offset(direct.predicted)
    width = float(np.ptp(value[here])) + float(np.ptp(offset)) + 8 * float(error[here].max())
    step = max(float(error[here].min()) / STEPS_PER_ERROR, 2 * width / LARGEST_GRID)
    points = max(int(2 * width / step) | 1, SMALLEST_GRID)
    return AreaScale(
        grid=float(value[here].mean()) + np.linspace(-width, width, points, dtype=np.float64),
        likelihood=Student(value=value, error=error, df=df, by_label=by_label), offset=offset,
        spread=SPREAD_IN_ERRORS * float(np.median(error[here])), bounds=(-np.inf, np.inf),
    )
