"""When to stop, the verdict, and how sure an interval may be after an evaluation was extended.

A target is met only under these conditions: at least MIN_LABELS labels, both outcomes seen, and the target
met at two looks in a row, because looking after every round and stopping at the first lucky one breaks
coverage.  A method whose intervals were measured to cover at the stop with less asks for less
(`Method.least_labels`, `looks_in_a_row`; docs/measured/at-the-stop.md), and an evaluation may say otherwise
(`least_labels`, `looks`; docs/measured/stopping.md).

A target is a number for the first measure, a number for each of several measures, or of a variance a bound on
the trace of the covariance of all of them (Marchant & Rubinstein 2021, Proposition 1).

While no label shows an error the variance is zero, and says only that the error is unknown: then
the interval is as wide as the errors that the draws may have missed (`evalcore.estimators.intervals`), and a
half-width counts as met once that bound meets it.  A variance does not, nor does one whose interval is more
than MUCH_WIDER times as wide as a normal one of the variance asked for.  A pool whose every label is known
needs none of that: its value is exact.  `least_budget` says which budgets are too small for any target;
specs, forecasts, the doctor and the Python face read the rule there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import scipy

from assay.evalcore.errors import BadInput, plural
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.methods.method import LOOKS_IN_A_ROW, MIN_LABELS

MUCH_WIDER = 2.0   # than the normal interval of the variance asked for

TRACE = "trace"    # the key of a variance that is the sum over all measures
PRICE_OF_FEWER = (
    "On a balanced pool, 40 labels at one look reached ±0.10 with 36 to 54 labels fewer than 100 at two, and "
    "the interval covered in 87% and 91% of runs instead of 94% and 96% (docs/measured/stopping.md)."
)


def rule_in_words(least_labels: int = MIN_LABELS, looks: int = LOOKS_IN_A_ROW) -> str:
    """When a target counts as met.

    >>> rule_in_words()
    'a target is met at two looks in a row, with 100 labels or more at each'
    >>> rule_in_words(40, 1)
    'a target is met at one look, with 40 labels or more'
    """
    if looks == 1:
        return f"a target is met at one look, with {plural(least_labels, 'label')} or more"
    times = {2: "two", 3: "three"}.get(looks, str(looks))
    return f"a target is met at {times} looks in a row, with {plural(least_labels, 'label')} or more at each"


StopReason = Literal["half_width", "variance", "best_of", "budget", "pool"]
Verdict = Literal["ok", "breach", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """One of half_width, variance and best_of, or none; a budget always.

    half_width, variance: of the first measure, or by the name of each measure that has one; of a variance
    also {TRACE: ...}, the sum over all numbers.  Raises BadInput for both targets at once, or for one that is
    not positive.
    """

    budget: int
    half_width: float | Mapping[str, float] | None = None
    variance: float | Mapping[str, float] | None = None
    best_of: float | None = None    # the margin within which one of several systems has to be the best
    least_labels: int = MIN_LABELS
    looks: int = LOOKS_IN_A_ROW

    def __post_init__(self) -> None:
        if self.half_width is not None and self.variance is not None:
            raise BadInput("target takes half_width or variance, not both")
        for name, target in (("half_width", self.half_width), ("variance", self.variance)):
            for value in target.values() if isinstance(target, Mapping) else (target,):
                if value is not None and not value > 0:
                    raise BadInput(f"target.{name} must be positive, got {value}")
        if self.budget < 1:
            raise BadInput(f"budget.labels must be at least 1, got {self.budget}")


    def of_first(self, measure: str) -> tuple[float | None, float | None]:
        """Half-width and variance asked of the first measure, of this full name; None each where it has none
        of its own. A target that is one number is of the first measure."""
        own_targets = self.half_width, self.variance
        half_width, variance = (own_target(target, measure, of_driving=True) for target in own_targets)
        return half_width, variance


def own_target(target: float | Mapping[str, float] | None, measure: str, *, of_driving: bool) -> float | None:
    """What is asked of one measure; of_driving: a plain number is of it.

    measure: with its class or setting, as in recall(cat); a target of `recall` is of every class.
    """
    if not isinstance(target, Mapping):
        return target if of_driving else None
    return target.get(measure, target.get(measure.partition("(")[0]))


def least_budget(
    batch_size: int, least_labels: int = MIN_LABELS, looks: int = LOOKS_IN_A_ROW
) -> int:
    """The fewest labels with which any target can be met, where a round asks for `batch_size`.

    >>> least_budget(25), least_budget(60), least_budget(20, 40, 1)
    (101, 121, 40)
    """
    return ceil(least_labels / batch_size) * batch_size + looks - 1


def good_budget(
    batch_size: int, least_labels: int = MIN_LABELS, looks: int = LOOKS_IN_A_ROW
) -> int:
    """The same in whole rounds: what to recommend.

    >>> good_budget(25)
    125
    """
    return (ceil(least_labels / batch_size) + looks - 1) * batch_size


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is known after a round about the first measure: its estimate, the number of labels, and what the
    stopping rule asks besides. Stopping is decided from a series of these."""

    labels: int
    estimate: MeasureEstimate
    both_outcomes: bool  # a positive and a negative item were labelled
    exhausted: bool      # nothing is left whose label could change a measure
    named: bool = False  # the best of several systems is known, with an error that is spread over all looks
    others: tuple[MeasureEstimate, ...] = ()   # all numbers of the whole pool, where several have targets


