"""The JSON of estimates, evaluations, forecasts, comparisons and reports: its keys and what they hold.

JSON Schemas are made from these types (`assay.tasks.json_schema`).
"""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from assay.evalcore.annotators.quality import AnnotatorQuality
from assay.evalcore.estimators.joint_region import JointRegion
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.forecast.audit import AuditPrice
from assay.evalcore.weighted.judges import Judges, ReliabilityBin
from assay.evalcore.weighted.sample import ScoreBin
from assay.tasks.report.data import ExtensionRow, Moved, StateName


class WaitingForJson(TypedDict):
    """What an evaluation waits for. Counts of unusual things are there only where there are any."""

    round: int
    items: int                       # asked; of what is asked a second time, only these
    desk: str                        # the kind of desk
    on_desk: NotRequired[int]        # of them; left out where the desk was not read
    answered: NotRequired[int]       # of them, by somebody
    tied: NotRequired[int]           # one more person is asked
    invalid: NotRequired[int]        # answered with something that is not a class
    not_on_desk: NotRequired[int]    # they will be posted again
    asked_again: NotRequired[int]    # everybody skipped them the first time
    deadline: NotRequired[str]       # of the round, with its zone
    overdue: NotRequired[bool]       # the deadline has passed
    cannot_close: NotRequired[str]   # why the round is not closed although it should be


class KnownBeforePart(TypedDict, total=False):
    """Labels that were there already."""

    labels_known_before: int         # of the labels: not bought; only where there are any


class OutcomesJson(TypedDict):
    """Labels that come by themselves."""

    known: int                       # items whose label has come


class OutcomesPart(TypedDict, total=False):
    """Where labels come by themselves."""

    outcomes: OutcomesJson           # only with a source of outcomes


class JointPart(TypedDict, total=False):
    """Where a method gives several measures a region."""

    joint_region: JointRegion        # only where the method gives several measures one


class RevisedJson(TypedDict):
    """What answers that changed later did to the estimates."""

    items: int                       # with another label than their round was closed with
    moved: list[Moved]               # one for each estimate of the whole pool


class RevisionPart(TypedDict, total=False):
    """After a revision."""

    revised: RevisedJson             # only after a revision


class ExtensionPart(TypedDict, total=False):
    """After it was given more labels when it had finished."""

    extensions: list[ExtensionRow]   # only after an extension


class EvaluationJson(KnownBeforePart, OutcomesPart, JointPart, RevisionPart, ExtensionPart):
    """An evaluation, finished or not."""

    evaluation: str                  # its name
    state: StateName                 # waiting: for people; open: something is due
    waiting_for: WaitingForJson | None
    stopped_by: str | None           # half_width, variance, budget or pool; null until it stops
    verdict: Verdict | None          # on the first measure; null without a limit
    labels: int                      # labelled items
    rounds: int                      # closed
    revision: int                    # of the labels; 0: as the rounds were closed
    estimates: list[MeasureEstimate]    # the first measure first; segments after the whole pool


class ThresholdJson(TypedDict):
    """What the measure has to be, at least and at most."""

    min: float | None
    max: float | None


class SimulationErrorJson(TypedDict):
    """How far the median and the share may be off, since only so many worlds were simulated."""

    least: int | None                # the median is at least this
    most: int | None                 # and at most this; null: beyond the horizon
    share_of_worlds: float           # the share is within so much


class ForecastJson(TypedDict):
    """Labels until a goal is met, over plausible worlds."""

    half_width: float | None         # the goal is one of the first three
    variance: float | None
    threshold: ThresholdJson | None
    labels: int | None               # in all, the median; null: more than the horizon
    low: int | None                  # the middle 80% of the worlds
    high: int | None                 # null: beyond the horizon
    more: int | None                 # labels beyond those there are
    horizon: int                     # labels up to which was simulated
    share_of_worlds: float           # that met the goal within the horizon
    worlds: int
    simulation_error: SimulationErrorJson | None  # null where it was not reckoned


class OutlookJson(TypedDict):
    """What is ahead of an evaluation that has not finished."""

    target: ForecastJson | None      # until the target
    verdict: ForecastJson | None     # until the verdict
    audit: AuditPrice | None         # what would bring a wide interval down


class StandingJson(EvaluationJson):
    """Where an evaluation stands."""

    method: str                      # the one in use, never auto
    method_reason: str | None        # why auto chose it; null where it was asked for by name
    forecast: OutlookJson | None     # null where it has finished, or nothing was forecast


class ReportedPoolJson(TypedDict):
    """The pool of an evaluation."""

    items: int
    digest: str


class ReportedJson(EvaluationJson):
    """One of several evaluations in a report."""

    pool: ReportedPoolJson
    began: str | None                # when it began and finished; null where that is not recorded
    finished: str | None


class SeveralJson(TypedDict):
    """Several evaluations in one report, also in its reports.json."""

    evaluations: list[ReportedJson]


class ComparedJson(TypedDict):
    """Several systems side by side."""

    evaluation: str
    state: StateName
    labels: int
    rounds: int
    items: int                       # of the pool
    baseline: str
    systems: list[str]               # the baseline first
    differing: dict[str, int]        # system -> items that it predicts otherwise than the baseline
    pairs: Literal["all", "baseline"]  # which differences there are
    decided: bool                    # every difference of the first measure
    estimates: list[MeasureEstimate]    # of each system
    differences: list[MeasureEstimate]
    by_segment: list[MeasureEstimate]   # both in each segment, where the spec names any


class ErrorJson(TypedDict):
    """A labelled item that was predicted wrongly."""

    item_id: str
    predicted: str
    label: str
    score: float | None
    probability: float | None
    round: int
    cell: int                        # the part of the pool it was drawn from
    asked: bool                      # false: its label was known beforehand
    chance: float                    # of the draw that bought the label
    chance_kind: str                 # per draw, inclusion (in the round) or census
    weight: float | None             # items it stands for; null where that is not known


class ErrorsJson(TypedDict):
    """The errors among the labelled items."""

    labelled: int
    count: int                       # of them, those with an error
    stand_for: float | None          # items of the pool; null where weights are not known
    items: list[ErrorJson]           # those that weigh most


class RoundJson(TypedDict):
    """What was known when a round closed."""

    round: int
    asked: int                       # newly
    labels: int                      # so far
    estimates: list[MeasureEstimate]


class ReportJson(EvaluationJson):
    """The file report.json."""

    history: list[RoundJson]
    annotators: NotRequired[AnnotatorQuality]      # how people did, where it is known
    audit: NotRequired[AuditPrice]                 # only where a wide interval is announced
    judges: NotRequired[Judges]                    # only where the pool has judges
    errors: NotRequired[ErrorsJson]                # only where there are predictions
    score_axis: NotRequired[list[ScoreBin]]        # of two classes: where the labels went
    reliability: NotRequired[list[ReliabilityBin]]  # of classes with probabilities
