"""A closed round of any kind of outcome: its draws, and the outcomes their items came to.

    T   draws of the round
"""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.evalcore.outcome_evaluation.state import RoundPlan
from assay.evalcore.outcome_methods.state import SampleState
from assay.evalcore.outcomes.items import Items
from assay.evalcore.types import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledOutcomes:
    """A closed round."""

    before: SampleState            # when it was planned
    plan: RoundPlan
    code: Floats                   # (T,) an outcome, UNDECIDED or UNANSWERED
    items: Items                   # the T items
    segment: Mapping[str, Ints]    # column -> (T,) which of the column's values, counted from 0
