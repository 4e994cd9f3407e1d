"""An estimate as a plain record: no arrays, no NaN, why a number is missing, and when it is withheld."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from assay.evalcore.errors import plural
from assay.evalcore.evaluation.nonresponse import ResponseRate
from assay.evalcore.measures.registry import named
from assay.evalcore.types import Diagnostic

ComparisonVerdict = Literal["better", "worse", "different", "tie", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTag:
    """What stands beside an estimate of the whole pool; all but the first two with two classes alone."""

    random_labels: int | None           # labels random sampling would have needed
    random_labels_reason: str | None    # why there is no such number
    no_positive_found: bool | None = None   # among all labels; None: no class is the positive one
    unlabelled_share: float = 0.0       # of the pool's items, in cells where nobody labelled anything
    unseen_bound: int | None = None     # the most positives that are unseen by the draws alone
    unseen_items: int = 0               # unlabelled items that bound is about
    unseen_bound_reason: str | None = None   # why there is no bound
    wide_lower: float | None = None     # the interval under the wide contamination prior
    wide_upper: float | None = None
    wide_announced: bool | None = None  # whether it reaches further than the interval
    regime: str | None = None           # what a method with a model of the labels says of it
    broken_chance: float | None = None


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
class MeasureEstimate:
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


def why_undefined(undefined_when: str, *, exact: bool) -> str:
    """Why a measure has no value, from what is said of it: by all labels that matter, or by those so far."""
    return undefined_when if exact else f"among the labels so far, {undefined_when}"


# No positive found yet: reported as such, and not as an estimate of 0 or 1.
#
# Before the first positive a sample's F1 is 0 and its accuracy may be 1, whatever the system is worth: on a
# rare class the first hundred labels are negative.  What is known then is the interval, and the bound for
# positives unseen (`evalcore.evaluation.price_tag`).  The value that the method computed stays in the ledger.

def withheld(estimate: MeasureEstimate, positives: int) -> MeasureEstimate:
    """The estimate as it is reported: without its value if only negatives were found and it is an end of the
    range.

    positives: labelled items of the positive class so far.  An exact value is reported. So is a posterior's,
    which is inside the range and says that it rests on the prior.
    """
    if positives or estimate.value is None or estimate.interval == "exact" or estimate.segment is not None:
        return estimate
    if estimate.value not in named(estimate.measure).bounds:
        return estimate
    bound = estimate.price_tag.unseen_bound if estimate.price_tag else None
    most = None if bound is None else plural(bound, "positive")
    unseen = f"; at most {most} among the unlabelled items" if most else ""
    return replace(
        estimate,
        value=None,
        undefined_reason=f"no positive found yet among {plural(estimate.labels, 'label')}{unseen}",
        variance=None,
    )
