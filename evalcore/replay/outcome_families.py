"""Synthetic pools of any kind of outcome, drawn from stated distributions: methods are tuned on these.

Each family draws its pool with a fixed seed of its own, so a table names the pools it was made on.  Classes
are drawn from a softmax of scores z_k = a_k + b · normal noise; what is supplied is that softmax at another
temperature, or broken.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.randomness import stream
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.types import Floats

Draw = Callable[[np.random.Generator], OutcomePool]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeFamily:
    """One distribution of pools."""

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
    p = softmax(z, axis=1)
    label = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    told = softmax(z * temperature, axis=1)
    if supplied == "shuffled":
        told = told[rng.permutation(n)]
    if supplied == "wrong":
        told = np.roll(told, 1, axis=1)
    return OutcomePool(
        kind=_kind(k),
        items=Items(prediction=told.argmax(axis=1).astype(np.float64)[:, None], probability=told),
        codes=label.astype(np.float64),
    )


def _noisy(rng: np.random.Generator) -> OutcomePool:
    """A classifier that sees the scores through noise of its own, and is too sure: 25 classes."""
    n, k = 5_000, 25
    z = -0.12 * np.arange(k) + 2.0 * rng.standard_normal((n, k))
    p = softmax(z, axis=1)
    label = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    told = softmax(1.2 * (z + 0.8 * rng.standard_normal((n, k)) + 0.4 * rng.standard_normal(k)), axis=1)
    return OutcomePool(
        kind=_kind(k),
        items=Items(prediction=told.argmax(axis=1).astype(np.float64)[:, None], probability=told),
        codes=label.astype(np.float64),
    )


def _perfect(rng: np.random.Generator) -> OutcomePool:
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
    bits = rng.random((n, k)) < expit(odds)
    told = expit(1.2 * (odds + 0.7 * rng.standard_normal((n, k))))
    kind = Tags(tuple(f"tag {i}" for i in range(k)))
    powers = 2.0 ** np.arange(k)
    return OutcomePool(
        kind=kind, codes=bits @ powers,
        items=Items(prediction=((told > 0.4) @ powers)[:, None], probability=told),
    )


def _two_systems(rng: np.random.Generator) -> OutcomePool:
    """Two systems that agree on most items."""
    n, k = 5_000, 4
    z = 1.5 * rng.standard_normal((n, k))
    label = (softmax(2 * z, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    shared = z + 0.5 * rng.standard_normal((n, k))
    answers = [(shared + s * rng.standard_normal((n, k))).argmax(axis=1) for s in (0.3, 0.5)]
    systems = np.stack(answers, axis=1)
    return OutcomePool(
        kind=_kind(k), codes=label.astype(np.float64),
        items=Items(prediction=systems.astype(np.float64), probability=softmax(1.5 * shared, axis=1)),
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
        OutcomeFamily(name="nearly-perfect", says="6 classes, 99% right", measures=_USUAL, draw=_perfect),
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
    """The family's pool, the same on every machine.  Raises KeyError for an unknown family."""
    return OUTCOME_FAMILIES[name].draw(stream(1, f"outcome family/{name}"))
