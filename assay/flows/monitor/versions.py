"""Monitors by name: put into the ledger once, found there with every version of their spec, and amended.

A window belongs to the newest version whose first window is not later than it. A version is never made for a
window that is due already, so no window changes its version once it may have been looked at. A new version
says what it leaves of the evidence.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.registry import AUTO
from assay.evalcore.monitoring.calendar import Window, ended
from assay.evalcore.monitoring.judging import DropRule, NewestVerdicts, Rules, begins_anew, carried_over
from assay.evalcore.monitoring.verdicts import Alone
from assay.tasks.effects import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import (
    LEDGER_FORMAT,
    RecordedSpec,
    find_spec,
    versions,
    write_spec,
)
from assay.tasks.ledger.life import (
    versions as library_versions,
)
from assay.tasks.ledger.log import MARK, begin_log
from assay.tasks.ledger.monitors import (
    Amendment,
    WindowVerdict,
    create_amendment,
    monitors,
    read_amendments,
    read_openings,
)
from assay.tasks.ledger.record import Ledger, understood
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.amended import changed_keys, check_amendment, is_new_model
from assay.tasks.spec.monitor import MonitorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of the spec. Its reference window is filled in."""

    number: int
    first: str              # the first window that it applies to
    spec: MonitorSpec
    asked: MonitorSpec      # as the person wrote it
    anew: frozenset[str]    # the limits whose evidence begins anew with it
    new_model: bool
    reason: str = ""        # why it was made


@dataclass(frozen=True, slots=True)
class Versions:
    """All versions of a monitor's spec, in the order they were made; the first is the one it was registered
    with."""

    all: tuple[Version, ...]
    alone: Alone = "strata"      # how windows are tested by themselves, which the first version decides

    @property
    def newest(self) -> MonitorSpec:
        """What holds for the monitor as a whole: its schedule, its alerts, the labels of a month, its end. It
        is the spec of the last amendment, or the one that the monitor began with."""
        return self.all[-1].spec

    def version_of(self, window: str) -> Version:
        """The version of the spec that a window is judged by: the newest whose first window is not later
        than it, else the first one."""
        return next((version for version in reversed(self.all) if version.first <= window), self.all[0])

    def model_of(self, window: str) -> int:
        """The number of the version that began the model of a window."""
        return self._begun(self.version_of(window), lambda version: version.new_model)

    def since(self, window: str, limit: str) -> int:
        """The number of the version with which the evidence against a limit began, at a window. It begins
        anew with another model, and where an amendment changes that limit."""
        judged_by = self.version_of(window)
        return self._begun(judged_by, lambda version: version.new_model or limit in version.anew)

    def comparable(self, window: str, newest: Mapping[str, WindowVerdict]) -> NewestVerdicts:
        """The newest verdicts that a window may be held against, each with the evidence that goes on. Place
        by place, of windows of the same model alone: window -> segment -> verdict."""
        model = self.model_of(window)
        return {
            other_window: {
                place.segment: carried_over(place, self._lasting(window, other_window, place.question))
                for place in (verdict.overall, *verdict.segments)
            }
            for other_window, verdict in newest.items() if self.model_of(other_window) == model
        }

    def _lasting(self, window: str, other_window: str, question: str | None) -> list[str]:
        """The limits whose evidence goes on between two windows."""
        limits = ((name, _of_question(question, name)) for name in _LIMITS)
        return [name for name, of in limits if self.since(window, of) == self.since(other_window, of)]

    def same_evidence(self, window: str, other_window: str, question: str | None) -> bool:
        """Whether no evidence on a question began anew between the versions of two windows."""
        return len(self._lasting(window, other_window, question)) == len(_LIMITS)

    def _begun(self, version: Version, begins: Callable[[Version], bool]) -> int:
        earlier = self.all[: version.number]
        return next((candidate.number for candidate in reversed(earlier) if begins(candidate)), 1)


# among the versions of a monitor's spec.json: its windows are tested by strata, and `auto` is left to each
_BY_STRATA = {"windows": "2"}
_AUTO_BEFORE = "recalibrated"    # what `auto` meant in every window, before that
_LIMITS = ("floor", "ceiling", "reference", "previous")


def _of_question(question: str | None, limit: str) -> str:
    """`floor`; where several questions are asked, `floor of tone`."""
    return limit if question is None else f"{limit} of {question}"


