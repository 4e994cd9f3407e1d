"""Agreement of predicted and true classes: accuracy, Cohen's kappa, MCC, and the confusion matrix."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.by_class import Counts, quotient, split_counts
from assay.evalcore.measures.measure import (
    AskedMeasure,
    Loss,
    Margin,
    MeasureFamily,
    OutcomeMeasure,
    margin_of_mean,
)
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats


@dataclass(frozen=True, slots=True)
class Hit(Loss):
    """The loss of accuracy: 1 for an item whose predicted class is its label, else 0. Its mean over the pool
    is the accuracy; one component, linear in φ."""

    of_prediction: ClassVar[bool] = True

    @property
    def zero_or_one(self) -> bool:
        """Always true: the only component, a hit or a miss, is 1 or 0 for every item. So its mean is a share,
        with the intervals of shares."""
        return True

    @property
    def size(self) -> int:
        """The length d of the loss vector, 1: only whether the prediction is right. Its mean over the pool is
        the accuracy. Each item has one number, so losses are (n, 1)."""
        return 1

    @property
    def perfect(self) -> Floats:
        """The loss of a rightly predicted item, shape (1,): 1. Importance sampling therefore spends no
        labels on items that are surely right."""
        return np.ones(1)

    @property
    def blocks(self) -> tuple[int, ...]:
        """One run of length 1: the only component is a share by itself, the share of right predictions. The
        interval is then that of a binomial share."""
        return (1,)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """The chance that each prediction is right, (n, 1) for n items: the component of φ at the predicted
        class. It is 0 or 1 where φ are labels, a probability where φ is expected."""
        return self.kind.at(phi, items.prediction[:, self.system])[:, None]

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K classes: the slope at the predicted class of each item
        and 0 at all others, so that their product with φ is the slope times the hit."""
        return np.asarray(slope[0] * self.kind.phi(items.prediction[:, self.system]))

    def most_by_class(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """It is 1 for some item where the class is predicted, and 0 for some where another one is. (C, K) for
        C cells: the largest pull of an item of each predicted class."""
        predicted = support[:, self.system, : self.kind.width] > 0
        count = predicted.sum(axis=1, keepdims=True)
        another = (count > predicted) | (count == 0)
        best = np.maximum(np.where(predicted, slope[0], -np.inf), np.where(another, 0.0, -np.inf))
        return np.asarray(best)


@dataclass(frozen=True, slots=True)
class AgreementLoss(Loss):
    """Weighted agreement and labels by class; predictions are known.  weights: K rows of K numbers."""

    of_prediction: ClassVar[bool] = True

    weights: tuple[tuple[float, ...], ...] = ()

    @property
    def size(self) -> int:
        """The length d of the loss vector, 1 + K: the weighted agreement, then the share of each of the K
        classes among the labels."""
        return 1 + self.kind.width

    def _weight(self) -> Floats:
        return np.array(self.weights) if self.weights else np.eye(self.kind.width)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """Losses of n items, (n, 1 + K): first the weight of the predicted class and the label, Σ_k
        weight[prediction, k] φ_k, then φ itself, whose mean gives the share of each class."""
        agreed = ((self.known(items) @ self._weight()) * phi).sum(axis=1, keepdims=True)
        return np.concatenate([agreed, phi], axis=1)

    def known(self, items: Items) -> Floats:
        """The predicted class one-hot, (n, K) for n items and K classes. Its mean over the pool is the share
        of each class among the predictions, which no label is needed for."""
        return self.kind.phi(items.prediction[:, self.system])

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K classes: the slope of the agreement times the weights
        of the predicted class, plus the slope of each label share."""
        return np.asarray(slope[0] * (self.known(items) @ self._weight()) + slope[1:])

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """The best label of each predicted class, and the best class of the cell. (C,) for C cells, the
        largest that slope·ℓ can be. The classes that no row of a cell is predicted to be are left out."""
        best = (slope[0] * self._weight() + slope[1:]).max(axis=1) + known_slope
        predicted = support[:, self.system, : self.kind.width] > 0
        return np.asarray(np.where(predicted, best, -np.inf).max(axis=1))


def _accuracy(request: AskedMeasure) -> OutcomeMeasure:
    return OutcomeMeasure(
        name="accuracy", title="Accuracy", meaning="share of items whose class is predicted",
        undefined_when="the pool is empty", bounds=(0.0, 1.0), losses=(Hit(request.kind, request.system),),
        value=lambda risk: risk[..., :1], gradient=lambda risk: np.ones((*risk.shape[:-1], 1, 1)),
        system=request.system, margin=margin_of_mean,
    )


def _kappa(request: AskedMeasure) -> OutcomeMeasure:
    k = request.kind.width
    weight = _weights(request)

    def value(risk: Floats) -> Floats:
        o, y, f = risk[..., 0], risk[..., 1 : 1 + k], risk[..., 1 + k :]
        chance = ((f @ weight) * y).sum(axis=-1)
        return quotient(o - chance, 1 - chance)[..., None]

    def gradient(risk: Floats) -> Floats:
        y, f = risk[..., 1 : 1 + k], risk[..., 1 + k :]
        by_chance = f @ weight
        chance = (by_chance * y).sum(axis=-1, keepdims=True)
        below = np.maximum(1 - chance, 1e-9)
        by_y = by_chance * (value(risk) - 1) / below
        return np.asarray(np.concatenate([1 / below, by_y], axis=-1)[..., None, :])

    def margin(limit: float, known_means: Floats, at_least: bool) -> Margin:
        """o - e - limit (1 - e), which is linear in o and y: the shares of predictions are known. Kappa
        (Cohen 1960, eq. 1) is at or above the limit exactly where this is at or above 0."""
        slope = np.concatenate([[1.0], (limit - 1) * (known_means @ weight)])
        return Margin(constant=-limit, slope=slope, known_slope=np.zeros(k))

    written = request.options.get("weights")
    return OutcomeMeasure(
        name="cohen_kappa" if written is None else f"cohen_kappa({written})", title="Cohen's kappa",
        meaning="agreement beyond what chance would give",
        undefined_when="one class is all there is among predictions and labels", bounds=(-1.0, 1.0),
        losses=(AgreementLoss(request.kind, request.system, tuple(map(tuple, weight.tolist()))),),
        value=value, gradient=gradient, system=request.system, range_of=2.0, margin=margin,
    )


def _weights(request: AskedMeasure) -> Floats:
    """(K, K) 1 - distance/largest distance between the values of two grades; the identity without weights."""
    written = request.options.get("weights")
    if written is None:
        return np.eye(request.kind.width)
    if written not in ("linear", "quadratic"):
        raise BadInput(f"weights of cohen_kappa are linear or quadratic, got {written!r}")
    kind = request.kind
    if kind.grades is None:
        raise BadInput(
            "weighted kappa needs grades, and these classes are names: give `outcome` the grades as "
            "numbers (in a spec `grades: [1, 2, 3]`)"
        )
    values = np.array(kind.grades)
    distance = np.abs(values[:, None] - values) ** (2 if written == "quadratic" else 1)
    return np.asarray(1 - distance / distance.max())


def _mcc(request: AskedMeasure) -> OutcomeMeasure:
    def value(risk: Floats) -> Floats:
        t, y, f = split_counts(risk)
        above = t.sum(axis=-1) - (y * f).sum(axis=-1)
        inside = (1 - (f**2).sum(axis=-1)) * (1 - (y**2).sum(axis=-1))
        return np.clip(quotient(above, np.sqrt(np.maximum(inside, 0.0))), -1, 1)[..., None]

    def gradient(risk: Floats) -> Floats:
        _, y, f = split_counts(risk)
        a, b = 1 - (f**2).sum(axis=-1, keepdims=True), 1 - (y**2).sum(axis=-1, keepdims=True)
        root = np.sqrt(np.maximum(a * b, 1e-12))
        by_y = -f / root + value(risk) * y / np.maximum(b, 1e-9)
        return np.asarray(np.concatenate([np.broadcast_to(1 / root, y.shape), by_y], axis=-1)[..., None, :])

    return OutcomeMeasure(
        name="mcc", title="MCC", meaning="correlation of predicted and true class",
        undefined_when="one class is all there is among predictions or among labels", bounds=(-1.0, 1.0),
        losses=(Counts(request.kind, request.system),), value=value, gradient=gradient, system=request.system,
        range_of=2.0,
    )


_AGREEMENT = (
    MeasureFamily(name="accuracy", title="Accuracy", meaning="share of items whose class is predicted",
                  kinds=("classes",), make=_accuracy),
    MeasureFamily(name="cohen_kappa", title="Cohen's kappa", meaning="agreement beyond chance",
                  kinds=("classes",), options=("weights",), make=_kappa),
    MeasureFamily(name="mcc", title="MCC", meaning="correlation of predicted and true class",
                  kinds=("classes",), make=_mcc),
)


MOST_MATRIX_CLASSES = 40   # classes of a confusion matrix


@dataclass(frozen=True, slots=True)
class Pairs(Loss):
    """1 for the pair of the predicted class and the label."""

    @property
    def size(self) -> int:
        """The length d of the loss vector, K²: one component for every pair of a predicted class and a label.
        Their means are the confusion matrix."""
        return self.kind.width**2

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """Indicators of the pair of predicted class and label, (n, K²) for n items: the K labels of the
        first predicted class, then those of the second, and so on. Their mean is the confusion matrix in
        shares, row by row."""
        predicted = self.kind.phi(items.prediction[:, self.system])
        return (predicted[:, :, None] * phi[:, None, :]).reshape(len(phi), -1)

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K classes: of the K² slopes the row that belongs to the
        predicted class of each item."""
        predicted = self.kind.phi(items.prediction[:, self.system])
        return predicted @ slope.reshape(self.kind.width, -1)

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """An upper bound of slope·ℓ for an item of each cell, (C,) for C cells: the largest of the K²
        slopes, because exactly one pair of predicted class and label is 1 for any item."""
        return np.full(len(support), slope.max())


def _confusion(request: AskedMeasure) -> OutcomeMeasure:
    k = request.kind.width
    if k > MOST_MATRIX_CLASSES:
        raise BadInput(
            f"a confusion matrix is for at most {MOST_MATRIX_CLASSES} classes, not {k}; ask for recall by "
            "class"
        )
    names = request.kind.parts
    return OutcomeMeasure(
        name="confusion_matrix", title="Confusion matrix",
        meaning="share of items by predicted class and label", undefined_when="the pool is empty",
        bounds=(0.0, 1.0), losses=(Pairs(request.kind, request.system),), value=lambda risk: risk,
        gradient=lambda risk: np.broadcast_to(np.eye(k * k), (*risk.shape[:-1], k * k, k * k)),
        parts=tuple(f"{predicted} → {label}" for predicted in names for label in names),
        system=request.system,
    )


_MATRIX = (
    MeasureFamily(name="confusion_matrix", title="Confusion matrix",
                  meaning="share of items by predicted class and label", kinds=("classes",), make=_confusion,
                  one_system="is a table of one system"),
)

FAMILIES = (*_AGREEMENT, *_MATRIX)
