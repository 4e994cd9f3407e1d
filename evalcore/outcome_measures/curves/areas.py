"""Areas under the curves of a score, for one class against the rest.

    roc_auc             chance that an item of the class scores higher than one of another, ties half
    average_precision   mean over the items of the class of the precision at their own score: the step
                        function, not the trapezoid, as scikit-learn has it

They are taken over the pool's own scores, in bands (`outcomes.score_grid.Grid`).  A pool with up to
score_grid.EXACT different scores has a band for each, and the areas are exact functions of t.  Otherwise
items of the class are taken to be spread at random over the items of their band.  `slack` bounds what that
can be wrong by:

    roc_auc             at most ½ Σ t_h (n_h - t_h)/(P (1 - P)), over bands of several scores
    average_precision   by the sums if all items of the class came first in their band, or last

Until LEAST items of the class are labelled, the interval of an area is the whole range: few of them say
little of their order (intervals covered in 14 of 20 runs with about 5).
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import digamma

from assay.evalcore.outcome_measures.base import Asked, MeasureFamily, OutcomeMeasure
from assay.evalcore.outcome_measures.counts import quotient
from assay.evalcore.outcome_measures.curves.bands import Bands, class_asked, split_bands, upward
from assay.evalcore.outcomes.score_grid import Grid
from assay.evalcore.types import Floats

Function: TypeAlias = Callable[[Floats], Floats]   # of the risk

LEAST = 10      # labelled items of the class below which an area's interval is the whole range
_NOTHING = Grid(edges=(), tied=(1.0,))


def _harmonic(low: Floats, high: Floats) -> Floats:
    """Σ 1/r for r from low + 1 to high, for any real numbers 0 ≤ low ≤ high."""
    return np.asarray(digamma(high + 1) - digamma(low + 1))


def _area(asked: Asked, name: str) -> tuple[str | None, Grid, Bands]:
    part, told = class_asked(asked, name)
    found = asked.grids.get(part)
    edges = None if found is None else found.edges
    return told, found or _NOTHING, Bands(asked.kind, 0, part, edges)


def _roc_auc(asked: Asked) -> OutcomeMeasure:
    told, grid, loss = _area(asked, "roc_auc")
    several = np.array(grid.tied) > 1 + 1e-9

    def sums(risk: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        t, n = split_bands(risk)
        f = n - t
        lower = np.cumsum(f, axis=-1) - f / 2
        p, rest = t.sum(axis=-1, keepdims=True), f.sum(axis=-1, keepdims=True)
        return t, f, lower, np.asarray(p * rest)

    def value(risk: Floats) -> Floats:
        t, _, lower, pairs = sums(risk)
        return quotient((t * lower).sum(axis=-1, keepdims=True), pairs)

    def gradient(risk: Floats) -> Floats:
        t, f, lower, pairs = sums(risk)
        slope = lower - (upward(t) - t / 2)
        p, rest = t.sum(axis=-1, keepdims=True), f.sum(axis=-1, keepdims=True)
        return (quotient(slope, np.broadcast_to(pairs, slope.shape))
                + value(risk) * (quotient(np.ones_like(rest), rest)
                                  - quotient(np.ones_like(p), p)))[..., None, :]

    def slack(risk: Floats) -> Floats:
        t, f, _, pairs = sums(risk)
        wrong = np.where(several, np.maximum(t, 0) * np.maximum(f, 0), 0.0)
        return quotient(wrong.sum(axis=-1, keepdims=True) / 2, pairs)

    return _of_area("roc_auc", told, loss, value, gradient, slack)


def _average_precision(asked: Asked) -> OutcomeMeasure:
    told, grid, loss = _area(asked, "average_precision")
    tied, n_items = np.array(grid.tied), asked.pool_size
    several = tied > 1 + 1e-9

    def counts(risk: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """t, items of the class above T, items n, items above M (..., H)."""
        t, n = (part * n_items for part in split_bands(risk))
        return t, upward(t) - t, n, np.round(upward(n) - n, 9)

    def pieces(risk: Floats) -> tuple[Floats, Floats, Floats]:
        """Σ 1/rank, Σ (place - 1)/rank over the items of a band, and the chance of a place (..., H)."""
        _, _, n, above = counts(risk)
        inverse = tied * n / np.maximum(above + n, 1e-12)
        return inverse, n - (above + 1) * inverse, 1 / np.maximum(n, 1e-12)

    def value(risk: Floats) -> Floats:
        t, before, n, _ = counts(risk)
        inverse, places, chance = pieces(risk)
        other = np.maximum(t - 1, 0) / np.maximum(n - 1, 1)
        each = t * chance * ((before + 1) * inverse + other * places)
        return quotient(each.sum(axis=-1, keepdims=True), t.sum(axis=-1, keepdims=True))

    def gradient(risk: Floats) -> Floats:
        t, before, n, _ = counts(risk)
        inverse, places, chance = pieces(risk)
        most = np.maximum(n - 1, 1)
        other = np.maximum(t - 1, 0) / most
        own = chance * ((before + 1) * inverse + other * places + t * places * (t > 1) / most)
        later = t * chance * inverse
        below = np.cumsum(later, axis=-1) - later
        whole = t.sum(axis=-1, keepdims=True)
        share = quotient(own + below - value(risk), np.broadcast_to(whole, own.shape))
        return (n_items * share)[..., None, :]

    def slack(risk: Floats) -> Floats:
        t, before, n, above = (np.maximum(part, 0) for part in counts(risk))
        t = np.minimum(t, n)
        inverse, places, chance = pieces(risk)
        other = np.maximum(t - 1, 0) / np.maximum(n - 1, 1)
        taken = t * chance * ((before + 1) * inverse + other * places)
        best = t * (before + t) / np.maximum(above + t, 1e-12)
        worst = t + (before - above - n + t) * _harmonic(above + n - t, above + n)
        wrong = np.where(several, np.maximum(best - taken, taken - worst), 0.0)
        return quotient(wrong.sum(axis=-1, keepdims=True), t.sum(axis=-1, keepdims=True))

    return _of_area("average_precision", told, loss, value, gradient, slack)


_AREAS = {
    "roc_auc": ("ROC AUC", "chance that an item of the class scores above one of another",
                "no item is of the class, or every one is", _roc_auc),
    "average_precision": ("Average precision", "mean precision at the scores of the items of the class",
                          "no item is of the class", _average_precision),
}


def _of_area(
    name: str, told: str | None, loss: Bands, value: Function, gradient: Function, slack: Function
) -> OutcomeMeasure:
    title, meaning, undefined, _ = _AREAS[name]
    return OutcomeMeasure(
        name=name, title=title, meaning=meaning, undefined_when=undefined, bounds=(0.0, 1.0), losses=(loss,),
        value=value, gradient=gradient, slack=slack, parts=(told,), least=LEAST,
    )


FAMILIES = tuple(
    MeasureFamily(name=name, title=title, meaning=meaning, kinds=("classes",), options=("class",),
                  needs=("score",), grid=True, one_system="is made of one system's scores", make=make)
    for name, (title, meaning, _, make) in _AREAS.items()
)
