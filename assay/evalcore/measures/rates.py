"""Measures of two classes: accuracy, precision, recall, specificity, false positive rate, rate, F,
Fowlkes-Mallows, balanced accuracy, kappa, MCC.

    t, y, f   the shares of true positives, of positives and of predicted positives
"""

from dataclasses import replace
from math import isfinite

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.two_classes import (
    ERROR,
    POSITIVE,
    PREDICTED,
    SHARES,
    TRUE_NEGATIVE,
    TRUE_POSITIVE,
    Family,
    Measure,
)
from assay.evalcore.types import Floats


def _ratio(
    *,
    name: str,
    title: str,
    meaning: str,
    undefined_when: str,
    above: Floats,
    below: Floats,
    monotone: tuple[int, int] | None = None,
) -> Measure:
    """The measure Σ above / Σ below over the pool, which lies between 0 and 1; undefined where Σ below is 0.

    above, below (2, 2), indexed [prediction, label], 0 ≤ above ≤ below; the rest as in `Measure`.
    """

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
        name=name,
        title=title,
        meaning=meaning,
        undefined_when=undefined_when,
        bounds=(0.0, 1.0),
        loss=np.stack([above, below], axis=-1),
        value=value,
        gradient=gradient,
        monotone=monotone,
        linear=linear,
    )


# Accuracy: the share of right predictions.
#
# One loss, the error indicator, and g(R) = 1 - R: the size of the pool is known and is not estimated.

def _accuracy(risk: Floats) -> Floats:
    return np.asarray(1 - risk[..., 0])


def _accuracy_gradient(risk: Floats) -> Floats:
    return -np.ones_like(risk)


def _accuracy_linear(limit: float) -> tuple[float, Floats]:
    return 1 - limit, -ERROR


_ACCURACY = Measure(
    name="accuracy",
    title="Accuracy",
    meaning="share of all items whose prediction is right",
    undefined_when="the pool is empty",
    bounds=(0.0, 1.0),
    loss=ERROR[..., None],
    value=_accuracy,
    gradient=_accuracy_gradient,
    monotone=(1, -1),
    linear=_accuracy_linear,
)


# Precision: the share of positives among the items predicted positive, TP / (TP + FP).

_PRECISION = _ratio(
    name="precision",
    title="Precision",
    meaning="share of the items predicted “{positive}” that are",
    undefined_when="no item is predicted positive",
    above=TRUE_POSITIVE,
    below=PREDICTED,
    monotone=(1, -1),
)


# Recall: the share of the positives that are predicted positive, TP / (TP + FN).

_RECALL = _ratio(
    name="recall",
    title="Recall",
    meaning="share of the items that are “{positive}” and were predicted so",
    undefined_when="no item is positive",
    above=TRUE_POSITIVE,
    below=POSITIVE,
    monotone=(1, -1),
)


# Specificity: the share of the negatives that are predicted negative, TN / (TN + FP).

_SPECIFICITY = _ratio(
    name="specificity",
    title="Specificity",
    meaning="share of the items that are “{negative}” and were predicted so",
    undefined_when="no item is negative",
    above=TRUE_NEGATIVE,
    below=1 - POSITIVE,
    monotone=(1, -1),
)


# False positive rate: the share of the negatives that are predicted positive, FP / (TN + FP).

_FALSE_POSITIVE_RATE = replace(_ratio(
    name="false_positive_rate",
    title="False positive rate",
    meaning="share of the items that are “{negative}” and were predicted “{positive}”",
    undefined_when="no item is negative",
    above=PREDICTED * (1 - POSITIVE),
    below=1 - POSITIVE,
    monotone=(-1, 1),
), is_error=True)


# Rate: the share of positives in the pool.

_RATE = _ratio(
    name="rate",
    title="Rate",
    meaning="share of the items that are “{positive}”",
    undefined_when="the pool is empty",
    above=POSITIVE,
    below=np.ones((2, 2)),
    monotone=(1, 1),
)


# F-beta: the weighted harmonic mean of precision and recall; F1 is the one with β = 1.
#
#     F = (1 + β²) TP / (β² P + PP) = TP / (α PP + (1 - α) P),   α = 1 / (1 + β²)
#
# with P positives and PP predicted positives (van Rijsbergen 1979, Information Retrieval, chapter 7).

def _f(beta: float, name: str, title: str, meaning: str) -> Measure:
    alpha = 1 / (1 + beta**2)
    return _ratio(
        name=name,
        title=title,
        meaning=meaning,
        undefined_when="no item is positive or predicted positive",
        above=TRUE_POSITIVE,
        below=alpha * PREDICTED + (1 - alpha) * POSITIVE,
        monotone=(1, -1),
    )


def _member(beta: float) -> Measure:
    if not isfinite(beta) or beta <= 0:
        raise BadInput(f"measure 'fbeta' needs a positive beta, got {beta}")
    return _f(
        beta,
        name=f"fbeta({beta:g})",
        title=f"F-beta (β = {beta:g})",
        meaning="weighted harmonic mean of precision and recall",
    )


_F1 = _f(1.0, name="f1", title="F1", meaning="harmonic mean of precision and recall")
_F_BETA = Family(name="fbeta", usual=2.0, member=_member)


# Balanced accuracy: the mean of recall and specificity, ½ (t/y + (1 - y - f + t)/(1 - y)).

