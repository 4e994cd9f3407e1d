"""The label model: what it believes of a pool before any label, a mixture of Gaussian processes over cells,
its Laplace fits, and a warm start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from assay.evalcore.pool.strata import Cells
from assay.evalcore.reproducible import remembered
from assay.evalcore.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PoolShape:
    """The cells of a pool as the label model sees them."""

    size: Floats         # (C,) items N_c
    predicted: Floats    # (C,) 1.0 where the prediction is positive
    score: Floats        # (C,) mean score minus decision boundary, z_c
    density: Floats      # (C,) log pool density at z_c minus that at the boundary, l_c
    place: Floats        # (C,) index of the cell over the number of cells, t_c in [0, 1)
    log_rank: Floats     # (C,) log of the rank, counted from the top score, of the cell's middle item
    log_odds: Floats     # (C,) logit of the mean supplied probability
    n_items: float       # N
    positives: float     # the scale of rarity: predicted positives, or where all are predicted alike Σ p
    votes: Floats | None = None   # (C,) share of further systems and judges that say the class


def pool_shape(cells: Cells) -> PoolShape:
    """The shape of a pool of two classes, on which prior beliefs are stated: scores counted from the
    decision boundary, densities, ranks and log odds of its cells."""
    size = cells.size.astype(np.float64)
    above = np.cumsum(size[::-1])[::-1] - size
    # np.interp wants a rising abscissa; cells of one stratum may come in either order of mean score
    order = np.argsort(cells.mean_score, kind="stable")
    probability = np.clip(cells.mean_probability, 1e-7, 1 - 1e-7)
    positives, boundary = _scale(cells, probability, above + size / 2, order)
    at_boundary = np.interp(boundary, cells.mean_score[order], cells.log_density[order])
    return PoolShape(
        size=size,
        predicted=cells.prediction.astype(np.float64),
        score=cells.mean_score - boundary,
        density=cells.log_density - at_boundary,
        place=np.arange(cells.n_cells) / cells.n_cells,
        log_rank=np.log(np.maximum(above + size / 2, 1.0)),
        log_odds=np.log(probability) - np.log1p(-probability),
        n_items=float(cells.n_items),
        positives=positives,
    )


def _scale(cells: Cells, probability: Floats, rank: Floats, order: Ints) -> tuple[float, float]:
    """How many positives to expect, and the score where they would begin, measured from the boundary."""
    if 0 < cells.predicted_positives < cells.n_items:
        return float(cells.predicted_positives), 0.0
    # a system that calls everything alike does not say how many are positive; its probabilities may
    limit = max(cells.n_items / 2, 1.0)
    positives = float(np.clip((cells.size * probability).sum(), 1.0, limit))
    return positives, float(np.interp(-positives, -rank[order], cells.mean_score[order]))


SMOOTHNESS = 0.15        # ℓ, as a share of the cells
EXCESS = 0.1             # positives expected beyond the predicted ones, as a share
SAYS_NOTHING, OPPOSITE = -3.5, -2.0   # prior log weights of a score that says nothing, or the opposite
LOWEST, HIGHEST = -16.0, 9.0  # no prior mean is surer than this
LEAST_TAIL_SHARE, FLOOR_SD = 0.03, 1.5   # φ as a share of the predicted positives' part of the pool, and sf
RARE = 0.02              # part of the pool that is predicted positive, at which φ is half of that


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """One set of prior beliefs of the label model, with its prior log weight: what rates follow
    (predictions, probabilities, nothing, or the inverted score), and how far and how roughly they may
    depart from it.

    What the label model believes of a pool before any label: several configurations, weighted by the labels.

    Configuration h says f_c = logit p(y = 1 | cell c) ~ N(μ_h, K_h) with

        K_h = sa² 11ᵀ + sb² μμᵀ + sd² llᵀ + sf² wwᵀ + su² exp(−|t_c − t_c'| / ℓ) + sn² I,   ℓ = 0.15

    level, slope, density correction, floor, a rough remainder, and cells that are like none of their
    neighbours (where scores are tied a handful of cells hold the pool, and next to each other means little);
    l and t as in `PoolShape`. The floor φ is a rate that no cell falls below, μ_c = logit(p_c + φ): a few
    positives that look like any negative, as matches do of which the compared fields are damaged. w_c = φ /
    (p_c + φ), so that its height is unknown by a factor of about exp(± 2 sf); where densities are corrected
    the column is theirs, and the floor keeps its height. On rare classes it is lower: no number of labels
    that people pay for would refute it there, and the wide interval, which is announced beside, is for what
    may hide. That there is none is among the beliefs too: half of the draws have (almost) no positives beyond
    some rank (`posterior`).

    The anchored ones put μ_c = b z_c − d l_c with b such that Σ N_c expit(μ_c) is 1.1 times the number of
    predicted positives: the system is taken to be roughly right about how many positives there are, and not
    about which scores they have. Two more stand for a system that is broken: scores that say nothing, μ_c the
    same everywhere, and scores that point the wrong way, μ_c = a − b z_c with the b of a working score and a
    such that the number of positives stays.  A dozen labels at the top decide between these and the others.
    One configuration takes the supplied probabilities nearly as they are: where they are calibrated a few
    dozen labels give it all the weight, and where they are not, none.  Smaller variances would gain more on
    calibrated pools, and do great harm on balanced ones, where it takes hundreds of labels to refute
    probabilities that are slightly off.

    All roots are found by bisection to the last bit.
    """

    name: str
    anchor: Literal["prediction", "probability", "flat", "inverted"]
    log_weight: float
    steepness: float = 1.0   # factor on b
    density: float = 0.0     # d
    level_sd: float = 1.5    # sa
    slope_sd: float = 0.2    # sb
    density_sd: float = 0.0  # sd
    rough_sd: float = 0.7    # su
    speckle_sd: float = 0.0  # sn

    @property
    def broken(self) -> bool:
        """Whether this configuration takes the scores for useless or inverted."""
        return self.anchor in ("flat", "inverted")


CONFIGURATIONS = (
    Configuration(name="prediction", anchor="prediction", log_weight=0.0),
    Configuration(name="prediction, steep", anchor="prediction", log_weight=0.0, steepness=1.6),
    Configuration(name="density", anchor="prediction", log_weight=0.0, density=0.5, density_sd=0.35),
    Configuration(
        name="density, steep",
        anchor="prediction",
        log_weight=0.0,
        steepness=1.6,
        density=0.5,
        density_sd=0.35,
    ),
    Configuration(name="prediction, flat", anchor="prediction", log_weight=0.0, steepness=0.6),
    Configuration(
        name="density, flat",
        anchor="prediction",
        log_weight=0.0,
        steepness=0.6,
        density=0.5,
        density_sd=0.35,
    ),
    Configuration(
        name="loose",
        anchor="prediction",
        log_weight=-1.0,
        level_sd=2.5,
        slope_sd=0.6,
        rough_sd=1.5,
        speckle_sd=1.5,
    ),
    Configuration(name="probability", anchor="probability", log_weight=-0.7, slope_sd=0.4),
    Configuration(
        name="probability, at its word",
        anchor="probability",
        log_weight=0.0,
        level_sd=0.5,
        rough_sd=0.3,
    ),
    Configuration(name="flat", anchor="flat", log_weight=SAYS_NOTHING),
    Configuration(name="inverted", anchor="inverted", log_weight=OPPOSITE, rough_sd=1.2),
)


def prior(
    shape: PoolShape, configuration: Configuration, modes: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Mean μ (C,) of the log odds under one configuration, and a factor Φ (C, 3 + M) of their covariance.

    modes: what `rough_modes` gives for the pool.  Φ Φᵀ is K with the rough remainder and the speckle kept in
    these M modes; all of it where M is C.  The columns are the level, the slope, the density correction or
    the floor, and the modes, in this order.
    """
    mean = _mean(shape, configuration)
    third = configuration.density_sd * shape.density
    if not configuration.broken:
        rate, floor = scipy.special.expit(mean), _floor(shape)
        mean = np.clip(np.log((rate + floor) / np.maximum(1 - rate, np.exp(-HIGHEST))), LOWEST, HIGHEST)
        third = third if configuration.density_sd else FLOOR_SD * floor / (rate + floor)
    size, shapes = modes
    variance = configuration.rough_sd**2 * size + configuration.speckle_sd**2
    factor = np.column_stack([
        np.full(len(mean), configuration.level_sd),
        configuration.slope_sd * mean,
        third,
        shapes * np.sqrt(variance),
    ])
    return mean, factor


def rough_modes(n_cells: int, modes: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues (M,), falling, of exp(−|t_c − t_c'| / ℓ), and their eigenvectors (C, M).

    The matrix is that of an autoregression of order one, ρ^|c − c'| (Kac, Murdock & Szegő 1953): its
    eigenvectors are cosines and sines around the middle cell, in turn, of frequencies θ_k in
    [(k − 1) π / C, k π / (C + 1)], and its eigenvalues (1 − ρ²) / (1 − 2 ρ cos θ_k + ρ²).  So they are the
    same on every machine, order and sign included, which a numerical eigenbasis is not: what follows from
    draws in it would turn with a rounding.
    """
    rho = np.exp(-1 / (SMOOTHNESS * n_cells))
    number = np.arange(1, min(modes, n_cells) + 1)
    even = number % 2 == 1

    def off(theta: Floats) -> Floats:
        """Σ ρ^|c − c'| v_c' is a multiple of v where this is 0; it falls, or rises, through its only root."""
        outer, inner = theta * (n_cells + 1) / 2, theta * (n_cells - 1) / 2
        return np.where(even, np.cos(outer) - rho * np.cos(inner), np.sin(outer) - rho * np.sin(inner))

    low, high = (number - 1) * np.pi / n_cells, number * np.pi / (n_cells + 1)
    rising = off(high) > 0
    for _ in range(60):
        middle = (low + high) / 2
        below = (off(middle) > 0) != rising
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    theta = (low + high) / 2
    phase = np.outer(np.arange(n_cells) - (n_cells - 1) / 2, theta)
    wave = np.where(even, np.cos(phase), np.sin(phase))
    size = (1 - rho**2) / (1 - 2 * rho * np.cos(theta) + rho**2)
    return size, wave / np.sqrt((wave**2).sum(axis=0))


def _floor(shape: PoolShape) -> float:
    """The least rate of a cell, by how rare positives are in the pool."""
    part = shape.positives / shape.n_items
    return LEAST_TAIL_SHARE * part * part / (part + RARE)


def _mean(shape: PoolShape, configuration: Configuration) -> Floats:
    if configuration.anchor == "probability":
        return shape.log_odds
    offset = -configuration.density * shape.density
    if configuration.anchor == "flat":
        return np.full(len(shape.size), _level(shape, np.zeros(len(shape.size))))
    slope = configuration.steepness * anchored_slope(shape, offset)
    if configuration.anchor == "inverted":
        falling = -slope * shape.score
        return np.clip(falling + _level(shape, falling), LOWEST, HIGHEST)
    return np.clip(slope * shape.score + offset, LOWEST, HIGHEST)


def _expected(shape: PoolShape) -> float:
    """Positives a prior expects: a tenth more than predicted, or less where nearly all are predicted."""
    return shape.positives + EXCESS * min(shape.positives, shape.n_items - shape.positives)


def _level(shape: PoolShape, f: Floats) -> float:
    """a with Σ N_c expit(f_c + a) = the positives expected; f (C,)."""
    target = min(_expected(shape), shape.n_items - 0.5)
    low, high = -60.0 - float(f.max()), 60.0 - float(f.min())
    for _ in range(80):
        a = (low + high) / 2
        low, high = (low, a) if (shape.size * scipy.special.expit(f + a)).sum() > target else (a, high)
    return (low + high) / 2


def anchored_slope(shape: PoolShape, offset: Floats) -> float:
    """b with Σ N_c expit(b z_c + offset_c) = (1 + EXCESS) · predicted positives; offset (C,).

    A pool mostly predicted positive cannot hold a tenth more positives: there the excess shrinks with the
    predicted negatives.  Where a tenth of the pool or more is predicted positive the slope is kept at 2 per
    standard deviation of the score: on a balanced pool the count says little about the slope.
    """
    target = _expected(shape)
    low, high = 1e-6, 1e6
    for _ in range(80):
        b = float(np.sqrt(low * high))
        total = (shape.size * scipy.special.expit(np.clip(b * shape.score + offset, LOWEST, -LOWEST))).sum()
        low, high = (b, high) if total > target else (low, b)
    if shape.positives > 0.1 * shape.n_items:
        centre = np.average(shape.score, weights=shape.size)
        spread = np.sqrt(np.average((shape.score - centre) ** 2, weights=shape.size))
        b = min(b, 2.0 / spread) if spread > 0 else b
    return b


MODES = 25               # of the rough remainder: the next one holds less than a hundredth of its variance
VOTES_SD = 2.0           # log odds between all of the other systems and judges, and none of them
CONVERGED = 1e-7         # largest entry of the last Newton step: quadratic, so the error is about its square
MAX_STEPS = 60   # of Newton's method; convergence ends it sooner
MAX_HALVINGS = 30   # of a step that leads downhill


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelModel:
    """The label model before any label: a mixture of H Gaussian processes over C cells, each with a prior
    weight, a mean of the log odds, and a basis."""

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
        """The fits of several sets of repeats as one, in their order."""
        return Fit(
            coefficients=np.concatenate([p.coefficients for p in parts]),
            root=np.concatenate([p.root for p in parts]),
            log_joint=np.concatenate([p.log_joint for p in parts]),
            log_evidence=np.concatenate([p.log_evidence for p in parts]),
        )


@remembered(8)
def label_model(shape: PoolShape, configurations: Sequence[Configuration]) -> LabelModel:
    """The label model of a pool: the prior mean and basis of each configuration; what further systems and
    judges vote, where it varies, is a further direction of each basis."""
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
    """log(1 + eˣ) of an array of any shape, without overflow; absolute error about 1e-16. That is enough
    here, and several times faster than an exact form."""
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


COLD_SHARE = 0.2         # prior weight of what ignores the past
COLD = ("prediction", "loose", "probability", "flat", "inverted")


def warmed(model: LabelModel, evidence: Floats) -> LabelModel:
    """The model after pseudo-labels, evidence (C, 2) by cell and label; unchanged if there are none.

    A warm start: the label model after earlier labels, beside one that ignores them.

    Labels of an earlier window, discounted, update each configuration as labels of this pool would: a power
    prior (Ibrahim & Chen 2000).  The Laplace fit β ~ N(β̂, (L Lᵀ)⁻¹) becomes the new prior by a change of
    variables, β = β̂ + L⁻ᵀβ', β' ~ N(0, I):

        f = (μ + Φ β̂) + Φ L⁻ᵀ β'

    so a warm model has the form of a cold one.  Since a monitored system may break between two windows, a
    share of the prior stays with configurations that ignore the earlier labels (robust mixture, Schmidli et
    al. 2014). A dozen labels that contradict the past shift the weight to those.

    The design's estimate uses the model for its variance only: it is unbiased whatever was inherited.

        H  configurations   C  cells   m  basis functions
    """
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
