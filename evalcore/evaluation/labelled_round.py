"""A closed round: its draws, and the labels their items came to.

Estimates by segment and the evidence of a monitor are both made of single draws, so both ask how likely each
draw was:

    weighted   draws with replacement, each with its own probability q: a draw weighs 1/(N q)
    equal      every item had the same chance to be in the sample: all labels count alike
    neither    items had different inclusion probabilities; single draws then do not say what they stand for

A census (all that is left is asked) fits in with the first two.

    T   draws of the round, repeats of an item included
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from assay.evalcore.design.counted import class_numbers
from assay.evalcore.design.round import RoundPlan
from assay.evalcore.evaluation.nonresponse import response
from assay.evalcore.outcomes.codes import UNANSWERED
from assay.evalcore.outcomes.items import Items
from assay.evalcore.pool.cells import Cells
from assay.evalcore.types import Bools, Floats, Ints

Chances = Literal["weighted", "equal"]
Segments = Mapping[str, Mapping[str, int]]   # column -> its values in the pool, in order -> items
_SAME = 1e-12   # inclusion probabilities that differ by no more are equal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledRound:
    """The draws of a closed round, one row each."""

    plan: RoundPlan
    code: Floats       # (T,) an outcome, UNDECIDED or UNANSWERED
    items: Items       # the T items
    new: Bools         # (T,) the item had no label before this round
    segment: Mapping[str, Ints]   # column -> (T,) which of the column's values, counted from 0
    before: Any = None   # what the method knew when the round was planned, where that is asked for

    @property
    def label(self) -> Ints:
        """(T,) of classes: the number of each; -1 where a draw has no label."""
        return class_numbers(self.code)

    @property
    def prediction(self) -> Ints:
        """(T,) of classes: what the first system predicts."""
        return self.items.prediction[:, 0].astype(np.int64)

    @property
    def one_at_a_time(self) -> bool:
        """Whether each new item was drawn with a known probability, given the draws before it.

        So it is with replacement, and where items were drawn one after the other; a census is no draw.
        """
        design = self.plan.design
        return not self.plan.census and (design.replacement or design.stands_for is not None)

    @property
    def gaps(self) -> bool:
        """Whether some item was not answered."""
        return bool((self.code == UNANSWERED).any())

    def response(self, cells: Cells) -> Floats:
        """(T,) the part of its probability that is left of each draw: the response rate of its cell.

        1 for items labelled in earlier rounds.  Raises NothingToStandFor where a prediction was asked and
        gave no answer.
        """
        plan = self.plan
        rate = np.ones(len(self.code))
        if self.gaps:
            found = response(cells, plan.cell[plan.ask], self.code[plan.ask] != UNANSWERED)
            rate[self.new] = found.rate[plan.cell[self.new]]
        return rate


def chances_of(rounds: Sequence[LabelledRound]) -> Chances | None:
    """How likely single draws were, over all rounds: see the top of this module; None for neither.

    Where every item had the same chance but some were not answered, the others weigh by their response.
    """
    if all(r.plan.design.replacement or r.plan.census for r in rounds):
        return "weighted"
    for r in rounds:
        design = r.plan.design
        chances = design.unlabelled[design.left > 0]
        if design.replacement or (len(chances) and np.ptp(chances) > _SAME and not r.plan.census):
            return None
    return "weighted" if any(r.gaps for r in rounds) else "equal"