def stop_reason(rule: StoppingRule, looks: Sequence[Look]) -> StopReason | None:
    """Why to stop after these looks, or None to go on.

    A pool that is labelled out stops before anything else is asked about; then a target that is met counts
    before a budget that is spent.  A difference of two systems that is exact meets any target at once, and
    so does a best system: the chance to name a wrong one is spread over all looks.
    """
    if not looks:
        return None
    latest = looks[-1]
    if rule.best_of is not None and latest.named:
        return "best_of"
    if latest.exhausted:
        return "pool"
    recent = looks[-rule.looks:]
    aimed = rule.half_width is not None or rule.variance is not None
    settled_difference = aimed and latest.estimate.versus is not None and latest.estimate.interval == "exact"
    if settled_difference or (len(recent) == rule.looks and all(_meets(rule, look) for look in recent)):
        return "half_width" if rule.half_width is not None else "variance"
    return "budget" if looks[-1].labels >= rule.budget else None


def _meets(rule: StoppingRule, look: Look) -> bool:
    if look.labels < rule.least_labels or not look.both_outcomes:
        return False
    if isinstance(rule.half_width, Mapping):
        return all(
            _narrow(row, bound) for name, bound in rule.half_width.items()
            for row in _rows_named(name, look.others)
        )
    if rule.half_width is not None:
        return _narrow(look.estimate, rule.half_width)
    if isinstance(rule.variance, Mapping):
        if TRACE in rule.variance:
            return _steady_together(look.others, rule.variance[TRACE])
        return all(
            _steady(row, bound) for name, bound in rule.variance.items()
            for row in _rows_named(name, look.others)
        )
    return rule.variance is not None and _steady(look.estimate, rule.variance)


def _rows_named(name: str, rows: Iterable[MeasureEstimate]) -> list[MeasureEstimate | None]:
    """The numbers that a target of this name is of; [None], which meets none, where there is none."""
    return [row for row in rows if name in (row.measure, f"{row.measure}({row.class_name})")] or [None]


def _half_width(row: MeasureEstimate | None) -> float | None:
    """Half the width of an interval; None where there is none."""
    if row is None or row.value is None or row.variance is None or row.lower is None or row.upper is None:
        return None
    return (row.upper - row.lower) / 2


def _narrow(row: MeasureEstimate | None, bound: float) -> bool:
    """Whether the interval is as narrow as asked; one of no width is so where it is exact."""
    half_width = _half_width(row)
    if half_width is None or row is None:
        return False
    return (half_width > 0 or row.interval == "exact") and half_width <= bound


def _steady(row: MeasureEstimate | None, bound: float) -> bool:
    """Whether the variance is as small as asked, and the interval not much wider than it says."""
    return row is not None and _steady_together([row], bound)


def _steady_together(rows: Sequence[MeasureEstimate], bound: float) -> bool:
    """Whether the variances of all numbers add up to no more than asked, and those of their intervals do not
    add up to much more."""
    total, implied = 0.0, 0.0
    for row in rows:
        half_width = _half_width(row)
        if half_width is None or row.variance is None or row.standard_error is None:
            return False
        total += row.variance
        implied += (half_width / _normal_quantile(row)) ** 2
    return bool(rows) and total <= bound and implied <= MUCH_WIDER**2 * bound


