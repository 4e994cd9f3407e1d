"""The estimates of a live evaluation: the method's arrays become records, each with its price.

Several systems are compared by the differences of their measures, and the same labels answer other questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan

import numpy as np

from assay.evalcore.design.round import EstimateArrays
from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.joint_region import JointRegion, NoRegion, Region
from assay.evalcore.estimators.population import SAMPLING, About
from assay.evalcore.evaluation.estimate import (
    OVER_CLUSTERS,
    AlsoAbout,
    Band,
    Comparison,
    ComparisonVerdict,
    MeasureEstimate,
    why_undefined,
)
from assay.evalcore.evaluation.known_values import differences_of_alike, no_label_matters
from assay.evalcore.evaluation.population import about_of, both_estimates
from assay.evalcore.evaluation.price_tag import pricing
from assay.evalcore.evaluation.questions import asks_several, each_question
from assay.evalcore.evaluation.state import Question, State, exact_values
from assay.evalcore.evaluation.stopping import labels_to_decide
from assay.evalcore.measures.measure import DeclaredMeasure, OutcomeMeasure, each_number
from assay.evalcore.measures.stack import number_of_contenders
from assay.evalcore.measures.two_classes import Measure, WhereAlike
from assay.evalcore.methods.two_classes.base import is_exact
from assay.evalcore.pool.strata import relevant_cells
from assay.evalcore.reproducible import EXACT_WIDTH, ROUNDING_WIDTH
from assay.evalcore.types import Array, Diagnostic, Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One number that is asked for."""

    measure: DeclaredMeasure
    part: int = 0
    of_class: str | None = None
    system: str | None = None
    versus: str | None = None


def estimates(question: Question, state: State) -> list[MeasureEstimate]:
    """The estimate of each number asked for: measure by measure, and the classes of a measure in order; of
    several questions one after the other."""
    if asks_several(question):
        return [
            replace(row, question=exact_value.name)
            for exact_value in each_question(question, state)
            for row in estimates(exact_value.question, exact_value.state)
        ]
    exact = exact_values(question, state)
    if exact is not None and no_label_matters(exact):
        return [
            _present(question, state, number, _known_arrays(exact_value), exact=True, about="pool")
            for number, exact_value in zip(_asked(question), exact, strict=True)
        ]
    arrays_of_numbers, arrays_about_other = both_estimates(question, state)
    if exact is not None:
        arrays_of_numbers = [
            arrays if exact_value.value is None else _known_arrays(exact_value)
            for arrays, exact_value in zip(arrays_of_numbers, exact, strict=True)
        ]
    alike = differences_of_alike(question.measures, question.cells) if about_of(question, state) == "pool" \
        else None
    if alike is not None and alike.any():
        arrays_of_numbers = [
            _no_difference(arrays) if is_none else arrays
            for arrays, is_none in zip(arrays_of_numbers, alike.tolist(), strict=True)
        ]
    compared, price = comparisons(question, state, arrays_of_numbers), pricing(question, state)
    rows = []
    for q, (number, arrays) in enumerate(zip(_asked(question), arrays_of_numbers, strict=True)):
        row = _present(question, state, number, arrays, _is_settled(arrays) or _all_known(question, arrays),
                       compared.get(q))
        row = replace(row, price_tag=price(q, row, arrays))
        row = replace(
            row,
            also=None
            if arrays_about_other is None
            else _also(question, state, number, arrays_about_other[q]),
        )
        rows.append(_on_curve(row, number, arrays))
    return _together(question, arrays_of_numbers, rows)


def _known_arrays(exact_value: WhereAlike) -> EstimateArrays:
    """A value that follows from the predictions alone; NaN where the measure does not exist."""
    value = np.array([nan if exact_value.value is None else exact_value.value])
    return EstimateArrays(
        value=value, lower=value, upper=value, variance=np.zeros(1), diagnostics={}, exact=np.array([True]),
    )


