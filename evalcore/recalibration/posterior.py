"""Weighted draws from the posterior of the positive rates, and of a measure of the finite pool.

A draw of configuration h is β = β̂ + L⁻ᵀe, e ~ N(0, I), L the Cholesky factor of the Hessian.  Its weight
corrects everything the Laplace fit got wrong and adds what a Gaussian process cannot say:

    log w = [log p(k | β) − |β|²/2] − [log p(k | β̂) − |β̂|²/2] + |e|²/2      exact posterior over Laplace, ≤ 6
          + log evidence of h
          + log t₄(log(P / PP))                      the system is roughly right about how many there are
          + the change in likelihood from the two edits below

* Spike-and-slab tail: half of the draws have (almost) no positives below a rank r*, log-uniform between PP
  and N: p_c is cut to a thousandth in cells whose middle lies beyond it.  The median of the tail may then go
  to nothing while its upper quantile stays honest.
* Contamination: positives that the score does not see, spread evenly: p ← p + η (1 − p), η = ρ PP/N with ρ
  lognormal.

    R repeats   H configurations   S draws in all (H times those of each)   C cells
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalcore.recalibration.label_model import Fit, LabelModel, softplus
from evalcore.types import Floats

LARGEST_EXCESS = 6.0     # cap on the log weight of a draw over that of the mode
CUT_SHARE = 0.5          # draws with an empty tail
CUT_RATE = 1e-3          # what is left of the rates beyond the cut
TOTAL_DF, TOTAL_SCALE = 4.0, 1.0
LARGEST_CONTAMINATION = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contamination:
    """ρ ~ lognormal(log median, sigma): hidden positives as a share of the predicted ones."""

    median: float
    sigma: float


NARROW = Contamination(median=0.025, sigma=1.5)
WIDE = Contamination(median=0.05, sigma=1.5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """The random numbers behind a set of draws; shared by all repeats."""

    normal: Floats       # (H, S/H, m) e
    log_cut: Floats      # (S,) log r*, infinite where the tail is not cut
    log_share: Floats    # (S,) standard normal behind log ρ


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """Weighted draws of the positive rate of every cell."""

    rate: Floats         # (R, S, C)
    weight: Floats       # (R, S) sums to 1
    by_configuration: Floats  # (R, H) posterior weight of each
    cut: Floats          # (R,) posterior weight of the draws with an empty tail

    @property
    def mean(self) -> Floats:
        """Posterior mean rate (R, C)."""
        return np.asarray(np.matmul(self.weight[:, None, :], self.rate)[:, 0])

    @property
    def effective(self) -> Floats:
        """Effective sample size as a share of the draws (R,)."""
        return np.asarray(1 / (self.weight**2).sum(axis=1) / self.weight.shape[1])


def noise(model: LabelModel, draws: int, rng: np.random.Generator) -> Noise:
    """Random numbers for about `draws` draws: antithetic normals, stratified cuts."""
    n_config, _, n_basis = model.basis.shape
    half = max(draws // n_config // 2, 2)
    normal = rng.standard_normal((n_config, half, n_basis))
    total = 2 * half * n_config
    strata = (rng.permutation(total) + rng.random(total)) / total
    low, high = np.log(model.shape.positives), np.log(max(model.shape.n_items, model.shape.positives + 1))
    cut = np.where(strata < CUT_SHARE, low + (high - low) * strata / CUT_SHARE, np.inf)
    return Noise(
        normal=np.concatenate([normal, -normal], axis=1),
        log_cut=cut,
        log_share=rng.standard_normal(total),
    )


def posterior(
    model: LabelModel, fitted: Fit, n: Floats, k: Floats, left: Floats, given: Noise
) -> Posterior:
    """Draw, given n labelled items (R, C), k of them positive, and `left` (R, C) unlabelled."""
    return posteriors(model, fitted, n, k, left, given, (None,))[0]


def posteriors(
    model: LabelModel,
    fitted: Fit,
    n: Floats,
    k: Floats,
    left: Floats,
    given: Noise,
    contaminations: Sequence[Contamination | None],
) -> list[Posterior]:
    """The same draws under several beliefs about hidden positives."""
    n_repeats, n_config, n_basis = fitted.coefficients.shape
    n_cells = model.basis.shape[1]
    across = fitted.root.transpose(0, 1, 3, 2)
    # (R, H, S/H, m): L⁻ᵀe; an inverse pays only for more right-hand sides than unknowns
    if given.normal.shape[1] > n_basis:
        shift = np.matmul(given.normal, np.linalg.inv(fitted.root))
    else:
        columns = np.broadcast_to(given.normal.transpose(0, 2, 1), (*across.shape[:3], len(given.normal[0])))
        shift = np.linalg.solve(across, columns).transpose(0, 1, 3, 2)
    beta = fitted.coefficients[:, :, None, :] + shift
    f = model.mean[:, None, :] + np.matmul(beta, model.basis.transpose(0, 2, 1))
    f = f.reshape(n_repeats, -1, n_cells)                                      # (R, S, C)
    small = np.exp(-np.abs(f))
    rate = np.where(f >= 0, 1.0, small) / (1 + small)
    beyond = model.shape.log_rank > given.log_cut[:, None]                     # (S, C)
    rate *= np.where(beyond, CUT_RATE, 1.0)

    # log p and log(1 − p) of the cells with labels, before and after the cut
    active = np.flatnonzero((n > 0).any(axis=0))
    hit = np.flatnonzero((k > 0).any(axis=0))
    rest = (n - k)[:, active, None]
    f_active = np.take(f, active, axis=-1)
    empty = -softplus(f_active)
    exact = np.matmul(empty, n[:, active, None])[..., 0] + np.matmul(f_active, k[:, active, None])[..., 0]
    faint = np.take(rate, active, axis=-1)
    empty = np.where(beyond[:, active], -faint * (1 + 0.5 * faint), empty)     # log1p(−p), p ≤ 1e-3
    missed = np.matmul(empty, rest)[..., 0]
    seen = np.take(rate, hit, axis=-1)
    weight_hit = k[:, hit, None]

    e = given.normal
    excess = exact - 0.5 * (beta**2).sum(axis=-1).reshape(n_repeats, -1) + 0.5 * (e**2).sum(axis=-1).ravel()
    by_draw = np.repeat(np.arange(n_config), e.shape[1])
    excess = np.minimum(excess - fitted.log_joint[:, by_draw], LARGEST_EXCESS)
    base = excess + fitted.log_evidence[:, by_draw] - exact
    known = k.sum(axis=1)[:, None] + np.matmul(rate, left[:, :, None])[..., 0]
    result = []
    for contamination in contaminations:
        eta = np.zeros(len(by_draw)) if contamination is None else _hidden_share(model, given, contamination)
        edited = rate if contamination is None else rate + eta[:, None] * (1 - rate)
        found = np.log(np.maximum(seen + eta[:, None] * (1 - seen), 1e-300))
        log_weight = base + missed + rest.sum(axis=1) * np.log1p(-eta) + np.matmul(found, weight_hit)[..., 0]
        total = known + eta * (left.sum(axis=1)[:, None] - (known - k.sum(axis=1)[:, None]))
        surprise = np.log(np.maximum(total, 0.3) / model.shape.positives) / TOTAL_SCALE
        log_weight -= 0.5 * (TOTAL_DF + 1) * np.log1p(surprise**2 / TOTAL_DF)
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        result.append(
            Posterior(
                rate=edited,
                weight=weight,
                by_configuration=weight.reshape(n_repeats, n_config, -1).sum(axis=2),
                cut=(weight * np.isfinite(given.log_cut)).sum(axis=1),
            )
        )
    return result


def _hidden_share(model: LabelModel, given: Noise, contamination: Contamination) -> Floats:
    """η (S,): the share of the items without a visible sign that are positive all the same."""
    scale = np.log(contamination.median * model.shape.positives / model.shape.n_items)
    return np.asarray(
        np.minimum(np.exp(scale + contamination.sigma * given.log_share), LARGEST_CONTAMINATION)
    )


def finite_counts(post: Posterior, left: Floats, predicted: Floats, rng: np.random.Generator) -> Floats:
    """Positives among the unlabelled items of one prediction, one count a draw: (R, S).

    A sum of binomials with mean m and variance v is drawn as the binomial with the same two moments:
    m/ν items of rate ν = 1 − v/m each.
    """
    weighted = left * predicted                                                    # (R, C)
    mean = np.matmul(post.rate, weighted[:, :, None])[..., 0]
    squares = np.matmul(post.rate**2, weighted[:, :, None])[..., 0]
    share = np.clip(squares / np.maximum(mean, 1e-300), 1e-9, 1.0)
    trials = np.ceil(np.minimum(mean / share, 1e15)).astype(np.int64)
    chance = np.clip(mean / np.maximum(trials, 1), 0.0, 1.0)
    drawn = rng.binomial(trials, chance)
    return np.asarray(np.minimum(drawn, weighted.sum(axis=1)[:, None]), dtype=np.float64)
