"""An estimate, as it is computed, kept, shown and printed: no arrays, no NaN, why a number is missing, and
when it is withheld.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import ClassVar, Literal

from assay.evalcore.errors import plural
from assay.evalcore.estimators.population import SAMPLING, About
from assay.evalcore.evaluation.nonresponse import ResponseRate
from assay.evalcore.measures.registry import named
from assay.evalcore.printed import HIDDEN, IF_ANY, LATER, key_as
from assay.evalcore.types import ONE_LABEL, UNSEEN, Diagnostic

OVER_CLUSTERS = ", over clusters"    # what the kind of an interval ends with that respects clusters

ComparisonVerdict = Literal["better", "worse", "different", "tie", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotExcluded:
    """What the labels so far cannot exclude: the share of the pool in cells where nobody labelled anything,
    a bound of the positives that are unseen, and the interval if more of them hide than the method
    expects."""

    no_positive_found: bool          # among all labels
    unlabelled_share: float = 0.0    # of the pool's items, in cells where nobody labelled anything
    unseen_bound: int | None = None  # the most positives that are unseen by the draws alone
    unseen_items: int = 0            # unlabelled items that bound is about
    unseen_bound_reason: str | None = None  # why there is no bound
    wide_lower: float | None = None  # the interval if more positives hide than the method expects
    wide_upper: float | None = None
    wide_announced: bool | None = None  # whether it reaches further than the interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck:
    """What a method with a model of the labels says of that model."""

    regime: str                      # which of its estimates is used
    broken_chance: float | None      # that the model does not hold


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTag:
    """What random sampling would have needed, and what the labels cannot exclude."""

    random_labels: int | None        # labels that random sampling would have needed for this interval
    random_labels_reason: str | None  # why that is not known
    not_excluded: NotExcluded | None = None   # None where there is no positive class, or in a segment
    model_check: ModelCheck | None = field(default=None, metadata=IF_ANY)   # only of methods with a model of
                                                                            # the labels


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
    """An interval that holds together with those of all other points of its curve, or of all systems."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """A value and the ends of its interval; None where there is no number."""

    value: float | None
    lower: float | None
    upper: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledSegment:
    """The estimate of a segment, of which the other segments and the label model have a part."""

    value: float
    lower: float                   # of its interval, of the confidence of the direct one
    upper: float
    towards: float                 # what the segment is expected to be but for its own labels
    own_share: float               # of the way from there to the direct estimate that its own labels take it
    spread: float                  # how much segments are found to differ beyond what is expected of each
    together: Band                 # ends that hold for all segments of the column at once
    chance_worst: float            # that it is the worst segment of the column


@dataclass(frozen=True, slots=True, kw_only=True)
class AlsoAbout:
    """The interval of the same value, about the other: the population, or the pool."""

    about: About
    lower: float | None
    upper: float | None
    interval: str                  # the kind of interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """Items people could not decide, and the estimate if all of them were decided alike."""

    items: int
    all_negative: Ends | None = field(default=None, metadata=IF_ANY)   # of a positive and a negative class
    all_positive: Ends | None = field(default=None, metadata=IF_ANY)
    if_all: Mapping[str, Ends] = field(default_factory=dict, metadata=IF_ANY)   # of other labels: by outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragility:
    """What makes an estimate fragile: the share of its variance that a single label carries, between 0 and
    1."""

    share_of_one_label: float        # of the variance


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureEstimate:
    """One estimate with its interval: computed, kept, shown and printed as this.

    None where there is no number, never NaN.
    """

    measure: str                     # such as f1
    question: str | None = field(default=None, metadata=IF_ANY)   # of several that are asked about an item
    system: str | None = None        # of further predictions in the pool; None: of the pool's own
    versus: str | None = None        # the system it is compared with; the value is then a difference
    class_name: str | None = field(default=None, metadata=key_as("class"))   # or tag, if it is of one
    at: float | None = None          # the threshold, of a point of a curve or of another threshold
    segment: str | None = None       # as column=value; None: the whole pool
    value: float | None              # None where it is undefined, with a reason
    undefined_reason: str | None = None   # why there is no value
    lower: float | None              # end of the interval
    upper: float | None              # end of the interval
    confidence: float                # of the interval
    interval: str                    # the kind of interval
    labels: int                      # labelled items it rests on
    about: About = "pool"            # what the interval is about
    revision: int = 0                # of the labels; 0: as the rounds were closed
    variance: float | None = field(default=None, metadata=HIDDEN)
    diagnostics: Mapping[str, Diagnostic] = field(default_factory=dict, metadata=HIDDEN)   # of the method
    price_tag: PriceTag | None = field(default=None, metadata=HIDDEN)   # of an estimate of the whole pool
    curve: str | None = field(default=None, metadata=IF_ANY)   # the curve that it is a point of
    band: Band | None = field(default=None, metadata=IF_ANY)   # of a point of a curve, or of one of several
                                                               # contenders: ends that hold for all of them
    undecided: Undecided | None = field(default=None, metadata=IF_ANY)   # only where people could not decide
                                                                         # some items
    nonresponse: ResponseRate | None = field(default=None, metadata=IF_ANY)   # only where rounds closed early
    comparison: Comparison | None = field(default=None, metadata=IF_ANY)   # only of differences
    also: AlsoAbout | None = field(default=None, metadata=IF_ANY)   # of a pool of fewer than 5,000 items
    pooled: PooledSegment | None = field(default=None, metadata=LATER)    # of a segment: with the others

    also_printed: ClassVar = {"standard_error": key_as(), "price": key_as(inline=True), "warning": IF_ANY}

    @property
    def standard_error(self) -> float | None:
        """The square root of the variance that a target of variances is held against; None where no label
        tells it, 0 of an exact value."""
        if self.variance is None or not (self.variance > 0 or self.interval == "exact"):
            return None
        return sqrt(self.variance)

    @property
    def price(self) -> PriceTag:
        """Its price tag; where there is none, one that says why."""
        if self.price_tag is not None:
            return self.price_tag
        reason = (
            "for a segment" if self.segment else "where systems are compared" if self.system else
            "for an interval over clusters" if self.interval.endswith(OVER_CLUSTERS) else
            "for a measure of so many numbers, or from labels that are used again"
        )
        return PriceTag(random_labels=None, random_labels_reason=f"not computed {reason}")

    @property
    def warning(self) -> Fragility | None:
        """Only where one label makes more than half of the variance."""
        share = self.diagnostics.get(ONE_LABEL)
        return Fragility(share_of_one_label=share) if isinstance(share, float) else None

    @property
    def unseen_share(self) -> float | None:
        """The share of the pool that may differ from every label, of a measure without bounds. None of other
        measures; its interval says nothing of that share."""
        share = self.diagnostics.get(UNSEEN)
        return share if isinstance(share, float) else None

    @property
    def not_excluded(self) -> NotExcluded | None:
        """What the labels so far cannot exclude, from the price tag; None where an estimate has none. Reports
        say it beside the interval."""
        return self.price_tag.not_excluded if self.price_tag else None

    @property
    def ends(self) -> Ends:
        """The value and the ends of its interval alone, without anything else of the estimate. For tables and
        comparisons."""
        return Ends(value=self.value, lower=self.lower, upper=self.upper)

    @property
    def of(self) -> str:
        """The system, the class and the question it is of: `v2 minus v1, cat`; empty for the pool's own
        predictions of all that is asked."""
        whose = f"{self.system} minus {self.versus}" if self.versus else self.system
        return ", ".join(part for part in (whose, self.class_name, self.question) if part)

    @property
    def place(self) -> str:
        """` at 0.5` for a point of a curve; else empty."""
        return "" if self.at is None else f" at {self.at:g}"

    @property
    def what(self) -> str:
        """`f1`, `recall of cat`, `f1 of v2 minus v1`, `precision at 0.5`."""
        return (f"{self.measure} of {self.of}" if self.of else self.measure) + self.place

    @property
    def title(self) -> str:
        """What is measured, and where: `accuracy of new minus old`, `f1 in language=en`."""
        return f"{self.what} in {self.segment}" if self.segment else self.what

    def same(self, other: "MeasureEstimate") -> bool:
        """Whether both estimate the same thing, each perhaps from other labels."""
        own_key, compared_key = (
            (
                estimate.measure, estimate.question, estimate.system, estimate.versus, estimate.class_name,
                estimate.at, estimate.curve, estimate.segment,
            )
            for estimate in (self, other)
        )
        return own_key == compared_key


def why_undefined(undefined_when: str, *, exact: bool) -> str:
    """Why a measure has no value, from what is said of it: by all labels that matter, or by those so far. A
    clause for messages and reports."""
    return undefined_when if exact else f"among the labels so far, {undefined_when}"


def withheld(estimate: MeasureEstimate, positives: int) -> MeasureEstimate:
    """The estimate as it is reported: without its value if only negatives were found and it is an end of the
    range.

    positives: labelled items of the positive class so far.  An exact value is reported. So is a posterior's,
    which is inside the range and says that it rests on the prior.

    No positive found yet: reported as such, and not as an estimate of 0 or 1.

    Before the first positive a sample's F1 is 0 and its accuracy may be 1, whatever the system is worth: on a
    rare class the first hundred labels are negative.  What is known then is the interval, and the bound for
    positives unseen (`evalcore.evaluation.price_tag`).  The value that the method computed stays in the
    ledger.
    """
    if positives or estimate.value is None or estimate.segment is not None:
        return estimate
    if estimate.interval in ("exact", SAMPLING):
        return estimate
    if estimate.value not in named(estimate.measure).bounds:
        return estimate
    bound = estimate.not_excluded.unseen_bound if estimate.not_excluded else None
    largest = None if bound is None else plural(bound, "positive")
    unseen = f"; at most {largest} among the unlabelled items" if largest else ""
    return replace(
        estimate,
        value=None,
        undefined_reason=f"no positive found yet among {plural(estimate.labels, 'label')}{unseen}",
        variance=None,
    )
