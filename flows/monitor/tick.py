"""`tick`: take a monitor as far as the clock and today's labels allow.

    open      every window that is due, and again where its predictions changed since
    look      at the answers of finished windows again, for `late_days`: what people correct is a revision
    advance   every evaluation of a window that people may have answered
    judge     every window whose evaluations are done and not yet judged as they are
    buy       a follow-up batch where a verdict is inconclusive and the month's labels allow
    tell      raise what is worth telling; the outbox delivers it

Like `advance` it may run at any time, by anyone, twice at once, after any crash: everything decided is put
under a write-once key before it is acted on, and everything due is found by reading the ledger. One window
that fails holds up no other; it is named, and tried again by the next tick. Windows overlap freely: a slow
one simply is judged later.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from assay.evalcore.errors import AssayError, BadInput
from assay.evalcore.monitoring.calendar import Window, due, named
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin
from assay.flows.monitor.evidence import PartEvidence, is_finished, read_part, revision_of
from assay.flows.monitor.judging import judge
from assay.flows.monitor.opening import current, open_follow_up, open_window
from assay.flows.monitor.telling import tell, tell_failure
from assay.flows.record.versions import versions
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import (
    Opening,
    SupportingEvaluation,
    WindowVerdict,
    create_verdict,
    latest,
    monitors,
    read_openings,
    read_verdicts,
)
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.recorded_spec import RecordedSpec, find_spec, write_spec
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.pool.window_traffic import files_digest
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec

_log = logging.getLogger("assay.monitor")


class MonitorNameTaken(BadInput):
    """Another monitor has this name; the message says what differs."""


class UnknownMonitor(BadInput):
    """No monitor of this name is in this store; the message names those that are."""


@dataclass(slots=True, kw_only=True)
class Tick:
    """What one call did, and what it waits for."""

    monitor: str
    opened: list[Opening] = field(default_factory=list)
    verdicts: list[WindowVerdict] = field(default_factory=list)
    waiting: dict[str, str] = field(default_factory=dict)     # evaluation -> for whom
    failed: dict[str, str] = field(default_factory=dict)      # window -> the message

    def summary(self) -> str:
        """In one line."""
        said = [
            f"{len(self.opened)} evaluations opened" if self.opened else "",
            f"{len(self.verdicts)} verdicts" if self.verdicts else "",
            f"{len(self.waiting)} waiting for people" if self.waiting else "",
            f"{len(self.failed)} windows failed" if self.failed else "",
        ]
        return ", ".join(text for text in said if text) or "nothing is due"


def register(store: Store, spec: MonitorSpec) -> None:
    """Put a monitor into the ledger, or find it there. Raises MonitorNameTaken for another of its name."""
    retried(store.check)()
    ledger = Ledger(store, layout.monitor(spec.name))
    recorded = retried(find_spec)(ledger)
    if recorded is None:
        recorded = _put_spec(ledger, RecordedSpec(spec=spec.to_json(), versions=versions()))
    ours, theirs = spec.to_json(), recorded.spec
    if theirs != ours:
        differs = sorted(k for k in {*theirs, *ours} if theirs.get(k) != ours.get(k))
        raise MonitorNameTaken(
            f"name: {spec.name!r} is taken in {store.url} by a monitor with another spec (it differs in "
            f"{', '.join(differs)}); give this one another name, or restore the spec to go on with that one"
        )


@effect("register-monitor")
def _put_spec(ledger: Ledger, recorded: RecordedSpec) -> RecordedSpec:
    return write_spec(ledger, recorded)


@retried
def open_monitor(store: Store, name: str) -> MonitorSpec:
    """The spec of a registered monitor. Raises UnknownMonitor."""
    ledger = Ledger(store, layout.monitor(layout.check_name(name)))
    recorded = find_spec(ledger)
    if recorded is None:
        known = monitors(store)
        have = f"it holds {', '.join(known[:5])}" if known else "it holds none"
        raise UnknownMonitor(
            f"no monitor named {name!r} is in {store.url}; {have}. Register one with `assay monitor SPEC`, "
            "or say where to look with --store or ASSAY_STORE"
        )
    return MonitorSpec.from_data(recorded.spec, origin=layout.spec(ledger.name))


def tick(store: Store, name: str, *, now: datetime, only: str | None = None) -> Tick:
    """Do whatever is due.

    now     what the clock says; windows, lateness and the month's budget depend on it
    only    this one window, due or not

    Raises UnknownMonitor, BadInput for a window that is none, and whatever the store raises.
    """
    spec = open_monitor(store, name)
    run = _Ticking(ledger=Ledger(store, layout.monitor(name)), spec=spec, now=now, tick=Tick(monitor=name))
    run.read()
    windows = [named(only, spec.kind)] if only else list(due(spec.first, spec.last, now, spec.settle))
    for window in windows:
        run.attempt(window.name, partial(run.open, window))
    # a verdict may buy a follow-up, whose answers may be in at once
    while True:
        moved = [run.attempt(window, partial(run.go_on, window))
                 for window in sorted(run.openings) if only is None or window == only]
        if not any(moved):
            break
    _log.info("%s: %s", name, run.tick.summary())
    return run.tick


def go_on_with(store: Store, name: str, window: str, *, now: datetime) -> Tick:
    """Do what is due for one window that was opened: its predictions are not looked at again.

    Raises UnknownMonitor, and whatever the store raises.
    """
    spec = open_monitor(store, name)
    run = _Ticking(ledger=Ledger(store, layout.monitor(name)), spec=spec, now=now, tick=Tick(monitor=name))
    run.read()
    # others may have waited for the reference to be judged
    windows = sorted(run.openings) if window == run.spec.reference.name else [window]
    for one in windows:
        while run.attempt(one, partial(run.go_on, one)):
            pass
    return run.tick


@dataclass(slots=True, kw_only=True)
class _Ticking:
    """One call of `tick`."""

    ledger: Ledger       # of the monitor
    spec: MonitorSpec
    now: datetime
    tick: Tick
    openings: dict[str, list[Opening]] = field(default_factory=dict)
    verdicts: list[WindowVerdict] = field(default_factory=list)

    def read(self) -> None:
        """What the ledger says."""
        self.openings = retried(read_openings)(self.ledger)
        self.verdicts = retried(read_verdicts)(self.ledger)

    def attempt(self, window: str, work: Callable[[], bool]) -> bool:
        """Do one window's work; an error is kept for the summary and holds up nothing else."""
        if window in self.tick.failed:
            return False
        try:
            return work()
        except AssayError as error:
            _log.error("%s, window %s: %s", self.spec.name, window, error)
            self.tick.failed[window] = str(error)
            tell_failure(self.ledger, self.spec, window, str(error))
            return False

    def open(self, window: Window) -> bool:
        """Open a window that has no evaluation yet, or whose predictions changed, and take it on."""
        known = list(self.openings.get(window.name, []))
        opening = None
        if not known or self._may_have_changed(window, known[-1]):
            opening = open_window(self.ledger, self.spec, window, self.openings, self.verdicts, self.now)
        if opening is not None:
            self._note(opening)
            for replaced in known:
                if replaced.evaluation is not None and opening.revision > replaced.revision:
                    _stop_sweeping(Ledger(self.ledger.store, replaced.evaluation))
        elif known and not self._is_late(window):
            self._look_again(window.name)
        # the next window, which may be opened in the same call, is held against this one and inherits from it
        while self.go_on(window.name):
            pass
        return opening is not None

    def _may_have_changed(self, window: Window, last: Opening) -> bool:
        if last.evaluation is None:
            return False
        spec = self.spec.evaluation(window, self.spec.name, 1, None, 0)
        return not self._is_late(window) and files_digest(spec) != last.files

    def _is_late(self, window: Window) -> bool:
        """Whether what changes of this window now comes too late to be looked for."""
        return self.now > window.end + self.spec.settle + timedelta(days=self.spec.monitor.late_days)

    def _look_again(self, window: str) -> None:
        """Read the answers of finished evaluations once more: those that changed become a revision."""
        for opening in current(self.openings[window]):
            name = str(opening.evaluation)
            if opening.evaluation is not None and is_finished(Ledger(self.ledger.store, name)):
                advance(self.ledger.store, name, look_again=True)

    def go_on(self, window: str) -> bool:
        """Advance, judge and follow up one window; whether anything moved."""
        parts = [o for o in current(self.openings.get(window, [])) if o.evaluation is not None]
        finished = [self._advance(opening) for opening in parts]   # each gets its turn
        if not all(finished):
            return False
        if not parts or self._waits_for_reference(window):
            return False
        standing = latest(self.verdicts).get(window)
        names = [str(opening.evaluation) for opening in parts]
        rests_on = tuple((name, revision_of(Ledger(self.ledger.store, name))) for name in names)
        if standing is None or _basis(standing.parts) != rests_on:
            self._judge(window, [read_part(Ledger(self.ledger.store, name)) for name in names])
            return True
        tell(self.ledger, self.spec, standing, self.verdicts)   # a crash may have come between
        further = open_follow_up(
            self.ledger, self.spec, standing, self.openings, self.verdicts, self.now
        )
        if further is None:
            return False
        self._note(further)
        return further.evaluation is not None

    def _note(self, opening: Opening) -> None:
        self.tick.opened.append(opening)
        self.openings.setdefault(opening.window, []).append(opening)

    def _advance(self, opening: Opening) -> bool:
        """Take an evaluation as far as it goes; whether it is finished."""
        name = str(opening.evaluation)
        if is_finished(Ledger(self.ledger.store, name)):
            return True
        begin(self.ledger.store, self._spec_of(opening), now=lambda: self.now)
        standing = advance(self.ledger.store, name)
        if standing.state != "finished":
            waits = standing.waiting_for or {}
            self.tick.waiting[name] = f"{waits.get('items', 0)} items on the {waits.get('desk', '')} desk"
            return False
        self.tick.waiting.pop(name, None)
        return True

    def _spec_of(self, opening: Opening) -> Spec:
        window = named(opening.window, self.spec.kind)
        return self.spec.evaluation(
            window, str(opening.evaluation), opening.labels, opening.inherits, opening.carry
        )

    def _waits_for_reference(self, window: str) -> bool:
        """A drop from the reference can be judged only after the reference."""
        drop, reference = self.spec.monitor.drop, self.spec.reference.name
        if drop is None or drop.than != "reference" or window == reference:
            return False
        return reference not in latest(self.verdicts)

    def _judge(self, window: str, evidence: Sequence[PartEvidence]) -> None:
        verdict = judge(self.spec, window, evidence, self.verdicts)
        winner = _write_verdict(self.ledger, verdict)
        if winner.window != window:
            self.read()   # another tick judged another window first: judge again after it
            return
        self.verdicts.append(winner)
        self.tick.verdicts.append(winner)
        tell(self.ledger, self.spec, winner, self.verdicts)


@effect("write-verdict")
def _write_verdict(ledger: Ledger, verdict: WindowVerdict) -> WindowVerdict:
    return create_verdict(ledger, verdict)


@retried
def _stop_sweeping(ledger: Ledger) -> None:
    """Its predictions were replaced: it stays as far as it got, and nothing rests on it."""
    ledger.store.discard(layout.open_index(ledger.name))


def _basis(parts: Sequence[SupportingEvaluation]) -> tuple[tuple[str, int], ...]:
    return tuple((part.evaluation, part.revision) for part in parts)