def _balanced(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        v = 0.5 * (t / y + (1 - y - f + t) / (1 - y))
    return np.where((y > 0) & (y < 1), v, np.nan)


def _balanced_gradient(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_t = 0.5 * (1 / y + 1 / (1 - y))
        by_y = 0.5 * (-t / y**2 + (t - f) / (1 - y) ** 2)
        by_f = -0.5 / (1 - y)
    g = np.stack([by_t, by_y, by_f], axis=-1)
    return np.where(((y > 0) & (y < 1))[..., None], g, np.nan)


_BALANCED_ACCURACY = Measure(
    name="balanced_accuracy",
    title="Balanced accuracy",
    meaning="mean of recall and specificity",
    undefined_when="the pool has items of one class only",
    bounds=(0.0, 1.0),
    loss=SHARES,
    value=_balanced,
    gradient=_balanced_gradient,
    monotone=(1, -1),
)


# Cohen's kappa: agreement of prediction and label beyond what chance would give (Cohen 1960, eq. 1).
#
# With p_o the share of right predictions and p_e = y f + (1 - y)(1 - f) that of independent ones,
#
#     g = (p_o - p_e) / (1 - p_e) = 2 (t - y f) / D,   D = y (1 - f) + f (1 - y)
#     ∂g/∂y = -(2 f + g (1 - 2 f)) / D,   and the same with y and f exchanged

def _kappa(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    below = y * (1 - f) + f * (1 - y)
    with np.errstate(divide="ignore", invalid="ignore"):
        # rounding may lead beyond perfect agreement
        return np.where(below > 0, np.clip(2 * (t - y * f) / below, -1, 1), np.nan)


def _kappa_gradient(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    below = y * (1 - f) + f * (1 - y)
    with np.errstate(divide="ignore", invalid="ignore"):
        kappa = 2 * (t - y * f) / below
        by_y = -(2 * f + kappa * (1 - 2 * f)) / below
        by_f = -(2 * y + kappa * (1 - 2 * y)) / below
        g = np.stack([2 / below, by_y, by_f], axis=-1)
    return np.where((below > 0)[..., None], g, np.nan)


_COHEN_KAPPA = Measure(
    name="cohen_kappa",
    title="Cohen's kappa",
    meaning="agreement of prediction and label beyond chance, from −1 to 1",
    undefined_when="all items and all predictions are of one class",
    bounds=(-1.0, 1.0),
    loss=SHARES,
    value=_kappa,
    gradient=_kappa_gradient,
    monotone=(1, -1),
)


# The correlation of prediction and label (Matthews 1975), called MCC.
#
# g = (t - y f) / D,   D = √(y (1 - y) f (1 - f))
# ∂g/∂y = -f/D - (t - y f)(1 - 2y) / (2 y (1 - y) D),   and the same with y and f exchanged

def _mcc(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    inside = y * (1 - y) * f * (1 - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        # the root may round down: 1 + 2e-16 is no correlation
        return np.where(inside > 0, np.clip((t - y * f) / np.sqrt(inside), -1, 1), np.nan)


def _mcc_gradient(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    inside = y * (1 - y) * f * (1 - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        root, joint = np.sqrt(inside), t - y * f
        by_y = -f / root - joint * (1 - 2 * y) / (2 * y * (1 - y) * root)
        by_f = -y / root - joint * (1 - 2 * f) / (2 * f * (1 - f) * root)
        g = np.stack([1 / root, by_y, by_f], axis=-1)
    return np.where((inside > 0)[..., None], g, np.nan)


_MCC = Measure(
    name="mcc",
    title="Matthews correlation",
    meaning="correlation of prediction and label, from −1 to 1",
    undefined_when="all items, or all predictions, are of one class",
    bounds=(-1.0, 1.0),
    loss=SHARES,
    value=_mcc,
    gradient=_mcc_gradient,
    monotone=(1, -1),
)


# The geometric mean of precision and recall (Fowlkes & Mallows 1983).
#
# g = t / √(y f),   ∂g/∂t = 1 / √(y f),   ∂g/∂y = -g / (2 y),   and the same with f

def _fowlkes_mallows(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # the root may round down: 1 + 2e-16 is no mean of shares
        return np.where(y * f > 0, np.minimum(t / np.sqrt(y * f), 1.0), np.nan)


def _fowlkes_mallows_gradient(risk: Floats) -> Floats:
    t, y, f = np.moveaxis(risk, -1, 0)
    defined = y * f > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(y * f)
        g = np.stack([1 / root, -t / root / (2 * y), -t / root / (2 * f)], axis=-1)
    return np.where(defined[..., None], g, np.nan)


_FOWLKES_MALLOWS = Measure(
    name="fowlkes_mallows",
    title="Fowlkes-Mallows",
    meaning="geometric mean of precision and recall",
    undefined_when="no item is positive, or none is predicted positive",
    bounds=(0.0, 1.0),
    loss=SHARES,
    value=_fowlkes_mallows,
    gradient=_fowlkes_mallows_gradient,
    monotone=(1, -1),
)


# what carries a change of another measure of two classes
RATES_BESIDE = (_PRECISION, _RECALL, _SPECIFICITY)

MEASURES = (
    _ACCURACY, _BALANCED_ACCURACY, _COHEN_KAPPA, _F1, _FALSE_POSITIVE_RATE, _FOWLKES_MALLOWS, _MCC,
    _PRECISION, _RATE, _RECALL, _SPECIFICITY,
)
FAMILIES = (_F_BETA,)
