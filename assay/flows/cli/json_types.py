"""The JSON of single commands: its keys and what they hold."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Verdict
from assay.evalcore.recycled import RecycledSystem
from assay.evalcore.repeats import Repeats
from assay.evalcore.weighted.judge_audit import AuditVerdict
from assay.evalcore.weighted.judges import Judges
from assay.tasks.alerts.outbox import Delivery, Settled
from assay.tasks.ledger.monitors import Amendment, Mute
from assay.tasks.ledger.responses import IncidentResponse
from assay.tasks.report.data import JudgeChecks
from assay.tasks.report.history.record import HistoryJson
from assay.tasks.report.standing import StandingJson, StateName
from assay.tasks.spec.alerts import Kind, Severity

_OfClass = TypedDict("_OfClass", {"class": str | None})


class CheckJson(_OfClass):
    """An estimate against a limit."""

    measure: str
    question: NotRequired[str]       # of several that are asked about an item
    system: str | None
    versus: str | None               # the baseline; the value is then a difference
    segment: str | None
    value: float | None
    undefined_reason: str | None
    lower: float | None
    upper: float | None
    confidence: float
    min: float | None                # the limit: at least
    max: float | None                # and at most
    verdict: Verdict


class CheckedPoolJson(TypedDict):
    """The pool that the numbers are about, and whether its source still holds it."""

    items: int
    digest: str                      # SHA-256 of its values
    frozen: str | None               # when, ISO 8601
    source: str                      # as the spec names it, or --source
    same: bool | None                # true: the source holds this pool; null: it could not be looked at
    not_compared: str | None         # why not


class CheckedJson(TypedDict):
    """An evaluation against a limit or its baseline."""

    evaluation: str
    state: StateName
    pool: CheckedPoolJson
    labels: int
    checks: list[CheckJson]          # none before the first round is closed
    exit_code: Literal[0, 3, 4, 5]   # 0 ok, 3 breach, 4 inconclusive, 5 not finished


class PoolJson(TypedDict):
    """The frozen pool."""

    items: int
    digest: str


class ExportJson(TypedDict):
    """What was exported."""

    evaluation: str
    out: str                         # the file
    format: str                      # csv, parquet, or the tool whose scores they are
    items: int                       # labelled
    columns: list[str]               # none of scores
    revision: int                    # of the labels
    seed: int
    replaced: bool                   # whether a file of this name was there
    pool: PoolJson


class EstimatedJson(TypedDict):
    """New estimates from labels that were bought earlier, or that a part of a pool has."""

    evaluation: str                  # or the pool
    labels: int
    rounds: int                      # 0 of a pool
    revision: int                    # of the labels
    estimates: list[MeasureEstimate]
    notes: list[str]


class JudgesJson(TypedDict):
    """What labels say of an evaluation's judges."""

    evaluation: str
    labels: int
    revision: int                    # of the labels
    judges: NotRequired[Judges]      # how often they agree; only where it can be said
    checks: JudgeChecks
    verdict: AuditVerdict | None     # of all audits; null without one


class RecycledJson(TypedDict):
    """Samples for the precision of several classifiers."""

    systems: list[RecycledSystem]    # the parent first
    labels: int                      # different items to label in all


class RepeatsJson(TypedDict):
    """What several answers to each item say."""

    repeats: Repeats
    unlabelled: int                  # rows without a label, left out


class SpecWrittenJson(TypedDict):
    """The spec that was written."""

    spec: str                        # the file


class ImportedJson(TypedDict):
    """What became of another tool's logs."""

    format: str
    read: list[str]                  # files and addresses
    pool: str                        # the file that was written
    rows: int
    columns: list[str]
    systems: list[str]               # whose responses they are
    notes: list[str]                 # what is not imported, and what was noticed
    spec: str | None                 # suggested, as YAML


class PublishedJson(TypedDict):
    """The run of MLflow that holds an evaluation or a monitor, and events of OpenTelemetry."""

    name: str                        # of the evaluation, or monitors/NAME
    run_id: str | None               # null: MLflow was not told
    experiment_id: str | None
    new: bool                        # the run was made by this call
    metrics: int                     # values of metrics that this call added
    events: int                      # sent by OTLP, an estimate each


class AlertJson(TypedDict):
    """An alert, and what became of it."""

    owner: str                       # an evaluation, or monitors/NAME
    key: str                         # names the alert within its owner
    severity: Severity
    kind: Kind
    subject: str
    body: str
    links: list[str]
    group: str                       # what it is about; empty where there is only one thing
    channels: dict[str, Settled]     # channel -> what it was told
    waiting: bool                    # to be delivered
    muted: bool                      # raised during a mute: nobody is told


class AlertsJson(TypedDict):
    """Alerts, and what was delivered by this call."""

    alerts: list[AlertJson]
    deliveries: list[Delivery]


class AmendedJson(TypedDict):
    """A new version of a monitor's spec."""

    monitor: str
    amendment: Amendment | None      # null where nothing changed


class MutedJson(TypedDict):
    """A mute that was begun."""

    monitor: str
    mute: Mute


class UnmutedJson(TypedDict):
    """A mute that was ended."""

    monitor: str
    ended: bool                      # false where it was not muted


class ResponseJson(TypedDict):
    """What somebody did about an incident of a monitor."""

    monitor: str
    response: IncidentResponse


class ScheduledJson(TypedDict):
    """A monitor that was scheduled."""

    monitor: str
    deployment: str                  # its name with the Prefect server
    paused: bool                     # somebody paused it, and it stays so


class GivenJson(TypedDict):
    """A verdict that this run gave."""

    window: str
    verdict: Verdict
    reissue: int                     # how often the window had a verdict before


class TickJson(HistoryJson):
    """The history of a monitor, and what this run did."""

    opened: list[str | None]         # evaluations; null where no labels were left to buy this month
    verdicts: list[GivenJson]
    waiting: dict[str, str]          # evaluation -> what for
    failed: dict[str, str]           # window -> the message
    awaited: dict[str, str]          # window -> what is not there yet, in time still
    left_out: dict[str, str]         # window -> why it is not judged
    deliveries: list[Delivery]       # of alerts


class MonitorStandingJson(TypedDict):
    """Where a monitor stands."""

    monitor: str
    window: str | None               # the newest; null before the first
    state: str | None                # its state


class EveryStandingJson(TypedDict):
    """Everything in a store."""

    store: str
    evaluations: list[StandingJson]
    monitors: NotRequired[list[str]]       # only where there are any
    damaged: NotRequired[dict[str, str]]   # evaluation -> why it cannot be read; only where there are any


class RandomSampleJson(TypedDict):
    """What a random sample would have given."""

    labels: int
    half_width: float
    chance_undefined: float          # that it holds no value
    labels_needed: int | None        # to the target


class DemoJson(StandingJson):
    """The demo: an evaluation whose truth is known."""

    truth: dict[str, float]                          # measure -> value
    random_sampling: dict[str, RandomSampleJson]     # measure -> the same number of labels, at random
    report: str                                      # the file
    ledger: str                                      # the store


class ProblemJson(TypedDict):
    """What went wrong."""

    kind: str                        # UsageError, BadInput, ...
    message: str
    exit_code: int


class FailedJson(TypedDict):
    """Printed in place of all others by a command that fails."""

    error: ProblemJson
