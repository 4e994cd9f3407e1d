"""One run over a monitor: what its ledger says, kept up to date, and what the run did.

A checkpoint spares it the windows that are settled. A window is settled when nothing can be due for it any
more: changes of it are no longer looked for, its evaluations are finished and its verdict rests on them, or
it was left out for good. Of these the checkpoint has the records. What is written of the other windows is
listed, window by window, and verdicts are looked for from the last known number on. So a settled window that
was judged again is known to have changed.

Without a checkpoint everything is listed, as it also is when there is one that cannot be believed.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from assay.evalcore.errors import AssayError, plural
from assay.evalcore.monitoring.calendar import Window, due, ended
from assay.evalcore.monitoring.signals import Signal
from assay.flows.alerts import Unforeseen
from assay.flows.monitor.telling import tell
from assay.flows.monitor.versions import Versions, open_monitor
from assay.flows.workers.chosen import chosen_workers
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints import KeptEntries, find_kept
from assay.tasks.ledger.log import carry_out_newest, refuse_changed
from assay.tasks.ledger.monitors import (
    Opening,
    State,
    WindowState,
    WindowVerdict,
    create_verdict,
    latest,
    read_openings,
    read_states,
    read_verdicts,
    signals_of,
)
from assay.tasks.ledger.record import DamagedRecord, Ledger, get_record
from assay.tasks.ledger.responses import IncidentResponse, read_responses
from assay.tasks.ledger.stores.store import KeyMissing, Remembering, Store, StoreError
from assay.tasks.pool.shards import MapOver, one_after_the_other
from assay.tasks.settings import Settings
from assay.tasks.spec.alerts import Alerts
from assay.tasks.spec.monitor import MonitorSpec

_log = logging.getLogger("assay.monitor")


@dataclass(slots=True, kw_only=True)
class Tick:
    """The record of one run over a monitor: the openings and verdicts that it wrote, what it waits for by
    evaluation, and which windows failed, are awaited, or are left out, each with its reason."""

    monitor: str
    looked_at: list[str] = field(default_factory=list)        # windows that somebody named
    opened: list[Opening] = field(default_factory=list)
    verdicts: list[WindowVerdict] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)     # evaluation -> what for
    failed: dict[str, str] = field(default_factory=dict)      # window -> the message
    awaited: dict[str, str] = field(default_factory=dict)     # window -> what is not there yet, in time still
    left_out: dict[str, str] = field(default_factory=dict)    # window -> why it is not judged: missing, ...

    def summary(self) -> str:
        """One line that counts what the run did: evaluations and follow-ups opened, verdicts, and windows
        that wait, failed, are not there yet or are left out; "nothing is due" where all counts are zero."""
        openings = [opening for opening in self.opened if opening.evaluation is not None]
        follow_ups = sum(opening.why == "follow-up" for opening in openings)
        opened = len(openings) - follow_ups
        parts = [
            f"{plural(opened, 'evaluation')} opened" if opened else "",
            plural(follow_ups, "follow-up") if follow_ups else "",
            plural(len(self.verdicts), "verdict") if self.verdicts else "",
            f"{len(self.waiting)} waiting" if self.waiting else "",
            f"{plural(len(self.failed), 'window')} failed" if self.failed else "",
            f"{plural(len(self.awaited), 'window')} not there yet" if self.awaited else "",
            f"{plural(len(self.left_out), 'window')} left out" if self.left_out else "",
        ]
        return ", ".join(text for text in parts if text) or "nothing is due"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is wrong with one window, as this run sees it: a state, why in words, and the digest of the files
    that were looked at."""

    state: State
    why: str
    files: str = ""      # digest of the files that were looked at


