"""The estimates of a live evaluation: the method's arrays become records, each with its price."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.comparisons import comparisons
from assay.evalcore.evaluation.estimate import Band, Comparison, Estimate, why_undefined
from assay.evalcore.evaluation.price_tag import pricing
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_measures.stack import Stack
from assay.evalcore.outcome_methods.state import ONE_LABEL
from assay.evalcore.randomness import stream
from assay.evalcore.types import Array, Diagnostic

_ROUNDING = 1e-9   # an interval narrower than this is exact


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One number that is asked for."""

    measure: Any                 # a `Measure` or an `OutcomeMeasure`
    part: int = 0
    of_class: str | None = None
    system: str | None = None
    versus: str | None = None


def estimates(question: Question, state: State) -> list[Estimate]:
    """The estimate of each number asked for: measure by measure, and the classes of a measure in order."""
    rng = stream(question.seed, question.evaluation, state.round, "estimate")
    found = question.method.numbers(state.inner, question.confidence, rng)
    compared, price = comparisons(question, state, found), pricing(question, state)
    rows = []
    for q, (asked, arrays) in enumerate(zip(_asked(question), found, strict=True)):
        row = _present(question, state, asked, arrays, bool(arrays.exact[0]), compared.get(q))
        row = replace(row, price_tag=price(q, row, arrays))
        rows.append(_on_curve(row, asked, arrays))
    return rows


def system_estimates(question: Question, state: State) -> list[Estimate]:
    """The estimates of the further systems of two classes: each measure of the first, then of the second ...

    Raises BadInput where there are further systems and the method judges one.
    """
    if isinstance(question.measures, Stack) or not question.systems:
        return []
    if not question.method.capabilities.judges_systems:
        raise BadInput(f"method {question.method.name!r} judges one system alone")
    by_system = question.method.further_systems(state.inner, question.confidence)
    return [
        # a further system is settled where its own interval has closed
        _present(question, state, _Asked(measure=measure, system=name), arrays,
                 bool(np.isfinite(arrays.value[0]) and arrays.lower[0] == arrays.upper[0]))
        for name, found in zip(question.systems, by_system, strict=True)
        for measure, arrays in zip(question.measures, found, strict=True)
    ]


def share_of_one_label(estimate: Estimate) -> float | None:
    """Of a reported estimate: the share of one label in the variance, where it is more than half."""
    share = estimate.diagnostics.get(ONE_LABEL)
    return float(share) if isinstance(share, float) else None


def _asked(question: Question) -> list[_Asked]:
    if not isinstance(question.measures, Stack):
        return [_Asked(measure=measure) for measure in question.measures]

    def name(system: int | None) -> str | None:
        return None if system is None or not question.systems else question.systems[system]

    measures = question.measures.measures
    return [
        _Asked(measure=measures[m], part=part, of_class=measures[m].parts[part],
               system=name(measures[m].system), versus=name(measures[m].versus))
        for m, part in question.measures.parts
    ]


def _present(
    question: Question, state: State, asked: _Asked, arrays: EstimateArrays, exact: bool,
    comparison: Comparison | None = None,
) -> Estimate:
    value = _number(arrays.value[0])
    diagnostics = {name: first_entry(entry) for name, entry in arrays.diagnostics.items()}
    if state.undecided:
        diagnostics["undecided"] = state.undecided
    lower, upper = (
        None if value is None and exact else _number(end[0], _number(bound))
        for end, bound in zip((arrays.lower, arrays.upper), asked.measure.bounds, strict=True)
    )
    return Estimate(
        measure=asked.measure.name,
        value=value,
        undefined_reason=why_undefined(asked.measure.undefined_when, exact=exact) if value is None else None,
        lower=lower,
        upper=upper,
        confidence=question.confidence,
        interval=_kind(question, state, arrays, exact and not arrays.upper[0] - arrays.lower[0] > _ROUNDING),
        labels=state.labels,
        variance=_number(arrays.variance[0]) if value is not None else None,
        diagnostics=diagnostics,
        system=asked.system,
        versus=asked.versus,
        of_class=asked.of_class,
        comparison=comparison,
        nonresponse=state.nonresponse.rate(state.labels + state.undecided),
    )


def _kind(question: Question, state: State, arrays: EstimateArrays, closed: bool) -> str:
    """The kind of interval, said to respect clusters where it does."""
    if closed:
        return "exact"
    kind: str = arrays.interval or question.method.interval
    return f"{kind}, over clusters" if state.inner.clustered else kind


def _on_curve(row: Estimate, asked: _Asked, arrays: EstimateArrays) -> Estimate:
    """The row of a point of a curve: what the predictions of its threshold come to."""
    if not isinstance(asked.measure, OutcomeMeasure) or not asked.measure.points:
        return row
    point, band = asked.measure.points[asked.part], None
    if row.lower is not None and row.upper is not None and arrays.band is not None:
        lower, upper = (float(end[0]) for end in arrays.band)
        band = Band(lower=lower, upper=upper) if np.isfinite(lower) and np.isfinite(upper) \
            else Band(lower=row.lower, upper=row.upper)
    return replace(row, measure=point.measure, at=point.at, curve=asked.measure.name, band=band)


def _number(x: float, instead: float | None = None) -> float | None:
    return float(x) if np.isfinite(x) else instead


def first_entry(by_repeat: Array) -> Diagnostic:
    """The first repeat's entry; None for a number that is none."""
    value: Diagnostic = by_repeat[0].item()
    return value if not isinstance(value, float) or np.isfinite(value) else None
