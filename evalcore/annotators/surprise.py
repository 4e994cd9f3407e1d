"""Which answers are asked again: unlikely ones that would move the estimate much.

On a rare class a single answer may stand for hundreds of items, and a single mistake may spoil the
estimate. An answer y to an item of cell c is surprising when

    p̄_c(y) < chance                        the label model gave it a tiny probability, and
    |∂M/∂y| · w · share > moves            the other answer would move the first measure by this much

with w the number of items the draw stands for (1/π, or 1/(T q) of T draws with replacement) and `share` the
share of this round's labels in all labels so far. All of it is known when the round is planned, so the plan
records which answers will be surprising.

When k = 1 and the first answer is surprising, a second person is asked; if the two differ, a third.
"""

import numpy as np

from assay.evalcore.evaluation.state import RoundPlan
from assay.evalcore.types import Bools, Floats

CHANCE, MOVES = 0.05, 0.01


def surprising_answers(plan: RoundPlan, labels_before: int, chance: float, moves: float) -> Bools:
    """(T, 2) whether answer y to draw t is to be asked again; False where the draw asks nobody.

    labels_before   labels of the rounds before
    chance, moves   the thresholds of the two conditions
    """
    design, cell = plan.design, plan.cell
    p = design.model[0, cell]
    asked = int(plan.ask.sum())
    share = asked / max(asked + labels_before, 1)
    moved = np.abs(design.gradient[0, cell]) * stands_for(plan) / int(design.size[0].sum()) * share
    unlikely = np.stack([1 - p, p], axis=1) < chance
    return np.asarray(unlikely & (moved > moves)[:, None] & plan.ask[:, None])


def answers_by_draw(surprising: Bools) -> dict[int, tuple[int, ...]]:
    """Draw -> its surprising answers, where it has any; surprising (T, 2)."""
    return {
        t: tuple(y for y in (0, 1) if surprising[t, y])
        for t in np.flatnonzero(surprising.any(axis=1)).tolist()
    }


def stands_for(plan: RoundPlan) -> Floats:
    """(T,) items of the pool that each draw stands for in its round."""
    with np.errstate(divide="ignore"):
        weight = np.where(plan.probability > 0, 1 / plan.probability, 0.0)
    return np.asarray(weight / len(plan.cell) if plan.design.replacement and not plan.census else weight)
