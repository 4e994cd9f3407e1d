"""Which of several systems is better, by the differences of their measures from the baseline's.

*Simultaneous intervals.*  The m differences of one measure are given the method's interval at confidence
1 - α/m (Bonferroni; Miller 1981, ch. 1), so they all hold together with 1 - α, however they depend on each
other.  Each keeps its own degrees of freedom and its correction for skew.  Intervals from the maximum of a
joint normal distribution (max-t) would be narrower, and need errors that are normal together.

*The chance of being better* is read off the same intervals: where the one-sided interval at confidence c
would just end at 0, the difference is on its side of 0 with the chance c.  Under a flat prior and Student's
distribution about the estimate that is the chance of a positive difference; here with the corrections above.
It is of one comparison, and not corrected for their number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.evaluation.estimate import Comparison, ComparisonVerdict
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.evaluation.stopping import labels_to_decide
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.types import Floats

_HALVINGS = 30    # of the range of confidences
_SETTLED = 1e-9   # an interval narrower than this is one of rounding alone


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """One estimated difference; NaN where nothing is known."""

    measure: OutcomeMeasure
    value: float = nan
    lower: float = nan      # of the simultaneous interval
    upper: float = nan
    chance_above: float = nan   # that it is above 0

    @property
    def settled(self) -> bool:
        """No label is left that can change it."""
        return self.upper - self.lower < _SETTLED


def comparisons(question: Question, state: State, found: Sequence[EstimateArrays]) -> dict[int, Comparison]:
    """What every difference says, by its place among the numbers asked for; found: the estimates."""
    if not isinstance(question.measures, Stack):
        return {}    # differences are measures of a stack
    parts = question.measures.parts
    families: dict[tuple[str, tuple[str | None, ...]], list[int]] = {}
    for q, (m, _) in enumerate(parts):
        measure = question.measures.measures[m]
        if measure.versus is not None:
            families.setdefault((measure.name, measure.parts), []).append(q)
    return {
        q: _comparison(question, state, difference, len(family))
        for family in families.values()
        for q, difference in zip(family, _differences(question, found, family), strict=True)
    }


def _differences(
    question: Question, found: Sequence[EstimateArrays], family: Sequence[int]
) -> list[_Difference]:
    """The differences of one measure, with intervals that hold together."""
    stack = question.measures
    measures = [stack.measures[stack.parts[q][0]] for q in family]
    at = found[0].ends
    if at is None:
        return [_Difference(measure=measure) for measure in measures]
    value = np.stack([found[q].value for q in family], axis=1)

    def interval(confidence: Floats) -> tuple[Floats, Floats]:
        whole: Floats = np.full((len(value), len(found)), question.confidence)
        whole[:, family] = confidence
        lower, upper = at(whole)
        return lower[:, family], upper[:, family]

    lower, upper = interval(np.full(value.shape, 1 - (1 - question.confidence) / len(family)))
    above = _chance_above(value, interval)
    return [
        _Difference(
            value=float(value[0, i]), lower=float(lower[0, i]), upper=float(upper[0, i]),
            chance_above=float(above[0, i]), measure=measure,
        )
        for i, measure in enumerate(measures)
    ]


def _chance_above(value: Floats, interval: Callable[[Floats], tuple[Floats, Floats]]) -> Floats:
    """(R, Q) the chance that a difference is above 0: bisects the confidence at which it ends at 0."""
    value = np.where(np.abs(value) < _SETTLED, 0.0, value)
    least, most = np.zeros(value.shape), np.ones(value.shape)
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        lower, upper = interval(middle)
        beside = np.where(value > 0, lower > 0, upper < 0)
        least, most = np.where(beside, middle, least), np.where(beside, most, middle)
    return np.asarray(0.5 + np.sign(value) * (least + most) / 4)


def _comparison(
    question: Question, state: State, d: _Difference, together: int
) -> Comparison:
    if not (isfinite(d.value) and isfinite(d.lower) and isfinite(d.upper)):
        return Comparison(verdict="open", lower=None, upper=None, together=together, chance_better=None,
                          more_labels=None)
    verdict = _verdict(d)
    more = None if verdict != "open" else labels_to_decide(
        d.value, d.lower, d.upper, edges=[0.0], labels=state.labels, pool=question.cells.n_items
    )
    return Comparison(
        verdict=verdict, lower=d.lower, upper=d.upper, together=together, chance_better=_chance_better(d),
        more_labels=more,
    )


def _verdict(d: _Difference) -> ComparisonVerdict:
    if d.settled and abs(d.value) < _SETTLED:
        return "tie"
    if d.lower <= 0 <= d.upper:
        return "open"
    if not d.measure.prefers:
        return "different"
    return "better" if (d.value > 0) != d.measure.is_error else "worse"


def _chance_better(d: _Difference) -> float | None:
    """None for a measure that prefers neither, and for a tie."""
    if not d.measure.prefers or (d.settled and abs(d.value) < _SETTLED):
        return None
    above = float(d.value > 0) if d.settled else d.chance_above
    return 1 - above if d.measure.is_error else above