def _no_difference(arrays: EstimateArrays) -> EstimateArrays:
    """The difference of systems that predict alike; its ends at other confidences are those of the method."""
    zero = np.zeros(1)
    return replace(
        arrays, value=zero, lower=zero, upper=zero, variance=zero, exact=np.ones(1, np.bool_)
    )


def _together(
    question: Question, arrays_of_numbers: Sequence[EstimateArrays], rows: list[MeasureEstimate]
) -> list[MeasureEstimate]:
    """The rows; values of systems whose rows the pool has get intervals that hold together (Bonferroni)."""
    stack = question.measures
    contenders = number_of_contenders(stack)
    ends = arrays_of_numbers[0].ends if contenders else None
    if ends is None:
        return rows
    level: Floats = np.full((1, len(rows)), 1 - (1 - question.confidence) / contenders)
    lower, upper = (end[0].tolist() for end in ends(level))
    return [
        replace(row, band=Band(lower=lower[q], upper=upper[q]))
        if row.versus is None and row.lower is not None and row.interval != "exact" else row
        for q, row in enumerate(rows)
    ]


def _all_known(question: Question, arrays: EstimateArrays) -> bool:
    """Where rows are of one system each, whether all of a system's are labelled: its interval has closed,
    while others are open."""
    of_contenders = bool(number_of_contenders(question.measures)) and bool(np.isfinite(arrays.value[0]))
    return of_contenders and bool(arrays.upper[0] - arrays.lower[0] < EXACT_WIDTH)


def _is_settled(arrays: EstimateArrays) -> bool:
    """Whether every label that can change it is known."""
    return arrays.exact is not None and bool(arrays.exact[0])


def _also(question: Question, state: State, number: _Asked, arrays: EstimateArrays) -> AlsoAbout | None:
    """The interval about the other; None where there is no value."""
    if not np.isfinite(arrays.value[0]):
        return None
    other_about: About = "population" if about_of(question, state) == "pool" else "pool"
    row = _present(question, state, number, arrays, _is_settled(arrays), about=other_about)
    return AlsoAbout(about=other_about, lower=row.lower, upper=row.upper, interval=row.interval)


def system_estimates(question: Question, state: State) -> list[MeasureEstimate]:
    """The estimates of the further systems of two classes: each measure of the first, then of the second ...

    Raises BadInput where there are further systems and the method judges one.
    """
    if not question.systems:
        return []
    if not question.method.capabilities.judges_systems:
        raise BadInput(f"method {question.method.name!r} judges one system alone")
    by_system = question.method.further_systems(state.inner, question.confidence)
    return [
        # a further system is settled where its own interval has closed
        _present(question, state, _Asked(measure=measure, of_class=question.of_class, system=name), arrays,
                 bool(np.isfinite(arrays.value[0]) and arrays.lower[0] == arrays.upper[0]))
        for name, arrays_of_system in zip(question.systems, by_system, strict=bool(by_system))
        for measure, arrays in zip(question.measures, arrays_of_system, strict=True)
    ]


def _asked(question: Question) -> list[_Asked]:
    def name(system: int | None) -> str | None:
        return None if system is None or not question.systems else question.systems[system]

    return [
        _Asked(measure=measure, part=part, of_class=measure.parts[part] or question.of_class,
               system=name(measure.system), versus=name(measure.versus))
        for measure, part in each_number(question.measures)
    ]


