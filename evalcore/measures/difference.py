"""Several systems side by side: each measure of every system, and the differences between systems.

System 0 is the baseline, from which the others differ; where all pairs are asked for, each differs from those
before it.  A measure of the outcomes alone is the same for all systems, and is taken once.  The differences
of the first measure come first, because they are what is asked: they drive the sampling.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import DeclaredMeasure, Margin, OutcomeMeasure, margin_of_mean
from assay.evalcore.types import Floats


def difference(measure: OutcomeMeasure, baseline: OutcomeMeasure) -> OutcomeMeasure:
    """measure minus baseline, part by part; both have the same parts."""
    d1, d2 = (sum(loss.size for loss in m.losses) for m in (measure, baseline))

    def value(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        return measure.value(one) - baseline.value(other)

    def told(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        by_known = measure.difference_from_known
        return by_known(one[..., d1:]) - by_known(other[..., d2:])  # type: ignore[misc]

    def none(risk: Floats) -> Floats:
        return np.zeros((*risk.shape[:-1], len(measure.parts), d1 + d2))

    def gradient(risk: Floats) -> Floats:
        one, other = _split(risk, d1, d2, measure)
        return np.concatenate([measure.gradient(one), -baseline.gradient(other)], axis=-1)

    span = measure.bounds[1] - measure.bounds[0]
    return replace(
        measure, value=told if measure.difference_from_known else value,
        gradient=none if measure.difference_from_known else gradient,
        losses=(*measure.losses, *baseline.losses),
        bounds=(-span, span), versus=baseline.system, range_of=2 * measure.range_of,
        margin=_margin if _both_means(measure, baseline) else None,
        smooth=not measure.difference_from_known and _both_smooth(measure, baseline),
        alone=difference(measure.alone, baseline.alone) if measure.alone and baseline.alone else None,
    )


def _both_means(*measures: OutcomeMeasure) -> bool:
    return all(measure.margin is margin_of_mean for measure in measures)


def _both_smooth(*measures: OutcomeMeasure) -> bool:
    return all(measure.margin for measure in measures)


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


def side_by_side(
    by_system: Sequence[Sequence[OutcomeMeasure]], *, all_pairs: bool = False
) -> tuple[OutcomeMeasure, ...]:
    """The measures in the order in which they are reported; those that drive the sampling come first.

    by_system (M, S): each measure of every system.  With one system they are the M measures as they are.
    Raises BadInput where there are several systems and the first measure does not tell them apart, or does so
    without a label.
    """
    first, *others = (_values_and_differences(systems, all_pairs) for systems in by_system)
    values, differences = first
    if len(by_system[0]) > 1 and not differences:
        raise BadInput(f"{values[0].name!r} is the same for all systems; put a measure of predictions first")
    if differences and values[0].difference_from_known is not None:
        raise BadInput(f"the difference of two systems by {values[0].name!r} is known without a label; put "
                       "another measure first")
    rest = [m for values, differences in others for m in (*values, *differences)]
    return (*differences, *values, *rest)


def leading(measures: Iterable[DeclaredMeasure]) -> tuple[bool, ...]:
    """Which of `side_by_side` are the first measure; of several systems, its differences."""
    measures = list(measures)
    first = measures[0]
    if first.versus is None:
        return tuple(m is first for m in measures)
    return tuple(
        (m.name, m.parts) == (first.name, first.parts) and m.versus is not None for m in measures
    )


def _values_and_differences(
    systems: Sequence[OutcomeMeasure], all_pairs: bool
) -> tuple[list[OutcomeMeasure], list[OutcomeMeasure]]:
    """The values of one measure, and its differences; those from the baseline come first."""
    if systems[0].system is None:
        return [systems[0]], []
    from_each = systems if all_pairs else systems[:1]
    return list(systems), [
        difference(other, one) for s, one in enumerate(from_each) for other in systems[s + 1 :]
    ]