@dataclass(slots=True, kw_only=True)
class MonitorRun:
    """A monitor's records as this run knows them; what is written is added to them, and to `done`."""

    store: Store
    ledger: Ledger       # of the monitor; what is known of settled windows is read from memory
    versions: Versions   # of its spec
    now: datetime
    done: Tick
    openings: dict[str, list[Opening]]   # by window, in order
    verdicts: list[WindowVerdict]        # in the order they were given
    states: dict[str, list[WindowState]]   # by window, in order
    keys: set[str]       # of its windows and verdicts
    settled: set[str]    # windows of which nothing can be due
    entries: KeptEntries
    responses: list[IncidentResponse]    # what people did about incidents, in order
    through: set[str] = field(default_factory=set)   # windows for which this run has done all there can be
    found: dict[str, Found] = field(default_factory=dict)   # by window
    expected: set[str] = field(default_factory=set)   # new windows, not opened yet, that labels are meant for
    held: set[str] = field(default_factory=set)       # new windows that get no labels now
    asked_for: frozenset[str] = frozenset()   # windows that somebody named; else nobody did
    never_late: bool = False                  # they are looked at however late it is
    buys: bool = True                         # follow-ups
    answered: dict[str, str] = field(default_factory=dict)   # window -> how far people are, and what to do
    workers: MapOver = one_after_the_other    # who reads and freezes large windows

    @property
    def spec(self) -> MonitorSpec:
        """The newest version: what holds for the monitor as a whole."""
        return self.versions.newest

    @property
    def alerts(self) -> Alerts:
        """The alerts that the newest version of the spec asks for, or the defaults where it says nothing.
        They say who is told, of which kinds of change, and how."""
        return self.spec.alerts or Alerts()

    def spec_of(self, window: str) -> MonitorSpec:
        """The spec that a window is judged by: that of the newest version whose first window is not later
        than it. So an amendment changes no window that was before it."""
        return self.versions.version_of(window).spec

    def window(self, name: str) -> Window:
        """The window of this name. Raises BadInput for a name of another kind."""
        return self.spec.window(name)

    def due_at(self, window: Window) -> datetime:
        """The moment from which a window is looked at, in UTC: its end and the `settle` time of its version
        of the spec. Before it, rows of the window may still come in."""
        return window.end.astimezone(UTC) + self.spec_of(window.name).settle

    def late_from(self, window: Window) -> datetime:
        """From when on changes of a window are no longer looked for."""
        return self.due_at(window) + timedelta(days=self.spec_of(window.name).monitor.late_days)

    def is_late(self, window: Window) -> bool:
        """Whether changes of a window's predictions are no longer looked for, because `monitor.late_days`
        have passed since it was due. A window that a person named in a backfill is never late."""
        is_exempt = self.never_late and window.name in self.asked_for
        return not is_exempt and self.now > self.late_from(window)

    @property
    def active(self) -> list[str]:
        """The windows that were opened and are not settled, by name."""
        return sorted(self.openings.keys() - self.settled)

    @property
    def standing(self) -> dict[str, WindowVerdict]:
        """The newest verdict on each window that has one, by name of the window."""
        return latest(self.verdicts)

    def of_evaluation(self, name: str) -> Ledger:
        """The ledger of an evaluation in the store of the monitor, by the evaluation's name; nothing is read
        yet. A window's evaluation lives beside the monitor."""
        return Ledger(self.store, name)

    def attempt(self, window: str, work: Callable[[], bool]) -> bool:
        """Do the work of one window. An error is kept for the summary and does not stop the other windows.

        One of the store is raised: the next run goes on from what is written.
        """
        if window in self.done.failed:
            return False
        try:
            return work()
        except AssayError as error:
            if isinstance(error, StoreError) and not isinstance(error, KeyMissing | DamagedRecord):
                raise     # of no window: to go on with others would decide them in another order
            _log.error("%s, window %s: %s", self.spec.name, window, error)
            reason = str(error)
        except Exception as error:
            _log.exception("%s, window %s: unexpected error", self.spec.name, window)
            reason = str(Unforeseen.from_error(error))
        self.done.failed[window] = reason
        self.found[window] = Found(state="failed", why=reason)
        return False

    def add_opening(self, opening: Opening) -> None:
        """Take an opening that was just written into what this run knows: into its summary, into the window's
        list and among the keys. So the ledger is not read again for it in this run."""
        self.done.opened.append(opening)
        self.openings.setdefault(opening.window, []).append(opening)
        self.keys.add(layout.monitor_opening(self.ledger.name, opening.window, opening.number))

    def write(self, verdict: WindowVerdict) -> None:
        """Write a verdict and tell people of it; where another run took its number, read again instead.

        The next look at the window then judges it after that other verdict.
        """
        winner = _write_verdict(self.ledger, verdict)
        if winner.window != verdict.window:
            known_keys = read_known(self.store, self.spec.name, self.versions, self.now, {verdict.window})
            self.ledger, self.keys, self.entries = known_keys.ledger, known_keys.keys, known_keys.entries
            self.settled &= known_keys.settled
            self.openings = retried(read_openings)(self.ledger, self.keys)
            self.verdicts = retried(read_verdicts)(self.ledger, self.keys)
            return
        self.keys.add(layout.monitor_verdict(self.ledger.name, winner.number))
        self.verdicts.append(winner)
        self.done.verdicts.append(winner)
        self.tell(winner)

    def tell(self, verdict: WindowVerdict) -> None:
        """Raise the alerts of a verdict, unless they were raised before."""
        signals, reasons = self.signals(verdict.window), {v.number: v.reason for v in self.versions.all}
        tell(self.ledger, self.spec, verdict, self.verdicts, self.now, signals, reasons)

    def signals(self, window: str) -> tuple[Signal, ...]:
        """The signals of one window, measured on its predictions before anybody labelled anything; none where
        it was not opened. Each compares one column or score with earlier windows of the same model."""
        return signals_of(self.openings.get(window, ()))


