"""One run over a monitor: what its ledger says, kept up to date, and what the run did."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from assay.evalcore.errors import AssayError
from assay.evalcore.plurals import plural
from assay.flows.monitor.registry import open_monitor
from assay.flows.monitor.telling import tell, tell_failure
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
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

    def summary(self) -> str:
        """In one line."""
        said = [
            f"{plural(len(self.opened), 'evaluation')} opened" if self.opened else "",
            plural(len(self.verdicts), "verdict") if self.verdicts else "",
            f"{len(self.waiting)} waiting for people" if self.waiting else "",
            f"{plural(len(self.failed), 'window')} failed" if self.failed else "",
        ]
        return ", ".join(text for text in said if text) or "nothing is due"


@dataclass(slots=True, kw_only=True)
class MonitorRun:
    """A monitor's records as this run knows them; what is written is added to them, and to `done`."""

    ledger: Ledger       # of the monitor
    spec: MonitorSpec
    now: datetime
    done: Tick
    openings: dict[str, list[Opening]]   # by window, in order
    verdicts: list[WindowVerdict]        # in the order they were given

    @property
    def standing(self) -> dict[str, WindowVerdict]:
        """The newest verdict on each window."""
        return latest(self.verdicts)

    def of_evaluation(self, name: str) -> Ledger:
        """The ledger of an evaluation in the same store."""
        return Ledger(self.ledger.store, name)

    def attempt(self, window: str, work: Callable[[], bool]) -> bool:
        """Do the work of one window. An error is kept for the summary and does not stop the other windows."""
        if window in self.done.failed:
            return False
        try:
            return work()
        except AssayError as error:
            _log.error("%s, window %s: %s", self.spec.name, window, error)
            self.done.failed[window] = str(error)
            tell_failure(self.ledger, self.spec, window, str(error))
            return False

    def add_opening(self, opening: Opening) -> None:
        """Note an opening that was written."""
        self.done.opened.append(opening)
        self.openings.setdefault(opening.window, []).append(opening)

    def write(self, verdict: WindowVerdict) -> None:
        """Write a verdict and tell people of it; where another run took its number, read again instead.

        The next look at the window then judges it after that other verdict.
        """
        winner = _write_verdict(self.ledger, verdict)
        if winner.window != verdict.window:
            self.openings = retried(read_openings)(self.ledger)
            self.verdicts = retried(read_verdicts)(self.ledger)
            return
        self.verdicts.append(winner)
        self.done.verdicts.append(winner)
        self.tell(winner)

    def tell(self, verdict: WindowVerdict) -> None:
        """Raise the alerts of a verdict, unless they were raised before."""
        signals = signals_of(self.openings.get(verdict.window, ()))
        tell(self.ledger, self.spec, verdict, self.verdicts, signals)


def read_run(store: Store, name: str, now: datetime) -> MonitorRun:
    """Begin a run. Raises UnknownMonitor."""
    spec = open_monitor(store, name)
    ledger = Ledger(store, layout.monitor(name))
    return MonitorRun(
        ledger=ledger, spec=spec, now=now, done=Tick(monitor=name),
        openings=retried(read_openings)(ledger), verdicts=retried(read_verdicts)(ledger),
    )


@effect("write-verdict")
def _write_verdict(ledger: Ledger, verdict: WindowVerdict) -> WindowVerdict:
    return create_verdict(ledger, verdict)
