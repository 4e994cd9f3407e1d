"""All findings about one file or spec, what a pool would cost, and the JSON of both."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from typing_extensions import TypedDict

from assay.evalcore.errors import plural
from assay.evalcore.forecast.prognosis import Cost, HiddenPrice, Prognosis, Suitability
from assay.evalcore.json_values import JsonObject
from assay.evalcore.printed import printed
from assay.tasks.doctor.portion import Portion
from assay.tasks.doctor.roles import Roles
from assay.tasks.doctor.summary import Calibration, FreezeCost, MeasureFinding, NumbersSummary, ScoreSummary
from assay.tasks.report.price import ForecastJson, forecast_json, two_figures, words_of_range

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`ok`: as it should be. `warning`: usable, with a loss. `problem`: to be remedied before anything."""

    level: Level
    about: str               # a column, a key of the spec, or one word such as "rows"
    says: str
    remedy: str | None = None

    def to_json(self) -> JsonObject:
        """The finding as an object of JSON with the keys level, about, says and remedy; the last is null
        where none is needed."""
        return {"level": self.level, "about": self.about, "says": self.says, "remedy": self.remedy}


def ok(about: str, says: str) -> Finding:
    """A finding of level ok: what it is about is as it should be, and nothing has to be done. `about` is a
    column, a key of the spec or a word such as rows."""
    return Finding(level="ok", about=about, says=says)


def warning(about: str, says: str, remedy: str) -> Finding:
    """A finding of level warning: the data can be used, with a loss that it describes and that the remedy
    would avoid. `about` names the column or key."""
    return Finding(level="warning", about=about, says=says, remedy=remedy)


def problem(about: str, says: str, remedy: str) -> Finding:
    """A finding of level problem: it has to be remedied first. A single one makes a file or spec unusable.
    `about` names the column or key."""
    return Finding(level="problem", about=about, says=says, remedy=remedy)


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


class BlockJson(TypedDict):
    """Consecutive rows of one file, as an examination's JSON lists them: the file, its first row counted
    from 1, and how many rows they are (of text, at most)."""

    file: str
    first_row: int                   # from 1; the header of a CSV file is not a row
    rows: int                        # of CSV and JSON Lines, at most


class SampleJson(TypedDict):
    """Which rows were looked at where a large source was sampled, as JSON: the blocks of rows, and whether
    the rows of the whole source were counted or only estimated."""

    rows_counted: bool               # false: `rows` is estimated
    blocks: list[BlockJson]


class SummaryPart(TypedDict, total=False):
    """What the numbers look like; only where they can be used."""

    scores: ScoreSummary
    calibration: Calibration | None   # null without labels
    measures: list[MeasureFinding]
    freeze: FreezeCost


class ChosenJson(TypedDict):
    """The method that `auto` would take for this pool, as JSON: its name, and the reason in words."""

    name: str
    reason: str


class CostJson(ForecastJson):
    """The forecast of labels until the interval of one measure has a given half-width, as JSON, and beside
    it the labels that random sampling would take, null where the measure often does not exist."""

    measure: str
    random_labels: int | None        # by random sampling; null where the measure often does not exist


class PrognosisPart(TypedDict, total=False):
    """The keys of an examination's JSON that say what an evaluation would cost: the method, labels to each
    half-width, the chance that 100 random labels give no value, the price of excluding hidden positives,
    and how methods suit."""

    method: ChosenJson
    forecast: list[CostJson]
    random_sampling_undefined_at_100_labels: float   # chance that 100 random labels hold no value
    hidden_positives: HiddenPrice | None             # what excluding them takes; null where none matter
    methods: list[Suitability]


class ExaminationJson(SummaryPart, PrognosisPart):
    """The JSON of an examination of a file or spec: what was read, which column is what, the findings and a
    suggested spec; with numbers that can be used also their summary, and the forecast where one was made."""

    subject: str
    usable: bool                     # there is no problem, in the rows that were read
    rows: int                        # of the source
    rows_read: int
    sample: SampleJson | None        # null where every row was read
    columns: ColumnsJson | None      # null for a spec, and where they cannot be read
    findings: list[Finding]
    spec: str | None                 # suggested, as YAML


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examination:
    """What the doctor found of one file or spec: the findings, which column is what, a summary of the
    numbers, what an evaluation would cost, and a suggested spec. What could not be made is None."""

    subject: str
    findings: list[Finding]
    rows: int = 0                        # of the source; estimated from a sample of text
    rows_read: int = 0
    sample: SampleJson | None = None     # None where every row was read
    roles: Roles | None = None
    summary: NumbersSummary | None = None   # None where the numbers cannot be used
    prognosis: Prognosis | None = None
    spec: str | None = None              # suggested, as YAML
    labelled: bool = False               # a file: every row that was read has a label
    measured_lines: tuple[str, ...] = ()   # a file: of which class measures are, and what decides

    @property
    def usable(self) -> bool:
        """Whether the file or spec can be used as it is: no finding is a problem. Warnings do not count.
        `assay doctor` ends with 0 or 2 by it."""
        return all(finding.level != "problem" for finding in self.findings)

    def to_json(self) -> ExaminationJson:
        """The examination as one object of JSON. The keys of the summary and of the prognosis are left out
        where there is none."""
        roles = self.roles
        document: ExaminationJson = {
            "subject": self.subject,
            "usable": self.usable,
            "rows": self.rows,
            "rows_read": self.rows_read,
            "sample": self.sample,
            "columns": None if roles is None else {
                "id": roles.id, "score": roles.score, "probability": roles.probability,
                "prediction": roles.prediction, "label": roles.label, "time": list(roles.time),
                "display": list(roles.display), "segments": list(roles.segments),
            },
            "findings": printed([finding.to_json() for finding in self.findings]),
            "spec": self.spec,
        }
        if self.summary:
            document |= printed(self.summary)
        if self.prognosis:
            document = {**document, **prognosis_json(self.prognosis)}
        return document