def read_versions(ledger: Ledger, recorded: RecordedSpec) -> Versions:
    """The versions of a registered monitor. Raises BadInput for one that says nothing that makes sense. The
    first is the registered spec, and each amendment makes one more."""
    spec = MonitorSpec.from_data(recorded.spec, origin=layout.spec(ledger.name))
    first_version = Version(
        number=1, first=spec.first.name, spec=spec, asked=spec, anew=frozenset(), new_model=False
    )
    return Versions(
        (first_version, *(_version(ledger, amendment) for amendment in read_amendments(ledger))),
        alone=_alone(recorded.versions),
    )


def _alone(recorded: Mapping[str, str]) -> Alone:
    """How a monitor's windows are tested by themselves; not at all where version 1.0.0 began it."""
    if _BY_STRATA.items() <= recorded.items():
        return "strata"
    return "pooled" if MARK.items() <= recorded.items() else "none"


def _version(ledger: Ledger, amendment: Amendment) -> Version:
    key = layout.monitor_version(ledger.name, amendment.number)
    spec = MonitorSpec.from_data(amendment.spec, origin=key)
    return Version(
        number=amendment.number, first=amendment.first, spec=spec.compared_with(amendment.reference),
        asked=spec, anew=frozenset(amendment.anew), new_model=amendment.new_model, reason=amendment.reason,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    """What an amendment means, as far as it follows from the versions before it."""

    reference: str
    changed: tuple[str, ...]
    anew: tuple[str, ...]
    new_model: bool


def consequences(before: Versions, spec: MonitorSpec, first_window: str) -> Consequences:
    """What a further version means. Raises BadInput for one that may not be."""
    old = before.all[-1]
    check_amendment(old.asked, spec)
    new_model = is_new_model(old.asked, spec)
    reference = _reference(before, spec, first_window, new_model)
    was, new = rules_by_question(old.spec), rules_by_question(spec.compared_with(reference))
    anew = tuple(
        _of_question(question, name) for question in new for name in begins_anew(was[question], new[question])
    )
    return Consequences(
        reference=reference, changed=changed_keys(old.asked, spec), anew=anew, new_model=new_model,
    )


def _reference(before: Versions, spec: MonitorSpec, first_window: str, new_model: bool) -> str:
    """The window that windows of a further version are compared with."""
    begun = first_window if new_model else before.all[before.model_of(first_window) - 1].first
    if spec.monitor.reference is None:
        return begun
    reference = spec.reference.name
    if reference < begun:
        raise BadInput(
            f"$.monitor.reference: {reference} is a window of another model, which ended before {begun}; "
            f"leave it out, and {begun} is the reference, or name a later window"
        )
    return reference


def rules_by_question(spec: MonitorSpec, alone: Alone = "strata") -> dict[str | None, Rules]:
    """What the spec holds each question that is watched against, which share the error rate evenly; under
    None where one is asked.  alone: how windows are tested by themselves."""
    watch, watched = spec.monitor, spec.watched
    return {
        measure.question: Rules(
            floor=None if measure.limit is None else measure.limit.min,
            ceiling=None if measure.limit is None else measure.limit.max,
            drop=None if measure.drop is None else
            DropRule(by=measure.drop.by, than=measure.drop.than, windows=measure.drop.windows),
            reference=spec.reference.name,
            error_rate=watch.error_rate / len(watched),
            horizon=watch.horizon,
            test=watch.test,
            correction=watch.correction,
            is_error=measure.is_error, alone=alone,
        )
        for measure in watched
    }


class MonitorNameTaken(BadInput):
    """Raised where another monitor is registered under this name. The message says in what the two specs
    differ."""


class UnknownMonitor(BadInput):
    """No monitor of this name is in this store; the message names those that are."""


def register(store: Store, spec: MonitorSpec) -> bool:
    """Put a monitor into the ledger, or find it there; whether it is new. The same spec a second time changes
    nothing. Raises BadInput for a store that cannot be written.

    Raises MonitorNameTaken for another of its name.
    """
    retried(store.check)()
    ledger = Ledger(store, layout.monitor_ledger(spec.name))
    recorded = retried(find_spec)(ledger)
    is_new = recorded is None
    if recorded is None:
        recorded = _put_spec(ledger, RecordedSpec(
            spec=spec.to_json(), versions={**versions(), **MARK, **_BY_STRATA}, format=LEDGER_FORMAT,
        ))
    begin_log(ledger)
    registered = retried(read_versions)(ledger, recorded)
    newest = registered.all[-1]
    differs = changed_keys(newest.asked, with_method_of(registered, spec))
    if differs:
        raise MonitorNameTaken(
            f"name: {spec.name!r} is taken in {store.url} by a monitor with another spec (version "
            f"{newest.number} differs in {', '.join(differs)}). If this monitor is to change, use "
            "`assay amend SPEC`. If this is another monitor, give it another name"
        )
    return is_new


def with_method_of(registered: Versions, spec: MonitorSpec) -> MonitorSpec:
    """The spec of a monitor with what `auto` meant when it began: before windows decided it, one method. A
    method that the spec names stays as it is."""
    method = registered.newest.method
    if registered.alone == "strata" or spec.method != AUTO or method not in (_AUTO_BEFORE, AUTO):
        return spec
    return spec.model_copy(update={"method": method})


@effect("register-monitor")
def _put_spec(ledger: Ledger, recorded: RecordedSpec) -> RecordedSpec:
    return write_spec(ledger, recorded)


@retried
def open_monitor(store: Store, name: str) -> Versions:
    """All versions of the spec of a registered monitor. Raises UnknownMonitor, which names some of those
    that the store holds, and says how to register one."""
    ledger = Ledger(store, layout.monitor_ledger(layout.check_name(name)))
    recorded = find_spec(ledger)
    if recorded is None:
        names = monitors(store)
        have = f"it holds {', '.join(names[:5])}" if names else "it holds none"
        raise UnknownMonitor(
            f"no monitor named {name!r} is in {store.url}; {have}. Register one with `assay monitor SPEC`, "
            "or say where to look with --store or ASSAY_STORE"
        )
    with understood(ledger.name):
        return read_versions(ledger, recorded)


_log = logging.getLogger("assay.monitor")


def amend(
    store: Store, spec: MonitorSpec, *, moment: datetime, first_window: str | None = None, reason: str = ""
) -> Amendment | None:
    """Make the spec the newest version of the monitor of its name; None if it is that already.

    first_window   the first window it applies to; the first that is not due unless given

    Raises UnknownMonitor, and BadInput for what may not be amended, or not from that window on.
    """
    versions = open_monitor(store, spec.name)
    spec = with_method_of(versions, spec)
    if spec.to_json() == versions.all[-1].asked.to_json():
        return None
    check_amendment(versions.all[-1].asked, spec)
    ledger = Ledger(store, layout.monitor_ledger(spec.name))
    opened = retried(read_openings)(ledger)
    window = _first(versions.all[-1], spec, max(opened, default=None), moment, first_window)
    amendment = amendment_of(versions, spec, window.name, reason, moment)
    if spec.last is not None and opened and spec.last.name < max(opened):
        raise BadInput(f"$.monitor.last: {max(opened)} is open already; name that window or a later one")
    winner = _put(ledger, amendment)
    if winner.spec != amendment.spec:
        raise BadInput(
            f"{spec.name}: somebody else made version {winner.number} at the same moment; see what it "
            "changed (`assay history`), and amend again if that is still wanted"
        )
    _log.info("%s: version %d, from window %s on", spec.name, winner.number, winner.first)
    return winner


def amendment_of(
    before: Versions, spec: MonitorSpec, first_window: str, reason: str, moment: datetime
) -> Amendment:
    """The next version, with all that follows from it. Raises BadInput for one that may not be. `moment` is
    when it was asked for, and `reason` what people will read of it."""
    follows = consequences(before, spec, first_window)
    return Amendment(
        number=len(before.all) + 1, first=first_window, reference=follows.reference, spec=spec.to_json(),
        changed=follows.changed, anew=follows.anew, new_model=follows.new_model, reason=reason, at=moment,
        versions=library_versions(),
    )


def _first(
    newest: Version, spec: MonitorSpec, last_opened: str | None, moment: datetime, first_window: str | None
) -> Window:
    """The first window of a further version. Raises BadInput for one that may have been looked at."""
    old = newest.spec
    earliest = old.window(newest.first)
    while ended(earliest, old.settle, moment) or (last_opened is not None and earliest.name <= last_opened):
        earliest = earliest.next()
    if first_window is None:
        while not spec.has(earliest):
            earliest = earliest.next()
        return earliest
    window = old.window(first_window)
    if window.name < earliest.name:
        raise BadInput(
            f"{window.name} is too early for a new version: windows before {earliest.name} are due, or open, "
            "or belong to a version that was made before. Every window is judged by the version of its time"
        )
    if not spec.has(window):
        raise BadInput(f"{window.name} is a window that the stream does not have (monitor.without)")
    return window


@effect("amend-monitor")
def _put(ledger: Ledger, amendment: Amendment) -> Amendment:
    return create_amendment(ledger, amendment)
