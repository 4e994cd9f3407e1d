"""The difference of two measures, such as one measure of two systems: its loss stacks theirs.

The difference of two means of one loss each is the mean of the losses' difference.  So "it is at least m" is
a statement about a mean, and monitors can watch it.  The difference of two ratios is no such mean.
"""

from dataclasses import replace

import numpy as np

from assay.evalcore.outcome_measures.base import Margin, OutcomeMeasure, margin_of_mean
from assay.evalcore.types import Floats


def difference(measure: OutcomeMeasure, baseline: OutcomeMeasure) -> OutcomeMeasure:
    """measure minus baseline, part by part; both have the same parts."""
    d1, d2 = (sum(loss.size for loss in m.losses) for m in (measure, baseline))

    def value(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        return measure.value(one) - baseline.value(other)

    def told(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        return measure.told_apart(one[..., d1:]) - measure.told_apart(other[..., d2:])  # type: ignore[misc]

    def none(risk: Floats) -> Floats:
        return np.zeros((*risk.shape[:-1], len(measure.parts), d1 + d2))

    def gradient(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        return np.concatenate([measure.gradient(one), -baseline.gradient(other)], axis=-1)

    span = measure.bounds[1] - measure.bounds[0]
    return replace(
        measure, value=told if measure.told_apart else value,
        gradient=none if measure.told_apart else gradient,
        losses=(*measure.losses, *baseline.losses),
        bounds=(-span, span), versus=baseline.system, range_of=2 * measure.range_of,
        margin=_margin if _both_means(measure, baseline) else None,
    )


def _both_means(*measures: OutcomeMeasure) -> bool:
    return all(measure.margin is margin_of_mean for measure in measures)


def _margin(limit: float, known: Floats, at_least: bool) -> Margin:
    """Of the mean of one loss less another one."""
    return Margin(constant=-limit, slope=np.array([1.0, -1.0]), told=np.zeros(len(known)))


def _split(risk: Floats, d1: int, d2: int, measure: OutcomeMeasure) -> tuple[Floats, Floats]:
    """The risks of both: labels' parts come first, then what is known of each."""
    known = risk[..., d1 + d2 :]
    half = known.shape[-1] // 2
    one = np.concatenate([risk[..., :d1], known[..., :half]], axis=-1)
    other = np.concatenate([risk[..., d1 : d1 + d2], known[..., half:]], axis=-1)
    return one, other
