"""What a report is made of: plain values, gathered by a flow from the ledger, and nothing that reads it.

Everything the page, the JSON and the Parquet file say is in here, so the same data gives the same bytes.
Times are whatever strings the caller passes; no clock is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.errors import AssayError
from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.weighted.judges import Judges, ReliabilityBin
from assay.evalcore.weighted.sample import ScoreBin, WrongPredictions

StateName = Literal["waiting", "open", "finished"]


class BadReport(AssayError):
    """A report was asked for from values that contradict themselves; the message names the estimate."""


def checked(row: MeasureEstimate) -> MeasureEstimate:
    """The estimate, which can be shown.

    Raises BadReport for a number that is not finite, a value outside its interval, or a missing value
    without a reason: an undefined measure is said to be undefined, never printed as NaN.
    """
    where = f"estimate of {row.title}"
    for name in ("value", "lower", "upper", "confidence"):
        number = getattr(row, name)
        if number is not None and not isfinite(number):
            raise BadReport(f"{where}: {name} is {number}; what is unknown is passed as None")
    if (row.value is None) != bool(row.undefined_reason):
        raise BadReport(f"{where}: needs a value or an undefined_reason, and not both")
    if row.lower is not None and row.upper is not None and row.lower > row.upper:
        raise BadReport(f"{where}: its interval ends ({row.upper}) before it begins ({row.lower})")
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSystems:
    """The systems that are compared."""

    baseline: str
    others: Sequence[str]
    differing: Mapping[str, int]                # other -> items of the pool that it predicts otherwise
    positive: str | None = None                 # the class that measures count, of two
    all_pairs: bool = False                     # every two systems are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What revised labels did to one estimate of the whole pool."""

    measure: str
    value_before: float | None
    value: float | None
    lower_before: float | None
    lower: float | None
    upper_before: float | None
    upper: float | None
    of: str = ""                        # the system and the class it is of


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionRow:
    """More labels that a finished evaluation was given."""

    extension: int                      # from 1
    rounds: int                         # closed by then
    labels_before: int                  # the budget until then
    labels: int                         # the budget from then on
    confidence: float                   # of each interval from then on
    corrected: bool                     # the confidence was raised for the looks; else it holds at every look
    beyond_target: bool                 # its target had been met: from then on the budget alone stops it
    by: str                             # as they call themselves; may be empty
    reason: str                         # may be empty
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRow:
    """What was known when a round closed."""

    round: int
    asked: int                          # items newly asked in this round
    labels: int                         # distinct items labelled so far
    estimates: Sequence[MeasureEstimate]
    positives: int | None = None        # labelled items of the positive class so far


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSummary:
    """The frozen pool, from its manifest."""

    n: int
    digest: str
    sources: Sequence[str]
    predicted_positive: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData:
    """One evaluation, finished or not. The first estimate is the headline and drove the sampling."""

    evaluation: str
    state: StateName
    estimates: Sequence[MeasureEstimate]         # newest revision; segments after the rows of the whole pool
    labels: int
    rounds: int
    pool: PoolSummary
    spec: Mapping[str, Any]                      # as begun, defaults filled in; holds no secrets
    method: str
    interval_note: str                           # what intervals of this kind were measured to cover
    budget: int                                  # the one in force: an extension makes it larger
    seed: int
    versions: Mapping[str, str]                  # of assay, Python and whatever else decided the numbers
    revision: int = 0
    history: Sequence[RoundRow] = ()
    waiting_for: Mapping[str, Any] | None = None
    stopped_by: str | None = None                # half_width | variance | budget | pool
    verdict: Verdict | None = None
    limit_min: float | None = None
    limit_max: float | None = None
    labels_to_decide: int | None = None          # "about n more labels would decide"
    target_half_width: float | None = None
    target_variance: float | None = None
    outcome: OutcomeKind | None = None           # what people answer; None: a positive or a negative class
    pairs: Sequence[tuple[float, float]] = ()    # prediction and label of labelled items, if numbers
    positive: str = "positive"                   # the class names, as people saw them
    negative: str = "negative"
    sampling_note: str = ""                      # how items were chosen; empty: the method is named
    serves_all: bool = False                     # every measure drives the choice, unless the spec says which
    outcomes: int | None = None                  # items whose label came by itself; None without a source
    known_before: int = 0                        # labels that were not bought
    undecided: int = 0                           # items people could not decide
    annotators: AnnotatorQuality | None = None   # how people do, pseudonymous: tasks.report.annotators
    unanswered: int = 0                          # items whose round was closed before they were answered
    moved: Sequence[Moved] = ()                  # what the revision did to the estimates
    extensions: Sequence[ExtensionRow] = ()      # more labels that it was given after it had finished
    confidence_asked: float = 0.95               # that of the intervals unless it was extended
    extend_command: str | None = None            # what buys as many labels as would decide
    revised_items: int = 0                       # items with another label than their round was closed with
    systems: ComparedSystems | None = None              # where systems are compared
    joint: JointRegion | None = None             # the joint region of several measures, where there is one
    judges: Judges | None = None                 # what the labels say of the pool's own guesses
    errors: WrongPredictions | None = None       # among the labelled items; None without predictions
    error_texts: Mapping[str, str] = field(default_factory=dict)   # item -> what people saw, of the errors
    score_axis: Sequence[ScoreBin] = ()          # where the labels of two classes went
    reliability: Sequence[ReliabilityBin] = ()   # the probabilities of two classes against the labels
    audit_price: AuditPrice | None = None        # where a wide interval is announced: what brings it down
    notes: Sequence[str] = field(default_factory=tuple)
    began: str | None = None                     # times as the caller wants them read
    finished: str | None = None
    truth: Mapping[str, float] | None = None     # measure -> exact value, where it is known (the demo)
    random_sampling: Sequence[RandomSampling] = ()

    @property
    def classes(self) -> Sequence[str]:
        """The names of classes of equal standing, or tags, in the order of their codes."""
        return () if self.outcome is None else self.outcome.parts

    def __post_init__(self) -> None:
        if not self.estimates:
            raise BadReport(f"evaluation {self.evaluation!r} has no estimates to report")
        for row in self.estimates:
            checked(row)
