"""Pools of two classes along a score, by lot: everything in a pool follows from its name.

`<family>-<lot>-<number>`, lot `choose` for choosing what a method does and `judge` for judging it:

    band        a band of positives below the threshold, as deep as two to nine times the predicted positives
    lump        one to three lumps of positives anywhere along a score that else tells little
    modes       a share of the positives ranks anywhere, the rest as a working model has them
    ties        a working model whose scores are rounded to five to twelve values
    few         three to five values of the score, with rates in no order
    tiny        80 to 400 items
    huge        200,000 to 600,000 items, 1 to 5% positive
    alone       predictions without a score
    weak        AUC of 0.55 to 0.65, 5 to 30% positive
    inverted    positives rank below the others
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import scipy.special

from assay.evalcore.replay.pool import LabelledPool
from assay.evalcore.reproducible import stream
from assay.evalcore.types import Floats, Ints

Drawn: TypeAlias = tuple[Floats, Ints]     # score, label


def _uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def _items(rng: np.random.Generator, low: float = 2_000, high: float = 40_000) -> int:
    return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))


def _working(rng: np.random.Generator, n: int, share: float, distance: float) -> Drawn:
    """Two normals, `distance` standard deviations apart; the threshold where as many are predicted as there
    are positives, give or take a third."""
    label = (rng.random(n) < share).astype(np.int64)
    score = rng.standard_normal(n) + distance * label
    predicted = max(float(label.mean()) * _uniform(rng, 0.67, 1.5), 1 / n)
    return score - np.quantile(score, 1 - min(predicted, 0.95)), label


def _band(rng: np.random.Generator) -> Drawn:
    score, label = _working(rng, _items(rng), _uniform(rng, 0.02, 0.15), _uniform(rng, 1.5, 3.0))
    place = np.argsort(np.argsort(-score)) / max((score > 0).sum(), 1)
    middle, width = _uniform(rng, 2, 9), _uniform(rng, 0.2, 1.5)
    inside = np.abs(place - middle) < width / 2
    return score, np.where(inside & (rng.random(len(score)) < _uniform(rng, 0.2, 0.6)), 1, label)


def _lump(rng: np.random.Generator) -> Drawn:
    score, label = _working(rng, _items(rng), _uniform(rng, 0.02, 0.2), _uniform(rng, 0.3, 1.0))
    for _ in range(int(rng.integers(1, 4))):
        inside = np.abs(score - _uniform(rng, -3.0, 1.0)) < _uniform(rng, 0.02, 0.15)
        label = np.where(inside & (rng.random(len(score)) < _uniform(rng, 0.3, 0.9)), 1, label)
    return score, label


def _modes(rng: np.random.Generator) -> Drawn:
    score, label = _working(rng, _items(rng), _uniform(rng, 0.03, 0.3), _uniform(rng, 2.0, 4.0))
    anywhere = (label == 1) & (rng.random(len(score)) < _uniform(rng, 0.1, 0.6))
    return np.where(anywhere, rng.choice(score, len(score)), score), label


def _ties(rng: np.random.Generator) -> Drawn:
    score, label = _working(rng, _items(rng), _uniform(rng, 0.03, 0.5), _uniform(rng, 1.0, 3.0))
    values = np.quantile(score, np.sort(rng.random(int(rng.integers(5, 13)))))
    rounded = values[np.abs(score[:, None] - values).argmin(axis=1)]
    return rounded - (np.sort(np.unique(rounded))[-2] + 1e-6 if (rounded > 0).sum() == 0 else 0.0), label


def _few(rng: np.random.Generator) -> Drawn:
    values = int(rng.integers(3, 6))
    level = rng.choice(values, _items(rng), p=rng.dirichlet(np.full(values, 2.0)))
    rate = rng.beta(0.6, 1.2, values)
    return level - values / 2 + 0.25, (rng.random(len(level)) < rate[level]).astype(np.int64)


def _tiny(rng: np.random.Generator) -> Drawn:
    return _working(rng, int(rng.integers(80, 401)), _uniform(rng, 0.1, 0.5), _uniform(rng, 0.8, 3.0))


def _huge(rng: np.random.Generator) -> Drawn:
    return _working(
        rng, _items(rng, 200_000, 600_000), _uniform(rng, 0.01, 0.05), _uniform(rng, 2.0, 3.5)
    )


def _alone(rng: np.random.Generator) -> Drawn:
    score, label = _working(rng, _items(rng), _uniform(rng, 0.05, 0.5), _uniform(rng, 1.0, 3.0))
    return np.where(score > 0, 1.0, -1.0), label


def _weak(rng: np.random.Generator) -> Drawn:
    return _working(rng, _items(rng), _uniform(rng, 0.05, 0.3), _uniform(rng, 0.18, 0.55))


def _inverted(rng: np.random.Generator) -> Drawn:
    return _working(rng, _items(rng), _uniform(rng, 0.05, 0.4), -_uniform(rng, 0.3, 1.5))


FAMILIES: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "band": _band, "lump": _lump, "modes": _modes, "ties": _ties, "few": _few, "tiny": _tiny, "huge": _huge,
    "alone": _alone, "weak": _weak, "inverted": _inverted,
}


def score_family_pool(name: str) -> LabelledPool:
    """The pool of this name.  Raises KeyError for an unknown family."""
    family, lot, number = name.split("-")
    rng = stream(11, f"score-family/{family}/{lot}/{number}")
    while True:
        score, label = FAMILIES[family](rng)
        if label[score > 0].any() and 0 < label.sum() < len(label):
            return LabelledPool(
                score=score, probability=scipy.special.expit(score), label=np.asarray(label, np.int64),
                prediction=(score > 0).astype(np.int64),
            )
