"""What each page says: gathered from the ledger, drawn by tasks.report, kept by the digest of its keys."""

import os
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256

from assay.evalcore.annotators.adjudication import Annotation
from assay.evalcore.errors import AssayError, BadInput
from assay.evalcore.printed import json_file
from assay.flows.monitor.history import read_monitor_history, with_judges
from assay.flows.record.ahead import kept_outlook
from assay.flows.record.opened import Opened, open_evaluation, utc_now
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.serve.home import Bodies, Body, SeenStores, StoreView, body_of
from assay.flows.serve.stores import ServedStore, spec_without_paths, without_paths
from assay.tasks.alerts.outbox import OutboxRow, outbox_rows
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import desk_address
from assay.tasks.ledger.life import find_begun, find_closed, read_identity
from assay.tasks.ledger.monitors import mute_at
from assay.tasks.ledger.record import Ledger, get_record
from assay.tasks.report.annotators import name_in_report
from assay.tasks.report.comparison import comparison_json
from assay.tasks.report.data import ReportData
from assay.tasks.report.files import report_json
from assay.tasks.report.history.record import MonitorHistory
from assay.tasks.report.service import pages as drawn
from assay.tasks.report.service.entries import ListQuery, home_json
from assay.tasks.report.service.labels import bought_by_month, labels_json
from assay.tasks.report.several import several_json
from assay.tasks.report.standing import Standing
from assay.tasks.spec.strict_yaml import written_yaml

PER_PAGE = 50            # lines, and windows
MOST_EVALUATIONS_COMPARED = 12   # evaluations side by side
MOST_OF_LISTS = 16 << 20   # bytes of lists that are kept
_REMEMBERED = 200_000    # answers whose person is remembered
_MONITORS = 1_000        # whose number of windows is remembered


