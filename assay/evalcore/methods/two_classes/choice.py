"""What `auto` means for two classes: an interval that trusts nothing where one can be had, else the score.

An interval that holds for every arrangement of labels must have looked for positives among the items
predicted negative.  Of N₀ such items, n of them labelled at random, -log(α/2) N₀/n positives are missed with
chance α/2; where so many would move the measure by the half-width that is wanted, no honest interval is that
narrow:

    n ≥ -log(α/2) N₀/m,        m positives among the predicted negatives that move the measure by h

and the same for false positives among many predicted positives.  m is taken at a working model: of what is
predicted positive, and of what is positive, GUESSED is right.  Where n is above the budget, only a belief can
help: that positives do not hide where the score is low.  `trust: score` takes it, `trust: nothing` does not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np

from assay.evalcore.measures.two_classes import Measure, driving
from assay.evalcore.types import Floats, Trust

DESIGN, BELIEF = "score-test", "recalibrated"    # whose intervals trust nothing, and the score
GUESSED = 0.7                     # precision and recall of a working model, before anything is labelled
USUAL_HALF_WIDTH = 0.10           # where a spec has no target of its own
WORKING, BALANCED, CALIBRATED, BROKEN = "rare, working", "balanced", "calibrated", "broken"   # kinds of pools
FALSE_ALARM = 0.01                # of a test that an interval covers less than it says


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A method and why it was chosen; rests_on: what its interval takes without being shown."""

    method: str
    reason: str
    rests_on: Trust = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What an evaluation is to reach, as far as the choice of its method depends on it.

    predicted: items predicted negative, and positive; None where nobody has counted them yet.
    """

    measures: Sequence[Measure]
    predicted: tuple[int, int] | None = None
    half_width: float | None = None
    confidence: float = 0.95
    budget: int | None = None


def labels_to_trust_nothing(
    measure: Measure, predicted: tuple[int, int], half_width: float, confidence: float
) -> int | None:
    """The fewest labels of an interval that trusts nothing and is no wider than ±half_width.

    predicted: items predicted negative, and positive.  0 where hidden errors cannot move the measure so far;
    None where no number of labels would do, short of all items.
    """
    negatives, positives = predicted
    hits = GUESSED * positives
    missed = hits * (1 / GUESSED - 1)
    table = np.array([[max(negatives - missed, 0.0), min(missed, negatives)], [positives - hits, hits]])
    before = float(measure.of_confusion(table))
    if not np.isfinite(before):
        return 0
    needed = 0.0
    for side, items in ((0, negatives), (1, positives)):
        moved = _errors_that_move(measure, table, side, before, half_width)
        needed += 0.0 if moved is None else -log((1 - confidence) / 2) * items / moved
    return None if needed == inf or needed >= sum(predicted) else ceil(needed)


def _errors_that_move(
    measure: Measure, table: Floats, side: int, before: float, half_width: float
) -> float | None:
    """Hidden errors among the items predicted `side` that move the measure so far; None where none can."""
    free = float(table[side, side])

    def moved(errors: float) -> float:
        after = table.copy()
        after[side, side] -= errors
        after[side, 1 - side] += errors
        value = float(measure.of_confusion(after))
        return abs(value - before) if np.isfinite(value) else 0.0

    if moved(free) < half_width:
        return None
    low, high = 0.0, free
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if moved(middle) >= half_width else (middle, high)
    return high


def choose(aim: Aim, trust: Trust | None = None) -> Choice:
    """The method that `auto` means; trust: what the spec says, None where it leaves it open. The choice says
    why, and what its intervals rest on."""
    if trust == "score":
        return Choice(method=BELIEF, reason="the spec trusts the score", rests_on="score")
    if trust == "nothing":
        return Choice(method=DESIGN, reason="the spec trusts nothing but the labels")
    if aim.predicted is None or aim.budget is None:
        return Choice(method=DESIGN, reason="its interval trusts nothing but the labels")
    half_width = aim.half_width or USUAL_HALF_WIDTH
    leading = [aim.measures[m] for m in driving(aim.measures)]
    needs = [labels_to_trust_nothing(m, aim.predicted, half_width, aim.confidence) for m in leading]
    every = sum(aim.predicted) <= aim.budget
    if every or all(labels is not None and labels <= aim.budget for labels in needs):
        return Choice(
            method=DESIGN,
            reason=f"its interval trusts nothing but the labels, and ±{half_width:g} is within the budget",
        )
    largest = None if None in needs else max(labels for labels in needs if labels is not None)
    takes = "all items" if largest is None else f"about {largest:,} labels"
    return Choice(
        method=BELIEF, rests_on="score",
        reason=f"it trusts the score: {aim.predicted[0]:,} items are predicted negative, and to show within "
        f"±{half_width:g} that no positives hide among them takes {takes}; the budget is {aim.budget:,}",
    )
