"""One class of several as the positive one of two: what the methods of two classes answer of it.

"What is F1 of the owls?" of a pool of cats, dogs and owls is a question of two classes: an item is an owl, or
it is not.  People answer with every class, as they see it.  A label of the question is whether it is the
class, a prediction whether the class is predicted, and a score how likely the class is.  So every method of
two classes applies that has no form of its own for any outcome.

    N   items;  K   classes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.measures.measure import OutcomeMeasure
from assay.evalcore.measures.registry import named, spellings
from assay.evalcore.measures.two_classes import Measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.pool.strata import log_odds
from assay.evalcore.types import Array, Floats, Ints

COUNTS_TWO = "counts a positive and a negative class, and these labels are neither"
ONE_CLASS = (
    "counts a positive and a negative class, and of several takes one against the rest: all measures have to "
    "be of that class, as in {name: f1, class: ...}, and of one system, without curves and clusters"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOfClass:
    """The class that is asked for, and its measures as those of a positive class."""

    part: int                      # its code
    measures: tuple[Measure, ...]


def one_of_several(kind: OutcomeKind, measures: Sequence[OutcomeMeasure]) -> QuestionOfClass:
    """The class that all measures are of, at least one measure.

    Raises BadInput where they are of no one class, or where one is no measure of a positive class.
    """
    parts = {part for measure in measures for part in measure.parts}
    part = parts.pop() if len(parts) == 1 else None
    if part is None or not kind.one_of_parts or any(measure.versus is not None for measure in measures):
        raise BadInput(ONE_CLASS)
    return QuestionOfClass(part=kind.parts.index(part), measures=tuple(map(_of_positive, measures)))


def _of_positive(measure: OutcomeMeasure) -> Measure:
    try:
        return named(measure.name)
    except UnknownName:
        raise BadInput(f"does not measure {measure.name!r}, only what there is of a positive class: "
                       f"{', '.join(spellings())}") from None


class AgainstTheRest(NamedTuple):
    """The N items of a question about one class of several, as those of two classes: the score, the
    probability, and whether the class is predicted, (N,) each."""

    score: Floats
    probability: Floats
    prediction: Ints     # 1 where the class is predicted


def against_the_rest(part: int, predicted: Array, probability: Floats | None) -> AgainstTheRest:
    """predicted (N,): codes of classes; probability (N,): of the class.

    Without a probability the prediction is a score of two values.
    """
    prediction = (predicted == part).astype(np.int64)
    if probability is None:
        alone = np.asarray(prediction - 0.5, np.float64)
        return AgainstTheRest(alone, np.asarray(scipy.special.expit(alone)), prediction)
    return AgainstTheRest(log_odds(probability), np.asarray(probability, np.float64), prediction)
