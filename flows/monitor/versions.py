"""Which version of a monitor's spec a window is judged by, and what that version leaves of the evidence.

A window belongs to the newest version whose first window is not later than it. A version is never made for a
window that is due already, so no window changes its version once it may have been looked at.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.amending import begins_anew, carried_over
from assay.evalcore.monitoring.limits import DropRule, NewestVerdicts, Rules
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitoring.versions import Amendment, read_amendments
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.recorded_spec import RecordedSpec
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


@dataclass(frozen=True, slots=True)
class Versions:
    """All versions of a monitor's spec, in order."""

    all: tuple[Version, ...]

    @property
    def newest(self) -> MonitorSpec:
        """What holds for the monitor as a whole: its schedule, its alerts, the labels of a month, its end."""
        return self.all[-1].spec

    def of(self, window: str) -> Version:
        """The version that a window is judged by."""
        return next((one for one in reversed(self.all) if one.first <= window), self.all[0])

    def model_of(self, window: str) -> int:
        """The number of the version that began the model of a window."""
        return self._begun(self.of(window), lambda one: one.new_model)

    def since(self, window: str, limit: str) -> int:
        """The number of the version with which the evidence against a limit began, at a window."""
        return self._begun(self.of(window), lambda one: one.new_model or limit in one.anew)

    def comparable(self, window: str, newest: Mapping[str, WindowVerdict]) -> NewestVerdicts:
        """The newest verdicts that a window may be held against, each with the evidence that goes on."""
        here = {name: self.since(window, name) for name in _LIMITS}
        model = self.model_of(window)
        found = {}
        for other, verdict in newest.items():
            if self.model_of(other) != model:
                continue
            kept = [name for name, number in here.items() if self.since(other, name) == number]
            found[other] = {
                place.segment: carried_over(place, kept) for place in (verdict.overall, *verdict.segments)
            }
        return found

    def same_evidence(self, window: str, other: str) -> bool:
        """Whether no evidence began anew between the versions of two windows."""
        return all(self.since(window, name) == self.since(other, name) for name in _LIMITS)

    def _begun(self, version: Version, begins: Callable[[Version], bool]) -> int:
        earlier = self.all[: version.number]
        return next((one.number for one in reversed(earlier) if begins(one)), 1)


_LIMITS = ("floor", "ceiling", "reference", "previous")


def read_versions(ledger: Ledger, recorded: RecordedSpec) -> Versions:
    """The versions of a registered monitor. Raises BadInput for one that says nothing that makes sense."""
    spec = MonitorSpec.from_data(recorded.spec, origin=layout.spec(ledger.name))
    first = Version(
        number=1, first=spec.first.name, spec=spec, asked=spec, anew=frozenset(), new_model=False
    )
    return Versions((first, *(_version(ledger, one) for one in read_amendments(ledger))))


def _version(ledger: Ledger, amendment: Amendment) -> Version:
    key = layout.monitor_version(ledger.name, amendment.number)
    asked = MonitorSpec.from_data(amendment.spec, origin=key)
    return Version(
        number=amendment.number, first=amendment.first, spec=asked.compared_with(amendment.reference),
        asked=asked, anew=frozenset(amendment.anew), new_model=amendment.new_model,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequences:
    """What an amendment means, as far as it follows from the versions before it."""

    reference: str
    changed: tuple[str, ...]
    anew: tuple[str, ...]
    new_model: bool


def consequences(before: Versions, asked: MonitorSpec, first: str) -> Consequences:
    """What a further version means. Raises BadInput for one that may not be."""
    old = before.all[-1]
    check_amendment(old.asked, asked)
    new_model = is_new_model(old.asked, asked)
    reference = _reference(before, asked, first, new_model)
    anew = begins_anew(rules_of(old.spec), rules_of(asked.compared_with(reference)))
    return Consequences(
        reference=reference, changed=changed_keys(old.asked, asked), anew=anew, new_model=new_model,
    )


def _reference(before: Versions, asked: MonitorSpec, first: str, new_model: bool) -> str:
    """The window that windows of a further version are compared with."""
    begun = first if new_model else before.all[before.model_of(first) - 1].first
    if asked.monitor.reference is None:
        return begun
    reference = asked.reference.name
    if reference < begun:
        raise BadInput(
            f"$.monitor.reference: {reference} is a window of another model, which ended before {begun}; "
            f"leave it out, and {begun} is the reference, or name a later window"
        )
    return reference


def rules_of(spec: MonitorSpec) -> Rules:
    """What the spec holds its windows against."""
    watch, limit = spec.monitor, spec.limit
    drop = watch.drop
    return Rules(
        floor=None if limit is None else limit.min,
        ceiling=None if limit is None else limit.max,
        drop=None if drop is None else DropRule(by=drop.by, than=drop.than, windows=drop.windows),
        reference=spec.reference.name,
        error_rate=watch.error_rate,
        horizon=watch.horizon,
        test=watch.test,
        correction=watch.correction,
        is_error=spec.watches_an_error,
    )
