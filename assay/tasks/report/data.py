"""What a report is made of: plain values, gathered by a flow from the ledger, and nothing that reads it.

Everything the page, the JSON and the Parquet file say is in here, so the same data gives the same bytes.
Times are whatever strings the caller passes; no clock is read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Generic, TypeVar

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.errors import AssayError
from assay.evalcore.estimators.random_sampling import RandomSampling
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.round_estimate import RoundEstimate
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.outcomes.base import OutcomeKind
from assay.evalcore.weighted.judge_audit import JudgeAudit
from assay.evalcore.weighted.judge_effects import JudgeEffects
from assay.evalcore.weighted.judges import Judges, ReliabilityBin
from assay.evalcore.weighted.sample import ScoreBin, WrongPredictions
from assay.tasks.report.standing import Standing

MATRIX = "confusion_matrix"


class BadReport(AssayError):
    """A report was asked for from values that contradict themselves; the message names the estimate."""


def checked(row: MeasureEstimate) -> MeasureEstimate:
    """The estimate, which can be shown.

    Raises BadReport for a number that is not finite, a value outside its interval, or a missing value
    without a reason: an undefined measure is said to be undefined, never printed as NaN.
    """
    place = f"estimate of {row.title}"
    for name in ("value", "lower", "upper", "confidence"):
        number = getattr(row, name)
        if number is not None and not isfinite(number):
            raise BadReport(f"{place}: {name} is {number}; what is unknown is passed as None")
    if (row.value is None) != bool(row.undefined_reason):
        raise BadReport(f"{place}: needs a value or an undefined_reason, and not both")
    if row.lower is not None and row.upper is not None and row.lower > row.upper:
        raise BadReport(f"{place}: its interval ends ({row.upper}) before it begins ({row.lower})")
    return row


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedSystems:
    """The systems that a report compares: the baseline, the others, and for each of these the number of
    items of the pool that it predicts otherwise."""

    baseline: str
    others: Sequence[str]
    differing: Mapping[str, int]                # other -> items of the pool that it predicts otherwise
    positive: str | None = None                 # the class that measures count, of two
    all_pairs: bool = False                     # every two systems are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSummary:
    """The frozen pool as its manifest has it: its number of items N, the digest of its values, its sources,
    and how many items are predicted positive, None without a positive class."""

    n: int
    digest: str
    sources: Sequence[str]
    predicted_positive: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeChecks:
    """What moves the judges away from people, and whether an old calibration of them still holds."""

    effects: JudgeEffects | None = None
    audits: tuple[JudgeAudit, ...] = ()
    notes: tuple[str, ...] = ()                  # what cannot be said, and why


T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class ReportFinding(Generic[T_co]):
    """Something that sections of a report read besides the standing (`tasks.report.sections`), and that a
    flow of the same name finds in the ledger (`flows.report.gather`)."""

    name: str

    def value_in(self, data: "ReportData") -> T_co | None:
        """Its value in the data of a report; None where there is none."""
        return data.findings.get(self.name)


ANNOTATORS = ReportFinding[AnnotatorQuality]("annotators")   # how people do, pseudonymous
CEILING = ReportFinding[Sequence[MeasureEstimate]]("ceiling")   # one person against another
AUDIT = ReportFinding[AuditPrice]("audit")   # where a wide interval is announced: what brings it down
JUDGE_FIGURES = ReportFinding[Judges]("judges")   # what the labels say of the pool's own guesses
JUDGE_CHECKS = ReportFinding[JudgeChecks]("judge_checks")   # where the spec asks
ERRORS = ReportFinding[WrongPredictions]("errors")   # among the labelled items
ERROR_TEXTS = ReportFinding[Mapping[str, str]]("error_texts")   # item -> what people saw, of the errors
SCORE_AXIS = ReportFinding[Sequence[ScoreBin]]("score_axis")   # where the labels of two classes went
RELIABILITY = ReportFinding[Sequence[ReliabilityBin]]("reliability")   # probabilities against the labels
PAIRS = ReportFinding[Sequence[tuple[float, float]]]("pairs")   # prediction and label, if numbers
STRENGTHS = ReportFinding[Mapping[str, float]]("strengths")   # system -> log strength, of comparisons
TRUE_VALUES = ReportFinding[Mapping[str, float]]("truth")   # measure -> exact value, known to the demo
RANDOM_SAMPLING = ReportFinding[Sequence[RandomSampling]]("random_sampling")   # what it would have given
IN_JSON: tuple[ReportFinding[object], ...] = (
    ANNOTATORS, CEILING, AUDIT, JUDGE_FIGURES, JUDGE_CHECKS, ERRORS, SCORE_AXIS, RELIABILITY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedTargets:
    """The targets at which an evaluation stops: of the first measure, or of several by name."""

    half_width: float | None = None
    variance: float | None = None
    named: Mapping[str, float] = field(default_factory=dict)   # by measure, or the trace of all
    of_variances: bool = False                                 # those named: of variances, not half-widths


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportData(Standing):
    """An evaluation, finished or not, and what its report says besides. The first estimate is the headline
    and drove the sampling.
    """

    pool: PoolSummary
    spec: Mapping[str, object]                   # as begun, defaults filled in; holds no secrets
    seed: int
    versions: Mapping[str, str]                  # of assay, Python and whatever else decided the numbers
    history: Sequence[RoundEstimate] = ()        # what was known when each round closed
    labels_to_decide: int | None = None          # "about n more labels would decide"
    targets: AskedTargets = AskedTargets()
    outcome: OutcomeKind | None = None           # what people answer; None: a positive or a negative class
    negative: str = "negative"                   # the class name, as people saw it
    sampling_note: str = ""                      # how items were chosen; empty: the method is named
    serves_all: bool = False                     # every measure drives the choice, unless the spec says which
    extend_command: str | None = None            # what buys as many labels as would decide
    systems: ComparedSystems | None = None       # where systems are compared
    notes: Sequence[str] = ()
    window_of: tuple[str, str] | None = None     # the monitor that it was opened for, and the window
    began: str | None = None                     # times as the caller wants them read
    finished: str | None = None
    findings: Mapping[str, Any] = field(default_factory=dict)   # `ReportFinding` -> its value, if any

    @property
    def classes(self) -> Sequence[str]:
        """The names of classes of equal standing, or tags, in the order of their codes. None of them for two
        classes, numbers and preferences."""
        return () if self.outcome is None else self.outcome.parts

    def __post_init__(self) -> None:
        if not self.estimates:
            raise BadReport(f"evaluation {self.evaluation!r} has no estimates to report")
        for row in self.estimates:
            checked(row)


def whole_pool_rows(data: ReportData) -> list[MeasureEstimate]:
    """The current estimates of the whole pool, by measure, system and class; no matrix, and no curve. Of
    further questions as well, in the order of the spec."""
    return [
        row for row in data.estimates
        if row.segment is None and row.measure != MATRIX and row.curve is None
    ]


def rounds_and_reissue(data: ReportData) -> list[RoundEstimate]:
    """The history, and the current estimates where it does not end with them (a revision, or no history).
    Each is a point of the figure against labels."""
    past = list(data.history)
    if data.known is None or (past and past[-1].rows == data.estimates):
        return past
    return [*past, replace(data.known, asked=0, positives=None)]
