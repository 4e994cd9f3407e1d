"""The measures of several systems side by side: each of every system, and the differences between systems.

System 0 is the baseline, from which the others differ; where all pairs are asked for, each differs from those
before it.  A measure of the outcomes alone is the same for all systems, and is taken once.
The differences of the first measure come first, because they are what is asked: they drive the sampling.
"""

from collections.abc import Sequence

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.difference import difference


def side_by_side(
    by_system: Sequence[Sequence[OutcomeMeasure]], *, all_pairs: bool = False
) -> tuple[OutcomeMeasure, ...]:
    """The measures in the order in which they are reported; those that drive the sampling come first.

    by_system (M, S): each measure of every system.  With one system they are the M measures as they are.
    Raises BadInput where there are several systems and the first measure does not tell them apart, or does so
    without a label.
    """
    first, *others = (_of(systems, all_pairs) for systems in by_system)
    values, differences = first
    if len(by_system[0]) > 1 and not differences:
        raise BadInput(f"{values[0].name!r} is the same for all systems; put a measure of predictions first")
    if differences and values[0].told_apart is not None:
        raise BadInput(f"the difference of two systems by {values[0].name!r} is known without a label; put "
                       "another measure first")
    rest = [m for values, differences in others for m in (*values, *differences)]
    return (*differences, *values, *rest)


def leading(measures: Sequence[OutcomeMeasure]) -> tuple[bool, ...]:
    """Which of `side_by_side` are the first measure; of several systems, its differences."""
    first = measures[0]
    if first.versus is None:
        return tuple(m is first for m in measures)
    return tuple(
        (m.name, m.parts) == (first.name, first.parts) and m.versus is not None for m in measures
    )


def _of(
    systems: Sequence[OutcomeMeasure], all_pairs: bool
) -> tuple[list[OutcomeMeasure], list[OutcomeMeasure]]:
    """The values of one measure, and its differences; those from the baseline come first."""
    if systems[0].system is None:
        return [systems[0]], []
    from_each = systems if all_pairs else systems[:1]
    return list(systems), [
        difference(other, one) for s, one in enumerate(from_each) for other in systems[s + 1 :]
    ]
