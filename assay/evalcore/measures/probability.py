"""Measures of the supplied probabilities: top-k accuracy, Brier score, log loss.

top-k accuracy   share of items whose label is among the k most probable classes
Brier score      mean of Σ_k (p_k - 1[label = k])² (Brier 1950): from 0 to 2; of a positive and a negative
                 class half of it, the mean of (p - 1[positive])²: from 0 to 1
log loss         mean of -log p_label; probabilities are taken as at least LEAST_PROBABILITY
"""

from dataclasses import dataclass
from math import log

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import (
    AskedMeasure,
    Loss,
    MarginOf,
    MeasureFamily,
    OutcomeMeasure,
    margin_of_mean,
)
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

LEAST_PROBABILITY = 1e-15   # a log loss stays finite


@dataclass(frozen=True, slots=True)
class ByClass(Loss):
    """A loss that is a number for each item and class."""

    @property
    def size(self) -> int:
        """The length d of the loss vector, 1: a single number for each item. The measure is its mean over the
        pool."""
        return 1

    def table(self, items: Items) -> Floats:
        """The loss (n, K) of each item if its label were each class."""
        raise NotImplementedError

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """The expected loss of each item, (n, 1): the loss of each class, weighted by φ. Where φ are labels
        it is the loss of the labelled class."""
        return np.asarray((self.table(items) * phi).sum(axis=1, keepdims=True))

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K classes: the slope times the loss that the item would
        have with each class as its label."""
        return np.asarray(slope[0] * self.table(items))

    def needs(self, items: Items) -> None:
        """Raises BadInput where the pool has no probabilities of the system in question."""
        self._probability(items)

    def _probability(self, items: Items) -> Floats:
        """(n, K) what the system gives each class."""
        probability = items.probability_of(self.system)
        if probability is None:
            whose = "" if items.systems < 2 else " from every system"
            raise BadInput(f"this measure needs a probability of each class{whose}; name their columns as "
                           "probability")
        return probability


@dataclass(frozen=True, slots=True)
class TopKLoss(ByClass):
    """The loss of top-k accuracy: 1 for a label among the k classes that the system finds most probable for
    the item, else 0. Its mean over the pool is the top-k accuracy."""

    k: int = 1

    @property
    def perfect(self) -> Floats:
        """The loss of an item that is predicted right, shape (1,): taken as 1, because its label should be
        among the k most probable classes."""
        return np.ones(1)

    @property
    def blocks(self) -> tuple[int, ...]:
        """One run of length 1: the component is a share by itself, the share of items whose label is among
        the first k."""
        return (1,)

    def table(self, items: Items) -> Floats:
        """(n, K); of classes equally probable the earlier ones count first."""
        p = self._probability(items)
        order = np.argsort(-p, axis=1, kind="stable")[:, : self.k]
        table = np.zeros(p.shape)
        np.put_along_axis(table, order, 1.0, axis=1)
        return table


@dataclass(frozen=True, slots=True)
class Brier(ByClass):
    """The loss of the Brier score (Brier 1950): scale · Σ_k (p_k − 1[label = k])², the squared distance of
    the supplied probabilities from the label. With scale 1 it lies between 0 and 2."""

    scale: float = 1.0

    def table(self, items: Items) -> Floats:
        """The loss of each item if its label were each class, (n, K) for n items and K classes: scale · (Σ_j
        p_j² − 2 p_k + 1)."""
        p = self._probability(items)
        return np.asarray(self.scale * ((p**2).sum(axis=1, keepdims=True) - 2 * p + 1))

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """An upper bound of slope·ℓ for an item of each cell, (C,): the positive part of the slope times
        2·scale, the largest loss that any probabilities can have."""
        return np.full(len(support), 2 * self.scale * max(float(slope[0]), 0.0))


@dataclass(frozen=True, slots=True)
class LogLoss(ByClass):
    """The loss of the log loss, −log p of the labelled class (natural logarithm). Probabilities are taken as
    at least LEAST_PROBABILITY, so that it stays finite."""

    @property
    def heavy(self) -> bool:
        """Always true: a single confident mistake can lose up to about 35, where 0.5 is usual, so no monitor
        can watch its mean."""
        return True

    def table(self, items: Items) -> Floats:
        """The loss of each item if its label were each class, (n, K) for n items and K classes: −log p_k,
        with p_k taken as at least LEAST_PROBABILITY."""
        return np.asarray(-np.log(np.maximum(self._probability(items), LEAST_PROBABILITY)))


def _mean(
    name: str, title: str, meaning: str, loss: Loss, bounds: tuple[float, float],
    is_error: bool, margin: MarginOf | None = margin_of_mean,
) -> OutcomeMeasure:
    return OutcomeMeasure(
        name=name, title=title, meaning=meaning, undefined_when="the pool is empty", bounds=bounds,
        losses=(loss,), value=lambda risk: risk[..., :1],
        gradient=lambda risk: np.ones((*risk.shape[:-1], 1, 1)), system=loss.system, is_error=is_error,
        margin=margin,
    )


def _top_k(request: AskedMeasure) -> OutcomeMeasure:
    k = int(request.number("k", 5))
    if not 1 <= k <= request.kind.width:
        raise BadInput(f"k of top_k_accuracy must lie between 1 and {request.kind.width}, got {k}")
    meaning = f"share of items whose class is among the {k} most probable"
    loss = TopKLoss(request.kind, request.system, k)
    return _mean(f"top_k_accuracy({k})", f"Top-{k} accuracy", meaning, loss, (0.0, 1.0), is_error=False)


def _brier(request: AskedMeasure) -> OutcomeMeasure:
    scale = 1.0 if request.kind.counted is None else 0.5
    return _mean("brier", "Brier score", "mean squared error of the probabilities",
                 Brier(request.kind, request.system, scale), (0.0, 2 * scale), is_error=True)


def _log_loss(request: AskedMeasure) -> OutcomeMeasure:
    return _mean("log_loss", "Log loss", "mean of minus the log of the label's probability",
                 LogLoss(request.kind, request.system), (0.0, -log(LEAST_PROBABILITY)), is_error=True,
                 margin=None)   # bets on single items that may count for 35 are not fair enough


_PROBABILITY = ("probability",)
FAMILIES = (
    MeasureFamily(name="top_k_accuracy", title="Top-k accuracy", kinds=("classes",), options=("k",),
                  meaning="share of items whose class is among the k most probable", needs=_PROBABILITY,
                  make=_top_k),
    MeasureFamily(name="brier", title="Brier score", meaning="mean squared error of the probabilities",
                  kinds=("classes",), needs=_PROBABILITY, make=_brier),
    MeasureFamily(name="log_loss", title="Log loss",
                  meaning="mean of minus the log of the label's probability",
                  kinds=("classes",), needs=_PROBABILITY, make=_log_loss),
)
