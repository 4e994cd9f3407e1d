"""Curves of a score at thresholds, and the areas under them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.by_class import quotient
from assay.evalcore.measures.measure import (
    AskedMeasure,
    Loss,
    MeasureFamily,
    OfLabelledItems,
    OutcomeMeasure,
    Point,
)
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import Grid, score_of
from assay.evalcore.types import Floats, Ints

MOST_THRESHOLDS = 1024     # thresholds of a curve: as many as in Marchant & Rubinstein (2021), figure 4


def _thresholds(request: AskedMeasure, name: str) -> tuple[float, ...]:
    at = request.numbers_of_setting("at")
    if not at:
        raise BadInput(f"{name} needs `at`: thresholds of the score, as in {{name: {name}, at: [0.2, 0.5]}}")
    if len(at) > MOST_THRESHOLDS or len(set(at)) < len(at):
        raise BadInput(f"{name} takes up to {MOST_THRESHOLDS:,} different thresholds, got {len(at)}")
    return tuple(sorted(at))


def _curve(name: str, title: str, meaning: str, second_rate: str, undefined: str) -> MeasureFamily:
    """The family of curves of recall against a second rate at the same thresholds."""
    precision = second_rate == "precision"

    def make(request: AskedMeasure) -> OutcomeMeasure:
        at, (part, class_name) = _thresholds(request, name), class_asked(request, name)
        below = np.arange(len(at) + 1) > np.arange(len(at))[:, None]      # (L, H): the band is above τ_l

        def rates(risk: Floats) -> tuple[Floats, Floats, Floats, Floats]:
            t, n = split_bands(risk)
            hits, predicted, positives = upward(t)[..., 1:], upward(n)[..., 1:], t.sum(axis=-1, keepdims=True)
            negatives = n.sum(axis=-1, keepdims=True) - positives
            other_rate = (
                quotient(hits, predicted)
                if precision
                else quotient(predicted - hits, np.broadcast_to(negatives, hits.shape))
            )
            return other_rate, quotient(hits, np.broadcast_to(positives, hits.shape)), predicted, negatives

        def value(risk: Floats) -> Floats:
            other_rate, recall, _, _ = rates(risk)
            return np.concatenate([other_rate, recall] if precision else [recall, other_rate], axis=-1)

        def gradient(risk: Floats) -> Floats:
            other_rate, recall, predicted, negatives = rates(risk)
            positives = split_bands(risk)[0].sum(axis=-1)[..., None, None]
            by_recall = quotient(below - recall[..., None], np.broadcast_to(positives, (*recall.shape, 1)))
            shape = (*other_rate.shape, below.shape[1])
            by_other = quotient(np.broadcast_to(below, shape), predicted[..., None]) \
                if precision else quotient(other_rate[..., None] - below, np.broadcast_to(
                    negatives[..., None], (*other_rate.shape, 1)))
            return np.concatenate([by_other, by_recall] if precision else [by_recall, by_other], axis=-2)

        return OutcomeMeasure(
            name=name,
            title=title,
            meaning=meaning,
            undefined_when=undefined,
            bounds=(0.0, 1.0),
            losses=(Bands(request.kind, 0, part, at, False),),
            value=value,
            gradient=gradient,
            parts=(class_name,) * 2 * len(at),
            points=tuple(
                Point(measure=measure, at=tau)
                for measure in (("precision", "recall") if precision else ("recall", second_rate))
                for tau in at
            ),
        )

    return MeasureFamily(name=name, title=title, meaning=meaning, kinds=("classes",),
                         options=("class", "at"), needs=("score",),
                         one_system="is made of one system's scores", make=make)


_UNDEFINED = "nothing scores above the threshold, or no item is of the class"
_POINTS = (
    _curve("pr_curve", "Precision-recall curve", "precision and recall at thresholds of the score",
           "precision", _UNDEFINED),
    _curve("roc_curve", "ROC curve", "recall and false positive rate at thresholds of the score",
           "false_positive_rate", "no item is of the class, or every one is"),
)


@dataclass(frozen=True, slots=True)
class Bands(Loss):
    """Whether an item is of class `part`, in the band of its score.

    edges     (H - 1,) rising; None: those of no pool yet
    of_grid   edges are scores of a pool's grid, and the lowest of their band; else they are thresholds

    The loss behind curves: which items are of a class, by bands of their score.

        t_h   share of items that are of the class and in band h     (d = H: depends on labels)
        n_h   share of items in band h                                (known from the pool)

    Bands rise with the score.  An item is at or above a threshold where its probability is at least as high,
    or where its score is higher: the rules by which `pool.threshold` makes predictions.  Probabilities are
    compared as 32-bit floats, as a ledger keeps them.
    """

    of_prediction: ClassVar[bool] = True

    part: int = 0
    edges: tuple[float, ...] | None = None
    of_grid: bool = True

    @property
    def size(self) -> int:
        """The length d of the loss vector, H: one component for each band of the score. Points of the curve
        are sums of their means from the top."""
        return len(self.edges or ()) + 1

    @property
    def blocks(self) -> tuple[int, ...]:
        """Shares of items by band. Those of a grid are too many to be drawn together: areas came out low. An
        empty tuple leaves each band its own interval."""
        return () if self.of_grid else (self.size,)

    def band(self, items: Items) -> Ints:
        """The number of the band that the score of each item lies in, (n,) from 0 for the lowest scores to H
        − 1. Before the pool's scores have given edges there is a single band."""
        score, has_score = score_of(items, self.part), items.score is not None
        edges = np.asarray(self.edges or (), np.float64 if has_score else np.float32)
        above: Literal["left", "right"] = "right" if self.of_grid or not has_score else "left"
        return np.asarray(np.searchsorted(edges, score, side=above), np.int64)

    def item_losses(self, items: Items, phi: Floats) -> Floats:
        """Losses of n items, (n, H) for H bands: the chance φ that the item is of the class, in the band of
        its score, and 0 in all others."""
        return np.asarray(self.known(items) * phi[:, self.part, None])

    def known(self, items: Items) -> Floats:
        """Which band each item is in, (n, H) of 0 and 1. The means over the pool are the shares of items by
        band and need no label."""
        return np.asarray(self.band(items)[:, None] == np.arange(self.size), np.float64)

    def pull(self, items: Items, slope: Floats) -> Floats:
        """Coefficients of φ, (n, K) for n items and K classes: for the class of the curve the slope of the
        band that the item is in, and 0 for all other classes."""
        pull = np.zeros((len(items), self.kind.width))
        pull[:, self.part] = slope[self.band(items)]
        return pull

    def most(self, support: Floats, slope: Floats, known_slope: Floats) -> Floats:
        """An upper bound of slope·ℓ + known_slope·known for an item of each cell, (C,): the largest over the
        bands, because an item lies in exactly one band."""
        return np.full(len(support), (np.maximum(slope, 0.0) + known_slope).max())

    def needs(self, items: Items) -> None:
        """Raises BadInput where the items have no scores, where the supplied score is of another class than
        this one, or where the bands have not been made from the scores of a pool."""
        score_of(items.at(slice(0, 0)), self.part)
        if items.score is not None and self.part != self.kind.width - 1:
            raise BadInput(f"the score is one of {self.kind.parts[-1]!r}; ask for the curve of that class")
        if self.edges is None:
            raise BadInput("this measure is made of the pool's scores: give `outcome_measure` the pool's "
                           "grids, as evalcore.outcomes.score_grid.grids makes them")


