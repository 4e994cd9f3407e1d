"""Which measures a monitor can watch: those whose limits are statements about a mean of bounded losses.

Of two systems a monitor watches the difference of the first measure.
"""

from collections.abc import Collection, Iterator
from math import isfinite

from assay.evalcore.errors import BadInput
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.difference import difference
from assay.evalcore.outcome_measures.registry import MEASURES_BY_KIND, outcome_measure
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.spec.labels.base import LabelsForm
from assay.tasks.spec.question import MeasureChoice

_NO_MEAN = "cannot be watched: no mean over items decides whether it is beyond a limit"


def unwatched_systems(compared: Collection[str], *, drops: bool) -> Iterator[tuple[str, str]]:
    """(key, what is wrong with it) of systems that a monitor compares; drops: it has a `drop`."""
    if len(compared) > 2:
        yield "pool.systems", (
            f"has {len(compared)}, and a monitor watches one difference; keep two, or watch the others in a "
            "monitor of their own"
        )
    if drops:
        yield "monitor.drop", (
            "is told of one system so far; leave it out: limit: {min: -0.02} is a limit on the difference"
        )


def unwatchable(labels: LabelsForm, choice: MeasureChoice, compares: bool) -> Iterator[str]:
    """Why a monitor cannot watch this measure, and what it can; nothing where it can.

    compares: it is the difference of two systems that is watched.
    """
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
    elif compares and measure.system is not None and not _differs_as_a_mean(measure):
        yield (f"a difference of {measure.full_name} {_NO_MEAN}; differences of these can be, put one first: "
               f"{', '.join(_watchable(kind, compares))}")
    elif measure.margin is None and kind.name == "number" and not isfinite(sum(kind.value_range)):
        yield (f"{measure.full_name} cannot be watched without bounds: one outcome could move it by any "
               "amount; say under `labels` what the least and the largest number is")
    elif measure.margin is None:
        able = ", ".join(_watchable(kind, compares))
        yield f"{measure.full_name} {_NO_MEAN}; these can be put first: {able}"


def _differs_as_a_mean(measure: OutcomeMeasure) -> bool:
    """Whether the difference of two systems by this measure can be watched."""
    return difference(measure, measure).margin is not None


def _watchable(kind: OutcomeKind, compares: bool) -> Iterator[str]:
    """The measures of this kind of outcome that can be watched, of one class where they have one."""
    for of, name in sorted(MEASURES_BY_KIND):
        family = MEASURES_BY_KIND[of, name]
        options = {"class": kind.parts[0]} if "class" in family.options else {}
        try:
            if of != kind.name:
                continue
            measure = outcome_measure(name, kind, 1, options=options)
        except BadInput:
            continue
        if compares and (family.one_system or measure.system is None or not _differs_as_a_mean(measure)):
            continue
        if measure.margin is not None:
            yield f"{name} (of a class)" if options else name
