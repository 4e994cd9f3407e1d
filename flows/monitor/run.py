"""One run over a monitor: what its ledger says, kept up to date, and what the run did."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from assay.evalcore.errors import AssayError
from assay.evalcore.monitoring.calendar import Window
from assay.evalcore.monitoring.signals import Signal
from assay.evalcore.plurals import plural
from assay.flows.alerts.verdicts import Unforeseen
from assay.flows.monitor.known import read_known
from assay.flows.monitor.registry import open_monitor
from assay.flows.monitor.telling import tell
from assay.flows.monitor.versions import Versions
from assay.flows.workers.chosen import chosen_workers
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.monitor import KeptEntries
from assay.tasks.ledger.monitor_seals import seal_monitor
from assay.tasks.ledger.monitoring.states import State, WindowState, read_states
from assay.tasks.ledger.monitors import (
    Opening,
    WindowVerdict,
    create_verdict,
    latest,
    read_openings,
    read_verdicts,
    signals_of,
)
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.mapping import MapOver, one_after_the_other
from assay.tasks.settings import Settings
from assay.tasks.spec.alerts import Alerts
from assay.tasks.spec.monitor import MonitorSpec

_log = logging.getLogger("assay.monitor")


@dataclass(slots=True, kw_only=True)
class Tick:
    """What one run did, and what it waits for."""

    monitor: str
    opened: list[Opening] = field(default_factory=list)
    verdicts: list[WindowVerdict] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)     # evaluation -> what for
    failed: dict[str, str] = field(default_factory=dict)      # window -> the message
    awaited: dict[str, str] = field(default_factory=dict)     # window -> what is not there yet, in time still
    left_out: dict[str, str] = field(default_factory=dict)    # window -> why it is not judged: missing, ...

    def summary(self) -> str:
        """In one line."""
        said = [
            f"{plural(len(self.opened), 'evaluation')} opened" if self.opened else "",
            plural(len(self.verdicts), "verdict") if self.verdicts else "",
            f"{len(self.waiting)} waiting" if self.waiting else "",
            f"{plural(len(self.failed), 'window')} failed" if self.failed else "",
            f"{plural(len(self.awaited), 'window')} not there yet" if self.awaited else "",
            f"{plural(len(self.left_out), 'window')} left out" if self.left_out else "",
        ]
        return ", ".join(text for text in said if text) or "nothing is due"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What this run found to be wrong with a window."""

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
    through: set[str] = field(default_factory=set)   # windows for which this run has done all there can be
    found: dict[str, Found] = field(default_factory=dict)   # by window
    workers: MapOver = one_after_the_other    # who reads and freezes large windows

    @property
    def spec(self) -> MonitorSpec:
        """The newest version: what holds for the monitor as a whole."""
        return self.versions.newest

    @property
    def alerts(self) -> Alerts:
        """What people want to hear of."""
        return self.spec.alerts or Alerts()

    def spec_of(self, window: str) -> MonitorSpec:
        """The version that a window belongs to."""
        return self.versions.of(window).spec

    def window(self, name: str) -> Window:
        """The window of this name. Raises BadInput for a name of another kind."""
        return self.spec.window(name)

    def late_from(self, window: Window) -> datetime:
        """From when on changes of a window are no longer looked for."""
        spec = self.spec_of(window.name)
        return window.end.astimezone(UTC) + spec.settle + timedelta(days=spec.monitor.late_days)

    @property
    def active(self) -> list[str]:
        """The windows that were opened and are not settled, by name."""
        return sorted(self.openings.keys() - self.settled)

    @property
    def standing(self) -> dict[str, WindowVerdict]:
        """The newest verdict on each window."""
        return latest(self.verdicts)

    def of_evaluation(self, name: str) -> Ledger:
        """The ledger of an evaluation in the same store."""
        return Ledger(self.store, name)

    def attempt(self, window: str, work: Callable[[], bool]) -> bool:
        """Do the work of one window. An error is kept for the summary and does not stop the other windows."""
        if window in self.done.failed:
            return False
        try:
            return work()
        except AssayError as error:
            _log.error("%s, window %s: %s", self.spec.name, window, error)
            why = str(error)
        except Exception as error:
            _log.exception("%s, window %s: unexpected error", self.spec.name, window)
            why = str(Unforeseen.from_error(error))
        self.done.failed[window] = why
        self.found[window] = Found(state="failed", why=why)
        return False

    def add_opening(self, opening: Opening) -> None:
        """Note an opening that was written."""
        self.done.opened.append(opening)
        self.openings.setdefault(opening.window, []).append(opening)
        self.keys.add(layout.monitor_opening(self.ledger.name, opening.window, opening.number))

    def write(self, verdict: WindowVerdict) -> None:
        """Write a verdict and tell people of it; where another run took its number, read again instead.

        The next look at the window then judges it after that other verdict.
        """
        winner = _write_verdict(self.ledger, verdict)
        if winner.window != verdict.window:
            known = read_known(self.store, self.spec.name, self.versions, self.now, {verdict.window})
            self.ledger, self.keys, self.entries = known.ledger, known.keys, known.entries
            self.settled &= known.settled
            self.openings = retried(read_openings)(self.ledger, self.keys)
            self.verdicts = retried(read_verdicts)(self.ledger, self.keys)
            return
        self.keys.add(layout.monitor_verdict(self.ledger.name, winner.number))
        self.verdicts.append(winner)
        self.done.verdicts.append(winner)
        self.tell(winner)

    def tell(self, verdict: WindowVerdict) -> None:
        """Raise the alerts of a verdict, unless they were raised before."""
        tell(self.ledger, self.spec, verdict, self.verdicts, self.now, self.signals(verdict.window))

    def seal(self) -> None:
        """Put the seals that are due."""
        seal_monitor(self.ledger, self.keys, self.versions.all[-1].number)

    def signals(self, window: str) -> tuple[Signal, ...]:
        """Of a window's predictions."""
        return signals_of(self.openings.get(window, ()))


def read_run(store: Store, name: str, now: datetime, also: Iterable[str] = ()) -> MonitorRun:
    """Begin a run; also: windows that are looked at, settled or not. Raises UnknownMonitor."""
    versions = open_monitor(store, name)
    known = read_known(store, name, versions, now, also)
    return MonitorRun(
        store=store, ledger=known.ledger, versions=versions, now=now, done=Tick(monitor=name),
        keys=known.keys, settled=known.settled, entries=known.entries,
        openings=retried(read_openings)(known.ledger, known.keys),
        verdicts=retried(read_verdicts)(known.ledger, known.keys),
        states=retried(read_states)(known.ledger, known.keys),
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


@effect("write-verdict")
def _write_verdict(ledger: Ledger, verdict: WindowVerdict) -> WindowVerdict:
    return create_verdict(ledger, verdict)
