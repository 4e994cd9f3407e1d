"""Several evaluations as one page: self-contained, no scripts, nothing fetched."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.tasks.report import sentences, wording
from assay.tasks.report.data import ReportData
from assay.tasks.report.figures.convergence import estimate_against_labels
from assay.tasks.report.figures.picture import Picture
from assay.tasks.report.rendering import render
from assay.tasks.report.several.tables import at_a_glance, by_measure, comparing, part_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPart:
    """What the page says of one evaluation."""

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


def several_html(several: Sequence[ReportData], linked: bool = False) -> bytes:
    """The page, as UTF-8.

    linked   whether the full report of each stands at NAME/report.html beside the page
    """
    finished = sum(data.state == "finished" for data in several)
    return render(
        "several.html.j2",
        w=wording,
        lines=at_a_glance(several),
        finished=finished,
        comparing=comparing(several),
        tables=by_measure(several),
        parts=[_part(data, part_of(i), linked) for i, data in enumerate(several)],
    )


def _part(data: ReportData, at: str, linked: bool) -> ReportPart:
    row = data.estimates[0]
    return ReportPart(
        at=at,
        name=data.evaluation,
        link=f"{data.evaluation}/report.html" if linked else "",
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
