"""Where a monitor stands, for lists of many: its newest windows in full, of all others only sums.

A history of 500 windows takes a tenth of a second to read, and a hundred of them stand in one list. So the
records of the checkpoint are looked at as bytes, and only what is shown is read. What is known stays known as
long as the keys of the monitor are the same: what is under a key never changes.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from assay.flows.monitor.history import history_row
from assay.flows.monitor.month import spent_in
from assay.flows.monitor.versions import Versions, open_monitor
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.checkpoints import Kept, find_kept
from assay.tasks.ledger.monitors import (
    Mute,
    VerdictGlance,
    WindowVerdict,
    glance_at_verdict,
    read_mutes,
    read_openings,
    read_states,
    standing_state,
)
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Remembering, Store
from assay.tasks.report.history.record import HistoryRow
from assay.tasks.spec.monitor import MonitorSpec

_SEAL = ".seal.json"
_MONTH = re.compile(rb'"month":"(\d{4}-\d{2})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The keys that a glance rests on."""

    index: frozenset[str]
    settled: frozenset[str]        # windows that the checkpoint has in full
    verdicts: int                  # in the checkpoint
    keys: frozenset[str]           # of the other windows, later verdicts, versions and mutes
    windows: tuple[str, ...]
    month: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorGlance:
    """Where one monitor stands, small enough for a list of many: its newest and its newest judged window in
    full, and of all others only sums, such as windows by state and labels by month."""

    spec: MonitorSpec              # its newest version
    newest: HistoryRow | None      # its newest window
    judged: HistoryRow | None      # the newest with a verdict
    states: Mapping[str, int]      # state -> windows
    bought: int                    # labels, in all windows
    bought_this_month: int         # open evaluations count with all that they may ask for
    months: Mapping[str, int]      # month -> labels; a window's count to the month of its first opening
    mutes: tuple[Mute, ...]
    changed: datetime | None       # when the newest windows were opened, or found to be in their state
    known: _Known

    @property
    def windows(self) -> tuple[str, ...]:
        """The names of all windows of which the ledger holds anything."""
        return self.known.windows


@retried
def glance_at_monitor(
    store: Store, name: str, moment: datetime, before: MonitorGlance | None = None
) -> MonitorGlance:
    """Where a monitor stands; `before`, what was known, is given back if nothing changed. It reads the newest
    records alone, so its price does not grow with the monitor's life.

    Raises UnknownMonitor.
    """
    ledger = Ledger(store, layout.monitor_ledger(name))
    index = frozenset(ledger.keys(layout.index_of_monitor(ledger.name)))
    old = before.known if before is not None and before.known.index == index else None
    memo = None if old is not None else find_kept(ledger).newest
    settled = old.settled if old is not None else memo.settled if memo is not None else frozenset()
    last_number = old.verdicts if old is not None else memo.verdicts if memo is not None else 0
    windows = tuple(store.folders(layout.monitor_windows(ledger.name)))
    later = _later(ledger, last_number)
    live = [window for window in windows if window not in settled]
    keys = set(later)
    if settled:
        keys.update(key for window in live for key in ledger.keys(layout.monitor_window(ledger.name, window)))
    else:
        keys.update(ledger.keys(layout.monitor_windows(ledger.name)) if windows else ())
    keys.update(ledger.keys(layout.monitor_versions(ledger.name)))
    keys.update(ledger.keys(layout.mutes(ledger.name)))
    basis = _Known(
        index=index, settled=settled, verdicts=last_number, keys=frozenset(keys), windows=windows,
        month=f"{moment:%Y-%m}",
    )
    if before is not None and before.known == basis:
        return before
    return _read(ledger, basis, memo or find_kept(ledger).newest)


def _later(ledger: Ledger, last_number: int) -> list[str]:
    """The keys of verdicts that the checkpoint does not have."""
    if not last_number:
        return [key for key in ledger.keys(layout.monitor_verdicts(ledger.name))
                if layout.monitor_verdict.match(key) is not None]
    keys: list[str] = []
    for number in count(last_number + 1):
        key = layout.monitor_verdict(ledger.name, number)
        if not ledger.exists(key):
            break
        keys.append(key)
    return keys


