"""The estimates of a live evaluation as plain records: no arrays, no NaN, and why a number is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.nonresponse import ResponseRate
from assay.evalcore.evaluation.price_tag import PriceTag, price_tag
from assay.evalcore.evaluation.state import Question, State
from assay.evalcore.measures.base import Measure
from assay.evalcore.methods.exact import is_exact, with_exact_values
from assay.evalcore.randomness import stream
from assay.evalcore.types import Array, Diagnostic

ComparisonVerdict = Literal["better", "worse", "different", "tie", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What an estimated difference says of a system and its baseline."""

    verdict: ComparisonVerdict     # by the simultaneous interval; open: it holds 0
    lower: float | None            # of the interval that holds together with those of the other systems
    upper: float | None
    together: int                  # how many intervals hold together
    chance_better: float | None    # that the system is better, by Student's approximation
    more_labels: int | None        # about so many would decide; None where it is decided, or nobody can say


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """An interval that holds together with those of all other points of its curve."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimate of one measure, with its interval.  None where there is no number, never NaN."""

    measure: str
    value: float | None
    undefined_reason: str | None
    lower: float | None
    upper: float | None
    confidence: float
    interval: str        # the kind of interval
    labels: int
    variance: float | None
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict)   # what the method says besides
    segment: str | None = None  # "column=value", or None for the whole pool
    price_tag: PriceTag | None = None    # of an estimate of the whole pool
    system: str | None = None   # one of the pool's further systems; None for the pool's own predictions
    nonresponse: ResponseRate | None = None   # where rounds were closed with items unanswered
    versus: str | None = None   # the system it is compared with, for a difference
    of_class: str | None = None  # the class or tag, of a measure that has a number for each
    at: float | None = None     # the threshold, of a curve
    curve: str | None = None    # the curve that it is a point of
    band: Band | None = None    # of a point of a curve
    comparison: Comparison | None = None   # of a difference


def estimates(question: Question, state: State) -> list[Estimate]:
    """The estimate of each measure, in the order they were asked for."""
    rng = stream(question.seed, question.evaluation, state.round, "estimate")
    raw = question.method.estimate(state.inner, question.confidence, rng)
    checked = with_exact_values(state.inner, raw)
    return [_present(question, state, m, e) for m, e in zip(question.measures, checked, strict=True)]


def system_estimates(question: Question, state: State) -> list[Estimate]:
    """The estimates of the further systems: each measure of the first, then of the second ...

    Raises BadInput where there are further systems and the method judges one.
    """
    if not question.systems:
        return []
    if not question.method.capabilities.judges_systems:
        raise BadInput(f"method {question.method.name!r} judges one system alone")
    by_system = question.method.further_systems(state.inner, question.confidence)
    return [
        _present(question, state, m, e, system=name)
        for name, found in zip(question.systems, by_system, strict=True)
        for m, e in zip(question.measures, found, strict=True)
    ]


def _present(
    question: Question, state: State, measure: Measure, arrays: EstimateArrays, system: str | None = None
) -> Estimate:
    exact = bool(is_exact(state.inner, measure)[0])
    if system is not None:   # a further system is settled where its own interval has closed
        exact = bool(np.isfinite(arrays.value[0]) and arrays.lower[0] == arrays.upper[0])
    value = _number(arrays.value[0])
    diagnostics = {name: _plain(entry) for name, entry in arrays.diagnostics.items()}
    if state.undecided:
        diagnostics["undecided"] = state.undecided
    reason = None
    if value is None:
        reason = why_undefined(measure.undefined_when, exact=exact)
    lowest, highest = measure.bounds
    lower = None if value is None and exact else _number(arrays.lower[0], lowest)
    upper = None if value is None and exact else _number(arrays.upper[0], highest)
    return Estimate(
        measure=measure.name,
        value=value,
        undefined_reason=reason,
        lower=lower,
        upper=upper,
        confidence=question.confidence,
        interval="exact" if exact else question.method.interval,
        labels=state.labels,
        variance=_number(arrays.variance[0]) if value is not None else None,
        diagnostics=diagnostics,
        price_tag=None if system is not None else price_tag(
            measure,
            question.cells,
            state.inner.labelled[0],
            state.inner.left[0],
            state.reached,
            ends=(lower, upper),
            exact=exact,
            confidence=question.confidence,
            diagnostics=diagnostics,
        ),
        system=system,
        nonresponse=state.nonresponse.rate(state.labels + state.undecided),
    )


def why_undefined(undefined_when: str, *, exact: bool) -> str:
    """Why a measure has no value, from what is said of it: by all labels that matter, or by those so far."""
    return undefined_when if exact else f"among the labels so far, {undefined_when}"


def _number(x: float, instead: float | None = None) -> float | None:
    return float(x) if np.isfinite(x) else instead


def _plain(by_repeat: Array) -> Diagnostic:
    value: Diagnostic = by_repeat[0].item()
    return value if not isinstance(value, float) or np.isfinite(value) else None