def class_asked(request: AskedMeasure, name: str) -> tuple[int, str | None]:
    """The class asked for, and what its numbers are told of; without one, the one that measures count. As
    (code, name). Raises BadInput where no class is named and none counts."""
    part, counted = request.one_part(), request.kind.counted
    if part is not None:
        return part, request.kind.parts[part]
    if counted is None:
        raise BadInput(f"{name} is of one class: name it, as in {{name: {name}, class: "
                       f"{request.kind.parts[0]}}}")
    return request.kind.parts.index(counted), None


def split_bands(risk: Floats) -> tuple[Floats, Floats]:
    """The means by band, (…, H) each: t, the share of the items that are of the class and in the band, and
    n, the share that is in the band."""
    half = risk.shape[-1] // 2
    return risk[..., :half], risk[..., half:]


def upward(values: Floats) -> Floats:
    """Sums over each band and all bands of higher scores, (…, H): from values by band they give what lies at
    or above each threshold."""
    return np.cumsum(values[..., ::-1], axis=-1)[..., ::-1]


Function: TypeAlias = Callable[[Floats], Floats]   # of the risk

LEAST_LABELS_OF_AREA = 10   # labelled items of the class below which an area's interval is the whole range
_NOTHING = Grid(edges=(), tied=(1.0,))


