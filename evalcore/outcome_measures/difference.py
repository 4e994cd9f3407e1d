"""The difference of two measures, such as one measure of two systems: its loss stacks theirs."""

from dataclasses import replace

import numpy as np

from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.types import Floats


def difference(measure: OutcomeMeasure, baseline: OutcomeMeasure) -> OutcomeMeasure:
    """measure minus baseline, part by part; both have the same parts."""
    d1, d2 = (sum(loss.size for loss in m.losses) for m in (measure, baseline))

    def value(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        return measure.value(one) - baseline.value(other)

    def gradient(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        return np.concatenate([measure.gradient(one), -baseline.gradient(other)], axis=-1)

    span = measure.bounds[1] - measure.bounds[0]
    return replace(
        measure, value=value, gradient=gradient, losses=(*measure.losses, *baseline.losses),
        bounds=(-span, span), versus=baseline.system, range_of=2 * measure.range_of, margin=None,
    )


def _split(risk: Floats, d1: int, d2: int, measure: OutcomeMeasure) -> tuple[Floats, Floats]:
    """The risks of both: labels' parts come first, then what is known of each."""
    known = risk[..., d1 + d2 :]
    half = known.shape[-1] // 2
    one = np.concatenate([risk[..., :d1], known[..., :half]], axis=-1)
    other = np.concatenate([risk[..., d1 : d1 + d2], known[..., half:]], axis=-1)
    return one, other
