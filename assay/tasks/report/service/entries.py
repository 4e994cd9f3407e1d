"""One line of the home page: an evaluation or a monitor, by its first measure, and the JSON of many.

Lines are searched, filtered and sorted as values; what is unusual is said, and never left out.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from math import ceil, floor, isfinite
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict

from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimate import MeasureEstimate
from assay.evalcore.evaluation.stopping import Verdict
from assay.tasks.ledger.life import NOBODYS, Ownership, OwnershipJson, ownership_json
from assay.tasks.ledger.monitors import verdict_by_question
from assay.tasks.report import wording
from assay.tasks.report.history.record import HistoryRow
from assay.tasks.report.history.words import STATES
from assay.tasks.report.lines import IntervalBar, plain_bar
from assay.tasks.report.standing import Standing, StandingJson

if TYPE_CHECKING:
    from _typeshed import SupportsRichComparison

EntryKind = Literal["evaluation", "monitor"]
STOPPED = {
    "half_width": "target met", "variance": "target met", "best_of": "best known", "budget": "budget spent",
    "pool": "every label known",
}


class ServedStandingJson(StandingJson):
    """An evaluation in a list of many: what `assay status` prints, and where it is."""

    store: str                       # its alias
    question: str                    # what people are asked; may be empty
    limit: dict[str, float]          # min, max: what the first measure must keep
    budget: int                      # labels that it may ask for
    changed: str | None              # when its last round closed, or it began


class ServedMonitorJson(OwnershipJson):
    """A monitor in the list of everything: its newest window and its newest verdict with the estimate, the
    labels of this month against its budget, and how many windows are in each state."""

    store: str
    monitor: str
    window: str | None               # the newest; null before the first
    state: str | None                # its state
    judged: str | None               # the newest window with a verdict, which the value is of
    verdict: Verdict | None          # on it
    measure: str
    value: float | None
    lower: float | None
    upper: float | None
    confidence: float | None
    limit: dict[str, float]
    labels: int                      # bought this month; open evaluations count with all they may ask for
    budget: int                      # labels of a month
    bought: int                      # labels, in all windows
    windows: dict[str, int]          # state -> windows
    muted_until: str | None          # null where its alerts are delivered
    changed: str | None


class DamagedJson(TypedDict):
    """An evaluation or monitor that cannot be read: the alias of its store, its name, and why."""

    store: str
    name: str
    why: str


class HomeJson(TypedDict):
    """One page of the list of everything in the stores that are served: evaluations, monitors and damaged
    entries, with the number of lines and pages in all."""

    stores: list[str]                # aliases
    total: int                       # lines that were asked for
    page: int                        # from 1
    pages: int
    evaluations: list[ServedStandingJson]
    monitors: list[ServedMonitorJson]
    damaged: list[DamagedJson]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFigure:
    """The first measure of one of several questions: its name, and its value with the ends of its interval.
    """

    question: str
    measure: str
    known: tuple[float | None, float | None, float | None]    # value, lower, upper


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeEntry:
    """One line of the home page: an evaluation or a monitor, by its first measure, with its state in words,
    estimate, limits, labels against budget, and when it changed. `printed` makes its JSON."""

    store: str                        # alias
    kind: EntryKind
    name: str
    ownership: Ownership = NOBODYS
    question: str = ""                # what people are asked
    measure: str = ""                 # as its registry calls it, or `f1 of new minus old`
    part: str = ""                    # the class and the question that the measure is of
    state: str                        # waiting, open, finished, damaged; of a monitor its newest window's
    said: str                         # the state in words
    verdict: Verdict | None = None
    known: tuple[float | None, float | None, float | None] = (None, None, None)   # value, lower, upper
    by_question: tuple[QuestionFigure, ...] = ()   # of several questions the first measure of each
    exact: bool = False
    undefined: str = ""               # why there is no value
    confidence: float | None = None
    limits: tuple[float | None, float | None] = (None, None)
    labels: int = 0                   # of a monitor: this month
    bought: int = 0                   # paid for, in all
    budget: int | None = None
    changed: datetime | None = None
    muted: datetime | None = None     # until when
    printed: Callable[[], Any] | None = None   # its JSON; None where it is damaged

    @property
    def attention(self) -> int:
        """Where it stands in the list: breaches, what cannot be read, what waits for people, the rest. The
        list is sorted by it, so 0 stands first."""
        if self.verdict == "breach":
            return 0
        if self.state in ("damaged", "failed"):
            return 1
        if self.state in ("waiting", "stale"):
            return 2
        return 3 if self.verdict == "inconclusive" or self.state in ("open", "missing", "unlabelled") else 4

    @property
    def path(self) -> str:
        """The address of its page within the service, such as `/evaluations/STORE/NAME`."""
        return f"/{self.kind}s/{self.store}/{self.name}"

    @property
    def title(self) -> str:
        """The title of its first measure, with the class or question it is of; the empty text before there is
        one. Text for a cell of the list."""
        name = wording.measure_name(self.measure) if self.measure else ""
        return f"{name} of {self.part}" if name and self.part else name

    @property
    def must_be(self) -> str:
        """Its limit in words, such as `at least 0.8`; the empty text without a limit. Both sides are named
        where there are two."""
        return wording.allowed(*self.limits) or ""

    @property
    def estimate(self) -> str:
        """The estimate to the decimals its interval calls for, such as `0.891`, or why it is undefined; the
        empty text before there is one. Text for a cell of the list."""
        if self.known[0] is None:
            return f"undefined: {self.undefined}" if self.undefined else ""
        return wording.estimate_text(*self.known)

    @property
    def ends(self) -> str:
        """The ends of the interval, `0.842 to 0.932`, or `exact`; the empty text without an interval. They
        are rounded outwards, as everywhere."""
        if self.known[0] is None or self.known[1] is None or self.known[2] is None:
            return ""
        return "exact" if self.exact else wording.ends_in_words(*self.known)

    @property
    def bar(self) -> IntervalBar | None:
        """The estimate, its interval and its limits drawn as a bar on the scale of the measure; None without
        a value. Places are shares of that scale, from 0 to 1."""
        if self.known[0] is None:
            return None
        return plain_bar(self.known, self._scale(), self.limits)

    @property
    def spent(self) -> str:
        """The labels against the budget, `96 of 300`; of a monitor those of this month, which is said. Text
        for a cell of the list, its numbers grouped by thousands."""
        used = wording.grouped_digits(self.labels)
        of = "" if self.budget is None else f" of {wording.grouped_digits(self.budget)}"
        return f"{used}{of}" + (" this month" if self.kind == "monitor" else "")

    @property
    def day(self) -> str:
        """The moment of its last change in UTC, `2026-11-22 16:49`; the empty text where that is not known.
        The page shows it in the reader's own time zone."""
        return "" if self.changed is None else f"{self.changed.astimezone(UTC):%Y-%m-%d %H:%M}"

    def holds(self, words: Sequence[str]) -> bool:
        """Whether all of these words, in small letters, are in what the line says."""
        text = " ".join([
            self.name, self.store, self.ownership.owner or "", self.ownership.team or "", self.question,
            self.title, self.measure, self.said, self.verdict or "",
        ]).lower()
        return all(word in text for word in words)

    def _scale(self) -> tuple[float, float]:
        drawn = [x for x in (*self.known, *self.limits) if x is not None]
        try:
            low, high = wording.measure_bounds(self.measure, None)
        except BadInput:
            inside = min(drawn) >= 0 and max(drawn) <= 1
            low, high = (0.0, 1.0) if inside else (-float("inf"), float("inf"))
        if not isfinite(low) or (low < 0 <= min(drawn)):
            low = 0.0 if min(drawn) >= 0 else float(floor(min(drawn)))
        top = high if isfinite(high) else float(max(ceil(max(drawn)), 1))
        return low, max(top, low + 1e-9)


