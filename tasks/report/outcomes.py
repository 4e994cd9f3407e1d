"""What a page shows of one kind of outcome beside the estimates: a figure, a table, or both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from assay.tasks.report import wording
from assay.tasks.report.data import EstimateRow, ReportData
from assay.tasks.report.figures.convergence import whole_pool_rows
from assay.tasks.report.figures.picture import Picture
from assay.tasks.report.figures.points import label_against_prediction
from assay.tasks.report.figures.shares import share_bars


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSection:
    """What the page's section needs."""

    title: str
    caption: str
    figure: Picture | None = None
    of: str = ""                                     # what the rows are
    heads: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[str]]] = ()   # name -> what is under the heads


def outcome_section(data: ReportData) -> OutcomeSection | None:
    """The section of the kind of outcome that the labels are; None where it has none, or nothing to show."""
    make = _SECTIONS.get(data.outcome.name) if data.outcome is not None else None
    return None if make is None else make(data)


def _numbers(data: ReportData) -> OutcomeSection | None:
    if not data.pairs:
        return None
    return OutcomeSection(
        title="Predictions and labels",
        caption="The labelled items, each with its prediction. They were not drawn evenly, so the cloud is "
                "not a picture of the pool; the estimates weigh each item by what it stands for. The ring "
                "marks the largest error.",
        figure=label_against_prediction(data.pairs),
    )


def _tags(data: ReportData) -> OutcomeSection | None:
    of_tag = [
        row for row in data.estimates
        if row.class_name is not None and row.segment is None and data.systems is None
    ]
    measures = list(dict.fromkeys(row.measure for row in of_tag))
    found = {(row.measure, row.class_name): row for row in of_tag}
    tags = list(dict.fromkeys(row.class_name for row in of_tag if row.class_name))
    if not tags:
        return None
    return OutcomeSection(
        title="Tag by tag",
        caption="The measures of each tag by itself, with their intervals. With several intervals side by "
                "side, some miss the truth by chance alone.",
        of="Tag",
        heads=[wording.measure_name(name) for name in measures],
        rows=[(tag, [_cell(found.get((name, tag))) for name in measures]) for tag in tags],
    )


def _cell(row: EstimateRow | None) -> str:
    return "–" if row is None else wording.in_short(row.value, row.lower, row.upper)


def _preferences(data: ReportData) -> OutcomeSection | None:
    shares = [row for row in data.estimates if row.measure == "rate" and row.segment is None]
    if not shares:
        return None
    return OutcomeSection(
        title="Who won",
        caption="Shares of the pool by what people prefer, with their intervals. People saw the two answers "
                "side by side as A and B, in an order drawn for each item, and were not told which is which.",
        figure=share_bars(shares),
    )


_SECTIONS: Mapping[str, Callable[[ReportData], OutcomeSection | None]] = {
    "number": _numbers, "tags": _tags, "preference": _preferences,
}


def scales_alike(data: ReportData) -> bool:
    """Whether all measures can be drawn on one scale: grades and shares cannot, nor numbers and squares."""
    if data.outcome is None:
        return True
    ends = {wording.measure_bounds(row.measure, data.outcome)[1] for row in whole_pool_rows(data)}
    return len(ends) == 1 and bool(data.outcome.parts or isfinite(ends.pop()))
