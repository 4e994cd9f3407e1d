"""Which evaluations may start from labels of other pools (`warm_start`, a monitor's `carry_over`), and why
others may not.

A label model takes such labels as pseudo-labels of its cells. What an evaluation knows of labels without one
are sums over its own draws, by their chances; a label of another pool was drawn with none of them.
"""

from collections.abc import Sequence

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.any_outcome.recalibrated import RecalibratedSample
from assay.evalcore.methods.any_outcome.score_cells import class_asked_of
from assay.evalcore.methods.registry import OUTCOME_METHODS, methods_that, outcome_method
from assay.evalcore.outcomes.base import OutcomeKind
from assay.tasks.spec.goals import WarmStart
from assay.tasks.spec.measures import MeasureChoice
from assay.tasks.spec.pool import Pool

MOST_INHERITED = 100   # classes whose labels can be taken over


def why_cold(
    kind: OutcomeKind, pool: Pool, measures: Sequence[MeasureChoice], method_name: str
) -> str | None:
    """Why an evaluation of any outcome cannot start from labels of another pool; None where it can."""
    try:
        chosen, asked = outcome_method(method_name, kind), [choice.of(kind, 1) for choice in measures]
    except BadInput:
        return None   # said already
    if not kind.one_of_parts:
        return (
            "teaches a model of classes; an evaluation of other outcomes weighs guesses by its own draws, of "
            "which labels of another pool are none; leave it out"
        )
    if not chosen.capabilities.starts_warm:
        return (
            f"cannot be used by method {method_name!r}: what it learns of labels are sums over its own draws "
            "by their chances, and a label of another pool has no chance here; use "
            f"{' or '.join(_that_start_warm(kind))}, or leave it out"
        )
    along_a_score = isinstance(chosen, RecalibratedSample)
    if along_a_score and class_asked_of(kind, asked) is None:
        others = [name for name in _that_start_warm(kind) if name != chosen.name]
        return (
            "teaches 'recalibrated' how labels of one class follow its score, and the measures are of no one "
            "class: other guesses it weighs by its own draws, of which labels of another pool are none. Name "
            "the class, as in {name: f1, class: ...}, or leave it out"
            + (f"; or use {' or '.join(others)}" if others else "")
        )
    if pool.compares:
        return "teaches how labels follow what one system says, and several are compared; leave it out"
    said = pool.prediction or pool.probability or pool.score
    if not said and (along_a_score or not pool.judges):
        return "teaches how labels follow predictions or probabilities, and the pool has neither"
    if len(kind.parts) > MOST_INHERITED:
        return f"takes labels of at most {MOST_INHERITED} classes; leave it out"
    return None


def that_draw_alone(kind: OutcomeKind, method_name: str) -> list[str]:
    """The methods of any outcome whose estimates rest on their own draws alone, whatever their label model
    starts from; none where this is one."""
    alone = [name for name in _that_start_warm(kind) if OUTCOME_METHODS[name].capabilities.draws_alone]
    return [] if outcome_method(method_name, kind).name in alone else alone


def _that_start_warm(kind: OutcomeKind) -> list[str]:
    able = methods_that("starts_warm", OUTCOME_METHODS)
    return [name for name in able if kind.name in OUTCOME_METHODS[name].kinds]


def problems_of_start(
    name: str, start: WarmStart, why: str | None, alone: Sequence[str]
) -> list[tuple[str, str]]:
    """(key, what is wrong with it) of a `warm_start`; name: of the evaluation.

    why: it cannot be, if it cannot; alone: the methods whose estimates rest on their own draws alone, where
    the spec's is none of them
    """
    if why is not None:
        return [("warm_start", why)]
    if start.evaluation == name:
        return [("warm_start", "names the evaluation itself; name an earlier one")]
    if start.file and alone:
        return [(f"warm_start.{start.key}", "holds labels of items that nobody knows how they were chosen, "
                                            "and the estimates of this method would rest on them; use "
                                            f"{' or '.join(alone)}, whose estimates rest on their own draws "
                                            "alone")]
    return []
