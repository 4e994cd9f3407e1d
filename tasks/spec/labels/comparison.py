"""What a spec whose pool compares systems demands of its measures and of every system."""

from collections.abc import Iterator, Sequence

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.comparing import side_by_side
from assay.evalcore.outcome_measures.registry import MEASURES_BY_KIND, needs_probability
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.pool import Pool, columns_by_class
from assay.tasks.spec.question import MeasureChoice
from assay.tasks.spec.systems import System

MOST_COMPONENTS = 2_000   # of all losses together: what a round and its record can hold
MOST_NUMBERS = 2_000      # that are estimated, of all systems, differences and measures
MOST_PROBABILITIES = 1_000   # of an item, of all systems and classes: what a frozen pool can hold

Problem = tuple[str, str]


def contradictions_of_systems(
    labels: LabelsForm, kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice]
) -> Iterator[Problem]:
    """(key, what is wrong with it) for each; nothing where no systems are compared."""
    if not pool.compares:
        return
    if labels.one_system is not None:
        yield "pool.systems", labels.one_system
        return
    of_probabilities = [c.name for c in measures if needs_probability(kind, c.name)]
    for name, system in pool.compared.items():
        for text in _of_system(labels, kind, system, of_probabilities):
            yield f"pool.systems.{name}", text
    numbers = len(pool.compared) * len(kind.parts)
    if of_probabilities and numbers > MOST_PROBABILITIES:
        yield "pool.systems", (
            f"give {numbers:,} probabilities an item, and {of_probabilities[0]!r} needs them all kept; at "
            f"most {MOST_PROBABILITIES:,}: compare fewer systems, or leave the measure out"
        )
    able = [choice for choice in measures if (kind.name, choice.name) in MEASURES_BY_KIND]
    for i, choice in enumerate(measures):
        why = MEASURES_BY_KIND[kind.name, choice.name].one_system if choice in able else None
        if why:
            yield f"measure[{i}]", f"{choice.name!r} {why}; leave it out of a comparison"
    try:
        by_system = [
            [choice.of(kind, 1, system=s) for s in range(len(pool.compared))] for choice in able
        ]
        if by_system:
            yield from _too_many(side_by_side(by_system, all_pairs=pool.pairs is not None))
    except BadInput as error:
        yield "measure[0]", str(error)


def _of_system(
    labels: LabelsForm, kind: OutcomeKind, system: System, of_probabilities: Sequence[str]
) -> Iterator[str]:
    if kind.counted is None:
        if system.prediction is None or system.score is not None:
            yield (f"needs `prediction`: a column of {labels.column_holds}; score and threshold are of a "
                   "positive class")
    elif isinstance(system.probability, dict):
        yield "has a column of probabilities per class; with a positive class name the column of that one"
    if system.probability is not None and not kind.parts:
        yield "has a `probability`, and numbers have none; leave it out"
        return
    if isinstance(system.probability, str) and not kind.one_of_parts:
        yield "has one column of probabilities, and every tag has its own; give {prefix: p_} or {tag: column}"
    for_each = isinstance(system.probability, dict) or (
        isinstance(system.probability, str) and len(kind.parts) == 2
    )
    if of_probabilities and not for_each:
        yield (f"gives no probability of each class, which {of_probabilities[0]!r} needs from every system; "
               "give `probability`, or leave the measure out")
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
    numbers = sum(len(m.parts) for m in measures)
    if numbers > MOST_NUMBERS:
        yield "pool.systems", (
            f"and measures ask for {numbers:,} numbers; at most {MOST_NUMBERS:,}: compare fewer systems, "
            "leave `pairs` out, or name a class of the measures that have one"
        )
