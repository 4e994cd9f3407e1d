"""Monitors by name: put into the ledger once, and found there with every version of their spec."""

from assay.evalcore.errors import BadInput
from assay.flows.monitor.versions import Versions, read_versions
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import monitors
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.recorded_spec import RecordedSpec, find_spec, versions, write_spec
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.spec.amended import changed_keys
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
    newest = retried(read_versions)(ledger, recorded).all[-1]
    differs = changed_keys(newest.asked, spec)
    if differs:
        raise MonitorNameTaken(
            f"name: {spec.name!r} is taken in {store.url} by a monitor with another spec (version "
            f"{newest.number} differs in {', '.join(differs)}). If this monitor is to change, use "
            "`assay amend SPEC`. If this is another monitor, give it another name"
        )


@effect("register-monitor")
def _put_spec(ledger: Ledger, recorded: RecordedSpec) -> RecordedSpec:
    return write_spec(ledger, recorded)


@retried
def open_monitor(store: Store, name: str) -> Versions:
    """A registered monitor. Raises UnknownMonitor."""
    ledger = Ledger(store, layout.monitor(layout.check_name(name)))
    recorded = find_spec(ledger)
    if recorded is None:
        known = monitors(store)
        have = f"it holds {', '.join(known[:5])}" if known else "it holds none"
        raise UnknownMonitor(
            f"no monitor named {name!r} is in {store.url}; {have}. Register one with `assay monitor SPEC`, "
            "or say where to look with --store or ASSAY_STORE"
        )
    return read_versions(ledger, recorded)
