"""What is known of a monitor without reading the windows that are settled, by a checkpoint.

A window is settled when nothing can be due for it any more: changes of it are no longer looked for, its
evaluations are finished and its verdict rests on them, or it was left out for good. Of these the checkpoint
has the records. What is written of the other windows is listed, window by window, and verdicts are looked
for from the last known number on. So a settled window that was judged again is known to have changed.

Without a checkpoint everything is listed, as it also is when there is one that cannot be believed.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from assay.evalcore.monitoring.calendar import Window, due, ended
from assay.flows.monitor.versions import Versions
from assay.tasks.effects.calls import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints.monitor import KeptEntries, find_kept
from assay.tasks.ledger.monitor_seals import OPENINGS, STATES, sealable
from assay.tasks.ledger.monitors import WindowVerdict
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.record import get_record
from assay.tasks.ledger.stores.protocol import Store
from assay.tasks.ledger.stores.remembering import Remembering


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownKeys:
    """The keys of a monitor, and what is known of them."""

    ledger: Ledger           # reads what the checkpoint holds from memory
    keys: set[str]           # of its windows and verdicts
    settled: set[str]        # windows
    entries: KeptEntries     # of the index


@retried
def read_known(
    store: Store, name: str, versions: Versions, now: datetime, also: Iterable[str] = ()
) -> KnownKeys:
    """The keys of a monitor; also: windows that are looked at, settled or not."""
    ledger = Ledger(store, layout.monitor(name))
    entries = find_kept(ledger)
    kept = entries.newest
    if kept is None:
        remembering = Ledger(Remembering(store), ledger.name)
        return KnownKeys(ledger=remembering, keys=sealable(ledger), settled=set(), entries=entries)
    records = kept.records
    ledger = Ledger(Remembering(store, records), ledger.name)
    keys = {*records, *(seal for key in records if (seal := seal_of(key)) is not None)}
    again = set(also)
    for verdict in _later_verdicts(ledger, kept.verdicts, keys):
        again.add(verdict.window)
    calendar = {window.name for window in due_windows(versions, now)}
    for window in ((calendar | kept.others) - kept.settled) | again:
        keys.update(ledger.keys(layout.monitor_window(ledger.name, window)))
    return KnownKeys(ledger=ledger, keys=keys, settled=set(kept.settled - again), entries=entries)


def _later_verdicts(ledger: Ledger, last: int, keys: set[str]) -> Iterator[WindowVerdict]:
    """Verdicts with higher numbers than the last; their keys and seals are added."""
    for number in count(last + 1):
        key = layout.monitor_verdict(ledger.name, number)
        if not ledger.exists(key):
            return
        keys.add(key)
        seal = layout.monitor_verdict_seal(ledger.name, number)
        keys.update([seal] if ledger.exists(seal) else [])
        yield get_record(ledger, key, WindowVerdict)


def due_windows(versions: Versions, now: datetime) -> list[Window]:
    """The windows that are due, without those that the stream does not have."""
    # a version may ask for a longer wait; each window waits as its own does
    return [
        window for window in due(versions.all[0].spec.first, versions.newest.last, now, timedelta(0))
        if (spec := versions.of(window.name).spec).has(window) and ended(window, spec.settle, now)
    ]


def seal_of(key: str) -> str | None:
    """The key of the seal of an opening, a state or a verdict; None for a key of another kind."""
    for chain in (OPENINGS, STATES):
        if (values := chain.record.match(key)) is not None:
            return chain.seal(*values)
    found = layout.monitor_verdict.match(key)
    return None if found is None else layout.monitor_verdict_seal(*found)


def sealed_verdicts(name: str, keys: Collection[str]) -> int:
    """How many verdicts are sealed, without a gap."""
    return next(n - 1 for n in count(1) if layout.monitor_verdict_seal(name, n) not in keys)