def _harmonic(low: Floats, high: Floats) -> Floats:
    """Σ 1/r for r from low + 1 to high, for any real numbers 0 ≤ low ≤ high."""
    return np.asarray(scipy.special.digamma(high + 1) - scipy.special.digamma(low + 1))


def _area(request: AskedMeasure, name: str) -> tuple[str | None, Grid, Bands]:
    part, class_name = class_asked(request, name)
    grid = request.grids.get(part)
    edges = None if grid is None else grid.edges
    return class_name, grid or _NOTHING, Bands(request.kind, 0, part, edges)


def _roc_auc(request: AskedMeasure) -> OutcomeMeasure:
    class_name, grid, loss = _area(request, "roc_auc")
    has_ties = np.array(grid.tied) > 1 + 1e-9

    def sums(risk: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        t, n = split_bands(risk)
        f = n - t
        lower = np.cumsum(f, axis=-1) - f / 2
        p, negatives = t.sum(axis=-1, keepdims=True), f.sum(axis=-1, keepdims=True)
        return t, f, lower, np.asarray(p * negatives)

    def value(risk: Floats) -> Floats:
        t, _, lower, pairs = sums(risk)
        return quotient((t * lower).sum(axis=-1, keepdims=True), pairs)

    def gradient(risk: Floats) -> Floats:
        t, f, lower, pairs = sums(risk)
        slope = lower - (upward(t) - t / 2)
        p, negatives = t.sum(axis=-1, keepdims=True), f.sum(axis=-1, keepdims=True)
        return (quotient(slope, np.broadcast_to(pairs, slope.shape))
                + value(risk) * (quotient(np.ones_like(negatives), negatives)
                                  - quotient(np.ones_like(p), p)))[..., None, :]

    def slack(risk: Floats) -> Floats:
        t, f, _, pairs = sums(risk)
        wrong = np.where(has_ties, np.maximum(t, 0) * np.maximum(f, 0), 0.0)
        return quotient(wrong.sum(axis=-1, keepdims=True) / 2, pairs)

    return _of_area("roc_auc", class_name, loss, value, gradient, slack)


def _average_precision(request: AskedMeasure) -> OutcomeMeasure:
    class_name, grid, loss = _area(request, "average_precision")
    tied, n_items = np.array(grid.tied), request.pool_size
    has_ties = tied > 1 + 1e-9

    def counts(risk: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """t, items of the class above T, items n, items above M (..., H). H counts the bands, from the
        highest score down. All four keep the leading axes of `risk`, and count items where `risk` has
        shares."""
        t, n = (part * n_items for part in split_bands(risk))
        return t, upward(t) - t, n, np.round(upward(n) - n, 9)

    def pieces(n: Floats, above: Floats) -> tuple[Floats, Floats, Floats]:
        """Σ 1/rank, Σ (place - 1)/rank over the items of a band, and the chance of a place (..., H). Average
        precision is the sum of precision at each item of the class."""
        inverse = tied * n / np.maximum(above + n, 1e-12)
        return inverse, n - (above + 1) * inverse, 1 / np.maximum(n, 1e-12)

    def value(risk: Floats) -> Floats:
        t, before, n, above = counts(risk)
        inverse, places, chance = pieces(n, above)
        tied_share = np.maximum(t - 1, 0) / np.maximum(n - 1, 1)
        gain = t * chance * ((before + 1) * inverse + tied_share * places)
        return quotient(gain.sum(axis=-1, keepdims=True), t.sum(axis=-1, keepdims=True))

    def gradient(risk: Floats) -> Floats:
        t, before, n, above = counts(risk)
        inverse, places, chance = pieces(n, above)
        others_in_bin = np.maximum(n - 1, 1)
        tied_share = np.maximum(t - 1, 0) / others_in_bin
        own_gain = chance * (
            (before + 1) * inverse + tied_share * places + t * places * (t > 1) / others_in_bin
        )
        later = t * chance * inverse
        below = np.cumsum(later, axis=-1) - later
        positives = t.sum(axis=-1, keepdims=True)
        share = quotient(own_gain + below - value(risk), np.broadcast_to(positives, own_gain.shape))
        return (n_items * share)[..., None, :]

    def slack(risk: Floats) -> Floats:
        band_counts = counts(risk)
        inverse, places, chance = pieces(*band_counts[2:])
        t, before, n, above = (np.maximum(part, 0) for part in band_counts)
        t = np.minimum(t, n)
        tied_share = np.maximum(t - 1, 0) / np.maximum(n - 1, 1)
        taken = t * chance * ((before + 1) * inverse + tied_share * places)
        best = t * (before + t) / np.maximum(above + t, 1e-12)
        worst = t + (before - above - n + t) * _harmonic(above + n - t, above + n)
        wrong = np.where(has_ties, np.maximum(best - taken, taken - worst), 0.0)
        return quotient(wrong.sum(axis=-1, keepdims=True), t.sum(axis=-1, keepdims=True))

    return _of_area("average_precision", class_name, loss, value, gradient, slack)


_AREAS = {
    "roc_auc": ("ROC AUC", "chance that an item of the class scores above one of another",
                "no item is of the class, or every one is", _roc_auc),
    "average_precision": ("Average precision", "mean precision at the scores of the items of the class",
                          "no item is of the class", _average_precision),
}


@dataclass(frozen=True, slots=True)
class AreaOfItems(OfLabelledItems):
    """An area under a curve, of items whose labels are all known.

    Areas under the curves of a score, for one class against the rest.

        roc_auc             chance that an item of the class scores higher than one of another, ties half
        average_precision   mean over the items of the class of the precision at their own score: the step
                            function, not the trapezoid, as scikit-learn has it

    They are taken over the pool's own scores, in bands (`outcomes.score_grid.Grid`).  A pool with up to
    score_grid.EXACT different scores has a band for each, and the areas are exact functions of t.  Otherwise
    items of the class are taken to be spread at random over the items of their band.  `slack` bounds what
    that can be wrong by:

        roc_auc             at most ½ Σ t_h (n_h - t_h)/(P (1 - P)), over bands of several scores
        average_precision   by the sums if all items of the class came first in their band, or last

    Once all items are labelled there is no slack: both are taken of the items themselves (`AreaOfItems`).

    Until LEAST_LABELS_OF_AREA items of the class are labelled, the interval of an area is the whole range:
    few of them say little of their order (intervals covered in 14 of 20 runs with about 5).
    """

    width: ClassVar[int] = 2

    part: int        # the class
    precision: bool  # average precision, else the area under the ROC curve

    def columns(self, items: Items, phi: Floats) -> Floats:
        """(n, 2): the score, and 1 for an item of the class."""
        return np.stack([np.asarray(score_of(items, self.part), np.float64), phi[:, self.part]], axis=1)

    def value(self, columns: Floats, weight: Floats) -> float:
        """By one pass over the different scores, from the lowest (ROC) or the highest (precision). NaN where
        no item, or every item, is of the class."""
        _, place = np.unique(columns[:, 0], return_inverse=True)
        positive: Floats = np.asarray(np.bincount(place.ravel(), weight * columns[:, 1]), np.float64)
        negative: Floats = np.asarray(np.bincount(place.ravel(), weight * (1 - columns[:, 1])), np.float64)
        hits, negatives = positive.sum(), negative.sum()
        if not hits > 0:
            return float("nan")
        if self.precision:
            above, items = upward(positive), upward(positive + negative)
            return float((positive * above / np.where(items > 0, items, 1.0)).sum() / hits)
        if not negatives > 0:
            return float("nan")
        return float((positive * (np.cumsum(negative) - negative / 2)).sum() / (hits * negatives))


def _of_area(
    name: str, class_name: str | None, loss: Bands, value: Function, gradient: Function, slack: Function
) -> OutcomeMeasure:
    title, meaning, undefined, _ = _AREAS[name]
    return OutcomeMeasure(
        name=name, title=title, meaning=meaning, undefined_when=undefined, bounds=(0.0, 1.0), losses=(loss,),
        value=value, gradient=gradient, slack=slack, parts=(class_name,), least=LEAST_LABELS_OF_AREA,
        of_items=AreaOfItems(loss.part, name == "average_precision"),
    )


_BY_RANK = "divides by the rank of each item, and a rank counts the items above, whatever they weigh"
_AREA_FAMILIES = tuple(
    MeasureFamily(name=name, title=title, meaning=meaning, kinds=("classes",), options=("class",),
                  needs=("score",), grid=True, one_system="is made of one system's scores", make=make,
                  no_weights=_BY_RANK if name == "average_precision" else None)
    for name, (title, meaning, _, make) in _AREAS.items()
)

FAMILIES = (*_POINTS, *_AREA_FAMILIES)
