"""Monitors by name: put into the ledger once, and found there."""

from assay.evalcore.errors import BadInput
from assay.flows.record.versions import versions
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import codec, layout
from assay.tasks.ledger.monitors import monitors, read_monitor_spec
from assay.tasks.ledger.owner import Ledger
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
    recorded = retried(read_monitor_spec)(ledger)
    if recorded is None:
        blob = codec.to_json({"spec": spec.to_json(), "versions": versions()})
        recorded = codec.from_json(_put_spec(ledger, blob), layout.spec(ledger.name))
    ours = spec.to_json()
    if recorded["spec"] != ours:
        differs = sorted(k for k in {*recorded["spec"], *ours} if recorded["spec"].get(k) != ours.get(k))
        raise MonitorNameTaken(
            f"name: {spec.name!r} is taken in {store.url} by a monitor with another spec (it differs in "
            f"{', '.join(differs)}); give this one another name, or restore the spec to go on with that one"
        )


@effect("register-monitor")
def _put_spec(ledger: Ledger, blob: bytes) -> bytes:
    return ledger.put(layout.spec(ledger.name), blob)


@retried
def open_monitor(store: Store, name: str) -> MonitorSpec:
    """The spec of a registered monitor. Raises UnknownMonitor."""
    ledger = Ledger(store, layout.monitor(layout.check_name(name)))
    recorded = read_monitor_spec(ledger)
    if recorded is None:
        known = monitors(store)
        have = f"it holds {', '.join(known[:5])}" if known else "it holds none"
        raise UnknownMonitor(
            f"no monitor named {name!r} is in {store.url}; {have}. Register one with `assay monitor SPEC`, "
            "or say where to look with --store or ASSAY_STORE"
        )
    return MonitorSpec.from_data(recorded["spec"], origin=layout.spec(ledger.name))
