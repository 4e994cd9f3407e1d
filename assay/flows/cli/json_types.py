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
    """One estimate against its limit, with its interval at the given confidence. `value` is null where the
    measure is undefined, and `undefined_reason` then says why; `min` and `max` are the ends of the limit,
    null where there is none."""

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
    """What `assay check --json` prints: an evaluation against its limit or its baseline, with the pool, the
    labels so far, one check for each estimate that is judged, and the exit code of the command."""

    evaluation: str
    state: StateName
    pool: CheckedPoolJson
    labels: int
    checks: list[CheckJson]          # none before the first round is closed
    exit_code: Literal[0, 3, 4, 5]   # 0 ok, 3 breach, 4 inconclusive, 5 not finished


class PoolJson(TypedDict):
    """The frozen pool that something is about: its number of items and the digest of its values."""

    items: int
    digest: str


class ExportJson(TypedDict):
    """What `assay export --json` prints: the file that was written, its format, its labelled items and
    columns, the revision of the labels, the seed, and the pool that the labels are from."""

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
    """What `assay judges --json` prints: how well the judges of an evaluation agree with the labels people
    gave, the checks that were made of them, and one verdict over all audits, null without an audit."""

    evaluation: str
    labels: int
    revision: int                    # of the labels
    judges: NotRequired[Judges]      # how often they agree; only where it can be said
    checks: JudgeChecks
    verdict: AuditVerdict | None     # of all audits; null without one


class RecycledJson(TypedDict):
    """What `assay recycle --json` prints: for each of several classifiers the sample its precision needs,
    the parent first, and how many different items have to be labelled when labels are shared between the
    samples."""

    systems: list[RecycledSystem]    # the parent first
    labels: int                      # different items to label in all


class RepeatsJson(TypedDict):
    """What several answers to each item say."""

    repeats: Repeats
    unlabelled: int                  # rows without a label, left out


class SpecWrittenJson(TypedDict):
    """What `assay init --json` prints: the path of the spec that was written."""

    spec: str                        # the file


class ImportedJson(TypedDict):
    """What `assay import --json` prints about another tool's logs or tables: what was read, the file of the
    pool with its rows, columns and systems, a suggested spec as YAML, and notes on what was left out."""

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
    """One alert and what became of it: who raised it, what it says, what each channel was told, whether it
    still waits to be delivered, and whether it was raised during a mute, so that nobody is told."""

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
    """What `assay alerts --json` prints: the alerts in the outboxes of a store, and each delivery that was
    tried by this call."""

    alerts: list[AlertJson]
    deliveries: list[Delivery]


class AmendedJson(TypedDict):
    """What `assay amend --json` prints: the name of a monitor and the new version of its spec, null where
    nothing changed."""

    monitor: str
    amendment: Amendment | None      # null where nothing changed


class MutedJson(TypedDict):
    """What `assay mute --json` prints: the name of a monitor and the mute that was begun, with its end and
    its reason."""

    monitor: str
    mute: Mute


class UnmutedJson(TypedDict):
    """What `assay unmute --json` prints: the name of a monitor, and whether a mute was ended; false where
    the monitor was not muted."""

    monitor: str
    ended: bool                      # false where it was not muted


class ResponseJson(TypedDict):
    """What `assay acknowledge`, `assay assign` and `assay snooze` print with `--json`: the name of a
    monitor, and what a person did about one of its incidents."""

    monitor: str
    response: IncidentResponse


class ScheduledJson(TypedDict):
    """What `assay monitor --json` prints where it schedules: the monitor, the name of its deployment on the
    Prefect server, and whether it stays paused because a person had paused it."""

    monitor: str
    deployment: str                  # its name with the Prefect server
    paused: bool                     # somebody paused it, and it stays so


class GivenJson(TypedDict):
    """One verdict that this run gave: the window, the verdict (ok, breach or inconclusive), and how often
    that window had a verdict before."""

    window: str
    verdict: Verdict
    reissue: int                     # how often the window had a verdict before


class TickJson(HistoryJson):
    """What one run of a monitor did, beside the whole history of the monitor: evaluations it opened,
    verdicts it gave, what it waits for, and which windows failed, are not there yet, or are left out."""

    opened: list[str | None]         # evaluations; null where no labels were left to buy this month
    verdicts: list[GivenJson]
    waiting: dict[str, str]          # evaluation -> what for
    failed: dict[str, str]           # window -> the message
    awaited: dict[str, str]          # window -> what is not there yet, in time still
    left_out: dict[str, str]         # window -> why it is not judged
    deliveries: list[Delivery]       # of alerts


class MonitorStandingJson(TypedDict):
    """Where one monitor stands: its newest window and the state of that window, both null before there is a
    first one."""

    monitor: str
    window: str | None               # the newest; null before the first
    state: str | None                # its state


class EveryStandingJson(TypedDict):
    """What `assay status --json` prints without a name: where every evaluation in a store stands, the names
    of its monitors, and for each damaged evaluation the reason why it cannot be read."""

    store: str
    evaluations: list[StandingJson]
    monitors: NotRequired[list[str]]       # only where there are any
    damaged: NotRequired[dict[str, str]]   # evaluation -> why it cannot be read; only where there are any


class RandomSampleJson(TypedDict):
    """What a simple random sample of as many labels would have given for one measure: the half-width of its
    interval, the chance that the measure has no value, and the labels it needs to reach the target."""

    labels: int
    half_width: float
    chance_undefined: float          # that it holds no value
    labels_needed: int | None        # to the target


class DemoJson(StandingJson):
    """What `assay demo --json` prints: the standing of an evaluation whose truth is known, with the true
    value of each measure, what random sampling would have given, and where report and ledger are."""

    truth: dict[str, float]                          # measure -> value
    random_sampling: dict[str, RandomSampleJson]     # measure -> the same number of labels, at random
    report: str                                      # the file
    ledger: str                                      # the store


class ProblemJson(TypedDict):
    """An error as JSON: its kind (the name of the class, such as BadInput), the message for people, and the
    exit code of the command."""

    kind: str                        # UsageError, BadInput, ...
    message: str
    exit_code: int


class FailedJson(TypedDict):
    """Printed in place of all others by a command that fails."""

    error: ProblemJson
