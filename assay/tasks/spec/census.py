"""Whether labels can help at all: whether they can meet a target about the population, and whether they can
change any measure.

The pool itself is a sample, and no label makes it larger.

A pool of N items that are all labelled still says of a share p only what N draws say of it,

    half-width ≈ z √(p (1 - p)/N),     and with no error at all -log(α/2)/2N:  no measure is known better.

Other bounded measures are scaled to their range; of ratios such as F1 it is rather more.
"""

from collections.abc import Sequence
from math import ceil, log, sqrt

import scipy

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.two_classes import where_alike
from assay.tasks.spec.evaluation import Spec

_USUAL_SHARE, _WORST = 0.9, 0.5   # shares that are told of


def census_half_width(rows: int, confidence: float, share: float) -> float:
    """Of a share about the population, when all rows of the pool are labelled; share 1: without an error.

    >>> round(census_half_width(200, 0.95, 0.5), 3), round(census_half_width(200, 0.95, 1.0), 4)
    (0.069, 0.0092)
    """
    if share >= 1:
        return -log((1 - confidence) / 2) / rows / 2
    return float(scipy.special.ndtri(0.5 + confidence / 2)) * sqrt(share * (1 - share) / rows)


def _range_of(spec: Spec) -> float | None:
    """The length of the range of the first measure; None where it has none, and where no target is about the
    population."""
    if spec.about != "population" or spec.first_half_width is None:
        return None
    low, high = _bounds_of(spec)
    return (high - low) * (2 if spec.pool.compares else 1) if high - low < float("inf") else None


def _bounds_of(spec: Spec) -> tuple[float, float]:
    kind, lead = spec.labels.outcome, spec.measure[0]
    if kind is None:
        return lead.of_two_classes(spec.labels.one_class).bounds
    return lead.outcome_measure(kind, 1).bounds


def _told_as(spec: Spec, share: float) -> str:
    """`a share of 0.9`; of a measure with another range `a mean of 4.6`, as of answers at its ends alone."""
    low, high = _bounds_of(spec)
    if (low, high) == (0.0, 1.0) or spec.pool.compares:
        return f"a share of {share:g}"
    name = spec.measure[0].name
    return f"{'a mean' if name == 'mean' else name} of {low + share * (high - low):g}"


def never_met_by_all(spec: Spec, rows: int) -> str | None:
    """Why labels of all items could not meet the half-width that is asked about the population, and which
    pool could; None where they could, or no such target is set. Even a census without an error leaves ±
    −log(α/2)/(2N) times the range."""
    span = _range_of(spec)
    if span is None or spec.first_half_width is None:
        return None
    width = span * census_half_width(rows, spec.target.confidence, 1.0)
    if spec.first_half_width >= width / 2:
        return None
    return (
        f"is {spec.first_half_width:g} about the population, which cannot be met: with all {rows:,} items "
        f"labelled, and every one right, the interval is ± {width:.2g}. Give a pool of "
        f"{_rows(rows, width, spec, 1):,} items or more, a wider target, or `about: pool`"
    )


def hardly_met_by_all(spec: Spec, rows: int) -> str | None:
    """What the interval is when all is labelled, where that may miss the target."""
    span = _range_of(spec)
    if span is None or spec.first_half_width is None or never_met_by_all(spec, rows):
        return None
    usual, worst = (
        span * census_half_width(rows, spec.target.confidence, share) for share in (_USUAL_SHARE, _WORST)
    )
    if spec.first_half_width >= worst:
        return None
    need = _rows(rows, usual, spec, 2)
    near, middle = (_told_as(spec, share) for share in (_USUAL_SHARE, _WORST))
    ends = "" if near.startswith("a share") else ", if all answers are at the ends of its range"
    return (
        f"the target of ± {spec.first_half_width:g} about the population may not be met even when all "
        f"{rows:,} items are labelled: {near} is then known to ± {usual:.2g}, {middle} to "
        f"± {worst:.2g}{ends}. For the first a pool of about {need:,} items would do"
        if need > rows else
        f"the target of ± {spec.first_half_width:g} about the population may need labels of most of the "
        f"{rows:,} items: with all of them {near} is known to ± {usual:.2g}, {middle} to ± "
        f"{worst:.2g}{ends}"
    )


def _rows(rows: int, half_width: float, spec: Spec, power: int) -> int:
    return ceil(rows * (half_width / float(spec.first_half_width or 1.0)) ** power)


def refuse_known_answers(spec: Spec, predicted: Sequence[int]) -> None:
    """Refuse to buy labels where every item is predicted the same and that decides every measure.

    predicted   rows by predicted class: negative, positive

    Raises BadInput.
    """
    if not spec.labels.by_cell or spec.pool.systems or all(predicted):
        return
    results = [(measure, where_alike(measure, int(predicted[1] > 0))) for measure in spec.measures]
    if any(result.exists and result.value is None for _, result in results):
        return
    text = ", ".join(
        f"{measure.name} is {result.value:g} wherever it exists" if result.value is not None
        else f"{measure.name} does not exist" for measure, result in results
    )
    name = spec.labels.offered[0 if predicted[1] else 1]
    raise BadInput(
        f"pool: every item is predicted {name!r}, so no label is needed: {text}; check the predictions "
        "and the threshold, or ask for another measure, such as accuracy"
    )
