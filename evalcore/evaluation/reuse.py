"""Other questions to the same labels.

Labels were drawn for some measures; the weights that make the sample speak for the pool make it speak for any
measure, provided every item that can change the new measure had a chance to be drawn (Marchant & Rubinstein
2021, section 3).  That holds when the new measure looks where the old ones did, or when every proposal held a
share δ of the pool's own distribution (the `reuse` setting of the Dirichlet methods).  Without such a share
the answer is unbiased but may rest on a few enormous weights: look at its `effective_draws`.
"""

from collections.abc import Sequence
from dataclasses import replace

from assay.evalcore.design.proposal import relevant_cells
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.joint_region import JointRegion, NoRegion, Region
from assay.evalcore.evaluation.estimate import Estimate
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.exact import is_exact
from assay.evalcore.outcome_measures.stack import Stack


def reuse(question: Question, state: State, measures: Sequence[Measure]) -> list[Estimate]:
    """Estimates of other measures from the labels of an evaluation, in order.

    Raises BadInput for a method whose labels cannot be used so, or for a measure that depends on items that
    were never at risk of being drawn.
    """
    method = question.method
    if isinstance(question.measures, Stack):
        raise BadInput("only evaluations of a positive and a negative class reuse draws by the method's own "
                       "estimate; leave out --reuse")
    if not method.capabilities.reuses_labels:
        raise BadInput(f"labels drawn by {method.name!r} answer only for the measures they were drawn for")
    reachable = method.reachable(question.measures, question.cells)
    for m in measures:
        if (relevant_cells([m], question.cells) & ~reachable).any():
            asked = ", ".join(q.name for q in question.measures)
            raise BadInput(
                f"{m.name} depends on items that {asked} never looks at, and none could be drawn; ask "
                "for both measures from the start, or use a Dirichlet method with a share for reuse, as in "
                "dirichlet-tree:reuse=0.1"
            )
    inner = replace(state.inner, measures=tuple(measures))
    return estimates(replace(question, measures=tuple(measures)), replace(state, inner=inner))


def joint_region(question: Question, state: State) -> Region:
    """The joint confidence region of the evaluation's measures.

    Raises BadInput for a method without one, and `NoRegion` while there is nothing to say.
    """
    found: Region = question.method.region(state.inner, question.confidence)
    return found


def reported_region(question: Question, state: State) -> JointRegion | None:
    """The joint region in plain numbers, where there are several measures and a region.

    None for one measure, for a method without a region, before the draws determine one, and once every value
    is exact.
    """
    if isinstance(question.measures, Stack):
        return None
    exact = all(bool(is_exact(state.inner, m)[0]) for m in question.measures)
    if len(question.measures) < 2 or exact or not question.method.capabilities.joint_region:
        return None
    try:
        return joint_region(question, state).in_plain_numbers()
    except NoRegion:
        return None
