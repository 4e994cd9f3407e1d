"""Rates of each class or tag: precision, recall, F and their kin, from hits, labels and predictions.

    hit_k    the item is predicted k and is k       (d: hits, then labels)
    label_k  the item is k
    predicted_k   known from the pool

K classes need 3K numbers, not K², and one class against all others 6.  A rate is written with the means by
class:

    t, y, f (..., K)   the means of hit, label and predicted, by class
    v(t, y, f), ∂v/∂t, ∂v/∂y

Where v is a ratio, v ≥ m says that a linear function of t, y and f is 0 or more: its margin.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from assay.evalcore.measures.measure import (
    AskedMeasure,
    Loss,
    Margin,
    MarginOf,
    MeasureFamily,
    OutcomeMeasure,
)
from assay.evalcore.outcomes.classes import OneClass
from assay.evalcore.outcomes.items import Items
from assay.evalcore.reproducible import OFF_TIES
from assay.evalcore.types import Bools, Floats

RateMargin: TypeAlias = Callable[[float], tuple[float, float, float, float]]


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate by class.  Called with t, y and f it gives v with its slopes by t and by y."""

    of: Callable[[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]
    # of m: the constant and the slopes by t, y and f of the margin of v ≥ m; None where v is no ratio
    margin: RateMargin | None

    def __call__(self, t: Floats, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        """v, ∂v/∂t, ∂v/∂y."""
        return self.of(t, y, f)


@dataclass(frozen=True, slots=True)
class Counts(Loss):
    """The losses of rates by class or tag: for each of K, whether the item is a hit (predicted and labelled
    so), then whether it is the label. What is predicted is known from the pool. So a question has 3K
    numbers instead of the K² of a confusion matrix."""

    of_prediction: ClassVar[bool] = True

    @property
    def size(self) -> int:
        """The length d of the loss vector, 2K: a hit and a label for each of the K classes or tags.
        Precision, recall and F-measures are made of their means."""
        return 2 * self.kind.width

    @property
    def zero_or_one(self) -> bool:
        """Always true: hits and labels are 0 or 1 for every item."""
        return True

    @property
    def blocks(self) -> tuple[int, ...]:
        """Two runs of K components, hits by class and labels by class: each component is a share of the
        items. Intervals of shares then hold for each of them."""
        return (self.kind.width, self.kind.width)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """Losses of n items, (n, 2K): the hits of each of K classes or tags, φ_k where it is predicted and
        else 0, then the labels φ_k."""
        return np.concatenate([phi * self.known(items), phi], axis=1)

    def known(self, items: Items) -> Floats:
        """Which classes or tags are predicted, (n, K) of 0 and 1 for n items. The means over the pool are
        the shares of predictions, f in the formulas, and need no label."""
        return self.kind.phi(items.prediction[:, self.system])

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K classes or tags: the slope of the label, plus the
        slope of the hit where the class is predicted."""
        k = self.kind.width
        return slope[:k] * self.known(items) + slope[k:]

    def highest_mean(self, known_means: Floats) -> Floats:
        """A class is hit as often as it is predicted, at most."""
        return np.concatenate([known_means, np.ones_like(known_means)], axis=-1)

    def may_be_none(self, known_means: Floats) -> Bools:
        """Which components are taken as 0 unless a label shows otherwise, (…, 2K): the labels of classes
        that are never predicted. Hits are never among them."""
        return np.concatenate([np.zeros(known_means.shape, np.bool_), known_means <= 0], axis=-1)

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        k = self.kind.width
        return self.kind.max_linear_loss(support[:, self.system], slope[:k], slope[k:], known_slope)


@dataclass(frozen=True, slots=True)
class CountsOfClass(Counts):
    """Of one of K > 2 classes, and of all others together: four numbers and not 2K."""

    part: int = 0

    @property
    def one(self) -> OneClass:
        """The class in question, as one class against all others together: it maps predictions, labels and
        slopes of K classes to those of two. The class is `part`, its place among the names."""
        return OneClass(self.kind, self.part)

    @property
    def size(self) -> int:
        """The length d of the loss vector, 4: hits of the other classes and of this one, then labels of both.
        The measure of one class is made of their means."""
        return 4

    @property
    def blocks(self) -> tuple[int, ...]:
        """Two runs of 2 components, hits and then labels, each of the other classes together and of this
        one: all of them shares of the items."""
        return (2, 2)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """Losses of n items, (n, 4): hits of the other classes together and of this one, then labels of
        both, from φ added up over the other classes. A mistake among the other classes counts as a hit of
        theirs."""
        class_sums = self.one.sums(phi)
        return np.concatenate([class_sums * self.known(items), class_sums], axis=1)

    def known(self, items: Items) -> Floats:
        """Whether another class or this one is predicted, (n, 2) of 0 and 1 for n items, in that order. Their
        means are known without any label."""
        return self.one.sums(self.kind.phi(items.prediction[:, self.system]))

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K classes: computed for this class and for all others
        together, and then repeated for each of the others."""
        return np.asarray((slope[:2] * self.known(items) + slope[2:])[:, self.one.of_class])

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        two = self.one.sums((support[:, self.system] > 0).astype(np.float64))
        return self.one.two.max_linear_loss(two, slope[:2], slope[2:], known_slope)


def split_counts(risk: Floats) -> tuple[Floats, Floats, Floats]:
    """The means of hits t, labels y and predictions f by class, each (…, K): a vector R of means (…, 3K) cut
    into its three thirds."""
    k = risk.shape[-1] // 3
    return risk[..., :k], risk[..., k : 2 * k], risk[..., 2 * k :]


def quotient(above: Floats, below: Floats) -> Floats:
    """The quotient of two arrays, element by element; NaN where the denominator is 0 (at most 1e-12), which
    is how an undefined rate is written here."""
    nonzero = below > 1e-12
    return np.where(nonzero, above / np.where(nonzero, below, 1.0), np.nan)


def f_beta(beta: float) -> Rate:
    """F_β = (1 + β²) t / (β² y + f) (van Rijsbergen 1979). Gives a function of hits t, labels y and
    predictions f of a class, with its two slopes."""
    b = beta**2

    def rate(t: Floats, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
        below = b * y + f
        value = quotient((1 + b) * t, below)
        return value, quotient(np.full_like(t, 1 + b), below), quotient(-b * value, below)

    return Rate(rate, lambda limit: (0.0, 1 + b, -b * limit, -limit))


def _precision(t: Floats, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """t/f."""
    return quotient(t, f), quotient(np.ones_like(t), f), np.zeros_like(t)


def _recall(t: Floats, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """t/y."""
    value = quotient(t, y)
    return value, quotient(np.ones_like(t), y), quotient(-value, y)


def _specificity(t: Floats, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """(1 - y - f + t)/(1 - y)."""
    value = quotient(1 - y - f + t, 1 - y)
    return value, quotient(np.ones_like(t), 1 - y), quotient(value - 1, 1 - y)


def _false_positive_rate(t: Floats, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """(f - t)/(1 - y) = 1 - specificity."""
    value, by_t, by_y = _specificity(t, y, f)
    return 1 - value, -by_t, -by_y


def _fowlkes_mallows(t: Floats, y: Floats, f: Floats) -> tuple[Floats, Floats, Floats]:
    """t/√(y f), the geometric mean of precision and recall (Fowlkes & Mallows 1983)."""
    below = np.sqrt(np.maximum(y * f, 0.0))
    value = quotient(t, below)
    return value, quotient(np.ones_like(t), below), quotient(-value, 2 * y)


precision = Rate(_precision, lambda limit: (0.0, 1.0, 0.0, -limit))
recall = Rate(_recall, lambda limit: (0.0, 1.0, -limit, 0.0))
specificity = Rate(_specificity, lambda limit: (1 - limit, 1.0, limit - 1, -1.0))
false_positive_rate = Rate(_false_positive_rate, lambda limit: (-limit, -1.0, limit, 1.0))
fowlkes_mallows = Rate(_fowlkes_mallows, None)


def present(y: Floats, f: Floats, pool_size: float) -> Bools:
    """Classes that are predicted of some item, or are the label of half an item or more. Macro-averages are
    over these classes alone. y and f, shares of the items, have the shape of what comes back, (..., K)."""
    return np.asarray((f > 0) | (y * pool_size >= 0.5 - OFF_TIES))


@dataclass(frozen=True, slots=True)
class _Family:
    """The declaration of a rate as a measure."""

    name: str
    title: str
    meaning: str
    undefined: str               # when it is
    rate: Callable[[AskedMeasure], Rate]
    options: tuple[str, ...] = ("class",)
    needs_labels: bool = False   # of the class itself
    is_error: bool = False

    def family(self) -> MeasureFamily:
        return MeasureFamily(
            name=self.name, title=self.title, meaning=self.meaning, kinds=("classes", "tags"),
            options=self.options, make=self.make,
        )

    def make(self, request: AskedMeasure) -> OutcomeMeasure:
        k, only = request.kind.width, request.one_part()
        parts: tuple[str | None, ...] = request.kind.parts if only is None else (request.kind.parts[only],)
        if only is None and request.kind.counted is not None:
            only, parts = request.kind.parts.index(request.kind.counted), (None,)
        every = self._of(request, Counts(request.kind, request.system), only, parts)
        if only is None or k == 2 or not request.kind.one_of_parts:
            return every
        return replace(
            every, alone=self._of(request, CountsOfClass(request.kind, request.system, only), 1, parts)
        )

    def _of(
        self, request: AskedMeasure, counts: Counts, only: int | None, parts: tuple[str | None, ...]
    ) -> OutcomeMeasure:
        """By these counts; only: which of them is asked for."""
        k, rate = counts.size // 2, self.rate(request)
        chosen = slice(None) if only is None else slice(only, only + 1)

        def value(risk: Floats) -> Floats:
            return rate(*(part[..., chosen] for part in split_counts(risk)))[0]

        def gradient(risk: Floats) -> Floats:
            _, by_t, by_y = rate(*split_counts(risk))
            eye = np.eye(k)[chosen]
            return np.concatenate([eye * by_t[..., None, :], eye * by_y[..., None, :]], axis=-1)

        written = f"{self.name}({request.number('beta', 2.0):g})" if "beta" in self.options else self.name
        return OutcomeMeasure(
            name=written, title=self.title, meaning=self.meaning, undefined_when=self.undefined,
            bounds=(0.0, 1.0), losses=(counts,), value=value, gradient=gradient, parts=parts,
            system=request.system,
            labels_of="own" if self.needs_labels else "",
            margin=_margin(rate.margin, np.arange(k) == only), is_error=self.is_error,
        )


def _margin(margin_of: RateMargin | None, of_class: Bools) -> MarginOf | None:
    """Of the class where `of_class` (K,) is true; None for all classes, or where the rate has none."""
    if margin_of is None or not of_class.any():
        return None

    def margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
        constant, by_t, by_y, by_f = margin_of(limit)
        return Margin(
            constant=constant, slope=np.concatenate([by_t * of_class, by_y * of_class]),
            known_slope=np.asarray(by_f * of_class)
        )

    return margin


def _beta(request: AskedMeasure) -> Rate:
    return f_beta(request.number("beta", 2.0))


_NEITHER = "the class is neither predicted nor a label"
_DECLARED = (
    _Family("precision", "Precision", "share of the items predicted to be of the class that are",
            "the class is never predicted", lambda _: precision),
    _Family("recall", "Recall", "share of the items of the class that are predicted to be",
            "no item is of the class", lambda _: recall, needs_labels=True),
    _Family("specificity", "Specificity", "share of the items of other classes predicted to be of others",
            "every item is of the class", lambda _: specificity),
    _Family("false_positive_rate", "False positive rate",
            "share of the items of other classes predicted to be of the class", "every item is of the class",
            lambda _: false_positive_rate, is_error=True),
    _Family("f1", "F1", "harmonic mean of precision and recall of the class", _NEITHER,
            lambda _: f_beta(1.0), needs_labels=True),
    _Family("fbeta", "F-beta", "weighted harmonic mean of precision and recall of the class", _NEITHER, _beta,
            ("class", "beta"), needs_labels=True),
    _Family("fowlkes_mallows", "Fowlkes-Mallows", "geometric mean of precision and recall of the class",
            "the class is never predicted, or no item is of it", lambda _: fowlkes_mallows,
            needs_labels=True),
)
FAMILIES = tuple(declared.family() for declared in _DECLARED)
