"""Measures of whole sets of tags, item by item.

    subset accuracy   share of items all of whose tags are right
    hamming           share of (item, tag) that are wrong
    jaccard           mean of |predicted ∩ labels| / |predicted ∪ labels|
    sample F1         mean of 2 |predicted ∩ labels| / (|predicted| + |labels|)

Of an item without tags, predicted or true, Jaccard and F1 are 1.  Where φ is a probability the loss is that
of the expected counts: a guess, which labels correct.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.evalcore.measures.measure import AskedMeasure, Loss, MeasureFamily, OutcomeMeasure, margin_of_mean
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats

Function = Callable[[Floats, Floats], Floats]   # of φ (n, K) and predicted bits (n, K) to (n,)


def _subset(phi: Floats, f: Floats) -> Floats:
    return np.asarray((phi * f + (1 - phi) * (1 - f)).prod(axis=1))


def _hamming(phi: Floats, f: Floats) -> Floats:
    return np.asarray((phi * (1 - f) + (1 - phi) * f).mean(axis=1))


def _jaccard(phi: Floats, f: Floats) -> Floats:
    return _overlap(phi, f, (phi * f).sum(axis=1), (phi + f - phi * f).sum(axis=1))


def _sample_f1(phi: Floats, f: Floats) -> Floats:
    return _overlap(phi, f, 2 * (phi * f).sum(axis=1), (phi + f).sum(axis=1))


def _overlap(phi: Floats, f: Floats, above: Floats, below: Floats) -> Floats:
    """above/below (n,); where nothing is predicted, the chance that there is no tag: then it is 1, else 0."""
    predicted = f.any(axis=1)
    ratio = above / np.where(predicted, below, 1.0)
    return np.where(predicted, ratio, np.prod(1 - phi, axis=1))


@dataclass(frozen=True, slots=True)
class OfSet(Loss):
    """The loss of a measure of whole sets of tags: one number for each item, a function of its predicted
    tags and its true ones, such as whether all are right."""

    function: Function = _subset

    @property
    def size(self) -> int:
        """The length d of the loss vector, 1: one number for each item."""
        return 1

    @property
    def zero_or_one(self) -> bool:
        """Whether every loss is 0 or 1: only for subset accuracy, where all tags have to be right. Its mean
        is then a share, with the intervals of shares."""
        return self.function is _subset

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """The loss of each item, (n, 1): the function of the true tags φ and the predicted tags. Where φ are
        probabilities it is the function of expected counts, a guess that labels correct."""
        return self.function(phi, self.kind.phi(items.prediction[:, self.system]))[:, None]


def _family(
    name: str, title: str, meaning: str, function: Function, is_error: bool = False
) -> MeasureFamily:
    def make(request: AskedMeasure) -> OutcomeMeasure:
        return OutcomeMeasure(
            name=name, title=title, meaning=meaning, undefined_when="the pool is empty", bounds=(0.0, 1.0),
            losses=(OfSet(request.kind, request.system, function),), value=lambda risk: risk[..., :1],
            gradient=lambda risk: np.ones((*risk.shape[:-1], 1, 1)), system=request.system,
            margin=margin_of_mean, is_error=is_error,
        )

    return MeasureFamily(name=name, title=title, meaning=meaning, kinds=("tags",), make=make)


FAMILIES = (
    _family("subset_accuracy", "Subset accuracy", "share of items all of whose tags are right", _subset),
    _family("hamming", "Hamming loss", "share of tags that are wrong", _hamming, is_error=True),
    _family("jaccard", "Jaccard index", "mean overlap of predicted and true tags", _jaccard),
    _family("sample_f1", "F1 by item", "mean F1 of predicted and true tags of an item", _sample_f1),
)
