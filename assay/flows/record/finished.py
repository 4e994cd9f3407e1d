"""What finished evaluations came to, for lists of many: `index/finished/<evaluation>/<digest>`.

Written when an evaluation leaves the index of open ones, so every evaluation is in one of the two. It is
derived: one that is missing, damaged (its bytes have not the digest in its name) or not the only one is made
again from the ledger. Commands about one evaluation never read it; `verify` names one that says anything else
than the ledger.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import TypeVar

from assay.evalcore.errors import AssayError
from assay.flows.record.named import named_folders
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.effects import retried
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.life import LEDGER_FORMAT, read_closed
from assay.tasks.ledger.monitors import window_of
from assay.tasks.ledger.record import Ledger, find_bytes
from assay.tasks.ledger.stores.store import Store, StoreError
from assay.tasks.report.standing import Standing

Found = TypeVar("Found")
READERS = 16   # at once: S3 takes its time for each

_log = logging.getLogger("assay.status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What is kept of a finished evaluation, so that its ledger need not be read again."""

    standing: Standing
    closed: datetime | None      # its last round
    format: int = 1              # of the ledger


@retried
def write_finished(ledger: Ledger, standing: Standing) -> None:
    """Keep where a finished evaluation stands, in place of what was kept before."""
    summary = Finished(
        standing=replace(standing, forecast=None), closed=read_closed(ledger, standing.rounds),
        format=LEDGER_FORMAT,
    )
    blob = record.encode(summary)
    key = layout.finished(ledger.name, layout.digest(blob)[:32])
    if ledger.put(key, blob) != blob:   # damaged: the name is a digest
        ledger.store.discard(key)
        ledger.put(key, blob)
    for old_key in set(ledger.keys(layout.index_of_finished(ledger.name))) - {key}:
        ledger.store.discard(old_key)


def forget_finished(ledger: Ledger) -> None:
    """Throw away what was kept of an evaluation: it goes on."""
    for key in list(ledger.keys(layout.index_of_finished(ledger.name))):
        ledger.store.discard(key)


def standings(store: Store) -> list[tuple[str, Standing | AssayError]]:
    """Where every evaluation of a store stands, by name; or why it cannot be read."""
    index = StandingIndex(store)
    read = read_in_parallel(named_folders(store), index.standing)
    return [(name, standing) for name, standing in read if standing is not None]


@retried
def finished_since(store: Store, since: datetime) -> list[str]:
    """Evaluations that have stopped, the last round of which closed at `since` or later.

    One without that time is among them: to advance it puts the time, so it is dated from then on. So is one
    that was lost from the index of open ones: to advance it enters it again.
    """
    index = StandingIndex(store)
    read = read_in_parallel(named_folders(store), index.finished)
    recent = []
    for name, result in read:
        if isinstance(result, Finished):
            recent += [name] if result.closed is None or result.closed >= since else []
        elif result is not None:   # one that cannot be dated keeps nobody else from being looked at
            _log.warning("%s: not looked at again: %s", name, result)
    return recent


class StandingIndex:
    """The index of a store, listed once.

    names: of the evaluations that are asked for, where they are few of many; None: all
    """

    def __init__(self, store: Store, names: Sequence[str] | None = None) -> None:
        self._store = store
        opened = (layout.open_index.match(key) for key in store.keys(layout.OPEN_PREFIX))
        self._open = {match[0] for match in opened if match is not None}
        self._kept: dict[str, list[str]] = {}
        if names is None:
            listed = store.keys(layout.FINISHED_PREFIX)
        else:
            closed = [name for name in names if name not in self._open]
            of_each = read_in_parallel(closed, lambda name: list(store.keys(layout.index_of_finished(name))))
            listed = chain.from_iterable(keys for _, keys in of_each if not isinstance(keys, AssayError))
        for key in listed:
            if (match := layout.finished.match(key)) is not None:
                self._kept.setdefault(match[0], []).append(key)

    def is_open(self, name: str) -> bool:
        """Whether an evaluation is in the index of open ones, so that something may be due for it. Of one
        that has finished the index says nothing."""
        return name in self._open

    def kept(self, name: str) -> list[str]:
        """The keys of what is kept of one that has finished: their names are digests."""
        return self._kept.get(name, [])

    def standing(self, name: str) -> Standing | None:
        """Where an evaluation stands; None if none of this name has begun."""
        summary = self.read_kept(name)
        if summary is not None:
            return summary.standing
        return self._from_ledger(name)

    def finished(self, name: str) -> Finished | None:
        """What one that has stopped came to; None for the others.

        One that goes on and is in no index has stopped too, without a time: nothing advances it.
        """
        summary = self.read_kept(name)
        if summary is not None or name in self._open:
            return summary
        standing = self._from_ledger(name)
        if standing is None:
            return None
        if standing.state != "finished":    # of a monitor: its predictions were replaced, or its runs go on
            of_monitor = window_of(self._store, name) is not None
            return None if of_monitor else Finished(standing=standing, closed=None)
        return Finished(standing=standing, closed=read_closed(Ledger(self._store, name), standing.rounds))

    def read_kept(self, name: str) -> Finished | None:
        """What is kept, if it is whole; while an evaluation is in the index of open ones it may be old. None
        as well where another version wrote it, or its bytes are damaged."""
        keys = self._kept.get(name, [])
        if name in self._open or len(keys) != 1:
            return None
        blob = find_bytes(Ledger(self._store, name), keys[0])
        if blob is None or not keys[0].endswith(layout.digest(blob)[:32]):
            return None
        try:
            summary = record.decode(Finished, blob, keys[0])
        except record.DamagedRecord:   # another version wrote it
            return None
        return summary if summary.format == LEDGER_FORMAT else None

    def _from_ledger(self, name: str) -> Standing | None:
        """From the ledger itself; what is finished is kept again."""
        ledger = Ledger(self._store, name)
        if not ledger.exists(layout.manifest(name)):
            return None
        standing = current_standing(open_evaluation(self._store, name))
        if standing.state == "finished" and name not in self._open:
            try:
                write_finished(ledger, standing)
            except StoreError as error:   # a copy that may not be written to can be listed all the same
                _log.debug("%s: not kept: %s", name, error)
        return standing


def read_in_parallel(
    names: Sequence[str], read: Callable[[str], Found]
) -> list[tuple[str, Found | AssayError]]:
    """What is read of each name, or why it cannot be."""
    def one(name: str) -> Found | AssayError:
        try:
            with record.understood(name):
                return read(name)
        except AssayError as error:   # one damaged record must not hide the others
            return error

    with ThreadPoolExecutor(max_workers=READERS) as pool:
        return list(zip(names, pool.map(one, names), strict=True))
