"""Synthetic pools drawn from stated distributions, working models and broken ones.

Each family is a function of a random generator; `pool(name)` draws it with the family's own fixed seed, so
a table names the pools it was made on.  Scores are s, labels y, N items; unless said otherwise the prediction
is s > 0 and the supplied probability expit(s).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from assay.evalcore.methods.choice import BALANCED, BROKEN, CALIBRATED, WORKING
from assay.evalcore.randomness import stream
from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.types import Array, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFamily:
    """One distribution of pools."""

    name: str
    kind: str            # which part of the bar it is held against
    says: str            # its distribution, for people
    draw: Callable[[np.random.Generator], LabelledPool]


def _pool(
    score: Floats, label: Array, prediction: Array | None = None, probability: Floats | None = None
) -> LabelledPool:
    return LabelledPool(
        score=score,
        probability=expit(score) if probability is None else probability,
        prediction=(score > 0).astype(np.int64) if prediction is None else prediction.astype(np.int64),
        label=np.asarray(label).astype(np.int64),
    )


def _log_odds(rng: np.random.Generator, n: int = 50_000) -> tuple[Floats, Array]:
    """Log odds whose tail is heavy enough for rare positives, and labels drawn from them: about 1 in 250."""
    x = -9.0 + 2.2 * rng.standard_t(8, n)
    return x, rng.random(n) < expit(x)


def _two_normals(
    rng: np.random.Generator, n: int, positives: int, positive: tuple[float, float], rest: tuple[float, float]
) -> tuple[Floats, Array]:
    y = np.zeros(n, np.bool_)
    y[:positives] = True
    return np.where(y, rng.normal(*positive, n), rng.normal(*rest, n)), y


def _calibrated(rng: np.random.Generator) -> LabelledPool:
    return _pool(*_log_odds(rng))


def _over_confident(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 50_000, 80, (1.0, 1.8), (-5.0, 1.4))
    return _pool(s, y, probability=expit(0.5 * s + 0.5))


def _under_confident(rng: np.random.Generator) -> LabelledPool:
    x, y = _log_odds(rng)
    return _pool(x / 3, y)


def _weak(rng: np.random.Generator) -> LabelledPool:
    n = 50_000
    y = rng.random(n) < 1 / 27
    s = np.where(y, rng.normal(0.36, 1, n), rng.normal(0, 1, n))      # AUC Φ(0.36/√2) = 0.60
    return _pool(s - np.quantile(s, 0.93), y)


def _rare(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 1_000_000, 100, (1.0, 2.0), (-7.0, 1.6))
    return _pool(s, y)


def _hidden(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 100_000, 100, (1.0, 1.5), (-6.0, 1.5))
    s[:30] = rng.normal(-6.0, 1.5, 30)
    return _pool(s, y)


def _band(rng: np.random.Generator) -> LabelledPool:
    n = 60_000
    s = rng.normal(-3.0, 2.0, n)
    rate = np.where(s > 0, 0.14, 0.002)
    rate = np.where((s > -1.2) & (s < -1.0), 0.35, rate)              # a third of all positives
    return _pool(s, rng.random(n) < rate)


def _inverted(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 30_000, 1_200, (-0.8, 1.2), (0.3, 1.2))
    return _pool(s - np.quantile(s, 0.97), y)


def _shuffled(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 30_000, 1_500, (1.0, 1.6), (-3.0, 1.5))
    return _pool(rng.permutation(s), y)


def _threshold_low(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 50_000, 200, (1.0, 1.6), (-5.0, 1.5))
    return _pool(s - np.quantile(s, 1 - 2000 / 50_000), y)


def _threshold_high(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 50_000, 200, (1.0, 1.6), (-5.0, 1.5))
    return _pool(s - np.quantile(s, 1 - 20 / 50_000), y)


def _all_positive(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 20_000, 2_000, (1.0, 1.0), (-1.0, 1.0))
    return _pool(s, y, prediction=np.ones(len(s)))


def _all_negative(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 20_000, 200, (1.0, 1.0), (-2.0, 1.0))
    return _pool(s, y, prediction=np.zeros(len(s)))


def _perfect(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 30_000, 90, (4.0, 1.0), (-5.0, 1.0))
    s = np.where(y, np.abs(s) + 0.1, -np.abs(s) - 0.1)
    return _pool(s, y)


def _balanced(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 20_000, 10_000, (0.75, 1.0), (-0.75, 1.0))
    return _pool(s, y)                                                # calibrated would be expit(1.5 s)


def _balanced_weak(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 20_000, 6_000, (0.5, 1.0), (-0.3, 1.0))
    return _pool(s, y)


def _ties(rng: np.random.Generator) -> LabelledPool:
    n = 20_000
    level = rng.choice(5, n, p=[0.7, 0.2, 0.07, 0.02, 0.01])
    y = rng.random(n) < np.array([0.0005, 0.005, 0.03, 0.3, 0.8])[level]
    return _pool(np.array([-4.0, -2.5, -1.0, 0.5, 2.0])[level], y)


def _small(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 300, 36, (1.0, 1.2), (-1.5, 1.0))
    return _pool(s, y)


FAMILIES: dict[str, PoolFamily] = {
    f.name: f
    for f in (
        PoolFamily(name="calibrated", kind=CALIBRATED, draw=_calibrated,
               says="s = -9 + 2.2 t₈, y ~ expit(s): probabilities are right; N = 50,000"),
        PoolFamily(name="over-confident", kind=WORKING, draw=_over_confident,
               says="80 positives N(1, 1.8), rest N(-5, 1.4), probability expit(s/2 + 1/2); N = 50,000"),
        PoolFamily(name="under-confident", kind=WORKING, draw=_under_confident,
               says="as calibrated, with s/3 supplied for s"),
        PoolFamily(name="weak", kind=BALANCED, draw=_weak,
               says="1 in 27 positive, AUC 0.60, the top 7% predicted positive; N = 50,000"),
        PoolFamily(name="rare", kind=WORKING, draw=_rare,
               says="100 positives N(1, 2), rest N(-7, 1.6); N = 1,000,000"),
        PoolFamily(name="hidden", kind="hidden", draw=_hidden,
               says="70 positives N(1, 1.5), 30 like the rest, N(-6, 1.5); N = 100,000"),
        PoolFamily(name="band", kind=BROKEN, draw=_band,
               says="s ~ N(-3, 2); 14% positive above 0, 35% between -1.2 and -1, else 0.2%; N = 60,000"),
        PoolFamily(name="inverted", kind=BROKEN, draw=_inverted,
               says="1,200 positives N(-0.8, 1.2), rest N(0.3, 1.2), top 3% predicted positive; N = 30,000"),
        PoolFamily(name="shuffled", kind=BROKEN, draw=_shuffled,
               says="1,500 positives; scores N(1, 1.6) and N(-3, 1.5) dealt out at random; N = 30,000"),
        PoolFamily(name="threshold-low", kind=BROKEN, draw=_threshold_low,
               says="200 positives N(1, 1.6), rest N(-5, 1.5), 2,000 predicted positive; N = 50,000"),
        PoolFamily(name="threshold-high", kind=BROKEN, draw=_threshold_high,
               says="the same with 20 predicted positive"),
        PoolFamily(name="all-positive", kind=BROKEN, draw=_all_positive,
               says="2,000 positives N(1, 1), rest N(-1, 1), all predicted positive; N = 20,000"),
        PoolFamily(name="all-negative", kind="all-negative", draw=_all_negative,
               says="200 positives N(1, 1), rest N(-2, 1), all predicted negative; N = 20,000"),
        PoolFamily(name="perfect", kind=WORKING, draw=_perfect,
               says="90 positives above 0, the rest below; N = 30,000"),
        PoolFamily(name="balanced", kind=BALANCED, draw=_balanced,
               says="half positive, N(±0.75, 1); N = 20,000"),
        PoolFamily(name="balanced-weak", kind=BALANCED, draw=_balanced_weak,
               says="30% positive N(0.5, 1), rest N(-0.3, 1); N = 20,000"),
        PoolFamily(name="ties", kind=WORKING, draw=_ties,
               says="five distinct scores with rates 0.05%, 0.5%, 3%, 30%, 80%; N = 20,000"),
        PoolFamily(name="small", kind=BALANCED, draw=_small,
               says="36 of 300 positive, N(1, 1.2) against N(-1.5, 1)"),
    )
}


def pool(name: str) -> LabelledPool:
    """The family's pool, the same on every machine.  Raises KeyError for an unknown family."""
    return FAMILIES[name].draw(stream(1, f"family/{name}"))
