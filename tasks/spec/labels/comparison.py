"""What a spec whose pool compares systems demands of its measures and of every system."""

from collections.abc import Iterator, Sequence

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.comparing import side_by_side
from assay.evalcore.outcome_measures.registry import FAMILIES
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.spec.pool import Pool, columns_by_class
from assay.tasks.spec.question import MeasureChoice
from assay.tasks.spec.systems import System

MOST_COMPONENTS = 2_000   # of all losses together: what a round and its record can hold

Problem = tuple[str, str]


def contradictions_of_systems(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice]
) -> Iterator[Problem]:
    """(key, what is wrong with it) for each; nothing where no systems are compared."""
    if not pool.compares:
        return
    for name, system in pool.compared.items():
        for text in _of_system(kind, system):
            yield f"pool.systems.{name}", text
    able = [choice for choice in measures if (kind.name, choice.name) in FAMILIES]
    for i, choice in enumerate(measures):
        why = FAMILIES[kind.name, choice.name].one_system if choice in able else None
        if why:
            yield f"measure[{i}]", f"{choice.name!r} {why}; leave it out of a comparison"
    try:
        by_system = [
            [choice.of(kind, 1, system=s) for s in range(len(pool.compared))] for choice in able
        ]
        if by_system:
            yield from _too_many(side_by_side(by_system))
    except BadInput as error:
        yield "measure[0]", str(error)


def _of_system(kind: OutcomeKind, system: System) -> Iterator[str]:
    if kind.counted is None:
        if system.prediction is None or system.score is not None:
            yield "needs `prediction`: a column of class names; score and threshold are of a positive class"
    elif isinstance(system.probability, dict):
        yield "has a column of probabilities per class; with a positive class name the column of that one"
    try:
        if not isinstance(system.probability, str):
            columns_by_class(system.probability, kind.parts)
    except ValueError as error:
        yield f"probability {error}"


def _too_many(measures: Sequence[OutcomeMeasure]) -> Iterator[Problem]:
    size = sum(loss.size for loss in {loss for m in measures for loss in m.losses})
    if size > MOST_COMPONENTS:
        yield "pool.systems", (
            f"and measures make {size:,} numbers that every label is entered in; at most "
            f"{MOST_COMPONENTS:,}: compare fewer systems, or by fewer measures that count every class"
        )