def _normal_quantile(row: MeasureEstimate) -> float:
    """Half-widths of a normal interval of this row's confidence, in standard errors."""
    return float(scipy.special.ndtri(0.5 + row.confidence / 2))


def verdict(estimate: MeasureEstimate, minimum: float | None, maximum: float | None = None) -> Verdict | None:
    """Whether the interval lies inside the allowed range, outside it, or across its edge.

    None when there is no threshold.  An undefined measure is inconclusive.
    """
    if minimum is None and maximum is None:
        return None
    return verdict_of_interval(estimate.lower, estimate.upper, minimum, maximum)


def verdict_of_interval(
    lower: float | None, upper: float | None, minimum: float | None, maximum: float | None
) -> Verdict:
    """As `verdict`, of an interval from `lower` to `upper`; inconclusive where it has no ends. It is ok where
    the whole interval keeps both, and a breach where all of it misses one."""
    if lower is None or upper is None:
        return "inconclusive"
    low = -float("inf") if minimum is None else minimum
    high = float("inf") if maximum is None else maximum
    if lower >= low and upper <= high:
        return "ok"
    return "breach" if upper < low or lower > high else "inconclusive"


def labels_to_decide(
    value: float | None, lower: float | None, upper: float | None, *, edges: Sequence[float], labels: int,
    pool: int, widening: float = 1.0,
) -> int | None:
    """About how many more labels would take an interval off the nearest edge of what is allowed.

    value, lower, upper   an estimate and its interval, from `labels` labels
    edges                 of what is allowed; those within the interval count
    pool                  items in the pool
    widening              times that the interval will be wider than this one would be, after one more
                          extension (`widening`)

    By the square-root law: n labels gave an interval that reaches h from the estimate on the edge's side, the
    edge is d away, and n (h/d)² labels give d.  Intervals of rare events are lopsided, so the side matters.
    None where there is no interval, no edge within it, or no distance, and where the pool holds too few.
    """
    if value is None or lower is None or upper is None or not labels:
        return None
    nearest = min((edge for edge in edges if lower <= edge <= upper), key=lambda edge: abs(value - edge),
                  default=value)
    if nearest == value:
        return None
    reach = value - lower if nearest < value else upper - value
    needed = ceil(labels * (widening * reach / abs(value - nearest)) ** 2)
    return max(needed - labels, 1) if needed <= pool else None


def confidence_after(confidence: float, extensions: int) -> float:
    """The confidence of each interval after so many extensions; without any, the one asked for.

    Raises BadInput for a negative number.

    How sure an interval may be after an evaluation was extended because of what its result was.

    An interval of 95% that is computed at a number of labels fixed beforehand misses in 5% of evaluations. If
    people look at it, and buy more labels while it does not decide, they have several chances to be misled.
    So the intervals after the k-th extension are computed at the confidence 1 − α / (k (k + 1)), where 1 − α
    is what was asked for: 97.5%, 99.2%, 99.6% ... for 95%. The shares α/2, α/6, α/12 ... add up to α, so by
    Bonferroni's inequality all intervals that are shown after extensions, however many, hold together with
    confidence 1 − α.

    The interval before the first extension had α of its own. A verdict against one limit is wrong on one side
    of an interval alone, which is α/2 for the first and α/2 for all later ones together: however long people
    extend while it is undecided, they reach a wrong verdict with chance α at most, given intervals that hold
    at their confidence on either side.

    (Spending α over looks: Lan and DeMets, Biometrika 70, 1983, 659-663. The shares here do not depend on how
    many labels each extension buys, so nothing has to be planned.)
    """
    if extensions < 0:
        raise BadInput(f"extensions must be 0 or more, got {extensions}")
    return confidence if extensions == 0 else 1 - (1 - confidence) / (extensions * (extensions + 1))


def widening(confidence: float, extensions: int) -> float:
    """How many times wider an interval of normal estimates is after one more extension, with equal labels.
    Always above 1; extensions share the error rate."""
    current, then = (confidence_after(confidence, k) for k in (extensions, extensions + 1))
    return float(scipy.special.ndtri(0.5 + then / 2) / scipy.special.ndtri(0.5 + current / 2))
