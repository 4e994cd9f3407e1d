"""Which measures a monitor can watch: those whose limits are statements about a mean of bounded losses."""

from collections.abc import Iterator
from math import isfinite

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.registry import FAMILIES, outcome_measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.question import MeasureChoice

_NO_MEAN = "cannot be watched: no mean over items decides whether it is beyond a limit"


def unwatchable(labels: LabelsForm, choice: MeasureChoice) -> Iterator[str]:
    """Why a monitor cannot watch this measure, and what it can; nothing where it can."""
    kind = labels.outcome
    try:
        if kind is None:
            if choice.of_two_classes().margin(0.5) is None:
                yield f"{choice.name} {_NO_MEAN}; accuracy, F1, precision, recall and specificity can be"
            return
        measure = choice.of(kind, 1)
    except BadInput:
        return   # said already
    if len(measure.parts) > 1:
        yield (f"{choice.name} has {len(measure.parts)} numbers, and a monitor watches one; put another "
               f"measure first, or name a class, as in {{name: recall, class: {kind.parts[0]}}}")
    elif measure.margin is None and kind.name == "number" and not isfinite(sum(kind.value_range)):
        yield (f"{measure.full_name} cannot be watched without bounds: one outcome could move it by any "
               "amount; say under `labels` what the least and the largest number is")
    elif measure.margin is None:
        yield f"{measure.full_name} {_NO_MEAN}; these can be put first: {', '.join(_watchable(kind))}"


def _watchable(kind: OutcomeKind) -> Iterator[str]:
    """The measures of this kind of outcome that can be watched, of one class where they have one."""
    for of, name in sorted(FAMILIES):
        options = {"class": kind.parts[0]} if "class" in FAMILIES[of, name].options else {}
        try:
            if of == kind.name and outcome_measure(name, kind, 1, options=options).margin is not None:
                yield f"{name} (of a class)" if options else name
        except BadInput:
            continue
