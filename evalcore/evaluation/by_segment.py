"""An estimate of every measure in every segment, from the draws of the closed rounds.

The arithmetic is `evalcore.evaluation.segments`; here the rounds of an evaluation are put into its arrays,
and what comes out becomes an `Estimate`, or the reason why there is none.

    T   draws of all rounds;  S values of one segment column
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.estimators.effective_number import KIND, TOO_FEW, interval_of
from assay.evalcore.evaluation.estimate import Estimate, why_undefined
from assay.evalcore.evaluation.labelled_round import Chances, LabelledRound, Segments, chances_of
from assay.evalcore.evaluation.segment_differences import difference_estimates
from assay.evalcore.evaluation.segments import SegmentDraws, segment_estimates
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.exact import is_exact
from assay.evalcore.types import Floats, Ints


def segment_rows(
    question: Question, state: State, rounds: Sequence[LabelledRound], segments: Segments
) -> tuple[Estimate, ...]:
    """Every measure in every value of every column: by column, then measure, then value.

    Where draws were made with replacement each is weighted by its own probability; where every item had the
    same chance all labels count alike; under other designs without replacement the difference estimates of
    `evalcore.evaluation.segment_differences` hold.  A method whose designs leave items out for good gives no
    estimates by segment, and they say so.

    Raises NothingToStandFor for a round with gaps where a prediction was asked and gave no answer.
    """
    exact = [bool(is_exact(state.inner, m)[0]) for m in question.measures]
    chances = chances_of(rounds)
    result: list[Estimate] = []
    for column, values in segments.items():
        if chances is not None or all(exact):
            result += _from_draws(question, rounds, column, values, chances, exact)
        elif question.method.capabilities.whole_pool_only:
            reason = f"the method {question.method.name} gives no estimates by segment"
            result += [
                _no_estimate(question, measure, f"{column}={value}", reason)
                for measure in question.measures for value in values
            ]
        else:
            result += _from_differences(question, rounds, column, values)
    return tuple(result)


def _from_draws(
    question: Question, rounds: Sequence[LabelledRound], column: str, values: Mapping[str, int],
    chances: Chances | None, exact: Sequence[bool],
) -> list[Estimate]:
    """Of one column, where single draws say what they stand for."""
    weighted = chances == "weighted"
    draws = segment_draws(question, rounds, column, values, weighted=weighted)
    found = segment_estimates(question.measures, draws, question.confidence, exact)
    labels = np.bincount(draws.segment[draws.first], minlength=len(values))
    result = []
    for measure, arrays, settled in zip(question.measures, found, exact, strict=True):
        kinds = ["exact" if settled else "delta-normal"] * len(values)
        if weighted and not settled:
            arrays, kinds = _by_effective_number(question, measure, arrays, labels)
        result += [
            _estimate(question, measure, arrays, i, f"{column}={value}", kinds[i], int(labels[i]))
            for i, value in enumerate(values)
        ]
    return result


def _by_effective_number(
    question: Question, measure: Measure, arrays: EstimateArrays, labels: Ints
) -> tuple[EstimateArrays, list[str]]:
    """The estimates (S,) of weighted draws with the interval of their effective number, and its kinds.

    The few draws of a segment may hold no error, or one of an untypical weight, and a normal interval is then
    far too narrow.  They are believed to be worth no more than their weights say: (Σw)² / Σw².
    """
    most = np.asarray(arrays.diagnostics["effective_draws"], dtype=np.float64)
    rated = interval_of(
        arrays.value, arrays.variance, labels, most, question.confidence, measure.bounds
    )
    kinds = [TOO_FEW if few else KIND for few in rated.too_few.tolist()]
    return replace(arrays, lower=rated.interval.lower, upper=rated.interval.upper), kinds


def _from_differences(
    question: Question, rounds: Sequence[LabelledRound], column: str, values: Mapping[str, int]
) -> list[Estimate]:
    """Of one column, where items had different inclusion probabilities."""
    found = difference_estimates(
        question.measures, question.cells, rounds, column, question.by_segment[column], question.confidence
    )
    return [
        _estimate(
            question, measure, of.arrays, i, f"{column}={value}", of.interval(i), int(of.labels[i])
        )
        for measure, of in zip(question.measures, found, strict=True)
        for i, value in enumerate(values)
    ]


def segment_draws(
    question: Question, rounds: Sequence[LabelledRound], column: str, values: Mapping[str, int], *,
    weighted: bool,
) -> SegmentDraws:
    """The draws of all rounds by the segment of one column; values: each with its items in the pool (S,).

    Draws of items without a label are left out.  A draw with replacement has probability q, a draw of a
    simple random sample 1/N, both times the response rate of its cell.

    Raises NothingToStandFor as `segment_rows`.
    """
    n_items = question.cells.n_items
    label = np.concatenate([r.label for r in rounds])
    decided = label >= 0
    probability = np.concatenate([_probability(r, n_items) * r.response(question.cells) for r in rounds])
    census = np.concatenate([np.full(len(r.label), r.plan.census) for r in rounds])
    return SegmentDraws(
        segment=np.concatenate([r.segment[column] for r in rounds])[decided],
        prediction=np.concatenate([r.prediction for r in rounds])[decided],
        label=label[decided],
        weight=1 / (n_items * probability[decided]) if weighted else None,
        first=np.concatenate([r.plan.ask for r in rounds])[decided],
        census=census[decided],
        share=np.array(list(values.values())) / n_items,
        made=int((~census).sum()),
    )


def _probability(one: LabelledRound, n_items: int) -> Floats | float:
    return one.plan.probability if one.plan.design.replacement else 1 / n_items


def _estimate(
    question: Question, measure: Measure, arrays: EstimateArrays, i: int, segment: str, interval: str,
    labels: int,
) -> Estimate:
    """The i-th segment's, which is undefined where its value is NaN."""
    value, lower, upper = (float(a[i]) for a in (arrays.value, arrays.lower, arrays.upper))
    if not np.isfinite(value):
        reason = why_undefined(f"{measure.undefined_when} in this segment", exact=interval == "exact")
        return _no_estimate(question, measure, segment, reason, labels)
    return Estimate(
        measure=measure.name, value=value, undefined_reason=None, lower=lower, upper=upper,
        confidence=question.confidence, interval=interval, labels=labels, variance=float(arrays.variance[i]),
        segment=segment,
    )


def _no_estimate(
    question: Question, measure: Measure, segment: str, reason: str, labels: int = 0
) -> Estimate:
    return Estimate(
        measure=measure.name, value=None, undefined_reason=reason, lower=None, upper=None,
        confidence=question.confidence, interval="none", labels=labels, variance=None, segment=segment,
    )