def _present(
    question: Question, state: State, number: _Asked, arrays: EstimateArrays, exact: bool,
    comparison: Comparison | None = None, about: About | None = None,
) -> MeasureEstimate:
    about = about or about_of(question, state)
    value = _number(arrays.value[0])
    diagnostics = {name: first_entry(entry) for name, entry in arrays.diagnostics.items()}
    if state.undecided:
        diagnostics["undecided"] = state.undecided
    lower, upper = (
        None if value is None and exact else _number(end[0], _number(bound))
        for end, bound in zip((arrays.lower, arrays.upper), number.measure.bounds, strict=True)
    )
    return MeasureEstimate(
        measure=number.measure.name,
        value=value,
        undefined_reason=why_undefined(number.measure.undefined_when, exact=exact) if value is None else None,
        lower=lower,
        upper=upper,
        confidence=question.confidence,
        interval=_kind(
            question, state, arrays, about, exact and not arrays.upper[0] - arrays.lower[0] > EXACT_WIDTH
        ),
        labels=state.labels,
        about=about,
        variance=_number(arrays.variance[0]) if value is not None else None,
        diagnostics=diagnostics,
        system=number.system,
        versus=number.versus,
        class_name=number.of_class,
        comparison=comparison,
        nonresponse=state.nonresponse.rate(state.labels + state.undecided),
    )


def _kind(question: Question, state: State, arrays: EstimateArrays, about: About, closed: bool) -> str:
    """The kind of interval, said to respect clusters where it does."""
    if closed:
        return "exact"
    kind: str = arrays.interval or question.method.interval
    if about == "pool" or kind == SAMPLING:
        return kind
    return kind + OVER_CLUSTERS if state.inner.clustered else f"{kind}, and {SAMPLING}"


def _on_curve(row: MeasureEstimate, number: _Asked, arrays: EstimateArrays) -> MeasureEstimate:
    """The row of a point of a curve: what the predictions of its threshold come to."""
    if not number.measure.points:
        return row
    point, band = number.measure.points[number.part], None
    if row.lower is not None and row.upper is not None and arrays.band is not None:
        lower, upper = (float(end[0]) for end in arrays.band)
        band = Band(lower=lower, upper=upper) if np.isfinite(lower) and np.isfinite(upper) \
            else Band(lower=row.lower, upper=row.upper)
    return replace(row, measure=point.measure, at=point.at, curve=number.measure.name, band=band)


def _number(x: float, instead: float | None = None) -> float | None:
    return float(x) if np.isfinite(x) else instead


def first_entry(by_repeat: Array) -> Diagnostic:
    """The first repeat's entry; None for a number that is none."""
    value: Diagnostic = by_repeat[0].item()
    return value if not isinstance(value, float) or np.isfinite(value) else None


_RANGE = (1e-9, 6.1)   # of z: confidences from 0 to 1 - 1e-9
_OF_OTHERS = 0.5       # the confidence of differences that nobody looks at meanwhile
_BEYOND_ZERO = 1e-300   # how far beyond 0 an end at 0 counts as


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedDifference:
    """One estimated difference of two systems; NaN where nothing is known.

    Which of several systems is better, by the differences of their measures from the baseline's.

    *Simultaneous intervals.*  The m differences of one measure are given the method's interval at confidence
    1 - α/m (Bonferroni; Miller 1981, ch. 1), so they all hold together with 1 - α, however they depend on
    each other.  Each keeps its own degrees of freedom and its correction for skew.  Intervals from the
    maximum of a joint normal distribution (max-t) would be narrower, and need errors that are normal
    together.

    *The chance of being better* is read off the same intervals: where the one-sided interval at confidence c
    would just end at 0, the difference is on its side of 0 with the chance c.  Under a flat prior and
    Student's distribution about the estimate that is the chance of a positive difference; here with the
    corrections above. It is of one comparison, and not corrected for their number.
    """

    measure: OutcomeMeasure
    value: float = nan
    lower: float = nan      # of the simultaneous interval
    upper: float = nan
    chance_above: float = nan   # that it is above 0

    @property
    def settled(self) -> bool:
        """Whether no label is left that can change the difference: its interval has closed up to rounding.
        Its verdict is then final. Ends that differ by rounding alone count as equal."""
        return self.upper - self.lower < ROUNDING_WIDTH