def _read(ledger: Ledger, basis: _Known, memo: Kept | None) -> MonitorGlance:
    versions = open_monitor(ledger.store, ledger.name.removeprefix(layout.MONITORS_PREFIX))
    records = {} if memo is None else memo.records
    remembering = Ledger(Remembering(ledger.store, records), ledger.name)
    of_window: dict[str, list[str]] = {}
    start, verdict_prefix = layout.monitor_windows(ledger.name), layout.monitor_verdicts(ledger.name)
    numbered: list[str] = []
    for key in {*records, *basis.keys}:   # many thousand, half of them seals
        if key.endswith(_SEAL):
            continue
        if key.startswith(start):
            of_window.setdefault(key[len(start) : key.index("/", len(start))], []).append(key)
        elif key.startswith(verdict_prefix):
            numbered.append(key)
    blobs = {key: records.get(key) or remembering.get(key) for key in sorted(numbered)}
    verdicts = {key: glance_at_verdict(blob, key) for key, blob in blobs.items()}
    newest_on: dict[str, str] = {}
    for key, verdict in verdicts.items():   # in the order they were given
        newest_on[verdict.window] = key
    rows = _Rows(remembering, records, versions, of_window, newest_on, blobs)
    unjudged = {window: row for window in of_window if window not in newest_on
                and (row := rows.row(window)) is not None}
    states = Counter[str](verdicts[key].verdict for key in newest_on.values())
    states.update(row.state for row in unjudged.values())
    judged = rows.row(max(newest_on)) if newest_on else None
    newest = max([*unjudged, *newest_on], default=None)
    of_newest = unjudged.get(newest) if newest is not None and newest in unjudged else judged
    return MonitorGlance(
        spec=versions.newest, newest=of_newest, judged=judged,
        states=dict(states),
        bought=sum(verdicts[key].bought for key in newest_on.values()),
        bought_this_month=rows.spent(basis.month, verdicts), months=rows.months(verdicts),
        mutes=tuple(read_mutes(ledger)),
        changed=max([
            *(opening.opened for row in (of_newest, judged) if row is not None for opening in row.openings),
            *(row.wrong.at for row in (of_newest, judged) if row is not None and row.wrong is not None),
        ], default=None),
        known=basis,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """The records of a monitor, read window by window."""

    ledger: Ledger
    records: Mapping[str, bytes]               # of the checkpoint
    versions: Versions
    of_window: Mapping[str, Sequence[str]]     # window -> its keys
    newest_on: Mapping[str, str]               # window -> key of the newest verdict
    blobs: Mapping[str, bytes]                 # key of a verdict -> its bytes

    def row(self, window: str) -> HistoryRow | None:
        """A window in full; None for one of which nothing is said, as where what was wrong is cleared. Read
        from the newest opening, state and verdict of the window."""
        keys = self.of_window.get(window, ())
        openings = read_openings(self.ledger, keys).get(window, [])
        wrong = standing_state(read_states(self.ledger, keys).get(window, []))
        if not openings and wrong is None:
            return None
        key = self.newest_on.get(window)
        verdict = None if key is None else self._verdict(key)
        return history_row(window, self.versions.version_of(window), openings, verdict, wrong)

    def spent(self, month: str, verdicts: Mapping[str, VerdictGlance]) -> int:
        """Labels bought in a month."""
        mark, records = f'"month":"{month}"'.encode(), self.records
        windows = {
            window for window, keys in self.of_window.items() for key in keys
            if "/openings/" in key and mark in (records.get(key) or self.ledger.get(key))
        }
        openings = read_openings(self.ledger, _all_of(self.of_window, windows))
        full_verdicts = [self._verdict(key) for key, verdict in verdicts.items() if verdict.window in windows]
        return spent_in(month, openings, full_verdicts)

    def months(self, verdicts: Mapping[str, VerdictGlance]) -> dict[str, int]:
        """Month -> labels bought in all windows whose first opening was paid by it."""
        totals = Counter[str]()
        for window, key in self.newest_on.items():
            if labels := verdicts[key].bought:
                openings = [opening for opening in self.of_window.get(window, ()) if "/openings/" in opening]
                totals[self._month(window, openings)] += labels
        totals.pop("", None)
        return dict(totals)

    def _month(self, window: str, openings: Sequence[str]) -> str:
        """The month that paid for a window first; nothing where it was never opened."""
        match = None
        if len(openings) == 1:
            match = _MONTH.search(self.records.get(openings[0]) or self.ledger.get(openings[0]))
        if match is not None:
            return match[1].decode()
        row = self.row(window)    # opened again, or written by other means
        return row.openings[0].month if row is not None and row.openings else ""

    def _verdict(self, key: str) -> WindowVerdict:
        return record.decode(WindowVerdict, self.blobs[key], key)


def _all_of(of_window: Mapping[str, Sequence[str]], windows: Iterable[str]) -> list[str]:
    return [key for window in windows for key in of_window[window]]