_WORTH_SAYING = 0.05    # chance that a random sample says nothing, from which on it is told


def of_all_rows(ahead: Prognosis, times: float) -> Prognosis:
    """With the counts of items, found in a sample, as numbers of all rows; times: rows of the source for each
    of those read. Labels depend on shares alone."""
    hidden = ahead.hidden
    if hidden is None:
        return ahead
    positives, items = round(times * hidden.positives), round(times * hidden.items)
    return replace(ahead, hidden=replace(hidden, positives=positives, items=items))


def prognosis_json(ahead: Prognosis) -> PrognosisPart:
    """The keys that a prognosis adds to an examination's JSON: the method, the labels to each half-width,
    the chance that 100 random labels leave the measure undefined, hidden positives, and how methods suit."""
    return {
        "method": {"name": ahead.method.method, "reason": ahead.method.reason},
        "forecast": [
            {"measure": ahead.measure, **forecast_json(cost.forecast), "random_labels": cost.random_labels}
            for cost in ahead.costs
        ],
        "random_sampling_undefined_at_100_labels": round(ahead.undefined_at_100, 4),
        "hidden_positives": printed(ahead.hidden),
        "methods": printed(ahead.methods),
    }


def prognosis_lines(ahead: Prognosis) -> list[str]:
    """For a terminal: a sentence or two a line, the price first and the method last. Labels are those of the
    method that `auto` takes, by simulated worlds."""
    sentences = [_price(ahead.measure, cost) for cost in ahead.costs]
    if sentences:
        sentences.append(f"{ahead.rule[0].upper()}{ahead.rule[1:]}: a smaller budget meets none.")
    if ahead.random_does_as_well:
        sentences.append(
            "A random sample needs no more labels than this method here: consider `method: passive`."
        )
    if ahead.undefined_at_100 > _WORTH_SAYING:
        sentences.append(
            f"Of random samples of 100 labels, {ahead.undefined_at_100:.0%} would give no {ahead.measure} at "
            "all: too few positives are in them."
        )
    if ahead.hidden is not None:
        sentences.append(_hidden(ahead.measure, ahead.hidden))
    trusts = f", which trusts the score: {ahead.method.reason}" if ahead.method.rests_on == "score" else ""
    return [*sentences, f"The method is {ahead.method.method}{trusts}."]


def _price(measure: str, cost: Cost) -> str:
    """`f1 to ± 0.05 takes about 420 labels, with 80% chance 300 to 610; a random sample about 1,100.`"""
    forecast, goal = cost.forecast, f"{measure} to ± {cost.forecast.goal.half_width:g}"
    needed = cost.random_labels
    simple = "" if needed is None else f"; a random sample about {two_figures(needed):,}"
    if forecast.labels is None:
        sentence = f"{goal} probably takes more than {plural(forecast.horizon, 'label')}{simple}"
        return f"{sentence}. The chance to get there with {forecast.horizon:,} is {forecast.share:.0%}."
    sure = words_of_range(forecast.low, forecast.high, forecast.horizon)
    return f"{goal} takes about {plural(forecast.labels, 'label')}, with 80% chance {sure}{simple}."


def _hidden(measure: str, price: HiddenPrice) -> str:
    hidden = plural(price.positives, "positive that scores", "positives that score")
    return (
        f"{hidden} like any negative would move {measure} by "
        f"{price.moved:g}. To show that there are not so many takes about {two_figures(price.labels):,} "
        f"labels, of items drawn evenly from the {price.items:,} predicted negative."
    )


_REMEDY = "`assay begin` checks every row; --all reads all of them now"


def sample_json(portion: Portion) -> SampleJson | None:
    """Which rows are looked at, as JSON: blocks with their file, first row (from 1) and number of rows. None
    where every row is read."""
    if portion.complete:
        return None
    return {
        "rows_counted": portion.counted,
        "blocks": [
            {"file": portion.files[block.file].path, "first_row": block.first + 1, "rows": block.rows or 0}
            for block in portion.sample
        ],
    }


def sample_findings(portion: Portion, read: int) -> Iterator[Finding]:
    """What was looked at, and what may be wrong all the same; nothing where every row is read. Each says how
    many rows were read, and from where in the file."""
    if portion.complete:
        return
    total = portion.total(read)
    place, caveat = _in_text(portion) if not portion.counted else _in_parquet(portion)
    about = "" if portion.counted else "about "
    yield warning(
        "sample",
        f"{read:,} of {about}{total:,} rows were looked at, {place}. Not looked for in the others: ids that "
        f"occur more than once, bad values, further classes. Numbers of all rows are estimates{caveat}",
        _REMEDY,
    )


def _in_parquet(portion: Portion) -> tuple[str, str]:
    blocks = plural(len(portion.sample), "block")
    files = plural(len({block.file for block in portion.sample}), "file")
    return f"{blocks} of {files}, spread evenly", ""


def _in_text(portion: Portion) -> tuple[str, str]:
    block_rows, files = portion.sample[0].rows or 0, plural(len(portion.files), "file")
    return (
        f"the first {block_rows:,} at most of {len(portion.sample):,} of {files}",
        ", and mislead where files are sorted by score, class or time",
    )
