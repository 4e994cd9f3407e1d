"""The pages of a service: the sections of reports and histories in a frame with links between them.

Nothing in a page is a script or a style: both are files of their own, so that the policy of the page can
forbid all others. Everything from outside is escaped by the templates.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from urllib.parse import urlencode

from assay.evalcore.printed import json_file
from assay.tasks.ledger.monitors import Mute
from assay.tasks.report import sentences, wording
from assay.tasks.report.comparison import comparison_section
from assay.tasks.report.data import ReportData, whole_pool_rows
from assay.tasks.report.history.files import LimitLine, limit_lines, window_values
from assay.tasks.report.history.page import history_values
from assay.tasks.report.history.record import HistoryRow, MonitorHistory, window_json
from assay.tasks.report.history.words import news_in
from assay.tasks.report.page import report_values
from assay.tasks.report.rendering import render
from assay.tasks.report.service.entries import KINDS, SHOWS, SORTS, HomeEntry, ListQuery
from assay.tasks.report.service.labels import SpentTables
from assay.tasks.report.several import several_values
from assay.tasks.report.standing import Standing
from assay.tasks.spec.strict_yaml import written_yaml

MOST_ALERTS = 50     # listed on a monitor's page
MOST_SPENDERS = 200  # monitors and evaluations on the page of labels


@cache
def beside_files() -> Mapping[str, tuple[bytes, str]]:
    """The stylesheet and the script of the service by file name, each with its bytes and its content type.
    The names hold a digest of the content, so a browser may keep them."""
    folder = files("assay.tasks.report") / "templates"
    style = (folder / "style.css").read_bytes() + (folder / "service" / "service.css").read_bytes()
    script = (folder / "service" / "live.js").read_bytes()
    return {
        f"assay-{sha256(style).hexdigest()[:12]}.css": (style, "text/css; charset=utf-8"),
        f"assay-{sha256(script).hexdigest()[:12]}.js": (script, "text/javascript; charset=utf-8"),
    }


def _page(template: str, title: str, section: str, **values: object) -> bytes:
    """section: the part of the service that the page belongs to."""
    style, script = beside_files()
    return render(
        f"service/{template}.html.j2", title=title, here=section, style_file=style, script_file=script,
        **{"w": wording} | values,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeList:
    """One page of the list of everything: its entries, all entries of the visible stores for the counts, the
    search, and where the page stands among all."""

    stores: Sequence[str]
    entries: Sequence[HomeEntry]     # of this page
    every: Sequence[HomeEntry]       # in the stores
    query: ListQuery
    total: int
    page: int
    pages: int
    prefect: str                     # where its pages are; nothing where that is not known


def home_html(listing: HomeList) -> bytes:
    """The home page in HTML: one page of the list, with counts over all entries, the search form, and links
    to the other pages. UTF-8, with nothing that is loaded from elsewhere."""
    every = listing.every
    return _page(
        "home", "Evaluations and monitors", "home", told=listing,
        breaches=sum(entry.verdict == "breach" for entry in every),
        waiting=sum(entry.state in ("waiting", "stale") for entry in every),
        evaluations=sum(entry.kind == "evaluation" for entry in every),
        monitors=sum(entry.kind == "monitor" for entry in every),
        damaged=sum(entry.state == "damaged" for entry in every),
        teams=sorted({entry.ownership.team for entry in every if entry.ownership.team}),
        shows={name: text for name, (text, _) in SHOWS.items()},
        sorts={name: text for name, (text, _) in SORTS.items()}, kinds=KINDS,
        turns=_turns("/", _asked(listing.query), listing.page, listing.pages),
    )


def labels_html(tables: SpentTables) -> bytes:
    """The page of bought labels in HTML: tables by team and by monitor or evaluation. Numbers of labels by
    month, and their price where it is known."""
    return _page("labels", "Labels bought", "labels", told=tables, most=MOST_SPENDERS)


def compare_choice_html(entries: Sequence[HomeEntry]) -> bytes:
    """A page with a form to choose which evaluations are compared: the first 500 of those that have an
    estimate. What is chosen goes to the page of comparison."""
    return _page(
        "choice", "Compare", "compare",
        entries=[line for line in entries if line.kind == "evaluation" and line.known[0] is not None][:500],
    )


def _asked(query: ListQuery) -> dict[str, str]:
    usual = ListQuery()
    fields = {"q": "words", "show": "show", "kind": "kind", "team": "team", "store": "store", "sort": "sort"}
    values = {key: (getattr(query, name), getattr(usual, name)) for key, name in fields.items()}
    return {key: value for key, (value, default) in values.items() if value != default}


@dataclass(frozen=True, slots=True)
class Turns:
    """Where the pages before and after this one are; nothing where there is none."""

    page: int
    pages: int
    before: str
    after: str


def _turns(path: str, query: Mapping[str, str], page: int, pages: int) -> Turns:
    def at(number: int) -> str:
        return path + "?" + urlencode({**query, "page": number}) if 1 <= number <= pages else ""

    return Turns(page, pages, at(page - 1), at(page + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationAbout:
    """What stands above the report of an evaluation, and below it."""

    store: str
    standing: Standing
    spec: Mapping[str, object]
    people: Sequence[tuple[str, int]]         # items that each person has answered in the open round
    desk: str
    desk_link: tuple[str, str] | None         # and what is behind it
    runs: Sequence[tuple[str, str]]           # the same, in Prefect

    @property
    def spec_file(self) -> str:
        """The file name for the spec of the evaluation: its name with the ending `.yaml`. Browsers save the
        spec under this name."""
        return f"{self.standing.evaluation}.yaml"


def evaluation_html(about: EvaluationAbout, data: ReportData | None) -> bytes:
    """The report, with what happens now; data: None before the first round has closed."""

    name = about.standing.evaluation
    values = {} if data is None else report_values(data)
    spec_text = written_yaml(dict(about.spec), width=90)
    return _page(
        "evaluation", name, "", about=about, name=name, known=data is not None,
        path=f"/evaluations/{about.store}/{name}", answered=sum(many for _, many in about.people),
        compares=bool(data and data.systems), **{"spec": spec_text, **values},
    )


def prefect_runs(prefect: str, name: str, flow_run: str, did: str) -> list[tuple[str, str]]:
    """Links to a run of a flow that is known, and to the runs of this name, each with its words.

    prefect: where its pages are; without that there are no links. did: what the run did, `began it`.
    """
    if not prefect:
        return []
    has_run = re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", flow_run) is not None
    search = f"{prefect}/runs?{urlencode({'flow-run-search': name})}"
    run_links = [(f"{prefect}/runs/flow-run/{flow_run}", f"the Prefect run that {did}")] if has_run else []
    return [*run_links, (search, "runs of this name in Prefect")]


def several_html_of(reports: Sequence[ReportData], links: Sequence[str]) -> bytes:
    """A page in HTML with evaluations side by side, each with a link to its report; one link for each
    evaluation, in order. UTF-8, and each estimate is drawn on a scale that all share."""
    return _page("several", f"{len(reports)} evaluations", "compare", **several_values(reports, links))


def systems_html(data: ReportData, link: str) -> bytes:
    """The systems of one evaluation side by side. Raises ValueError for one that compares none. Each with its
    interval, and their differences with a verdict."""
    section = comparison_section(data)
    if section is None:
        raise ValueError(f"{data.evaluation} compares no systems")
    row = whole_pool_rows(data)[0]
    return _page(
        "systems", data.evaluation, "compare", name=data.evaluation, link=link, comparison=section,
        headline=sentences.headline(data), confidence=wording.percent(row.confidence),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertLine:
    """One alert of a monitor as the page prints it: subject, key, severity, and who was told, in words."""

    subject: str
    key: str
    severity: str
    told: str                    # who was told, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorAbout:
    """One page of a monitor's history with what stands beside it: which rows of the history are shown (those
    from the first index to before the last), a mute in force, alerts, and links to runs in Prefect."""

    store: str
    history: MonitorHistory
    first: int                   # of the rows that are shown
    last: int
    page: int
    pages: int
    muted: Mute | None
    alerts: Sequence[AlertLine]
    runs: Sequence[tuple[str, str]]    # in Prefect, each with what is behind it


def monitor_html(about: MonitorAbout) -> bytes:
    """The history, with alerts, mutes and the evidence of the newest judged window."""
    history, path = about.history, f"/monitors/{about.store}/{about.history.monitor}"
    judged = next((row for row in reversed(history.rows) if row.verdict is not None), None)
    return _page(
        "monitor", history.monitor, "", about=about, name=history.monitor, judged=judged,
        evidence=[] if judged is None else _evidence(history, judged),
        alerts=list(reversed(about.alerts))[:MOST_ALERTS],
        turns=_turns(path, {}, about.page, about.pages),
        **history_values(
            history, history.rows[about.first : about.last], lambda window: f"{path}/windows/{window}"
        ),
    )


def _evidence(history: MonitorHistory, row: HistoryRow) -> list[LimitLine]:
    return [line for news in news_in(history, row) for line in limit_lines(news)]


def served_window_html(store: str, history: MonitorHistory, row: HistoryRow) -> bytes:
    """The page of one judged window in HTML, with a link to the report of its evaluation. Raises ValueError
    for a window without a verdict."""
    path = f"/monitors/{store}/{history.monitor}"
    evaluation = row.verdict.rests_on.evaluation if row.verdict else ""
    return _page(
        "window", f"{history.monitor}, window {row.window}", "", report=f"/evaluations/{store}/{evaluation}",
        **window_values(history, row, path),
    )


def window_json_bytes(row: HistoryRow) -> bytes:
    """One window as JSON in bytes, in the form that a history has it, without the record of earlier
    expectations. UTF-8, as `json_file` writes it."""
    return json_file(window_json(row))


def problem_html(status: int, message: str) -> bytes:
    """A page in HTML that says why there is no other one: a heading for the HTTP status, and the reason. The
    reason is text, and is escaped."""
    words = {400: "That cannot be asked", 401: "Who are you?", 404: "There is nothing here",
             405: "Only looking is possible", 421: "Not this server", 503: "Not now"}
    return _page("problem", words.get(status, "Something is wrong"), "", status=status, said=message)
