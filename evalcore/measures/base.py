"""Measures: what "how good" means, each as g(R).

Marchant & Rubinstein (2021), definition 1: a loss vector per item, R its mean over the pool, and a map g.
For two classes the loss depends on the item only through its prediction f and label y, so it is a table:

    loss (2, 2, d)   loss[f, y] is the loss vector of an item predicted f whose label is y
    R    (..., d)    its mean over the pool
    g(R) (...)       the measure;  J(R) (..., d) its gradient

A value that does not exist (0/0) is NaN inside these arrays and nowhere else: `Estimate` turns it into
"undefined" with a reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.types import Bools, Floats

# indicator tables over [prediction, label]
_PREDICTED = np.array([[0.0, 0.0], [1.0, 1.0]])
_POSITIVE = np.array([[0.0, 1.0], [0.0, 1.0]])
_TRUE_POSITIVE = _PREDICTED * _POSITIVE
_TRUE_NEGATIVE = (1 - _PREDICTED) * (1 - _POSITIVE)
_ERROR = 1 - _TRUE_POSITIVE - _TRUE_NEGATIVE


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """A measure of a classifier with two classes."""

    name: str
    loss: Floats                            # (2, 2, d), indexed [prediction, label]
    value: Callable[[Floats], Floats]       # R (..., d) -> (...), NaN where undefined
    gradient: Callable[[Floats], Floats]    # R (..., d) -> (..., d), NaN where undefined
    bounds: tuple[float, float]             # the smallest and largest value it can take
    undefined_when: str                     # said to people when it is 0/0
    linear: Callable[[float], tuple[float, Floats]] | None = None   # see `margin`

    def margin(self, limit: float) -> tuple[float, Floats] | None:
        """(k, t) such that g ≥ limit exactly when the pool's mean of k + t[prediction, label] is ≥ 0.

        t (2, 2).  None for measures that are no ratio of means: no mean decides about those.
        """
        return None if self.linear is None else self.linear(limit)

    def of_confusion(self, counts: Floats) -> Floats:
        """The measure (...) of confusion counts (..., 2, 2) indexed [prediction, label]."""
        total = counts.sum(axis=(-2, -1))
        with np.errstate(divide="ignore", invalid="ignore"):
            risk = np.einsum("...fy,fyd->...d", counts, self.loss) / total[..., None]
        return self.value(np.asarray(risk))

    def influence(self, risk: Floats) -> Floats:
        """J(R)·ℓ(f, y): how one item of each kind pulls at the measure; (..., 2, 2) for R (..., d)."""
        return np.asarray(np.einsum("...d,fyd->...fy", self.gradient(risk), self.loss))

    def touched(self) -> Floats:
        """Whether the loss of an item (f, y) is non-zero: (2, 2) of 0 and 1."""
        return np.where(np.any(self.loss != 0, axis=-1), 1.0, 0.0)

    def label_matters(self) -> Bools:
        """Whether the label of an item predicted f changes the measure at all: (2,), indexed by f."""
        return np.asarray(np.any(self.loss[:, 0] != self.loss[:, 1], axis=-1))


def _ratio(name: str, above: Floats, below: Floats, undefined_when: str) -> Measure:
    """g(R) = R₀ / R₁, the form of every measure but the two with products of rates."""

    def value(risk: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(risk[..., 1] > 0, risk[..., 0] / risk[..., 1], np.nan)

    def gradient(risk: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            g = np.stack([1 / risk[..., 1], -risk[..., 0] / risk[..., 1] ** 2], axis=-1)
        return np.where(risk[..., 1:] > 0, g, np.nan)

    def linear(limit: float) -> tuple[float, Floats]:
        return 0.0, above - limit * below

    return Measure(
        name, np.stack([above, below], axis=-1), value, gradient, (0.0, 1.0), undefined_when, linear
    )


def _accuracy() -> Measure:
    # one loss, the error indicator, and g(R) = 1 - R: the pool's size is known and is not estimated
    def value(risk: Floats) -> Floats:
        return np.asarray(1 - risk[..., 0])

    def gradient(risk: Floats) -> Floats:
        return -np.ones_like(risk)

    def linear(limit: float) -> tuple[float, Floats]:
        return 1 - limit, -_ERROR

    return Measure("accuracy", _ERROR[..., None], value, gradient, (0.0, 1.0), "the pool is empty", linear)


def _f_beta(name: str, beta: float) -> Measure:
    # F = (1 + β²) TP / (β² P + PP) = TP / (α PP + (1 - α) P) with α = 1 / (1 + β²)
    alpha = 1 / (1 + beta**2)
    below = alpha * _PREDICTED + (1 - alpha) * _POSITIVE
    return _ratio(name, _TRUE_POSITIVE, below, "no item is positive or predicted positive")


_RATES = np.stack([_TRUE_POSITIVE, _POSITIVE, _PREDICTED], axis=-1)  # (t, y, f): joint and the two margins


def _balanced_accuracy() -> Measure:
    # ½ (t/y + (1 - y - f + t)/(1 - y))
    def value(risk: Floats) -> Floats:
        t, y, f = np.moveaxis(risk, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            v = 0.5 * (t / y + (1 - y - f + t) / (1 - y))
        return np.where((y > 0) & (y < 1), v, np.nan)

    def gradient(risk: Floats) -> Floats:
        t, y, f = np.moveaxis(risk, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_t = 0.5 * (1 / y + 1 / (1 - y))
            by_y = 0.5 * (-t / y**2 + (t - f) / (1 - y) ** 2)
            by_f = -0.5 / (1 - y)
        g = np.stack([by_t, by_y, by_f], axis=-1)
        return np.where(((y > 0) & (y < 1))[..., None], g, np.nan)

    return Measure(
        "balanced_accuracy", _RATES, value, gradient, (0.0, 1.0), "the pool has items of one class only"
    )


def _matthews() -> Measure:
    # (t - y f) / √(y (1 - y) f (1 - f)).  With D the root: ∂/∂y = -f/D - (t - y f)(1 - 2y) / (2 y (1 - y) D),
    # and the same with y and f exchanged.
    def value(risk: Floats) -> Floats:
        t, y, f = np.moveaxis(risk, -1, 0)
        inside = y * (1 - y) * f * (1 - f)
        with np.errstate(divide="ignore", invalid="ignore"):
            # the root may round down: 1 + 2e-16 is no correlation
            return np.where(inside > 0, np.clip((t - y * f) / np.sqrt(inside), -1, 1), np.nan)

    def gradient(risk: Floats) -> Floats:
        t, y, f = np.moveaxis(risk, -1, 0)
        inside = y * (1 - y) * f * (1 - f)
        with np.errstate(divide="ignore", invalid="ignore"):
            root, joint = np.sqrt(inside), t - y * f
            by_y = -f / root - joint * (1 - 2 * y) / (2 * y * (1 - y) * root)
            by_f = -y / root - joint * (1 - 2 * f) / (2 * f * (1 - f) * root)
            g = np.stack([1 / root, by_y, by_f], axis=-1)
        return np.where((inside > 0)[..., None], g, np.nan)

    return Measure(
        "mcc", _RATES, value, gradient, (-1.0, 1.0), "all items, or all predictions, are of one class"
    )


_NAMES = ("accuracy", "precision", "recall", "f1", "fbeta", "specificity", "balanced_accuracy", "mcc")


def names() -> list[str]:
    """The measures `measure` knows."""
    return list(_NAMES)


def measure(name: str, beta: float | None = None) -> Measure:
    """The measure of this name; `beta` belongs to `fbeta` alone.

    Raises UnknownName with the nearest known name, and BadInput for a beta that is missing, misplaced or
    not positive.
    """
    if beta is not None and name != "fbeta":
        raise BadInput(f"measure {name!r} takes no beta; write {{name: fbeta, beta: {beta:g}}}")
    if name == "fbeta" and (beta is None or not np.isfinite(beta) or beta <= 0):
        raise BadInput(f"measure 'fbeta' needs a positive beta, got {beta}")
    match name:
        case "accuracy":
            return _accuracy()
        case "precision":
            return _ratio(name, _TRUE_POSITIVE, _PREDICTED, "no item is predicted positive")
        case "recall":
            return _ratio(name, _TRUE_POSITIVE, _POSITIVE, "no item is positive")
        case "specificity":
            return _ratio(name, _TRUE_NEGATIVE, 1 - _POSITIVE, "no item is negative")
        case "f1":
            return _f_beta(name, 1.0)
        case "fbeta" if beta is not None:
            return _f_beta(f"fbeta({beta:g})", beta)
        case "balanced_accuracy":
            return _balanced_accuracy()
        case "mcc":
            return _matthews()
    near = get_close_matches(name, _NAMES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known measures: {', '.join(_NAMES)}"
    raise UnknownName(f"unknown measure {name!r}; {hint}")
