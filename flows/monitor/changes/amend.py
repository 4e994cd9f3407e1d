"""Amending a monitor: a further version of its spec, from a window on that is not due yet."""

import logging
from datetime import datetime

from assay.evalcore.errors import BadInput
from assay.evalcore.monitoring.calendar import Window, ended
from assay.flows.monitor.registry import open_monitor
from assay.flows.monitor.versions import Version, Versions, consequences
from assay.tasks.effects.calls import effect, retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitor_seals import VERSIONS, seal_numbered
from assay.tasks.ledger.monitoring.versions import Amendment, create_amendment
from assay.tasks.ledger.monitors import read_openings
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.recorded_spec import versions as library_versions
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.spec.amended import check_amendment
from assay.tasks.spec.monitor import MonitorSpec

_log = logging.getLogger("assay.monitor")


def amend(
    store: Store, spec: MonitorSpec, *, now: datetime, first: str | None = None, reason: str = ""
) -> Amendment | None:
    """Make the spec the newest version of the monitor of its name; None if it is that already.

    first   the first window it applies to; the first that is not due unless given

    Raises UnknownMonitor, and BadInput for what may not be amended, or not from that window on.
    """
    versions = open_monitor(store, spec.name)
    if spec.to_json() == versions.all[-1].asked.to_json():
        return None
    check_amendment(versions.all[-1].asked, spec)
    ledger = Ledger(store, layout.monitor(spec.name))
    opened = retried(read_openings)(ledger)
    window = _first(versions.all[-1], spec, max(opened, default=None), now, first)
    wanted = amendment_of(versions, spec, window.name, reason, now)
    if spec.last is not None and opened and spec.last.name < max(opened):
        raise BadInput(f"$.monitor.last: {max(opened)} is open already; name that window or a later one")
    winner = _put(ledger, wanted)
    if winner.spec != wanted.spec:
        raise BadInput(
            f"{spec.name}: somebody else made version {winner.number} at the same moment; see what it "
            "changed (`assay history`), and amend again if that is still wanted"
        )
    seal_numbered(ledger, VERSIONS, winner.number)
    _log.info("%s: version %d, from window %s on", spec.name, winner.number, winner.first)
    return winner


def amendment_of(
    before: Versions, spec: MonitorSpec, first: str, reason: str, now: datetime
) -> Amendment:
    """The next version, with all that follows from it. Raises BadInput for one that may not be."""
    follows = consequences(before, spec, first)
    return Amendment(
        number=len(before.all) + 1, first=first, reference=follows.reference, spec=spec.to_json(),
        changed=follows.changed, anew=follows.anew, new_model=follows.new_model, reason=reason, at=now,
        versions=library_versions(),
    )


def _first(
    newest: Version, spec: MonitorSpec, last_opened: str | None, now: datetime, asked: str | None
) -> Window:
    """The first window of a further version. Raises BadInput for one that may have been looked at."""
    old = newest.spec
    earliest = old.window(newest.first)
    while ended(earliest, old.settle, now) or (last_opened is not None and earliest.name <= last_opened):
        earliest = earliest.next()
    if asked is None:
        while not spec.has(earliest):
            earliest = earliest.next()
        return earliest
    wanted = old.window(asked)
    if wanted.name < earliest.name:
        raise BadInput(
            f"{wanted.name} is too early for a new version: windows before {earliest.name} are due, or open, "
            "or belong to a version that was made before. Every window is judged by the version of its time"
        )
    if not spec.has(wanted):
        raise BadInput(f"{wanted.name} is a window that the stream does not have (monitor.without)")
    return wanted


@effect("amend-monitor")
def _put(ledger: Ledger, amendment: Amendment) -> Amendment:
    return create_amendment(ledger, amendment)