def comparisons(
    question: Question, state: State, arrays_of_numbers: Sequence[EstimateArrays]
) -> dict[int, Comparison]:
    """What every difference says, by its place among the numbers asked for; arrays_of_numbers: the estimates.
    Differences of one measure and class are a family, whose intervals hold together."""
    families: dict[tuple[str, tuple[str | None, ...]], list[int]] = {}
    for q, (measure, _) in enumerate(each_number(question.measures)):
        if measure.versus is not None:
            families.setdefault((measure.name, measure.parts), []).append(q)
    return {
        q: comparison_of(difference, len(family), state.labels, question.cells.n_items)
        for family in families.values()
        for q, difference in zip(family, _differences(question, arrays_of_numbers, family), strict=True)
    }


def _differences(
    question: Question, arrays_of_numbers: Sequence[EstimateArrays], family: Sequence[int]
) -> list[EstimatedDifference]:
    """The differences of one measure, with intervals that hold together."""
    stack = question.measures
    measures = [stack.measures[stack.parts[q][0]] for q in family]
    at = arrays_of_numbers[0].ends
    if at is None:
        return [EstimatedDifference(measure=measure) for measure in measures]
    value = np.stack([arrays_of_numbers[q].value for q in family], axis=1)

    def interval(confidence: Floats) -> tuple[Floats, Floats]:
        confidence_by_number: Floats = np.full((len(value), len(arrays_of_numbers)), question.confidence)
        confidence_by_number[:, family] = confidence
        lower, upper = at(confidence_by_number)
        return lower[:, family], upper[:, family]

    lower, upper = interval(np.full(value.shape, 1 - (1 - question.confidence) / len(family)))
    above = chance_above(value, interval)
    closed = [_is_settled(arrays) and bool(arrays.upper[0] - arrays.lower[0] < EXACT_WIDTH)
              for arrays in (arrays_of_numbers[q] for q in family)]
    return [
        EstimatedDifference(
            value=float(value[0, i]), lower=float((value if closed[i] else lower)[0, i]),
            upper=float((value if closed[i] else upper)[0, i]), chance_above=float(above[0, i]),
            measure=measure,
        )
        for i, measure in enumerate(measures)
    ]


def chance_above(value: Floats, interval: Callable[[Floats], tuple[Floats, Floats]]) -> Floats:
    """(R, Q) the chance that a difference is above 0; NaN where there is no value.

    Its interval ends at 0 at some confidence γ = 2Φ(z) - 1: the chance is (1 + γ)/2 for a value above 0, else
    (1 - γ)/2.  z is found by Chandrupatla's method (1997, "A new hybrid quadratic/bisection algorithm"),
    since ends are nearly straight in it, and an interval may cost much; interval: both ends (R, Q) at
    confidences (R, Q).
    """
    from scipy.optimize import elementwise
    from scipy.special import erf

    value = np.where(np.abs(value) < ROUNDING_WIDTH, 0.0, value)
    row, column = np.nonzero(np.isfinite(value) & (value != 0))

    def distance(z: Floats, row: Ints, column: Ints) -> Floats:
        """How far from 0 the end nearer to it is, of some differences; below 0 beyond it. z is the quantile
        at which the interval is taken."""
        confidence: Floats = np.full(value.shape, _OF_OTHERS)
        confidence[row, column] = erf(z / np.sqrt(2.0))
        lower, upper = interval(confidence)
        end = np.where(value > 0, lower, -upper)[row, column]
        return np.where(end > 0, end, np.where(end < 0, end, -_BEYOND_ZERO))

    z: Floats = np.zeros(len(row))
    if len(row):
        root = elementwise.find_root(
            distance, _RANGE, args=(row, column),
            tolerances={"xatol": 1e-12, "xrtol": 1e-13, "fatol": 0.0, "frtol": 0.0},
        )
        least, _ = root.f_bracket      # where no end is at 0 within the range: that of its lowest confidence
        z = np.where(root.success, root.x, np.where(least > 0, _RANGE[1], 0.0))
    chance: Floats = np.where(np.isfinite(value), 0.5, np.nan)
    chance[row, column] += np.sign(value[row, column]) * erf(z / np.sqrt(2.0)) / 2
    return chance


