"""Variances of the numbers asked for, by linearisation, and their intervals.

With J the slopes at R̂ and z = J·e the pull of a residual, the variance of J·R̂ is that of a stratified mean
over the groups (Cochran 1977, ch. 5),

    V = Σ_g U_g (U_g/n_g + 1) s_g² / N²

n_g the labels that ē_g rests on.  Few labels of a group are no proof that its items are alike, so s_g² is
drawn towards what was guessed beforehand (σ_g², scaled by how it fared over the whole pool), which counts for
PRIOR labels.

The interval is Student's, with the degrees of freedom that the fourth moment of the terms leaves
(Satterthwaite 1946): a few large residuals widen it.  Where the terms are skewed, the end on the side of the
long tail is moved out as Johnson (1978) moves the mean.  Of a measure with one bound (a mean squared
error, R²) it is the interval of the logarithm of the distance from it; of one between two bounds it spans
that of the log odds as well, which reaches further away from a bound that is near.
"""

import numpy as np
from scipy.special import stdtrit

from assay.evalcore.outcome_methods.reading import Reading, off_centre, sums
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.rounding import is_nothing
from assay.evalcore.types import Bools, Floats

PRIOR = 3.0      # labels that the guessed variance of a group counts for
DOUBT = 12.0     # labels that the guessed scale counts for
LEAST_DF = 3.0
FURTHEST = 3.0   # log odds from the estimate: beyond it the normal interval alone speaks
WIDER = 1.08     # of the interval: residuals are a little smaller than the errors of what was fitted to them


def variances(
    state: SampleState, reading: Reading, slopes: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """V, the degrees of freedom and the skewness of the error, each (R, Q), and what each label adds to the
    error (R, n, Q); slopes (R, Q, D)."""
    pull = off_centre(reading, slopes)
    square = pull**2
    n_g = reading.by_group(np.ones_like(pull[..., :1]))
    within = reading.by_group(square)
    prior = scaled_prior(state, reading, within.sum(axis=1))
    spread = (within + PRIOR * prior) / (np.maximum(n_g - 1, 0) + PRIOR)
    factor = reading.open * (reading.open / reading.effective + 1)
    if reading.modelled.any():
        spent = state.stack.kind.label_model.spent(len(state.cells.first))
        factor = factor * state.n / max(state.n - spent, 1.0)
    v = np.einsum("rg,rgq->rq", factor, spread) / reading.items[:, None] ** 2
    each = factor / np.maximum(n_g[..., 0], 1)
    terms = np.take_along_axis(each, reading.group, axis=1)[..., None] * square
    df = degrees_of_freedom(terms, state.n)
    signed = np.take_along_axis(np.sqrt(each), reading.group, axis=1)[..., None] * pull
    return v, df, skewness(signed), signed


def degrees_of_freedom(terms: Floats, labels: int) -> Floats:
    """(R, Q) of a variance that is the sum of terms (R, n, Q) (Satterthwaite 1946)."""
    second, fourth = terms.sum(axis=1) ** 2, (terms**2).sum(axis=1)
    most = max(labels - 1.0, LEAST_DF)
    excess = np.maximum(fourth - second / max(labels, 1), 2 * second / most)
    df = 2 * second / np.where(excess > 0, excess, 1.0)
    return np.clip(np.where(excess > 0, df, most), LEAST_DF, most)


def skewness(signed: Floats) -> Floats:
    """(R, Q) of an error that is the sum of what each label adds to it (R, n, Q)."""
    squares = (signed**2).sum(axis=1)
    return np.asarray((signed**3).sum(axis=1) / np.where(squares > 1e-200, squares, np.inf) ** 1.5)


def scaled_prior(state: SampleState, reading: Reading, total: Floats) -> Floats:
    """σ_g² (R, G, Q): the guessed variances, scaled to what was found; total (R, Q): Σ of squares found."""
    guess = state.cells.spread
    left = state.wanted.astype(np.float64)
    g = reading.open.shape[1]
    weight = (left + 1e-9)[..., None]
    size = sums(reading.group_of, weight, g)
    mean = sums(reading.group_of, weight * guess, g) / np.maximum(size, 1e-12)
    expected = guess[state.cell].sum(axis=1)                       # (R, Q) over the labelled items
    average = np.maximum(guess.mean(axis=0), 1e-300)
    # where nothing is guessed of the spread (numbers), the labels alone say
    doubt = DOUBT * average if state.stack.kind.label_model.shared else 1e-12 * average
    scale = (total + doubt) / (expected + doubt)
    return np.asarray(mean * scale[:, None, :])


def ends(
    value: Floats, variance: Floats, df: Floats, skew: Floats, confidence: float | Floats,
    bounds: tuple[Floats, Floats],
) -> tuple[Floats, Floats]:
    """Lower and upper (R, Q), inside the bounds (Q,); confidence: one for all, or (R, Q)."""
    t = stdtrit(df, 0.5 + confidence / 2)
    half = WIDER * t * np.sqrt(variance)
    tail = (1 + 2 * t**2) / (6 * t) * skew
    below, above = half * (1 + np.maximum(-tail, 0)), half * (1 + np.maximum(tail, 0))
    lower, upper = value - below, value + above
    low, high = (np.broadcast_to(bound, value.shape) for bound in bounds)
    lower, upper = _one_bound(value, lower, upper, low, np.isfinite(low) & np.isinf(high))
    flipped = _one_bound(-value, -upper, -lower, -high, np.isfinite(high) & np.isinf(low))
    lower, upper = _log_odds(value, half, -flipped[1], -flipped[0], low, high)
    return np.clip(lower, *bounds), np.clip(upper, *bounds)


def _one_bound(
    value: Floats, lower: Floats, upper: Floats, low: Floats, here: Bools
) -> tuple[Floats, Floats]:
    """The interval of the logarithm of value - low, where `here`."""
    # a value that is at its bound but for rounding has no logarithm either
    apply = here & (value > low) & ~is_nothing(value - low, upper - lower)
    distance = np.where(apply, value - low, 1.0)
    down = np.exp(-np.minimum((value - lower) / distance, FURTHEST))
    up = np.exp(np.minimum((upper - value) / distance, FURTHEST))
    first, last = value - distance * (1 - down), value + distance * (up - 1)
    return np.where(apply, first, lower), np.where(apply, last, upper)


def _log_odds(
    value: Floats, half: Floats, lower: Floats, upper: Floats, low: Floats, high: Floats
) -> tuple[Floats, Floats]:
    """The interval spread to that of the log odds, of values between two bounds."""
    span = np.where(np.isfinite(high) & np.isfinite(low), high - low, np.nan)
    share = (value - low) / span
    near = (share > 0) & (share < 1)
    inside = np.where(near, share, 0.5)
    odds = inside / (1 - inside)
    factor = np.exp(np.minimum(half / np.where(near, span, 1.0) / (inside * (1 - inside)), FURTHEST))
    first, last = (low + span * ratio / (1 + ratio) for ratio in (odds / factor, odds * factor))
    return np.where(near, np.minimum(lower, first), lower), np.where(near, np.maximum(upper, last), upper)
