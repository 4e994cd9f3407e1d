"""The estimates of a live evaluation as plain records: no arrays, no NaN, and why a number is missing."""

from dataclasses import replace

import numpy as np

from assay.evalcore.evaluation.estimates import Band, Comparison, Estimate, why_undefined
from assay.evalcore.evaluation.price_tag import PriceTag
from assay.evalcore.outcome_evaluation.comparisons import comparisons
from assay.evalcore.outcome_evaluation.price import MOST_NUMBERS, pull_variances, random_labels
from assay.evalcore.outcome_evaluation.state import Question, State
from assay.evalcore.outcome_measures.base import OutcomeMeasure
from assay.evalcore.outcome_methods.state import OutcomeEstimates
from assay.evalcore.rounding import OFF_TIES, is_nothing
from assay.evalcore.types import Diagnostic, Floats

ONE_LABEL = "share_of_one_label"   # a diagnostic: one label makes this share of the variance

_ROUNDING = 1e-9   # an interval narrower than this is exact
_DECIMALS = 12     # of an exact value


def estimates(question: Question, state: State) -> list[Estimate]:
    """The estimate of each number asked for: measure by measure, and the classes of a measure in order."""
    found = question.method.estimate(state.inner, question.confidence)
    variances = pull_variances(question, state)
    exact = bool(found.exact[0])
    compared = comparisons(question, state, found)
    rows = []
    for q, (m, part) in enumerate(question.stack.parts):
        measure = question.stack.measures[m]
        ends = (float(found.lower[0, q]), float(found.upper[0, q]))
        row = _present(question, state, measure, part, float(found.value[0, q]), ends,
                     float(found.variance[0, q]), exact, compared.get(q), _heavy(found.largest, q),
            float(variances[q]),
        )
        rows.append(_on_curve(row, measure, part, found, q) if measure.points else row)
    return rows


def _on_curve(
    row: Estimate, measure: OutcomeMeasure, part: int, found: OutcomeEstimates, q: int
) -> Estimate:
    """The row of a point of a curve: what the predictions of its threshold come to."""
    point, band = measure.points[part], None
    if row.lower is not None and row.upper is not None and found.band is not None:
        lower, upper = (float(end[0, q]) for end in found.band)
        band = Band(lower=lower, upper=upper) if np.isfinite(lower) and np.isfinite(upper) \
            else Band(lower=row.lower, upper=row.upper)
    return replace(row, measure=point.measure, at=point.at, curve=measure.name, band=band)


def _present(
    question: Question, state: State, measure: OutcomeMeasure, part: int, value: float,
    ends: tuple[float, float], variance: float, exact: bool, comparison: Comparison | None,
    heavy: float | None, pull_variance: float,
) -> Estimate:
    known = exact and not ends[1] - ends[0] > _ROUNDING
    if known:
        value = round(value, _DECIMALS)      # 0 and not 2.9e-16, which sums of shares come to
        ends = value, value
    there = np.isfinite(value)
    reason = None
    if not there:
        reason = why_undefined(measure.undefined_when, exact=exact)
    nothing = not there and exact
    lower, upper = (
        None if nothing else _end(end, bound) for end, bound in zip(ends, measure.bounds, strict=True)
    )
    diagnostics: dict[str, Diagnostic] = {"undecided": state.undecided} if state.undecided else {}
    if heavy is not None and not exact:
        diagnostics[ONE_LABEL] = heavy
    return Estimate(
        measure=measure.name,
        value=value if there else None,
        undefined_reason=reason,
        lower=lower,
        upper=upper,
        confidence=question.confidence,
        interval="exact" if known else _kind(question, state),
        labels=state.labels,
        variance=variance if there and np.isfinite(variance) else None,
        diagnostics=diagnostics,
        system=_name(question, measure.system),
        versus=_name(question, measure.versus),
        of_class=measure.parts[part],
        comparison=comparison,
        nonresponse=state.nonresponse.rate(state.labels + state.undecided),
        price_tag=None if _clustered(state) else
        _price(question, measure, ends, exact and there, pull_variance),
    )


def _heavy(largest: Floats | None, q: int) -> float | None:
    """The share of one label in the variance, where it is more than all the others'."""
    share = np.nan if largest is None else float(largest[0, q])
    return share if share > 0.5 + OFF_TIES else None     # of two labels alike, each has half


def share_of_one_label(estimate: Estimate) -> float | None:
    """Of a reported estimate: the share of one label in the variance, where it is more than half."""
    share = estimate.diagnostics.get(ONE_LABEL)
    return float(share) if isinstance(share, float) else None


def _price(
    question: Question, measure: OutcomeMeasure, ends: tuple[float, float], exact: bool, pull_variance: float
) -> PriceTag | None:
    """None for measures of very many numbers, and where systems are compared."""
    if len(measure.parts) > MOST_NUMBERS or len(question.systems) > 1:
        return None
    items = question.cells.n_items
    if exact:
        return PriceTag(random_labels=items, random_labels_reason=None)   # only all of them give width 0
    if ends == measure.bounds:
        return PriceTag(
            random_labels=None, random_labels_reason="the interval is still the measure's whole range"
        )
    half_width = (ends[1] - ends[0]) / 2
    if is_nothing(half_width, abs(ends[0]) + abs(ends[1])):
        pull_variance = 0.0
    labels, reason = random_labels(pull_variance, half_width, items, question.confidence)
    return PriceTag(random_labels=labels, random_labels_reason=reason)


def _kind(question: Question, state: State) -> str:
    """The kind of interval, said to respect clusters where it does."""
    return question.method.interval + (", over clusters" if _clustered(state) else "")


def _clustered(state: State) -> bool:
    table = state.inner.table
    return table is not None and table.cluster is not None


def _name(question: Question, system: int | None) -> str | None:
    return None if system is None else question.systems[system]


def _end(end: float, bound: float) -> float | None:
    """An end of an interval; the measure's bound where there is none, and None where it has no bound."""
    if np.isfinite(end):
        return end
    return bound if np.isfinite(bound) else None
