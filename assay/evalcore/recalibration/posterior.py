"""Weighted draws from the posterior of the positive rates, and of the quantities of the finite pool
that are asked for (`Estimand`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from assay.evalcore.recalibration.label_model import Fit, LabelModel, PoolShape
from assay.evalcore.reproducible import OFF_TIES
from assay.evalcore.types import Bools, Floats, Ints

LARGEST_CONTAMINATION = 0.5   # share of the items: no more than half are ever supposed to be hidden positives


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contamination:
    """ρ ~ lognormal(log median, sigma): positives that the score does not see, as a share of `of`.

    Of the predicted positives: a share of them may look like any negative, whatever the labels have shown.
    Of the tail: of the positives that the model itself expects among unlabelled items predicted negative, one
    more, and a twentieth of the predicted ones.  The model's tail is off by a factor then, and where it is
    next to nothing there is little to be off by.
    """

    median: float
    sigma: float
    of: Literal["tail", "predicted"]


NARROW = Contamination(median=0.3, sigma=1.0, of="tail")
WIDE = Contamination(median=0.2, sigma=1.5, of="predicted")
AT_LEAST_ITEMS, AT_LEAST_SHARE = 1.0, 0.05   # of the tail: what it is taken to hold beyond the model's own


def hidden_share(
    contamination: Contamination | None, shape: PoolShape, log_share: Floats, expected_missed: Floats
) -> Floats:
    """η (R or 1, S) of each draw; 0 without contamination.

    log_share (S,): the standard normal behind log ρ; expected_missed (R, 1): positives that the model expects
    among the unlabelled items predicted negative.
    """
    if contamination is None:
        return np.zeros((1, len(log_share)))
    base: Floats = np.full((1, 1), shape.positives)
    if contamination.of == "tail":
        base = expected_missed + AT_LEAST_ITEMS + AT_LEAST_SHARE * base
    factor = contamination.median * np.exp(contamination.sigma * log_share)
    return np.asarray(np.minimum(factor * base / shape.n_items, LARGEST_CONTAMINATION))


LARGEST_EXCESS = 6.0     # cap on the log weight of a draw over that of the mode
EVEN_DRAWS = 0.1         # share of the draws that configurations get alike while they are not ruled out
RULED_OUT = 12.0         # log evidence below the best, beyond which a configuration gets no draw
CUT_SHARE = 0.5          # draws with an empty tail
CUT_RATE = 1e-3          # what is left of the rates beyond the cut
# of the prior on the total; the scale was halved and doubled in docs/measured/sensitivity.md
TOTAL_DF, TOTAL_SCALE = 4.0, 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """The random numbers behind a set of draws; shared by all repeats.

    Weighted draws from the posterior of the positive rates, and of a measure of the finite pool.

    A draw of configuration h is β = β̂ + L⁻ᵀe, e ~ N(0, I), L the Cholesky factor of the Hessian.  Its weight
    corrects everything the Laplace fit got wrong and adds what a Gaussian process cannot say:

        log w = [log p(k | β) − |β|²/2] − [log p(k | β̂) − |β̂|²/2] + |e|²/2    exact posterior over Laplace,
                                                                                ≤ 6
              + log evidence of h
              + log t₄(log(P / PP))                      the system is roughly right about how many there are
              + the change in likelihood from the two edits below

    * Spike-and-slab tail: half of the draws have (almost) no positives below a rank r*, log-uniform between
        PP
      and N: p_c is cut to a thousandth in cells whose middle lies beyond it.  The median of the tail may then
      go to nothing while its upper quantile stays honest.
    * Contamination: positives that the score does not see, spread evenly: p ← p + η (1 − p), η = ρ B/N with ρ
      lognormal and B the model's own tail or the predicted positives (`Contamination`).

    Configurations share the draws by their evidence, so that none is spent on what the labels have ruled out.

        R repeats   H configurations   S draws in all   C cells
    """

    normal: Floats       # (S, m) e; each even row is followed by its negative
    log_cut: Floats      # (S,) log r*, infinite where the tail is not cut
    beyond: Bools        # (S, C) whether the cell's middle lies beyond the cut
    log_share: Floats    # (S,) standard normal behind log ρ


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """Weighted draws of the positive rate of every cell from the posterior, (R, S, C) for S draws, with the
    posterior weight of each configuration and of an empty tail."""

    rate: Floats         # (R, S, C)
    weight: Floats       # (R, S) sums to 1
    by_configuration: Floats  # (R, H) posterior weight of each
    cut: Floats          # (R,) posterior weight of the draws with an empty tail
    log_evidence: Floats  # (R,) of the whole mixture, up to a constant shared by all contaminations

    @property
    def mean(self) -> Floats:
        """The posterior mean of the positive rate, (R, C)."""
        return np.asarray(np.matmul(self.weight[:, None, :], self.rate)[:, 0])

    @property
    def effective(self) -> Floats:
        """The effective sample size as a share of the S draws, 1/(S Σ w²), (R,). R counts repeats and w are
        the weights of draws; 1 where all weigh alike."""
        return np.asarray(1 / (self.weight**2).sum(axis=1) / self.weight.shape[1])


def noise(model: LabelModel, draws: int, rng: np.random.Generator) -> Noise:
    """Random numbers for `draws` draws, rounded to even: antithetic normals, stratified cuts."""
    half = max(draws // 2, 2 * len(model.names))
    normal = rng.standard_normal((half, model.basis.shape[2]))
    total = 2 * half
    strata = (rng.permutation(total) + rng.random(total)) / total
    low, high = np.log(model.shape.positives), np.log(max(model.shape.n_items, model.shape.positives + 1))
    cut = np.where(strata < CUT_SHARE, low + (high - low) * strata / CUT_SHARE, np.inf)
    return Noise(
        normal=np.stack([normal, -normal], axis=1).reshape(total, -1),
        log_cut=cut,
        beyond=model.shape.log_rank > cut[:, None],
        log_share=rng.standard_normal(total),
    )


def _shared_out(log_evidence: Floats, draws: int) -> Ints:
    """How many of the draws each configuration gets: (R, H), even, in proportion to its evidence."""
    behind = log_evidence - log_evidence.max(axis=1, keepdims=True)
    alive = behind > -RULED_OUT
    share = np.exp(np.where(alive, behind, -np.inf))
    share = (1 - EVEN_DRAWS) * share / share.sum(axis=1, keepdims=True)
    share += EVEN_DRAWS * alive / alive.sum(axis=1, keepdims=True)
    # configurations are often alike before any label, which puts shares on halves: a rounding must not decide
    ends = np.floor(np.cumsum(share, axis=1) * (draws // 2) + (0.5 + OFF_TIES))
    ends[:, -1] = draws // 2
    return np.asarray(2 * np.diff(ends, axis=1, prepend=0.0), dtype=np.int64)


def _laplace(model: LabelModel, fitted: Fit, noise: Noise) -> tuple[Ints, Floats, Floats, Floats]:
    """Draws of the Laplace fits: configuration (R, S), β (R, S, m), f (R, S, C), draws of each (R, H)."""
    n_draws, n_basis = noise.normal.shape
    counts = _shared_out(fitted.log_evidence, n_draws)
    n_repeats, n_config = counts.shape
    whose = np.empty((n_repeats, n_draws), np.int64)
    beta = np.empty((n_repeats, n_draws, n_basis))
    f = np.empty((n_repeats, n_draws, model.basis.shape[1]))
    for r in range(n_repeats):
        whose[r] = np.repeat(np.arange(n_config), counts[r])
        at = np.cumsum(counts[r]) - counts[r]
        for h in np.flatnonzero(counts[r]):
            rows = slice(at[h], at[h] + counts[r, h])
            shift, _ = scipy.linalg.lapack.dtrtrs(fitted.root[r, h].T, noise.normal[rows].T)            # L⁻ᵀe
            beta[r, rows] = fitted.coefficients[r, h] + shift.T
            f[r, rows] = model.mean[h] + beta[r, rows] @ model.basis[h].T
    return whose, beta, f, counts.astype(np.float64)


def posterior(
    model: LabelModel, fitted: Fit, n: Floats, k: Floats, free: Floats, noise: Noise
) -> Posterior:
    """Draw, given n labelled items (R, C), k of them positive, and `free` (R, C) unlabelled. R counts repeats
    and C cells; the random numbers are those of `noise`, and no hidden positives are assumed."""
    return posteriors(model, fitted, n, k, free, noise, (None,))[0]


def posteriors(
    model: LabelModel,
    fitted: Fit,
    n: Floats,
    k: Floats,
    free: Floats,
    noise: Noise,
    contaminations: Sequence[Contamination | None],
) -> list[Posterior]:
    """The same draws under several beliefs about hidden positives, one posterior for each.

    n, k, free (R, C) as in `posterior`.  None comes first: a belief may refer to the tail without
    contamination.  Raises ValueError if it does not.
    """
    if any(c is not None for c in contaminations) and contaminations[0] is not None:
        raise ValueError("the posterior without contamination comes first: others refer to its tail")
    drawn = _draws(model, fitted, n, k, free, noise)
    missed_items = free * (1 - model.shape.predicted)
    expected_missed = np.zeros((len(n), 1))
    result = []
    for contamination in contaminations:
        eta = hidden_share(contamination, model.shape, noise.log_share, expected_missed)
        edited = drawn.rate if contamination is None else drawn.rate + eta[..., None] * (1 - drawn.rate)
        log_weight = _log_weight(model, drawn, eta)
        top = log_weight.max(axis=1, keepdims=True)
        weight = np.exp(log_weight - top)
        total_weight = weight.sum(axis=1, keepdims=True)
        weight /= total_weight
        if contamination is None:
            tail = np.matmul(drawn.rate, missed_items[:, :, None])[..., 0]
            expected_missed = (weight * tail).sum(axis=1, keepdims=True)
        n_config = len(model.names)
        result.append(
            Posterior(
                rate=edited,
                weight=weight,
                by_configuration=np.stack(
                    [np.bincount(h, w, n_config) for h, w in zip(drawn.whose, weight, strict=True)]
                ),
                cut=(weight * np.isfinite(noise.log_cut)).sum(axis=1),
                log_evidence=(top + np.log(total_weight))[:, 0],
            )
        )
    return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draws:
    """Draws before any contamination, with what the weight of each is made of."""

    whose: Ints          # (R, S) configuration
    rate: Floats         # (R, S, C) with the tail cut
    base: Floats         # (R, S) log weight without the likelihood of the labels
    missed: Floats       # (R, S) log likelihood of the labels that are not positive
    seen: Floats         # (R, S, A) rate in the cells with a positive
    hits: Floats         # (R, A, 1) positives there
    rest: Floats         # (R, 1) labels that are not positive
    known: Floats        # (R, S) positives in the pool, found and expected
    found: Floats        # (R,) positives found
    left: Floats         # (R,) unlabelled items


def _draws(model: LabelModel, fitted: Fit, n: Floats, k: Floats, free: Floats, noise: Noise) -> _Draws:
    whose, beta, f, counts = _laplace(model, fitted, noise)
    small = np.abs(f)
    np.exp(np.negative(small, out=small), out=small)                           # e^−|f|
    one_more = 1 + small
    rate = np.where(f >= 0, 1.0, small)
    rate /= one_more
    rate *= np.where(noise.beyond, CUT_RATE, 1.0)

    # log p and log(1 − p) of the cells with labels, before and after the cut
    active = np.flatnonzero((n > 0).any(axis=0))
    hit = np.flatnonzero((k > 0).any(axis=0))
    negatives = (n - k)[:, active, None]
    f_active = np.take(f, active, axis=-1)
    # softplus(f), of which the exponential is there already
    empty = -(np.maximum(f_active, 0) + np.log(np.take(one_more, active, axis=-1)))
    exact = np.matmul(empty, n[:, active, None])[..., 0] + np.matmul(f_active, k[:, active, None])[..., 0]
    faint = np.take(rate, active, axis=-1)
    empty = np.where(noise.beyond[:, active], -faint * (1 + 0.5 * faint), empty)     # log1p(−p), p ≤ 1e-3

    excess = exact - 0.5 * (beta**2).sum(axis=-1) + 0.5 * (noise.normal**2).sum(axis=-1)
    excess = np.minimum(excess - np.take_along_axis(fitted.log_joint, whose, axis=1), LARGEST_EXCESS)
    with np.errstate(divide="ignore"):
        per_draw = fitted.log_evidence - np.log(counts)
    positives = k.sum(axis=1)
    return _Draws(
        whose=whose,
        rate=rate,
        base=excess + np.take_along_axis(per_draw, whose, axis=1) - exact,
        missed=np.matmul(empty, negatives)[..., 0],
        seen=np.take(rate, hit, axis=-1),
        hits=k[:, hit, None],
        rest=negatives.sum(axis=1),
        known=positives[:, None] + np.matmul(rate, free[:, :, None])[..., 0],
        found=positives,
        left=free.sum(axis=1),
    )


def _log_weight(model: LabelModel, drawn: _Draws, eta: Floats) -> Floats:
    """Log weight (R, S) of draws of which a share η (R or 1, S) of the other items is positive."""
    log_seen = np.log(np.maximum(drawn.seen + eta[..., None] * (1 - drawn.seen), 1e-300))
    clear = drawn.rest * np.log1p(-eta)
    log_weight = drawn.base + drawn.missed + clear + np.matmul(log_seen, drawn.hits)[..., 0]
    total = drawn.known + eta * (drawn.left[:, None] - (drawn.known - drawn.found[:, None]))
    surprise = np.log(np.maximum(total, 0.3) / model.shape.positives) / TOTAL_SCALE
    log_weight -= 0.5 * (TOTAL_DF + 1) * np.log1p(surprise**2 / TOTAL_DF)
    return np.asarray(log_weight)


def finite_counts(post: Posterior, free: Floats, groups: Floats, rng: np.random.Generator) -> Floats:
    """Positives among the unlabelled items of each group of cells, one count a draw: (R, S, G).

    free (R, C): unlabelled items; groups (G, C): 1 for the cells of the group, else 0; the last is drawn
    first.

    A sum of binomials with mean m and variance v is drawn as the binomial with the same two moments:
    m/ν items of rate ν = 1 − v/m each.
    """
    squared, counts = post.rate**2, []
    for group in groups[::-1]:
        weighted = free * group                                                    # (R, C)
        mean, squares = (_sums(per_cell, weighted, group) for per_cell in (post.rate, squared))
        share = np.clip(squares / np.maximum(mean, 1e-300), 1e-9, 1.0)
        # one cell, or cells alike, give a whole number of items: a rounding must not make it one more
        trials = np.ceil(np.minimum(mean / share, 1e15) * (1 - OFF_TIES)).astype(np.int64)
        chance = np.clip(mean / np.maximum(trials, 1), 0.0, 1.0)
        drawn = rng.binomial(trials, chance)
        counts.append(np.minimum(drawn, weighted.sum(axis=1)[:, None]))
    return np.asarray(np.stack(counts[::-1], axis=-1), dtype=np.float64)


def _sums(per_cell: Floats, weighted: Floats, group: Floats) -> Floats:
    """Sums (R, S) over the cells of a group (C,); per_cell (R, S, C), weighted (R, C) by the items there."""
    if np.count_nonzero(group) == 1:      # as it is for most bands of a curve
        at = int(np.argmax(group))
        return np.asarray(per_cell[..., at] * weighted[:, at, None])
    return np.asarray(np.matmul(per_cell, weighted[:, :, None])[..., 0])
