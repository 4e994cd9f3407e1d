"""Synthetic pools of any outcome, drawn from stated distributions: working models and broken ones.

Each family is a function of a random generator; `pool(name)` draws it with the family's own fixed seed, so
a table names the pools it was made on.  Scores are s, labels y, N items; unless said otherwise the prediction
is s > 0 and the supplied probability expit(s).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from assay.evalcore.methods.two_classes.choice import BALANCED, BROKEN, CALIBRATED, WORKING
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Array, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFamily:
    """One distribution of synthetic pools of two classes, with its name, which part of the bar it is held
    against, what its distribution is in words, and the function that draws a pool."""

    name: str
    kind: str            # which part of the bar it is held against
    says: str            # its distribution, for people
    draw: Callable[[np.random.Generator], LabelledPool]


def _pool(
    score: Floats, label: Array, prediction: Array | None = None, probability: Floats | None = None
) -> LabelledPool:
    return LabelledPool(
        score=score,
        probability=scipy.special.expit(score) if probability is None else probability,
        prediction=(score > 0).astype(np.int64) if prediction is None else prediction.astype(np.int64),
        label=np.asarray(label).astype(np.int64),
    )


def _log_odds(rng: np.random.Generator, n: int = 50_000) -> tuple[Floats, Array]:
    """Log odds whose tail is heavy enough for rare positives, and labels drawn from them: about 1 in 250."""
    x = -9.0 + 2.2 * rng.standard_t(8, n)
    return x, rng.random(n) < scipy.special.expit(x)


def _two_normals(
    rng: np.random.Generator, n: int, positives: int, positive: tuple[float, float],
    negative: tuple[float, float]
) -> tuple[Floats, Array]:
    y = np.zeros(n, np.bool_)
    y[:positives] = True
    return np.where(y, rng.normal(*positive, n), rng.normal(*negative, n)), y


def _calibrated(rng: np.random.Generator) -> LabelledPool:
    return _pool(*_log_odds(rng))


def _over_confident(rng: np.random.Generator) -> LabelledPool:
    s, y = _two_normals(rng, 50_000, 80, (1.0, 1.8), (-5.0, 1.4))
    return _pool(s, y, probability=scipy.special.expit(0.5 * s + 0.5))


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
    """The family's pool, the same on every machine. Raises KeyError for an unknown family. Studies of
    matchers take it where no real pool will do."""
    return FAMILIES[name].draw(stream(1, f"family/{name}"))


Draw = Callable[[np.random.Generator], OutcomePool]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFamily:
    """One distribution of synthetic pools of any outcome, with its name, its distribution in words, the
    measures it is made for, and the function that draws a pool.

    Synthetic pools of any kind of outcome, drawn from stated distributions: methods are tuned on these.

    Each family draws its pool with a fixed seed of its own, so a table names the pools it was made on.
    Classes are drawn from a softmax of scores z_k = a_k + b · normal noise; what is supplied is that softmax
    at another temperature, or broken.
    """

    name: str
    says: str
    measures: tuple[str, ...]
    draw: Draw


def _kind(k: int) -> Classes:
    return Classes(tuple(f"class {i}" for i in range(k)))


def _classes(
    rng: np.random.Generator, n: int, k: int, *, skew: float, sharp: float, temperature: float = 1.0,
    supplied: str = "as is",
) -> OutcomePool:
    """Scores: log share of the class, geometric by `skew`, plus `sharp` times normal noise."""
    z = -skew * np.arange(k) + sharp * rng.standard_normal((n, k))
    p = scipy.special.softmax(z, axis=1)
    label = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    probability = scipy.special.softmax(z * temperature, axis=1)
    if supplied == "shuffled":
        probability = probability[rng.permutation(n)]
    if supplied == "wrong":
        probability = np.roll(probability, 1, axis=1)
    return OutcomePool(
        kind=_kind(k),
        items=Items(
            prediction=probability.argmax(axis=1).astype(np.float64)[:, None], probability=probability
        ),
        codes=label.astype(np.float64),
    )


def _noisy(rng: np.random.Generator) -> OutcomePool:
    """A classifier that sees the scores through noise of its own, and is too sure: 25 classes."""
    n, k = 5_000, 25
    z = -0.12 * np.arange(k) + 2.0 * rng.standard_normal((n, k))
    p = scipy.special.softmax(z, axis=1)
    label = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    noise, lean = 0.8 * rng.standard_normal((n, k)), 0.4 * rng.standard_normal(k)
    probability = scipy.special.softmax(1.2 * (z + noise + lean), axis=1)
    return OutcomePool(
        kind=_kind(k),
        items=Items(
            prediction=probability.argmax(axis=1).astype(np.float64)[:, None], probability=probability
        ),
        codes=label.astype(np.float64),
    )


def _nearly_all(rng: np.random.Generator) -> OutcomePool:
    pool = _classes(rng, 3_000, 6, skew=0.5, sharp=3.0)
    right = np.where(rng.random(3_000) < 0.99, pool.items.prediction[:, 0], pool.codes)
    return OutcomePool(kind=pool.kind, items=pool.items, codes=right)


def _no_probability(rng: np.random.Generator) -> OutcomePool:
    pool = _classes(rng, 5_000, 8, skew=0.4, sharp=2.0)
    return OutcomePool(kind=pool.kind, items=Items(prediction=pool.items.prediction), codes=pool.codes)


def _graded(rng: np.random.Generator, n: int, weights: Floats, noise: float) -> OutcomePool:
    """Numbers 1 to 5 by halves; judges see the quality, each with its weight, through noise."""
    quality = 3.4 + 0.9 * rng.standard_normal(n)
    y = np.clip(np.round(2 * (quality + 0.4 * rng.standard_normal(n))) / 2, 1, 5)
    judge = weights * (quality[:, None] - 3) + 3 + noise * rng.standard_normal((n, len(weights)))
    return OutcomePool(
        kind=Numbers(1.0, 5.0), codes=y,
        items=Items(prediction=np.zeros((n, 0)), judge=np.clip(np.round(judge), 1, 5)),
    )


def _regression(rng: np.random.Generator) -> OutcomePool:
    """Predictions whose errors grow with the prediction and have heavy tails."""
    n = 8_000
    f = rng.gamma(2.0, 2.0, n)
    y = f * (1 + 0.1 * rng.standard_t(4, n)) + 0.3 * rng.standard_normal(n)
    return OutcomePool(kind=Numbers(), items=Items(prediction=f[:, None]), codes=y)


def _tags(rng: np.random.Generator) -> OutcomePool:
    """12 tags, from 30% to 1%, with log odds seen through noise."""
    n, k = 5_000, 12
    odds = np.linspace(-1.2, -6.5, k) + 2.0 * rng.standard_normal((n, k))
    bits = rng.random((n, k)) < scipy.special.expit(odds)
    probability = scipy.special.expit(1.2 * (odds + 0.7 * rng.standard_normal((n, k))))
    kind = Tags(tuple(f"tag {i}" for i in range(k)))
    powers = 2.0 ** np.arange(k)
    return OutcomePool(
        kind=kind, codes=bits @ powers,
        items=Items(prediction=((probability > 0.4) @ powers)[:, None], probability=probability),
    )


def _two_systems(rng: np.random.Generator) -> OutcomePool:
    """Two systems that agree on most items."""
    n, k = 5_000, 4
    z = 1.5 * rng.standard_normal((n, k))
    label = (scipy.special.softmax(2 * z, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    shared = z + 0.5 * rng.standard_normal((n, k))
    answers = [(shared + s * rng.standard_normal((n, k))).argmax(axis=1) for s in (0.3, 0.5)]
    systems = np.stack(answers, axis=1)
    return OutcomePool(
        kind=_kind(k), codes=label.astype(np.float64),
        items=Items(
            prediction=systems.astype(np.float64), probability=scipy.special.softmax(1.5 * shared, axis=1),
        ),
    )


_USUAL = ("accuracy", "macro_f1")
OUTCOME_FAMILIES: dict[str, OutcomeFamily] = {
    f.name: f
    for f in (
        OutcomeFamily(name="calibrated", says="6 classes, probabilities right", measures=_USUAL,
                      draw=lambda rng: _classes(rng, 5_000, 6, skew=0.5, sharp=2.0)),
        OutcomeFamily(name="over-confident", says="6 classes, log odds doubled", measures=_USUAL,
                      draw=lambda rng: _classes(rng, 5_000, 6, skew=0.5, sharp=1.5, temperature=2.0)),
        OutcomeFamily(name="noisy", says="25 classes, seen through noise, too sure", measures=_USUAL,
                      draw=_noisy),
        OutcomeFamily(name="rare", says="10 classes, the rarest 1 in 1,500", measures=_USUAL,
                      draw=lambda rng: _classes(rng, 10_000, 10, skew=0.8, sharp=1.5)),
        OutcomeFamily(name="shuffled", says="6 classes, predictions dealt out at random", measures=_USUAL,
                      draw=lambda rng: _classes(rng, 5_000, 6, skew=0.5, sharp=2.0, supplied="shuffled")),
        OutcomeFamily(name="all-wrong", says="6 classes, each predicted as its neighbour", measures=_USUAL,
                      draw=lambda rng: _classes(rng, 5_000, 6, skew=0.3, sharp=3.0, supplied="wrong")),
        OutcomeFamily(name="nearly-perfect", says="6 classes, 99% right", measures=_USUAL, draw=_nearly_all),
        OutcomeFamily(name="predictions-only", says="8 classes without probabilities", measures=_USUAL,
                      draw=_no_probability),
        OutcomeFamily(name="judged", says="grades 1 to 5, three judges", measures=("mean",),
                      draw=lambda rng: _graded(rng, 1_500, np.array([0.9, 0.6, 0.3]), 0.8)),
        OutcomeFamily(name="useless-judge", says="grades 1 to 5, a judge that guesses", measures=("mean",),
                      draw=lambda rng: _graded(rng, 1_500, np.array([0.0]), 1.0)),
        OutcomeFamily(name="constant-judge", says="grades 1 to 5, a judge that always says 3",
                      measures=("mean",), draw=lambda rng: _graded(rng, 1_500, np.array([0.0]), 0.0)),
        OutcomeFamily(name="regression", says="errors in proportion, t with 4 degrees of freedom",
                      measures=("mae", "rmse", "r2", "bias"), draw=_regression),
        OutcomeFamily(name="tags", says="12 tags from 30% to 1%", measures=("micro_f1", "macro_f1"),
                      draw=_tags),
        OutcomeFamily(name="two-systems", says="4 classes, two systems that mostly agree",
                      measures=("accuracy",), draw=_two_systems),
    )
}


def outcome_family_pool(name: str) -> OutcomePool:
    """The family's pool, the same on every machine. Raises KeyError for an unknown family. Studies of other
    outcomes take it where no real pool will do."""
    return OUTCOME_FAMILIES[name].draw(stream(1, f"outcome family/{name}"))