def read_run(store: Store, name: str, moment: datetime, also: Iterable[str] = ()) -> MonitorRun:
    """Begin a run; also: windows that are looked at, settled or not.

    Raises UnknownMonitor, and DamagedRecord for a spec that is not what it was: nothing is judged by it.
    """
    ledger = Ledger(store, layout.monitor_ledger(layout.check_name(name)))
    carry_out_newest(ledger)   # of a run that was cut off
    versions, also = open_monitor(store, name), frozenset(also)
    newest = layout.monitor_version(ledger.name, versions.all[-1].number)   # the first is spec.json
    retried(refuse_changed)(ledger, layout.spec(ledger.name), newest)
    known_keys = read_known(store, name, versions, moment, also)
    return MonitorRun(
        store=store, ledger=known_keys.ledger, versions=versions, now=moment, done=Tick(monitor=name),
        keys=known_keys.keys, settled=known_keys.settled, entries=known_keys.entries,
        openings=retried(read_openings)(known_keys.ledger, known_keys.keys),
        verdicts=retried(read_verdicts)(known_keys.ledger, known_keys.keys),
        states=retried(read_states)(known_keys.ledger, known_keys.keys),
        responses=retried(read_responses)(known_keys.ledger),
    )


@contextmanager
def with_workers(run: MonitorRun) -> Iterator[None]:
    """The run has workers until the context ends; they start with the first large window."""
    with chosen_workers(run.spec.freeze_runner or Settings().freeze_runner) as workers:
        run.workers = workers
        try:
            yield
        finally:
            run.workers = one_after_the_other


@effect(
    "write-verdict",
    shown=lambda ledger, verdict: f"judge {ledger.name} {verdict.window}: {verdict.verdict}",
)
def _write_verdict(ledger: Ledger, verdict: WindowVerdict) -> WindowVerdict:
    return create_verdict(ledger, verdict)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownKeys:
    """The keys of a monitor, and what is known of them."""

    ledger: Ledger           # reads what the checkpoint holds from memory
    keys: set[str]           # of its windows and verdicts
    settled: set[str]        # windows
    entries: KeptEntries     # of the index


@retried
def read_known(
    store: Store, name: str, versions: Versions, moment: datetime, also: Iterable[str] = ()
) -> KnownKeys:
    """The keys of a monitor; also: windows that are looked at, settled or not."""
    ledger = Ledger(store, layout.monitor_ledger(name))
    entries = find_kept(ledger)
    memo = entries.newest
    if memo is None:
        remembering = Ledger(Remembering(store), ledger.name)
        return KnownKeys(ledger=remembering, keys=_written(ledger), settled=set(), entries=entries)
    records = memo.records
    ledger = Ledger(Remembering(store, records), ledger.name)
    keys = {*records}
    revisits = set(also)
    for verdict in _later_verdicts(ledger, memo.verdicts, keys):
        revisits.add(verdict.window)
    calendar = {window.name for window in due_windows(versions, moment)}
    for window in ((calendar | memo.others) - memo.settled) | revisits:
        keys.update(ledger.keys(layout.monitor_window(ledger.name, window)))
    return KnownKeys(ledger=ledger, keys=keys, settled=set(memo.settled - revisits), entries=entries)


def _later_verdicts(ledger: Ledger, last_number: int, keys: set[str]) -> Iterator[WindowVerdict]:
    """Verdicts with higher numbers than the last; their keys are added."""
    for number in count(last_number + 1):
        key = layout.monitor_verdict(ledger.name, number)
        if not ledger.exists(key):
            return
        keys.add(key)
        yield get_record(ledger, key, WindowVerdict)


def due_windows(versions: Versions, moment: datetime) -> list[Window]:
    """The windows that are due, without those that the stream does not have."""
    # a version may ask for a longer wait; each window waits as its own does
    return [
        window for window in due(versions.all[0].spec.first, versions.newest.last, moment, timedelta(0))
        if (spec := versions.version_of(window.name).spec).has(window) and ended(window, spec.settle, moment)
    ]


def is_of_window(key: str) -> bool:
    """Whether a key is an opening, a state or a verdict."""
    kinds = (layout.monitor_opening, layout.window_state, layout.monitor_verdict)
    return any(kind.match(key) for kind in kinds)


def verdicts_without_gap(name: str, keys: Collection[str]) -> int:
    """How many verdicts of a monitor are among these keys, up to the first that is not. Verdicts are numbered
    from 1 on as they are written, so a gap is where reading has to stop."""
    return next(n - 1 for n in count(1) if layout.monitor_verdict(name, n) not in keys)


def _written(ledger: Ledger) -> set[str]:
    name = ledger.name
    return {*ledger.keys(layout.monitor_windows(name)), *ledger.keys(layout.monitor_verdicts(name))}
