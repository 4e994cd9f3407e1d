"""A history as a page: a plot of the measure over windows, and a table."""

from dataclasses import dataclass

from assay.evalcore.monitoring.verdicts import PlaceVerdict
from assay.tasks.report import wording
from assay.tasks.report.history.figure import windows_figure
from assay.tasks.report.history.record import History, HistoryRow, consequence_of, held_against
from assay.tasks.report.history.table import interval_of, value_of

_STATES = {
    "ok": "within the limits",
    "breach": "in breach",
    "inconclusive": "inconclusive",
    "waiting": "people are working",
    "unlabelled": "not labelled: the month's labels were spent",
    "missing": "no predictions came",
    "empty": "no predictions in it",
    "small": "too few predictions for a verdict",
    "stale": "people have not finished in time",
    "failed": "the last run failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceCells:
    """What is known of one window of the whole pool, or of a segment, as it is printed."""

    value: str
    interval: str
    labels: int
    limit: str
    evidence: str        # log evidence against each limit
    needed: str          # log evidence that calls a breach


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLine:
    """One window of the table."""

    window: str
    place: PlaceCells
    bought: int
    said: str
    more: int | None     # labels that would decide it
    signals: str
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLine:
    """A further version of the spec."""

    version: int
    first: str
    changed: str
    consequence: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLine:
    """One segment in breach."""

    window: str
    segment: str | None
    place: PlaceCells


def history_html(history: History) -> bytes:
    """The page. Everything from outside is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("assay.tasks.report", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    style = loader.get_source(environment, "style.css")[0]
    page = environment.get_template("history.html.j2").render(
        told=history,
        w=wording,
        style=Markup(style),  # noqa: S704  our own file
        figure=windows_figure(history),
        rows=[_window(row) for row in history.rows],
        segments=[
            SegmentLine(window=row.window, segment=place.segment, place=_place(place))
            for row in history.rows for place in row.segments if place.verdict == "breach"
        ],
        changes=[
            ChangeLine(
                version=one.number, first=one.first, changed=", ".join(one.changed),
                consequence=consequence_of(one), reason=one.reason,
            )
            for one in history.amendments
        ],
    )
    return page.encode("utf-8", "replace")


def _window(row: HistoryRow) -> WindowLine:
    return WindowLine(
        window=row.window,
        place=_place(row.overall),
        bought=row.bought,
        said=_STATES[row.state] + (f"; {_STATES[row.wrong.state]}" if row.verdict and row.wrong else ""),
        more=row.verdict.labels_to_decide if row.verdict else None,
        signals=", ".join(f"{s.name} {_figure(s.value)}".rstrip() for s in row.raised),
        revision=row.revision,
    )


def _place(place: PlaceVerdict | None) -> PlaceCells:
    limits = [] if place is None else held_against(place)
    return PlaceCells(
        value=value_of(place),
        interval=interval_of(place),
        labels=place.measured.labels if place else 0,
        limit=", ".join(f"{limit.name} {wording.limit(limit.value)}" for limit, _ in limits),
        evidence=", ".join(f"{evidence:.2f}" for _, evidence in limits),
        needed="" if place is None else f"{place.needed:.2f}",
    )


def _figure(value: float | None) -> str:
    return "" if value is None else wording.number(value, 4)