def evaluation_entry(store: str, standing: Standing, changed: datetime | None) -> HomeEntry:
    """The line of an evaluation from its standing. A verdict is shown once it has finished; labels that were
    known before count as labels and not as bought."""
    lead = standing.known.estimates[0] if standing.known else None
    waiting = standing.waiting_for
    stopped = STOPPED[standing.stopped_by] if standing.stopped_by else ""
    best = standing.best
    if best is not None and best.winner is not None:
        within = "" if best.better_than_all else f" within {wording.plain_number(best.margin)}"
        stopped = f"{best.winner} is the best{within}"
    text = {
        "finished": f"finished: {stopped}" if stopped else "finished",
        "waiting": "waiting for people" + (
            f": {wording.plural(waiting.items, 'item')} in round {waiting.round}" if waiting else ""
        ),
        "open": "something is due",
    }[standing.state]
    limits = standing.limit_min, standing.limit_max
    return HomeEntry(
        store=store, kind="evaluation", name=standing.evaluation, ownership=standing.ownership,
        question=standing.question, measure=measure_or_difference(lead) if lead else "", part=_part(lead),
        state=standing.state, said=text,
        verdict=standing.verdict if standing.state == "finished" else None,
        known=(lead.value, lead.lower, lead.upper) if lead else (None, None, None),
        by_question=() if standing.known is None else _first_of_each_question(standing.known.estimates),
        exact=lead is not None and lead.interval == "exact",
        undefined=(lead.undefined_reason or "") if lead else "",
        confidence=lead.confidence if lead else None,
        limits=limits, labels=standing.labels, bought=standing.labels - standing.known_before,
        budget=standing.budget, changed=changed,
        printed=partial(_standing_json, store, standing, changed),
    )


