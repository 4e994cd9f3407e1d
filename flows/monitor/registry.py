"""Monitors by name: put into the ledger once, and found there."""

from assay.evalcore.errors import BadInput
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import monitors
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.recorded_spec import RecordedSpec, find_spec, versions, write_spec
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.spec.monitor import MonitorSpec


class MonitorNameTaken(BadInput):
    """Another monitor has this name; the message says what differs."""


class UnknownMonitor(BadInput):
    """No monitor of this name is in this store; the message names those that are."""


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
