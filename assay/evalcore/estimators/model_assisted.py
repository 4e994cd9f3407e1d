"""Means from a random sample of labels, with the help of what is guessed of every item.

The generalised regression estimator (Särndal, Swensson & Wretman 1992, ch. 6): with labels of items i drawn
with chances π_i, ω_i = 1/π_i, guesses g_i known of all items, and Hájek's means of the labelled (·̄_L),

    θ̂ = z̄_L + β·(ḡ_pool - ḡ_L),      V̂ = Σ_i (1 - π_i) ω_i² e_i² / (Σ ω_i)² · n/(n - 1 - p),
    e_i = (z_i - z̄_L) - β·(g_i - ḡ_L)

With one guess and β = Cov(z, g)/Var(g) it is what prediction-powered inference calls power tuning
(Angelopoulos, Duchi & Zrnic 2023), for a finite pool.  With several guesses β is fitted in two steps, so that
a few labels do not have to weigh many guesses: first the mean of the guesses, then how each departs from it,
by ridge regression worth RIDGE labels.  Either step counts as far as labels confirm it, by the positive part
of 1 - p (1 - r²)/(n r²) (Stein's rule; Copas 1983), and p is what both steps use up.  A line through two
labels leaves nothing that says how far off it is: a step is made where a label is left beside its slopes.

A share has Wilson's interval (1927) of as many labels as these are worth,

    n* = n / (deff (1 - n/N)),      deff = (Σ e² + LIKE) / (Σ (z - z̄)² + LIKE)

LIKE labels of the rarer kind, of which the guesses knew nothing, keep one lucky guess from standing for many
labels (Korn & Graubard 1998 count the worth of labels so, with a variance of its own).

    R   repeats;  n   labels;  B   guesses
"""

from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.reproducible import is_nothing
from assay.evalcore.types import Floats

RIDGE = 8.0     # labels that say that the guesses are worth alike
LIKE = 1.5      # labels of the rarer kind that no guess foresaw
_SPARE = 3      # labels that are left when guesses are weighed one by one
_LEFT = 1       # labels that are left beside means and a slope


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedGuesses:
    """What the labels make of the guesses: coefficients (R, B); residual (R, n); spent (R,): p."""

    coefficients: Floats
    residual: Floats
    spent: Floats


def fit_guesses(
    pull: Floats, guesses: Floats, size: Floats, guess_weights: Floats, weight: Floats, means: int = 1
) -> FittedGuesses:
    """The coefficients of guesses of a pull, from labels that weigh so much.

    pull (R, n) and guesses (R, n, B) are off their means; size (R, B): the largest of each guess before, next
    to which rounding is nothing; guess_weights (B,): what each counts for in the mean of guesses, 0 of what
    is beside them; weight (R, n), with a mean of 1; means: how many were taken off, one of each stratum.
    """
    n = pull.shape[1]
    if n - means - 1 < _LEFT:
        repeats, _, number = guesses.shape
        return FittedGuesses(
            coefficients=np.zeros((repeats, number)), residual=pull, spent=np.zeros(repeats)
        )
    guesses = np.where(is_nothing(np.abs(guesses).max(axis=1), size)[:, None], 0.0, guesses)
    mean_guess = guesses @ guess_weights
    slope, r2 = _slope(pull, mean_guess, weight)
    shrinkage = np.clip(1 - (1 - r2) / np.maximum(n * r2, 1e-9), 0.0, 1.0)
    coefficients = (shrinkage * slope)[:, None] * guess_weights
    remainder = pull - (shrinkage * slope)[:, None] * mean_guess
    departures = guesses - np.where(guess_weights > 0, 1.0, 0.0) * mean_guess[..., None]
    along = _slopes_on(departures, mean_guess, weight)                            # (R, B)
    departures = departures - along[:, None] * mean_guess[..., None]
    spread = np.sqrt((weight[..., None] * departures**2).mean(axis=1))
    varies = ~is_nothing(spread, size)
    many = int(varies.any(axis=0).sum())
    if not many or n - means + 1 <= many + _SPARE:
        return FittedGuesses(coefficients=coefficients, residual=remainder, spent=shrinkage)
    scaled = np.where(varies[:, None], departures / np.where(varies, spread, 1.0)[:, None], 0.0)
    gram = np.einsum("rn,rnb,rnk->rbk", weight, scaled, scaled) / n
    cross = np.einsum("rn,rnb,rn->rb", weight, scaled, remainder) / n
    inverse = np.linalg.inv(gram + np.eye(gram.shape[1]) * (RIDGE / n + 1e-9))
    slopes = np.einsum("rbk,rk->rb", inverse, cross)
    used = np.einsum("rbk,rkb->r", inverse, gram)
    square = (weight * remainder**2).mean(axis=1)
    share = np.clip((slopes * cross).sum(axis=1) / np.maximum(square, 1e-300), 0.0, 0.999)
    keep = np.clip(1 - used * (1 - share) / np.maximum(n * share, 1e-9), 0.0, 1.0)[:, None]
    slopes = keep * slopes / np.where(varies, spread, 1.0) * varies
    on_mean = (slopes * (np.where(guess_weights > 0, 1.0, 0.0) + along)).sum(axis=1, keepdims=True)
    return FittedGuesses(
        coefficients=coefficients + slopes - on_mean * guess_weights,
        residual=remainder - np.einsum("rnb,rb->rn", departures, slopes), spent=shrinkage + keep[:, 0] * used,
    )


def _slope(pull: Floats, guess: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The slope (R,) of a pull on one guess, both (R, n), and r²."""
    square, total = (weight * guess**2).sum(axis=1), (weight * pull**2).sum(axis=1)
    product = (weight * guess * pull).sum(axis=1)
    has_spread = (square > 0) & (total > 0)
    slope = np.where(has_spread, product / np.where(has_spread, square, 1.0), 0.0)
    return slope, np.where(has_spread, product * slope / np.where(has_spread, total, 1.0), 0.0)


def _slopes_on(columns: Floats, guess: Floats, weight: Floats) -> Floats:
    """The slopes (R, B) of columns (R, n, B) on one guess (R, n)."""
    square = (weight * guess**2).sum(axis=1)[:, None]
    product = np.einsum("rn,rn,rnb->rb", weight, guess, columns)
    return np.where(square > 0, product / np.where(square > 0, square, 1.0), 0.0)


def share_of_random_labels(
    value: Floats, residual_square: Floats, square: Floats, labels: Floats, confidence: Floats,
    like: Floats | float = 1.0,
) -> tuple[Floats, Floats]:
    """Wilson's ends of a share, all (R,).

    residual_square, square: Σ e², made up for what the fit used, and Σ (z - z̄)²; labels: n/(1 - n/N), of
    items that count differently (Σ w)²/Σ w²; like: the mean w² of an item that LIKE counts.
    """
    worth = labels * (square + LIKE * like) / (residual_square + LIKE * like)
    z2 = scipy.special.ndtri(0.5 + confidence / 2) ** 2
    p = np.clip(value, 0.0, 1.0)
    centre = (p + z2 / (2 * worth)) / (1 + z2 / worth)
    half = np.sqrt(z2 * (p * (1 - p) / worth + z2 / (4 * worth**2))) / (1 + z2 / worth)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