def measure_or_difference(row: MeasureEstimate) -> str:
    """`f1`; `f1 of new minus old` for a difference, as monitors call it."""
    return f"{row.measure} of {row.system} minus {row.versus}" if row.versus else row.measure


def _part(row: MeasureEstimate | None) -> str:
    return ", ".join(filter(None, (row.class_name, row.question))) if row else ""


def _first_of_each_question(rows: Sequence[MeasureEstimate]) -> tuple[QuestionFigure, ...]:
    """None where one question is asked."""
    figures: dict[str, QuestionFigure] = {}
    for row in rows:
        if row.question is not None and row.segment is None:
            figures.setdefault(row.question, QuestionFigure(
                question=row.question, measure=measure_or_difference(row),
                known=(row.value, row.lower, row.upper),
            ))
    return tuple(figures.values())


def _standing_json(store: str, standing: Standing, changed: datetime | None) -> ServedStandingJson:
    return {
        **standing.to_json(), "store": store, "question": standing.question,
        "limit": _limit((standing.limit_min, standing.limit_max)),
        "budget": standing.budget, "changed": None if changed is None else changed.isoformat(),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorSums:
    """Sums over all windows of a monitor that its line shows beside its newest windows: windows by state,
    labels bought in all and this month, the monthly budget, and until when it is muted."""

    monitor: str
    measure: str
    question: str
    ownership: Ownership
    states: Mapping[str, int]
    bought: int
    this_month: int
    monthly: int
    muted: datetime | None
    changed: datetime | None


def monitor_entry(
    store: str, sums: MonitorSums, newest: HistoryRow | None, judged: HistoryRow | None
) -> HomeEntry:
    """The line of a monitor; newest: its newest window, judged: the newest with a verdict.

    Of several questions it shows the one that needs people first.
    """
    verdict = judged.verdict.verdict if judged and judged.verdict else None
    verdicts = verdict_by_question(judged.verdict) if judged and judged.verdict else []
    if verdicts[1:] and judged is not None:
        shown = next((part for part in verdicts if part.verdict == verdict), verdicts[0])
        sums, judged = replace(sums, measure=shown.measure), replace(judged, verdict=shown)
    place = judged.overall if judged else None
    measured = place.measured if place else None
    limits = _of_place(judged)
    state = newest.state if newest else "open"
    text = "no window yet" if newest is None else f"{newest.window}: {STATES[state]}"
    ends = (measured.value, measured.lower, measured.upper) if measured else (None, None, None)
    printed: ServedMonitorJson = {
        "store": store, "monitor": sums.monitor, "window": newest.window if newest else None,
        "state": state if newest else None, "judged": judged.window if judged else None,
        "verdict": verdict, "measure": sums.measure, "value": ends[0], "lower": ends[1],
        "upper": ends[2], "confidence": measured.confidence if measured else None,
        "limit": _limit(limits), "labels": sums.this_month, "budget": sums.monthly,
        "bought": sums.bought, "windows": dict(sums.states),
        "changed": None if sums.changed is None else sums.changed.isoformat(),
        "muted_until": None if sums.muted is None else sums.muted.isoformat(),
        **ownership_json(sums.ownership),
    }
    return HomeEntry(
        store=store, kind="monitor", name=sums.monitor, ownership=sums.ownership, question=sums.question,
        measure=sums.measure, state=state, said=text, verdict=verdict, known=ends,
        undefined="nothing was judged" if measured and measured.value is None else "",
        confidence=measured.confidence if measured else None,
        by_question=tuple(
            QuestionFigure(
                question=part.overall.question,
                measure=part.measure.removesuffix(f" of {part.overall.question}"),
                known=(part.overall.measured.value, part.overall.measured.lower, part.overall.measured.upper),
            )
            for part in verdicts if part.overall.question is not None
        ),
        limits=limits, labels=sums.this_month, bought=sums.bought, budget=sums.monthly,
        changed=sums.changed, muted=sums.muted, printed=lambda: printed,
    )


def damaged_entry(store: str, kind: EntryKind, name: str, reason: str) -> HomeEntry:
    """The line of an evaluation or monitor that cannot be read, with the reason in words. Everything else of
    it is empty, and it stands near the top."""
    return HomeEntry(store=store, kind=kind, name=name, state="damaged", said=f"cannot be read: {reason}")


def _of_place(row: HistoryRow | None) -> tuple[float | None, float | None]:
    """The floor and the ceiling of a window, the nearest where there are several."""
    limits = row.overall.limits if row and row.overall else ()
    low = [limit.value for limit in limits if limit.side == "below"]
    high = [limit.value for limit in limits if limit.side == "above"]
    return max(low, default=None), min(high, default=None)


def _limit(limits: tuple[float | None, float | None]) -> dict[str, float]:
    return {name: x for name, x in zip(("min", "max"), limits, strict=True) if x is not None}


SORTS: Mapping[str, tuple[str, Callable[[HomeEntry], "SupportsRichComparison"]]] = {
    "attention": ("what needs people first", lambda entry: entry.attention),
    "changed": ("last change", lambda entry: -(entry.changed.timestamp() if entry.changed else 0.0)),
    "name": ("name", lambda entry: entry.name.lower()),
    "owner": ("owner", lambda entry: (entry.ownership.owner or "~", entry.ownership.team or "~")),
    "estimate": ("estimate", lambda entry: entry.known[0] if entry.known[0] is not None else float("inf")),
    "labels": ("labels", lambda entry: -entry.labels),
}
SHOWS: Mapping[str, tuple[str, Callable[[HomeEntry], bool]]] = {
    "all": ("everything", lambda _: True),
    "breach": ("in breach", lambda entry: entry.verdict == "breach"),
    "waiting": ("waiting for people", lambda entry: entry.state in ("waiting", "stale")),
    "open": ("something is due", lambda entry: entry.kind == "evaluation" and entry.state == "open"),
    "inconclusive": ("inconclusive", lambda entry: entry.verdict == "inconclusive"),
    "ok": ("within its limit", lambda entry: entry.verdict == "ok"),
    "finished": ("finished", lambda entry: entry.state == "finished"),
    "damaged": ("cannot be read", lambda entry: entry.state == "damaged"),
}
KINDS = {"": "evaluations and monitors", "evaluation": "evaluations", "monitor": "monitors"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What is asked for. Raises BadInput for a word that is none of the choices."""

    words: str = ""
    show: str = "all"
    kind: str = ""
    team: str = ""
    store: str = ""
    sort: str = "attention"

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("show", self.show, SHOWS), ("kind", self.kind, KINDS), ("sort", self.sort, SORTS),
        ):
            if value not in choices:
                may = ', '.join(filter(None, choices))
                raise BadInput(f"{name} cannot be {value[:40]!r}; it may be {may}")

    def matching_entries(self, entries: Iterable[HomeEntry]) -> list[HomeEntry]:
        """Those that are asked for, in their order; what changed last comes first among equals. Every word
        that was typed must occur in an entry."""
        words, shown = self.words.lower().split(), SHOWS[self.show][1]
        matches = [
            entry for entry in entries
            if shown(entry) and self.kind in ("", entry.kind) and self.store in ("", entry.store)
            and self.team in ("", entry.ownership.team or "") and entry.holds(words)
        ]
        matches.sort(key=lambda entry: (SORTS["changed"][1](entry), entry.store, entry.name))
        matches.sort(key=lambda entry: SORTS[self.sort][1](entry))
        return matches


def home_json(
    stores: Sequence[str], entries: Sequence[HomeEntry], total: int, page: int, pages: int
) -> HomeJson:
    """One page of the list as JSON: its entries sorted into evaluations, monitors and damaged ones, with the
    numbers of lines and pages. docs/reference/json.md lists the fields."""
    of_evaluations: list[ServedStandingJson] = []
    of_monitors: list[ServedMonitorJson] = []
    damaged: list[DamagedJson] = []
    for entry in entries:
        if entry.printed is None:
            damaged.append({"store": entry.store, "name": entry.name, "why": entry.said})
        elif entry.kind == "evaluation":
            of_evaluations.append(entry.printed())
        else:
            of_monitors.append(entry.printed())
    return {
        "stores": list(stores), "total": total, "page": page, "pages": pages,
        "evaluations": of_evaluations, "monitors": of_monitors, "damaged": damaged,
    }