class NoSuchPage(BadInput):
    """There is no such page, or none for whoever asks: the message does not say which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAsked:
    """What a request asks of a page: JSON or HTML, which page of a long list, the search of the home page,
    and the aliases of the stores that its sender may see."""

    json: bool
    page: int = 1
    query: ListQuery = field(default_factory=ListQuery)
    sees: frozenset[str] = frozenset()       # aliases


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTold:
    """An answer: its body, how many pages the list has and how many lines in all, and the seconds since the
    ledger was looked at."""

    body: Body
    pages: int = 1
    total: int | None = None
    age: float = 0.0        # seconds since the ledger was looked at


class Pages:
    """Everything the web service shows of some stores. Pages are drawn from the ledger and kept as long as
    the keys they rest on are the same; nothing is written."""

    def __init__(
        self, stores: Mapping[str, ServedStore], *, clock: Callable[[], datetime] = utc_now,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.stores, self._now = stores, clock
        self.views = {alias: StoreView(store, utc_clock=clock) for alias, store in stores.items()}
        self._bodies, self._lists = Bodies(), Bodies(MOST_OF_LISTS)   # lists do not wait for figures
        self._people: dict[tuple[str, str], str] = {}
        self._windows: OrderedDict[tuple[str, str, str], int] = OrderedDict()
        self._prefect = _prefect_pages(environment)
        self._newest_history: tuple[tuple[str, str, str], MonitorHistory] | None = None

    def store(self, alias: str, sees: frozenset[str]) -> ServedStore:
        """The store of this alias, for somebody who sees these. Raises NoSuchPage."""
        if alias not in sees or alias not in self.stores:
            raise NoSuchPage(f"no store is called {alias!r}")
        return self.stores[alias]

    # Lists.

    def home(self, request: PageAsked) -> PageTold:
        """The list of evaluations and monitors that a person may see, searched, sorted and cut to one page,
        as HTML or JSON. Raises NoSuchPage for a store that is not visible."""
        if request.query.store and request.query.store not in request.sees:
            raise NoSuchPage(f"no store is called {request.query.store!r}")
        view = self._seen(request.sees)
        lines = request.query.matching_entries(view.entries)
        pages = _pages(len(lines), request.page)
        shown, aliases = lines[(request.page - 1) * PER_PAGE : request.page * PER_PAGE], sorted(request.sees)

        def make() -> bytes:
            if request.json:
                return json_file(home_json(aliases, shown, len(lines), request.page, pages))
            return drawn.home_html(drawn.HomeList(
                stores=aliases, entries=shown, every=view.entries, query=request.query, total=len(lines),
                page=request.page, pages=pages, prefect=self._prefect,
            ))

        body = self._lists.body(
            ("home", request.sees, request.query, request.page, request.json), view.digest, make
        )
        return PageTold(body=body, pages=pages, total=len(lines), age=view.age)

    def labels(self, request: PageAsked) -> PageTold:
        """The labels that were bought, by team, month and monitor, over all visible stores, as HTML or JSON.
        Numbers of labels, and their price where the spec names one."""
        view = self._seen(request.sees)

        def make() -> bytes:
            months = bought_by_month([row for alias, look in view.looks for row in look.labels_bought(alias)])
            return json_file(labels_json(months)) if request.json else drawn.labels_html(months)

        return PageTold(
            body=self._lists.body(("labels", request.sees, request.json), view.digest, make), age=view.age
        )

    def figures(self, sees: Iterable[str]) -> bytes:
        """The figures of these stores in Prometheus's text format, in bytes; ages in them are as of the last
        look at each store. Raises MissingExtra where the package of Prometheus is not installed."""
        from assay.tasks.telemetry import exposition

        aliases = sorted(sees)
        times = " ".join(str(self.views[alias].look().at) for alias in aliases)
        return self._lists.body(("figures", *aliases), times, lambda: exposition(
            [sample for alias in aliases for sample in self.views[alias].figures()]
        )).content

    def _seen(self, sees: Iterable[str]) -> SeenStores:
        views = [self.views[alias] for alias in sorted(sees)]
        return SeenStores(
            looks=[(view.served.alias, view.look()) for view in views],
            age=max((view.age() for view in views), default=0.0),
        )

    # One evaluation.

    def evaluation(self, alias: str, name: str, request: PageAsked) -> PageTold:
        """The report of one evaluation, or where it stands before its first round has closed, as HTML or
        JSON. Raises NoSuchPage. It is drawn again only after its ledger has changed."""
        served = self.store(alias, request.sees)
        digest = self.digest(served, name)
        return PageTold(body=self._bodies.body(
            ("evaluation", alias, name, request.json), digest,
            lambda: self._evaluation_body(served, name, request.json),
        ))

    def spec(self, alias: str, name: str, request: PageAsked) -> PageTold:
        """The spec of an evaluation as YAML, to begin another one with; files are named by the last part of
        their paths. Raises NoSuchPage. A tag of the bytes goes with them."""
        served = self.store(alias, request.sees)
        self.digest(served, name)
        opened = open_evaluation(served.store, name)
        return PageTold(body=body_of(_yaml(spec_without_paths(opened.spec.to_json()))))

    def digest(self, served: ServedStore, name: str) -> str:
        """A SHA-256 of the names of all keys that an evaluation and its forecasts have in the ledger: the
        same digest means the same page, as no key is ever rewritten. Raises NoSuchPage."""
        ledger = Ledger(served.store, _checked(name))
        keys = list(retried(_listed)(ledger, f"{name}/"))
        if layout.manifest(name) not in keys:
            raise NoSuchPage(f"there is no evaluation {name!r} in {served.alias}")
        return _digest([*keys, *retried(_listed)(ledger, layout.index_of_forecasts(name))])

    def progress(self, served: ServedStore, name: str) -> Standing:
        """Where an evaluation stands now, read from the ledger, for those who watch a round live. Raises
        UnknownEvaluation, and whatever the store raises after its retries."""
        return retried(current_standing)(open_evaluation(served.store, name))

    def _evaluation_body(self, served: ServedStore, name: str, as_json: bool) -> bytes:
        opened = open_evaluation(served.store, name)
        standing = retried(current_standing)(opened)
        standing = replace(standing, forecast=kept_outlook(opened, standing))
        data = None if standing.known is None else hidden_paths(report_data(opened, standing))
        if as_json:
            return report_json(data) if data is not None else json_file(standing.to_json())
        about = drawn.EvaluationAbout(
            store=served.alias, standing=standing, spec=spec_without_paths(opened.spec.to_json()),
            people=self._progress_of_people(served, opened, standing), desk=opened.spec.desk.kind,
            desk_link=opened.spec.desk.address_for(name, desk_address(opened.ledger)),
            runs=self._runs(name, opened.ledger, standing.rounds),
        )
        return drawn.evaluation_html(about, data)

    def _progress_of_people(
        self, served: ServedStore, opened: Opened, standing: Standing
    ) -> list[tuple[str, int]]:
        """(Person, items answered) in the open round, as far as the ledger knows."""
        if standing.state != "waiting":
            return []
        ledger, number = opened.ledger, standing.rounds + 1
        keys = [key for key in _listed(ledger, layout.annotations(ledger.name, number))
                if layout.annotation.match(key) is not None]
        if not keys:
            return []
        salt, answered = read_identity(ledger), Counter[str]()
        for who in {self._person(served, ledger, key) for key in keys}:
            person, _, _ = who.partition("\n")
            answered[person] += 1
        return sorted((name_in_report(person, salt), many) for person, many in answered.items())

    def _person(self, served: ServedStore, ledger: Ledger, key: str) -> str:
        """Who answered about which item; answers are written once."""
        text = self._people.get((served.alias, key))
        if text is None:
            answer = get_record(ledger, key, Annotation)
            text = f"{answer.annotator}\n{answer.item_id}"
            if len(self._people) >= _REMEMBERED:
                self._people.clear()
            self._people[served.alias, key] = text
        return text

    # Several evaluations, or the systems of one.

    def compare(self, names: Sequence[str], request: PageAsked) -> PageTold:
        """Evaluations, each as ALIAS/NAME, side by side; of one, its systems."""
        if not names:
            if request.json:
                raise BadInput("name what is compared: /compare?of=STORE/NAME&of=STORE/NAME")
            return PageTold(body=body_of(drawn.compare_choice_html(self._seen(request.sees).entries)))
        if len(set(names)) < len(names) or len(names) > MOST_EVALUATIONS_COMPARED:
            raise BadInput(f"compare one to {MOST_EVALUATIONS_COMPARED} evaluations, each named once")
        places = [self._place(name, request.sees) for name in names]
        digest = _digest(self.digest(served, name) for served, name in places)
        return PageTold(body=self._bodies.body(
            ("compare", tuple(names), request.json), digest, lambda: self._compared(places, request.json)
        ))

    def _place(self, address: str, sees: frozenset[str]) -> tuple[ServedStore, str]:
        alias, slash, name = address.partition("/")
        if not slash:
            raise BadInput(f"of={address[:80]!r}: write STORE/NAME")
        return self.store(alias, sees), _checked(name)

    def _compared(self, places: Sequence[tuple[ServedStore, str]], as_json: bool) -> bytes:
        reports = []
        for served, name in places:
            opened = open_evaluation(served.store, name)
            data = report_data(opened, retried(current_standing)(opened))
            reports.append(hidden_paths(data))
        links = [f"/evaluations/{served.alias}/{name}" for served, name in places]
        if len(reports) > 1:
            return json_file(several_json(reports)) if as_json else drawn.several_html_of(reports, links)
        data = reports[0]
        if data.systems is None:
            raise BadInput(
                f"{data.evaluation} has one system: name a second evaluation, or the systems under "
                "pool.systems of its spec"
            )
        if as_json:
            return json_file(comparison_json(data, data.systems))
        return drawn.systems_html(data, links[0])

    # Monitors.

    def monitor(self, alias: str, name: str, request: PageAsked) -> PageTold:
        """The history of a monitor, one page of its windows at a time, as HTML or JSON. It is made anew each
        day, since mutes end. Raises NoSuchPage."""
        served = self.store(alias, request.sees)
        digest = self._digest_of_monitor(served, name)
        rows = self._many(served, name, digest)
        pages = _pages(rows, request.page)
        day = f"{self._now():%Y-%m-%d}"     # mutes end
        body = self._bodies.body(
            ("monitor", alias, name, request.json, request.page), f"{digest} {day}",
            lambda: self._monitor_body(served, name, digest, request),
        )
        return PageTold(body=body, pages=pages, total=rows)

    def _many(self, served: ServedStore, name: str, digest: str) -> int:
        """Its windows."""
        key = served.alias, name, digest
        count = self._windows.get(key)
        if count is None:
            count = self._windows[key] = len(self._history(served, name, digest).rows)
            while len(self._windows) > _MONITORS:
                self._windows.popitem(last=False)
        return count

    def window(self, alias: str, name: str, window: str, request: PageAsked) -> PageTold:
        """One judged window of a monitor, as HTML or JSON. Raises NoSuchPage where there is no such window
        or no verdict was given on it."""
        served = self.store(alias, request.sees)
        digest = self._digest_of_monitor(served, name)
        history = self._history(served, name, digest)
        row = next((row for row in history.rows if row.window == window), None)
        if row is None or row.verdict is None:
            raise NoSuchPage(f"no verdict was given on window {window[:40]!r} of {name}")
        judged = row
        return PageTold(body=self._bodies.body(
            ("window", alias, name, window, request.json), digest,
            lambda: drawn.window_json_bytes(judged) if request.json
            else drawn.served_window_html(alias, history, judged),
        ))

    def _digest_of_monitor(self, served: ServedStore, name: str) -> str:
        ledger = Ledger(served.store, layout.monitor_ledger(_checked(name)))
        keys = retried(_listed)(ledger, f"{ledger.name}/")
        if layout.spec(ledger.name) not in keys:
            raise NoSuchPage(f"there is no monitor {name!r} in {served.alias}")
        return _digest(keys)

    def _history(self, served: ServedStore, name: str, digest: str) -> MonitorHistory:
        """The newest that was read; one monitor is looked at page by page."""
        if self._newest_history is not None and self._newest_history[0] == (served.alias, name, digest):
            return self._newest_history[1]
        history = read_monitor_history(served.store, name, self._now)
        self._newest_history = (served.alias, name, digest), history
        return history

    def _monitor_body(self, served: ServedStore, name: str, digest: str, request: PageAsked) -> bytes:
        history = self._history(served, name, digest)
        with suppress(AssayError):   # the evaluations of its windows may lie elsewhere
            history = with_judges(served.store, history)
        start = max(len(history.rows) - request.page * PER_PAGE, 0)
        end = len(history.rows) - (request.page - 1) * PER_PAGE
        if request.json:
            return json_file(replace(history, rows=history.rows[start:end]).to_json() | {
                "labels": history.bought,
            })
        return drawn.monitor_html(drawn.MonitorAbout(
            store=served.alias, history=history, first=start, last=end, page=request.page,
            pages=_pages(len(history.rows), request.page), muted=mute_at(history.mutes, self._now()),
            alerts=[_alert(row) for row in outbox_rows(
                Ledger(served.store, layout.monitor_ledger(name)), repair=False
            )],
            runs=self._runs_of_monitor(served, history),
        ))

    def _runs(self, name: str, ledger: Ledger, rounds: int) -> list[tuple[str, str]]:
        """Links to the run that closed the last round, or began it, and to all of its name."""
        closed, begun = find_closed(ledger, rounds) if rounds else None, find_begun(ledger)
        if closed is not None and closed.flow_run:
            return drawn.prefect_runs(self._prefect, name, closed.flow_run, f"closed round {rounds}")
        return drawn.prefect_runs(self._prefect, name, begun.flow_run if begun else "", "began it")

    def _runs_of_monitor(self, served: ServedStore, history: MonitorHistory) -> list[tuple[str, str]]:
        """Links to the run that opened its newest window, and to all of its name."""
        opened = [(row.window, opening.evaluation) for row in history.rows for opening in row.openings]
        window, evaluation = next(((name, of) for name, of in reversed(opened) if of is not None), ("", ""))
        begun = find_begun(Ledger(served.store, evaluation)) if evaluation else None
        return drawn.prefect_runs(
            self._prefect, history.monitor, begun.flow_run if begun else "", f"opened window {window}"
        )

    def said_of(self, error: Exception) -> str:
        """An error in words that name no place of this machine."""
        return without_paths(str(error), self.stores.values())


def hidden_paths(data: ReportData) -> ReportData:
    """The data of a report without paths of this machine: the spec, the sources of the pool and the notes
    name files by the last part of their path."""
    return replace(
        data, spec=spec_without_paths(data.spec),
        pool=replace(data.pool, sources=[spec_without_paths(s, "source") for s in data.pool.sources]),
        notes=[without_paths(note, ()) for note in data.notes],
    )


def _alert(row: OutboxRow) -> drawn.AlertLine:
    lines = [f"{channel}: {settled.status}" for channel, settled in sorted(row.channels.items())]
    lines += ["muted: nobody was told"] if row.muted else ["not delivered yet"] if row.waiting else []
    return drawn.AlertLine(
        subject=row.alert.subject, key=row.alert.key, severity=row.alert.severity, told=", ".join(lines)
    )


def _listed(ledger: Ledger, prefix: str) -> list[str]:
    return list(ledger.keys(prefix))


def _digest(of: Iterable[str]) -> str:
    return sha256("\n".join(of).encode()).hexdigest()


def _pages(many: int, page: int) -> int:
    pages = max(-(-many // PER_PAGE), 1)
    if page > pages:
        raise NoSuchPage(f"page={page}: there are {pages}")
    return pages


def _checked(name: str) -> str:
    try:
        return layout.check_name(name)
    except BadInput:
        raise NoSuchPage(f"nothing is called {name[:100]!r}") from None


def _yaml(spec: object) -> bytes:
    return written_yaml(spec, width=90).encode()


def _prefect_pages(environment: Mapping[str, str]) -> str:
    """Where Prefect's pages are, by its own variables; nothing where that is not known."""
    url = environment.get("PREFECT_UI_URL") or environment.get("PREFECT_API_URL", "").removesuffix("/api")
    return url.rstrip("/") if url.startswith(("http://", "https://")) and "@" not in url else ""