def comparison_of(d: EstimatedDifference, together: int, labels: int, pool: int) -> Comparison:
    """What a difference says. Its verdict is better, worse, equal or open.

    together: differences whose intervals hold together; labels: of the evaluation so far; pool: its items
    """
    if not (isfinite(d.value) and isfinite(d.lower) and isfinite(d.upper)):
        return Comparison(verdict="open", lower=None, upper=None, together=together, chance_better=None,
                          more_labels=None)
    verdict = _verdict(d)
    more_labels = None if verdict != "open" else labels_to_decide(
        d.value, d.lower, d.upper, edges=[0.0], labels=labels, pool=pool
    )
    return Comparison(
        verdict=verdict, lower=d.lower, upper=d.upper, together=together, chance_better=_chance_better(d),
        more_labels=more_labels,
    )


def _verdict(d: EstimatedDifference) -> ComparisonVerdict:
    if d.settled and abs(d.value) < ROUNDING_WIDTH:
        return "tie"
    if d.lower <= 0 <= d.upper:
        return "open"
    if not d.measure.prefers:
        return "different"
    return "better" if (d.value > 0) != d.measure.is_error else "worse"


def _chance_better(d: EstimatedDifference) -> float | None:
    """None for a measure that prefers neither, and for a tie."""
    if not d.measure.prefers or (d.settled and abs(d.value) < ROUNDING_WIDTH):
        return None
    above = float(d.value > 0) if d.settled else d.chance_above
    return 1 - above if d.measure.is_error else above


def reuse(question: Question, state: State, measures: Sequence[Measure]) -> list[MeasureEstimate]:
    """Estimates of other measures from the labels of an evaluation, in order.

    Raises BadInput for a method whose labels cannot be used so, or for a measure that depends on items that
    were never at risk of being drawn.

    Other questions to the same labels.

    Labels were drawn for some measures; the weights that make the sample speak for the pool make it speak for
    any measure, provided every item that can change the new measure had a chance to be drawn (Marchant &
    Rubinstein 2021, section 3).  That holds when the new measure looks where the old ones did, or when every
    proposal held a share δ of the pool's own distribution (the `reuse` setting of the Dirichlet methods).
    Without such a share the answer is unbiased but may rest on a few enormous weights: look at its
    `effective_draws`.
    """
    method = question.method
    if not method.capabilities.reuses_labels:
        raise BadInput(f"labels drawn by {method.name!r} answer only for the measures they were drawn for")
    reachable = method.reachable(question.measures, question.cells)
    for m in measures:
        if (relevant_cells([m], question.cells) & ~reachable).any():
            measure_names = ", ".join(q.name for q in question.measures)
            raise BadInput(
                f"{m.name} depends on items that {measure_names} never looks at, and none could be drawn; "
                "ask for both measures from the start, or use a Dirichlet method with a share for reuse, as "
                "in dirichlet-tree:reuse=0.1"
            )
    inner = replace(state.inner, measures=tuple(measures))
    return estimates(replace(question, measures=tuple(measures)), replace(state, inner=inner))


def joint_region(question: Question, state: State) -> Region:
    """The joint confidence region of the evaluation's measures.

    Raises BadInput for a method without one, and `NoRegion` while there is nothing to say.
    """
    region: Region = question.method.region(state.inner, question.confidence)
    return region


def reported_region(question: Question, state: State) -> JointRegion | None:
    """The joint region in plain numbers, where there are several measures and a region.

    None for one measure, for a method without a region, before the draws determine one, and once every value
    is exact.
    """
    measures = question.measures
    stack = question.stack
    if len(measures if stack is None else stack.measures) < 2:
        return None
    if not question.method.capabilities.joint_region:
        return None
    if question.about == "population":
        return None      # the region is of the pool
    if stack is None and all(bool(is_exact(state.inner, m)[0]) for m in measures):
        return None
    try:
        return joint_region(question, state).in_plain_numbers()
    except NoRegion:
        return None
