"""A monitor over thousands of windows: what one of its runs costs when nothing is due, and with a new window.

The newest windows are real. The early ones are copies of one window under other names: of each its opening,
its verdict, and the last seal of its evaluation, which is all that a run reads of a window that is settled.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from doubles.stream import FIRST, a_monitor, write_day

from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import create_opening, create_verdict, read_openings, read_verdicts
from assay.tasks.ledger.record import Ledger
from benchmarks.ledger_cost.rounds import PlainMemory, copied
from benchmarks.ledger_cost.watched import Watched, seconds_in

MONITOR = "stream"
REAL = 9        # windows, the newest; changes are looked for in 7 of them
ITEMS = 60      # of a window


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What one run of a monitor cost."""

    windows: int
    what: str
    calls: int
    read: int                      # bytes
    written: int
    dollars: float
    seconds: dict[str, float]      # by store


def windows(
    folder: Path, at: Sequence[int], stores: dict[str, Callable[[], str]]
) -> Iterator[Looked]:
    """The cost with so many windows; stores: name -> gives the address of a new store."""
    for number in at:
        with tempfile.TemporaryDirectory(dir=folder) as made:
            yield from _with(Path(made), number, stores)


def _with(folder: Path, number: int, stores: dict[str, Callable[[], str]]) -> Iterator[Looked]:
    store = PlainMemory()
    early = max(0, number - REAL)
    first = FIRST - timedelta(days=early)
    spec = a_monitor(folder, first=str(first), quiet_labels=10, follow_ups=0, monthly_labels=10**6)
    register(store, spec)
    for d in range(REAL + 1):
        _write_day(folder, d)
    _put_early(store, folder, early)
    now = datetime(FIRST.year, FIRST.month, FIRST.day, 12, tzinfo=UTC) + timedelta(days=REAL)
    lost = _looked(store, number, "the checkpoint lost", now, {})
    tick(store, MONITOR, moment=now)       # opens and judges what is real
    tick(store, MONITOR, moment=now)
    yield _looked(store, number, "nothing is due", now, stores)
    yield _looked(store, number, "a window to open and judge", now + timedelta(days=1), stores)
    if early:
        yield lost


def _looked(
    store: Any, number: int, what: str, now: datetime, stores: dict[str, Callable[[], str]]
) -> Looked:
    watched = Watched(copied(store))
    tick(watched, MONITOR, moment=now)
    seconds = seconds_in(stores, store, watched, lambda there: tick(there, MONITOR, moment=now))
    return Looked(
        windows=number, what=what, calls=watched.total, read=watched.bytes_read,
        written=watched.bytes_written, dollars=watched.dollars, seconds=seconds,
    )


def _write_day(folder: Path, d: int) -> None:
    draw = np.random.default_rng([5, d])
    logit = 4.0 * draw.standard_normal(ITEMS)
    write_day(folder, FIRST + timedelta(days=d), logit, draw.random(ITEMS) < 1 / (1 + np.exp(-logit)))


def _put_early(store: Any, folder: Path, early: int) -> None:
    """The early windows, which a monitor in another store has judged one of."""
    other = PlainMemory()
    register(other, a_monitor(folder, quiet_labels=10, follow_ups=0))
    tick(other, MONITOR, moment=datetime(FIRST.year, FIRST.month, FIRST.day, tzinfo=UTC) + timedelta(days=1))
    ledger = Ledger(store, layout.monitor_ledger(MONITOR))
    judged = Ledger(other, ledger.name)
    opening, verdict = read_openings(judged)[str(FIRST)][0], read_verdicts(judged)[0]
    seal = other.get(layout.final_seal(str(opening.evaluation)))
    for n in range(early):
        window = str(FIRST - timedelta(days=early - n))
        evaluation = f"{MONITOR}-{window}"
        store.put(layout.final_seal(evaluation), seal)
        create_opening(ledger, replace(
            opening, window=window, evaluation=evaluation, opened=opening.opened - timedelta(days=early - n),
            month=window[:7],
        ))
        create_verdict(ledger, replace(
            verdict, number=n + 1, window=window, rests_on=replace(verdict.rests_on, evaluation=evaluation),
        ))
