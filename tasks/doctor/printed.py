"""The JSON of an examination: its keys and what they hold."""

from typing_extensions import TypedDict

from assay.evalcore.forecast.prognosis import HiddenPrice
from assay.evalcore.forecast.suitability import Suitability
from assay.tasks.doctor.finding import Finding
from assay.tasks.doctor.summary import FreezeCost, MeasureFinding, ScoreSummary
from assay.tasks.report.printed import ForecastJson

_From = TypedDict("_From", {"from": float})


class ColumnsJson(TypedDict):
    """Column names by what they hold; null or empty where there is none."""

    id: str | None
    score: str | None
    probability: str | None
    prediction: str | None
    label: str | None
    time: list[str]
    display: list[str]
    segments: list[str]


class CalibrationBinJson(_From):
    """Items of neighbouring probabilities, from the lowest to the highest."""

    to: float
    items: int
    expected: float                  # mean probability
    observed: float                  # share of positives


class CalibrationJson(TypedDict):
    """Expected and counted positives."""

    expected_positives: float
    positives: int
    bins: list[CalibrationBinJson]


class BlockJson(TypedDict):
    """Consecutive rows of one file."""

    file: str
    first_row: int                   # from 1; the header of a CSV file is not a row
    rows: int                        # of CSV and JSON Lines, at most


class SampleJson(TypedDict):
    """Which rows were looked at."""

    rows_counted: bool               # false: `rows` is estimated
    blocks: list[BlockJson]


class SummaryPart(TypedDict, total=False):
    """What the numbers look like; only where they can be used."""

    scores: ScoreSummary
    calibration: CalibrationJson | None   # null without labels
    measures: list[MeasureFinding]
    freeze: FreezeCost


class ChosenJson(TypedDict):
    """The method that auto would take."""

    name: str
    reason: str


class CostJson(ForecastJson):
    """Labels until a half-width is reached."""

    measure: str
    random_labels: int | None        # by random sampling; null where the measure often does not exist


class PrognosisPart(TypedDict, total=False):
    """What an evaluation would cost; only where it was forecast."""

    method: ChosenJson
    forecast: list[CostJson]
    random_sampling_undefined_at_100_labels: float   # chance that 100 random labels hold no value
    hidden_positives: HiddenPrice | None             # what excluding them takes; null where none matter
    methods: list[Suitability]


class ExaminationJson(SummaryPart, PrognosisPart):
    """What was found of a file or a spec."""

    subject: str
    usable: bool                     # there is no problem, in the rows that were read
    rows: int                        # of the source
    rows_read: int
    sample: SampleJson | None        # null where every row was read
    columns: ColumnsJson | None      # null for a spec, and where they cannot be read
    findings: list[Finding]
    spec: str | None                 # suggested, as YAML
