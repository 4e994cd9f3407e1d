"""Estimates by segment, from the draws of the closed rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.evaluation.loop import Estimate, Question, State
from assay.evalcore.evaluation.nonresponse import UNANSWERED, response
from assay.evalcore.evaluation.segments import SegmentDraws, segment_estimates
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.base import is_exact
from assay.evalcore.types import Floats, Ints
from assay.tasks.ledger.rounds.labels import Decided
from assay.tasks.ledger.rounds.plan import PlannedRound

Segments = Mapping[str, Mapping[str, int]]  # column -> its values in the pool -> items


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosedRound:
    """A round and the labels of its draws, UNDECIDED and UNANSWERED among them."""

    planned: PlannedRound
    labels: Ints  # (T,)
    decided: Sequence[Decided] = ()  # what it was closed with

    @property
    def gaps(self) -> bool:
        """Some item was not answered."""
        return bool((self.labels == UNANSWERED).any())

    def response(self, question: Question) -> Floats:
        """(T,) what share of its probability a draw has left: the response rate of its cell."""
        plan = self.planned.plan
        rate = np.ones(len(self.labels))
        if self.gaps:
            asked = plan.cell[plan.ask], self.labels[plan.ask] != UNANSWERED
            by_cell = response(question.cells, *asked).rate
            new = [label is None for label in self.planned.known]
            rate[new] = by_cell[plan.cell[new]]
        return rate


def by_segment(
    question: Question, state: State, rounds: Sequence[ClosedRound], segments: Segments
) -> tuple[Estimate, ...]:
    """An estimate of every measure in every value of every segment column, first measure first.

    Methods that draw with replacement weigh each draw by its proposal; under methods that give every item the
    same chance all labels count alike. Other designs do not say what one segment's items stand for, and the
    estimate says so.
    """
    exact = [bool(is_exact(state.inner, m)[0]) for m in question.measures]
    chances = chances_of(rounds)
    kind = {"weighed": "ais-normal", "alike": "delta-normal"}.get(chances or "", "none")
    result: list[Estimate] = []
    for column, values in segments.items():
        if chances is None and not all(exact):
            reason = f"the method {question.method.name} gives no estimates by segment"
            places = [f"{column}={value}" for value in values]
            result += [_unsaid(question, m, place, reason) for m in question.measures for place in places]
            continue
        draws = _draws(question, rounds, column, values, weighed=chances == "weighed")
        found = segment_estimates(question.measures, draws, question.confidence, exact)
        counts = np.bincount(draws.segment[draws.first], minlength=len(values))
        result += [
            _present(
                question, m, arrays, i, f"{column}={value}", "exact" if settled else kind, int(counts[i])
            )
            for m, arrays, settled in zip(question.measures, found, exact, strict=True)
            for i, value in enumerate(values)
        ]
    return tuple(result)


def chances_of(rounds: Sequence[ClosedRound]) -> Literal["weighed", "alike"] | None:
    """How the draws of all rounds came about: by a proposal, or with the same chance for every item.

    Where every item had the same chance and some were not answered, the others weigh by their response.
    """
    if all(r.planned.plan.design.replacement or r.planned.plan.census for r in rounds):
        return "weighed"
    for r in rounds:
        design = r.planned.plan.design
        chances = design.unlabelled[design.left > 0]
        if design.replacement or (len(chances) and np.ptp(chances) > 1e-12 and not r.planned.plan.census):
            return None
    return "weighed" if any(r.gaps for r in rounds) else "alike"


def _draws(
    question: Question,
    rounds: Sequence[ClosedRound],
    column: str,
    values: Mapping[str, int],
    *,
    weighed: bool,
) -> SegmentDraws:
    index = {value: i for i, value in enumerate(values)}
    label = np.concatenate([r.labels for r in rounds])
    decided = label >= 0
    segment = np.array([index[s[column]] for r in rounds for s in r.planned.segments], np.int64)
    n_items = question.cells.n_items
    # of a simple random sample each draw had the chance 1/N to be the next
    probability = np.concatenate([
        (r.planned.plan.probability if r.planned.plan.design.replacement else 1 / n_items)
        * r.response(question) for r in rounds
    ])
    census = np.concatenate([np.full(len(r.labels), r.planned.plan.census) for r in rounds])
    return SegmentDraws(
        segment=segment[decided],
        prediction=np.concatenate([r.planned.prediction for r in rounds])[decided],
        label=label[decided],
        weight=1 / (n_items * probability[decided]) if weighed else None,
        first=np.concatenate([r.planned.plan.ask for r in rounds])[decided],
        census=census[decided],
        share=np.array(list(values.values())) / n_items,
        made=int((~census).sum()),
    )


def _present(
    question: Question,
    measure: Measure,
    arrays: EstimateArrays,
    i: int,
    segment: str,
    kind: str,
    labels: int,
) -> Estimate:
    value, lower, upper = (float(a[i]) for a in (arrays.value, arrays.lower, arrays.upper))
    if not np.isfinite(value):
        seen = "" if kind == "exact" else "among the labels so far, "
        return _unsaid(question, measure, segment, f"{seen}{measure.undefined_when} in this segment", labels)
    return Estimate(
        measure=measure.name,
        value=value,
        undefined_reason=None,
        lower=lower,
        upper=upper,
        confidence=question.confidence,
        interval=kind,
        labels=labels,
        variance=float(arrays.variance[i]),
        segment=segment,
    )


def _unsaid(question: Question, measure: Measure, segment: str, reason: str, labels: int = 0) -> Estimate:
    return Estimate(
        measure=measure.name, value=None, undefined_reason=reason, lower=None, upper=None,
        confidence=question.confidence, interval="none", labels=labels, variance=None, segment=segment,
    )
