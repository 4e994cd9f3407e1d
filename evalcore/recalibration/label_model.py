"""The label model: a mixture of Gaussian processes over cells, its Laplace fits, and a warm start."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from assay.evalcore.recalibration.prior import Configuration, PoolShape, prior, rough_modes
from assay.evalcore.remembered import remembered
from assay.evalcore.types import Bools, Floats

MODES = 25               # of the rough remainder: the next one holds less than a hundredth of its variance
VOTES_SD = 2.0           # log odds between all of the other systems and judges, and none of them
CONVERGED = 1e-7         # largest entry of the last Newton step: quadratic, so the error is about its square
MAX_STEPS = 60
MAX_HALVINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelModel:
    """The mixture before any label."""

    shape: PoolShape
    names: tuple[str, ...]
    broken: Bools        # (H,) whether the configuration takes the scores for useless or inverted
    log_weight: Floats   # (H,) prior
    mean: Floats         # (H, C) μ
    basis: Floats        # (H, C, m) Φ


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """The Laplace fits of all configurations to the labels of each repeat."""

    coefficients: Floats  # (R, H, m) β̂
    root: Floats          # (R, H, m, m) lower Cholesky factor of the Hessian
    log_joint: Floats     # (R, H) log p(k | β̂) − |β̂|²/2
    log_evidence: Floats  # (R, H) with the prior weight of the configuration

    @staticmethod
    def join(parts: Sequence["Fit"]) -> "Fit":
        """Several sets of repeats as one."""
        return Fit(
            coefficients=np.concatenate([p.coefficients for p in parts]),
            root=np.concatenate([p.root for p in parts]),
            log_joint=np.concatenate([p.log_joint for p in parts]),
            log_evidence=np.concatenate([p.log_evidence for p in parts]),
        )


@remembered(8)
def label_model(shape: PoolShape, configurations: Sequence[Configuration]) -> LabelModel:
    """The prior of each configuration, and its factor."""
    modes = rough_modes(len(shape.size), MODES)
    means, bases = zip(*(prior(shape, c, modes) for c in configurations), strict=True)
    if shape.votes is not None and np.ptp(shape.votes) > 0:
        votes = VOTES_SD * (shape.votes - np.average(shape.votes, weights=shape.size))
        bases = tuple(np.column_stack([basis, votes]) for basis in bases)
    return LabelModel(
        shape=shape,
        names=tuple(c.name for c in configurations),
        broken=np.array([c.broken for c in configurations]),
        log_weight=np.array([c.log_weight for c in configurations]),
        mean=np.stack(means),
        basis=np.stack(bases),
    )


def log_likelihood(log_odds: Floats, n: Floats, k: Floats) -> Floats:
    """Σ_c k_c f_c − n_c log(1 + exp f_c), the binomial log likelihood up to a constant: (...).

    log_odds f (..., C); n, k (..., C): labels and positives among them.
    """
    return np.asarray((k * log_odds - n * softplus(log_odds)).sum(axis=-1))


def softplus(x: Floats) -> Floats:
    """log(1 + eˣ) of an array of any shape, without overflow; absolute error about 1e-16."""
    # log is several times faster than log1p, and nothing here needs the relative precision of tiny values
    return np.asarray(np.maximum(x, 0) + np.log(1 + np.exp(-np.abs(x))))


def fit(
    model: LabelModel, n: Floats, k: Floats, start: Floats | None = None, converged: float = CONVERGED
) -> Fit:
    """Fit all configurations to labels: n labelled items (R, C), k (R, C) of them positive, fractions
    allowed.

    start (R, H, m): where Newton begins; only speed depends on it.
    """
    active = np.flatnonzero((n > 0).any(axis=0))
    n_config, _, n_basis = model.basis.shape
    shape = (len(n), n_config, n_basis)
    # np.take keeps the layout that fast matrix products need; fancy indexing does not
    basis = np.take(model.basis, active, axis=1)
    rising = np.ascontiguousarray(basis.transpose(0, 2, 1))               # (H, m, A)
    mean = model.mean[:, active]
    n_a, k_a = n[:, None, active], k[:, None, active]                     # (R, 1, A)
    beta = np.zeros(shape) if start is None else start.copy()
    hessian = np.empty((*shape, n_basis))
    log_odds = mean + _through(beta, basis)
    log_joint = _log_joint(beta, log_odds, n_a, k_a)
    moving = np.arange(len(n))
    for _ in range(MAX_STEPS):
        labels = n_a[moving], k_a[moving]
        step, hessian[moving] = _newton(beta[moving], log_odds, *labels, basis, rising)
        beta[moving], log_joint[moving], log_odds = _uphill(
            beta[moving], step, log_joint[moving], *labels, mean, basis
        )
        going = np.abs(step).max(axis=(1, 2)) >= converged
        if not going.any():
            break
        if not going.all():
            moving = moving[going]
            log_odds = mean + _through(beta[moving], basis)
    root = np.asarray(np.linalg.cholesky(hessian), dtype=np.float64)
    log_det = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    return Fit(
        coefficients=beta,
        root=root,
        log_joint=log_joint,
        log_evidence=log_joint - log_det + model.log_weight,
    )


def _log_joint(beta: Floats, log_odds: Floats, n: Floats, k: Floats) -> Floats:
    """log p(k | β) − |β|²/2, shape (R, H)."""
    return np.asarray(log_likelihood(log_odds, n, k) - 0.5 * (beta**2).sum(axis=-1))


def _uphill(
    beta: Floats, step: Floats, before: Floats, n: Floats, k: Floats, mean: Floats, basis: Floats
) -> tuple[Floats, Floats, Floats]:
    """Beta after the step, with its log joint and log odds.

    The step is halved until it does not lead downhill: undamped Newton can cycle for ever.
    """
    factor = np.ones(before.shape)
    for _ in range(MAX_HALVINGS):
        moved = beta + factor[..., None] * step
        log_odds = mean + _through(moved, basis)
        after = _log_joint(moved, log_odds, n, k)
        worse = after < before - 1e-9 * np.abs(before)
        if not worse.any():
            break
        factor = np.where(worse, factor / 2, factor)
    return moved, after, log_odds


def _newton(
    beta: Floats, log_odds: Floats, n: Floats, k: Floats, basis: Floats, rising: Floats
) -> tuple[Floats, Floats]:
    """The Newton step (R, H, m) at beta, and the Hessian (R, H, m, m) there.

    log_odds (R, H, A) at beta; n, k (R, 1, A); basis (H, A, m), and the same with its axes swapped, `rising`.
    """
    n_basis = basis.shape[2]
    p = scipy.special.expit(log_odds)
    hessian = np.matmul(rising * (n * p * (1 - p))[:, :, None, :], basis)
    hessian[..., np.arange(n_basis), np.arange(n_basis)] += 1.0
    slope = np.matmul(rising, (k - n * p)[..., None])[..., 0] - beta
    step = np.linalg.solve(hessian, slope[..., None])[..., 0]
    return np.asarray(step, dtype=np.float64), hessian


def _through(beta: Floats, basis: Floats) -> Floats:
    """Φ β for every configuration: (R, H, m) and (H, C, m) to (R, H, C)."""
    by_configuration = np.ascontiguousarray(beta.transpose(1, 0, 2))       # what fast matrix products need
    return np.ascontiguousarray(np.matmul(by_configuration, basis.transpose(0, 2, 1)).transpose(1, 0, 2))


# A warm start: the label model after earlier labels, beside one that ignores them.
#
# Labels of an earlier window, discounted, update each configuration as labels of this pool would: a power
# prior (Ibrahim & Chen 2000).  The Laplace fit β ~ N(β̂, (L Lᵀ)⁻¹) becomes the new prior by a change of
# variables, β = β̂ + L⁻ᵀβ', β' ~ N(0, I):
#
#     f = (μ + Φ β̂) + Φ L⁻ᵀ β'
#
# so a warm model has the form of a cold one.  Since a monitored system may break between two windows, a share
# of the prior stays with configurations that ignore the earlier labels (robust mixture, Schmidli et al.
# 2014). A dozen labels that contradict the past shift the weight to those.
#
# The design's estimate uses the model for its variance only: it is unbiased whatever was inherited.
#
#     H  configurations   C  cells   m  basis functions

COLD_SHARE = 0.2         # prior weight of what ignores the past
COLD = ("prediction", "loose", "probability", "flat", "inverted")


def warmed(model: LabelModel, evidence: Floats) -> LabelModel:
    """The model after pseudo-labels, evidence (C, 2) by cell and label; unchanged if there are none."""
    if not evidence.any():
        return model
    fitted = fit(model, evidence.sum(axis=1)[None], evidence[None, :, 1])
    root, beta = fitted.root[0], fitted.coefficients[0]                    # (H, m, m), (H, m)
    mean = model.mean + np.matmul(model.basis, beta[:, :, None])[..., 0]
    basis = np.linalg.solve(root, model.basis.transpose(0, 2, 1)).transpose(0, 2, 1)   # Φ L⁻ᵀ = (L⁻¹ Φᵀ)ᵀ
    cold = [h for h, name in enumerate(model.names) if name in COLD]
    log_weight = np.log1p(-COLD_SHARE) + _log_shares(fitted.log_evidence[0])
    if not cold:
        return replace(model, mean=mean, basis=basis, log_weight=log_weight)
    return replace(
        model,
        names=(*(f"{name}, warm" for name in model.names), *(model.names[h] for h in cold)),
        broken=np.concatenate([model.broken, model.broken[cold]]),
        log_weight=np.concatenate([log_weight, np.log(COLD_SHARE) + _log_shares(model.log_weight[cold])]),
        mean=np.concatenate([mean, model.mean[cold]]),
        basis=np.concatenate([basis, model.basis[cold]]),
    )


def _log_shares(log_weight: Floats) -> Floats:
    """Log weights (H,) that add up to 1."""
    return np.asarray(log_weight - np.logaddexp.reduce(log_weight))
