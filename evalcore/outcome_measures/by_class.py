"""Measures of each class or tag on its own: one number a class, or that of the class asked for."""

from collections.abc import Callable

import numpy as np

from assay.evalcore.outcome_measures.base import Asked, Margin, MarginOf, MeasureFamily, OutcomeMeasure
from assay.evalcore.outcome_measures.counts import (
    Counts,
    Rate,
    RateMargin,
    f_beta,
    false_positive_rate,
    fowlkes_mallows,
    precision,
    recall,
    share,
    specificity,
    split_counts,
)
from assay.evalcore.types import Bools, Floats


def _measure(
    asked: Asked, name: str, title: str, meaning: str, undefined: str, rate: Rate, *, needs_labels: bool,
    predicted: bool, is_error: bool,
) -> OutcomeMeasure:
    k, only = asked.kind.width, asked.one_part()
    parts: tuple[str | None, ...] = asked.kind.parts if only is None else (asked.kind.parts[only],)
    if only is None and asked.kind.counted is not None:
        only, parts = asked.kind.parts.index(asked.kind.counted), (None,)
    chosen = slice(None) if only is None else slice(only, only + 1)

    def value(risk: Floats) -> Floats:
        return rate(*(part[..., chosen] for part in split_counts(risk)))[0]

    def gradient(risk: Floats) -> Floats:
        _, by_t, by_y = rate(*split_counts(risk))
        eye = np.eye(k)[chosen]
        return np.concatenate([eye * by_t[..., None, :], eye * by_y[..., None, :]], axis=-1)

    return OutcomeMeasure(
        name=name, title=title, meaning=meaning, undefined_when=undefined, bounds=(0.0, 1.0),
        losses=(Counts(asked.kind, asked.system),), value=value, gradient=gradient,
        parts=parts, system=asked.system if predicted else None, labels_of="own" if needs_labels else "",
        margin=_margin(rate.margin, np.arange(k) == only), is_error=is_error,
    )


def _margin(margin_of: RateMargin | None, mine: Bools) -> MarginOf | None:
    """Of the class where `mine` (K,) is true; None for all classes, or where the rate has none."""
    if margin_of is None or not mine.any():
        return None

    def margin(limit: float, known: Floats, at_least: bool) -> Margin:
        constant, by_t, by_y, by_f = margin_of(limit)
        return Margin(
            constant=constant, slope=np.concatenate([by_t * mine, by_y * mine]), told=np.asarray(by_f * mine)
        )

    return margin


def _family(
    name: str, title: str, meaning: str, undefined: str, rate: Callable[[Asked], Rate],
    options: tuple[str, ...] = ("class",), *, needs_labels: bool = False, predicted: bool = True,
    is_error: bool = False,
) -> MeasureFamily:
    def make(asked: Asked) -> OutcomeMeasure:
        written = name if "beta" not in options else f"{name}({asked.number('beta', 2.0):g})"
        return _measure(
            asked, written, title, meaning, undefined, rate(asked), needs_labels=needs_labels,
            predicted=predicted, is_error=is_error,
        )

    return MeasureFamily(
        name=name, title=title, meaning=meaning, kinds=("classes", "tags"), options=options, make=make
    )


def _beta(asked: Asked) -> Rate:
    return f_beta(asked.number("beta", 2.0))


_NEITHER = "the class is neither predicted nor a label"
FAMILIES = (
    _family("precision", "Precision", "share of the items predicted to be of the class that are",
            "the class is never predicted", lambda _: precision),
    _family("recall", "Recall", "share of the items of the class that are predicted to be",
            "no item is of the class", lambda _: recall, needs_labels=True),
    _family("specificity", "Specificity", "share of the items of other classes predicted to be of others",
            "every item is of the class", lambda _: specificity),
    _family("false_positive_rate", "False positive rate",
            "share of the items of other classes predicted to be of the class", "every item is of the class",
            lambda _: false_positive_rate, is_error=True),
    _family("f1", "F1", "harmonic mean of precision and recall of the class", _NEITHER,
            lambda _: f_beta(1.0), needs_labels=True),
    _family("fbeta", "F-beta", "weighted harmonic mean of precision and recall of the class", _NEITHER, _beta,
            ("class", "beta"), needs_labels=True),
    _family("fowlkes_mallows", "Fowlkes-Mallows", "geometric mean of precision and recall of the class",
            "the class is never predicted, or no item is of it", lambda _: fowlkes_mallows,
            needs_labels=True),
    _family("rate", "Rate", "share of the items that are of the class", "the pool is empty", lambda _: share,
            predicted=False),
)
