"""Several evaluations in one report: a table, their intervals measure by measure, and a part for each.

It is a page, one JSON object and one table; the report of each stands in a folder of its own. Measures that
differ, or are of different classes, are never drawn on one scale.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from typing_extensions import TypedDict

from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.printed import json_file
from assay.tasks.report import sentences, wording
from assay.tasks.report.data import ReportData, whole_pool_rows
from assay.tasks.report.estimate_figures import estimate_against_labels
from assay.tasks.report.files import parquet_of, render_report
from assay.tasks.report.lines import ForestTable, scale_of_bars, table_line
from assay.tasks.report.rendering import Picture, render
from assay.tasks.report.standing import EvaluationJson

_NAMED_CLASSES = 4   # classes
_VERDICTS = {"ok": "ok", "breach": "breach", "inconclusive": "inconclusive", None: "no limit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationLine:
    """One evaluation in the table of several, by its first measure: texts for value, interval, verdict,
    labels, pool and date, and the place of its part on the page."""

    name: str
    at: str              # the id of its part of the page
    measure: str
    value: str
    interval: str
    confidence: str
    verdict: str
    state: str           # ok, breach, inconclusive or nothing
    labels: str
    pool: str
    date: str


def at_a_glance(reports: Sequence[ReportData]) -> list[EvaluationLine]:
    """The table at the top of the page: a line for each evaluation."""
    return [_line(data, part_of(i)) for i, data in enumerate(reports)]


def part_of(i: int) -> str:
    """The id of the part of the page that tells of one evaluation."""
    return f"evaluation-{i + 1}"


def by_measure(reports: Sequence[ReportData]) -> list[ForestTable]:
    """A table for each measure of each kind of labels, with the evaluations that have it.

    Of measures that only one evaluation has, only its first is among them.
    """
    groups: dict[Hashable, list[tuple[ReportData, MeasureEstimate]]] = {}
    for data in reports:
        for row in whole_pool_rows(data):
            groups.setdefault((row.what, _labels(data)), []).append((data, row))
    return [
        _table(pairs) for pairs in groups.values()
        if len(pairs) > 1 or pairs[0][1].same(pairs[0][0].estimates[0])
    ]


def _table(pairs: Sequence[tuple[ReportData, MeasureEstimate]]) -> ForestTable:
    shown = [row for _, row in pairs]
    data, row = pairs[0]
    lowest, highest = scale_of_bars(shown, data.outcome)
    return ForestTable(
        name=sentences.named_row(row) + _of_labels(data),
        of="Evaluation",
        scale_from=wording.plain_number(lowest),
        scale_to=wording.plain_number(highest),
        rows=[(data.evaluation, table_line(data, row, lowest, highest)) for data, row in pairs],
    )


def _labels(data: ReportData) -> Hashable:
    """What labels are: measures of other labels are other measures."""
    if data.outcome is None:
        return data.positive, data.negative
    return data.outcome.name, tuple(data.outcome.parts)


def _of_labels(data: ReportData) -> str:
    """`, of “match”`; `, of cat, dog, bird`; nothing for numbers."""
    if data.outcome is None:
        return f", of “{data.positive}”"
    names = list(data.outcome.parts)
    if not names:
        return ""
    tail = f" and {len(names) - _NAMED_CLASSES} more" if len(names) > _NAMED_CLASSES else ""
    return f", of {', '.join(names[:_NAMED_CLASSES])}{tail}"


def _line(data: ReportData, at: str) -> EvaluationLine:
    row = data.estimates[0]
    finished = data.finished or data.began
    return EvaluationLine(
        name=data.evaluation,
        at=at,
        measure=sentences.named_row(row),
        value=wording.value_or_reason(row),
        interval=wording.interval(row),
        confidence=wording.percent(row.confidence),
        verdict=_VERDICTS[data.verdict] if data.state == "finished" else "not finished",
        state=data.verdict or "",
        labels=wording.grouped_digits(data.labels),
        pool=wording.grouped_digits(data.pool.n),
        date="–" if finished is None else wording.moment(finished).partition(" ")[0],
    )


def comparing(reports: Sequence[ReportData]) -> list[str]:
    """What may be read from evaluations side by side, and what may not."""
    pools: dict[str, list[str]] = {}
    for data in reports:
        pools.setdefault(data.pool.digest, []).append(f"“{data.evaluation}”")
    same = [" and ".join([", ".join(names[:-1]), names[-1]]) for names in pools.values() if len(names) > 1]
    parts = [
        "Each evaluation has labels and an interval of its own. That two intervals overlap does not show "
        "that the values are the same, and that they do not is no test at the stated confidence.",
    ]
    parts += [f"{names} judge the same predictions." for names in same]
    if len(pools) > 1:
        parts.append("Where the pools differ, values differ with the items as well as with the model.")
    parts.append("To find out which of two systems is better on the same items, name both under pool.systems "
                "of one spec and run assay compare: it gives the difference an interval.")
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """The part of the page about one of several evaluations: headline, verdict, why it stopped, a figure of
    its first estimate against labels, facts, and a link to its own report."""

    at: str
    name: str
    link: str            # to its own report; nothing without one
    headline: str
    verdict: tuple[str, str] | None
    stopped: str
    figure: Picture
    told: str            # under the figure
    note: str
    facts: Sequence[tuple[str, str]]


def several_html(reports: Sequence[ReportData], linked: bool = False) -> bytes:
    """The page, as UTF-8. Evaluations stand side by side, in the order that is given.

    linked whether the full report of each stands at NAME/report.html beside the page
    """
    links = [f"{data.evaluation}/report.html" if linked else "" for data in reports]
    return render("several.html.j2", **several_values(reports, links))


def several_values(reports: Sequence[ReportData], links: Sequence[str]) -> dict[str, object]:
    """What the template of the page's body is filled in with; links: where the report of each is, or "". Name
    in the template -> value."""
    finished = sum(data.state == "finished" for data in reports)
    return {
        "w": wording,
        "lines": at_a_glance(reports),
        "finished": finished,
        "comparing": comparing(reports),
        "tables": by_measure(reports),
        "parts": [
            _part(data, part_of(i), link) for i, (data, link) in enumerate(zip(reports, links, strict=True))
        ],
    }


def _part(data: ReportData, at: str, link: str) -> ReportPart:
    row = data.estimates[0]
    return ReportPart(
        at=at,
        name=data.evaluation,
        link=link,
        headline=sentences.headline(data),
        verdict=sentences.verdict_and_ground(data),
        stopped=sentences.stopped(data),
        figure=estimate_against_labels(data, row),
        told=f"{sentences.named_row(row)} and its {wording.percent(row.confidence)} interval after every "
             "round.",
        note="" if row.interval == "exact" else data.interval_note,
        facts=[
            ("Labels", sentences.labels(data.labels, data.budget, data.known_before)),
            ("Pool", wording.plural(data.pool.n, "prediction")),
            ("Method", data.method),
            ("Pool digest", data.pool.digest),
        ],
    )


_LONGEST_FOLDER = 100   # characters of a folder's name


def several_files(reports: Sequence[ReportData]) -> Mapping[str, bytes]:
    """File name -> bytes: `reports.*` of all, and `NAME/report.*` of each."""
    of_each = {
        f"{data.evaluation}/{name}": blob for data in reports for name, blob in render_report(data).items()
    }
    return {
        **of_each,
        "reports.json": json_file(several_json(reports)),
        "reports.parquet": parquet_of(reports),
        "reports.html": several_html(reports, linked=True),
    }


class ReportedPoolJson(TypedDict):
    """The frozen pool of an evaluation: its number of items and the digest of its values."""

    items: int
    digest: str


class ReportedJson(EvaluationJson):
    """One of several evaluations in a report: what the JSON of every evaluation has, its pool, and when it
    began and finished, each null where that is not recorded."""

    pool: ReportedPoolJson
    began: str | None                # when it began and finished; null where that is not recorded
    finished: str | None


class SeveralJson(TypedDict):
    """What `assay report --json` prints of several evaluations, and what its file reports.json holds: one
    entry for each, in the order asked for."""

    evaluations: list[ReportedJson]


def several_json(reports: Sequence[ReportData]) -> SeveralJson:
    """{"evaluations": [...]}: of each what `assay report NAME --json` prints, its pool and its dates.
    Evaluations are in the order that is given; moments are in ISO 8601."""
    return {"evaluations": [
        {
            **data.contract(),
            "pool": {"items": data.pool.n, "digest": data.pool.digest},
            "began": data.began, "finished": data.finished,
        }
        for data in reports
    ]}


def folder_of(names: Sequence[str]) -> str:
    """The folder of these evaluations, always the same: their names, in full where they are short. Beyond
    that the first name, a count, and a digest of all names."""
    joined = "-".join(names)
    if len(joined) > _LONGEST_FOLDER:
        digest = sha256(joined.encode()).hexdigest()[:8]
        joined = f"{names[0][:_LONGEST_FOLDER]}-and-{len(names) - 1}-more-{digest}"
    return f"assay-report-{joined}"
