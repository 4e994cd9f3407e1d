"""Everything in a store, a line each, kept up to date: what is read stays known while its keys are the same.

A look lists the store, and reads only what is new. Requests never wait for a look if there was one lately:
they get what it found, while the next one is under way.  Bodies of pages are kept as long (`Bodies`).
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from assay.evalcore.errors import AssayError
from assay.flows.monitor.glance import MonitorGlance, glance_at_monitor
from assay.flows.record.finished import StandingIndex, read_in_parallel
from assay.flows.record.opened import open_evaluation, utc_now
from assay.flows.record.standing import current_standing
from assay.flows.serve.stores import ServedStore, without_paths
from assay.tasks.effects import retried
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import read_begun, read_closed
from assay.tasks.ledger.monitors import Mute, mute_at
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.report.service.entries import (
    HomeEntry,
    MonitorSums,
    damaged_entry,
    evaluation_entry,
    monitor_entry,
)
from assay.tasks.report.service.labels import LabelsBought
from assay.tasks.telemetry import MonitorFigures, Sample, entry_samples, monitor_samples

FRESH = 3.0      # seconds for which one look serves
STALE = 60.0     # after so many, requests wait for a new one
_FEW_SINGLES = 3   # one listing of all names that have finished is cheaper than so many times their number
_log = logging.getLogger("assay.serve")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLook:
    """What one look at a store found: a line for each evaluation and monitor, the glances of those monitors
    that can be read, when the look ended, and how many looks so far found anything new."""

    entries: Sequence[HomeEntry]
    glances: Mapping[str, MonitorGlance]     # of the monitors that can be read
    at: float                                # when it ended, by the clock
    changes: int                             # looks so far that found anything new

    def labels_bought(self, alias: str) -> list[LabelsBought]:
        """The labels of the store; an evaluation's count to the month of its last round."""
        rows = []
        for entry in self.entries:
            months: Mapping[str, int] = {}
            if entry.kind == "monitor" and entry.name in self.glances:
                months = self.glances[entry.name].months
            elif entry.kind == "evaluation" and entry.bought:
                months = {"" if entry.changed is None else f"{entry.changed:%Y-%m}": entry.bought}
            rows += [
                LabelsBought(store=alias, kind=entry.kind, name=entry.name, ownership=entry.ownership,
                             month=month, labels=labels)
                for month, labels in months.items()
            ]
        return rows


@dataclass(frozen=True, slots=True)
class SeenStores:
    """The last look at each store that a person may see, with the store's alias, and the age in seconds of
    the oldest look."""

    looks: Sequence[tuple[str, StoreLook]]    # with the store's alias
    age: float                                # seconds since the oldest

    @property
    def entries(self) -> list[HomeEntry]:
        """The lines of all visible stores, one for each evaluation or monitor, store after store."""
        return [entry for _, look in self.looks for entry in look.entries]

    @property
    def digest(self) -> str:
        """A text that stays the same as long as nothing changed in these stores: their counts of changes,
        joined by spaces. It is empty where no store may be seen."""
        return " ".join(str(look.changes) for _, look in self.looks)


@dataclass(slots=True)
class _Remembered:
    """What the last look read."""

    folders: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    windows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    evaluations: dict[str, tuple[frozenset[str], HomeEntry]] = field(default_factory=dict)
    glances: dict[str, MonitorGlance] = field(default_factory=dict)
    monitors: dict[str, tuple[MonitorGlance, Mute | None, HomeEntry]] = field(default_factory=dict)


class StoreView:
    """One store as its home page shows it. It remembers what its last look found, so that a request is
    answered at once and a new look reads only what is new."""

    def __init__(
        self, served: ServedStore, *, utc_clock: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.served = served
        self._store, self._now, self._clock = served.store, utc_clock, clock
        self._known = _Remembered()
        self._looking = threading.Lock()
        self._last: StoreLook | None = None

    def look(self) -> StoreLook:
        """What is there: as of now, or of a moment ago while a new look is under way. At most one look is
        made at a time, however many people ask."""
        last_look = self._last
        age = None if last_look is None else self._clock() - last_look.at
        if last_look is not None and age is not None and age < FRESH:
            return last_look
        if last_look is None or age is None or age >= STALE:
            with self._looking:
                if self._last is None or self._clock() - self._last.at >= FRESH:
                    self._last = self._look()
                return self._last
        if self._looking.acquire(blocking=False):
            threading.Thread(target=self._look_aside, name=f"look-{self.served.alias}", daemon=True).start()
        return last_look

    def age(self) -> float:
        """Seconds since the last look at the store ended; 0 before the first."""
        return 0.0 if self._last is None else max(self._clock() - self._last.at, 0.0)

    def figures(self) -> list[Sample]:
        """The figures of everything in the store that can be read, for Prometheus: those of each evaluation
        and each monitor, labelled with the alias of the store. Damaged ones are left out."""
        look, moment = self.look(), self._now()
        entries = [entry for entry in look.entries if entry.state != "damaged"]
        samples = [sample for entry in entries for sample in entry_samples(entry, moment)]
        for name, glance in look.glances.items():
            judged = glance.judged
            samples += monitor_samples(MonitorFigures(
                monitor=name, measure=glance.spec.leading_measure, bought=glance.bought,
                states=glance.states, newest=judged,
                newest_end=None if judged is None else glance.spec.window(judged.window).end,
                where={"store": self.served.alias},
            ), moment)
        return samples

    def _look_aside(self) -> None:
        try:
            self._last = self._look()
        except Exception:   # the last look serves until it is stale; then the request says what is wrong
            _log.exception("%s: cannot be looked at", self.served.alias)
        finally:
            self._looking.release()

    def _look(self) -> StoreLook:
        store, memory = self._store, self._known
        names = [name for name in retried(_folders)(store, layout.MONITORS_PREFIX) if _is_name(name)]
        glances: dict[str, MonitorGlance] = {}
        windows: dict[str, tuple[str, ...]] = {}
        entries: list[HomeEntry] = []
        for name, glance in read_in_parallel(names, self._glance):
            if isinstance(glance, MonitorGlance):
                glances[name], windows[name] = glance, glance.windows
                entries.append(self._monitor(name, glance))
            elif glance is not None:
                entries.append(self._damaged("monitor", name, glance))
                windows[name] = tuple(retried(_folders)(
                    store, layout.monitor_windows(layout.monitor_ledger(name))
                ))
        singles = self._own(windows)
        index = retried(StandingIndex)(
            store, singles if len(memory.folders) > _FEW_SINGLES * len(singles) else None
        )
        for name, entry in read_in_parallel(singles, lambda name: self._evaluation(name, index)):
            if isinstance(entry, HomeEntry):
                entries.append(entry)
            elif entry is not None:
                entries.append(self._damaged("evaluation", name, entry))
        memory.glances, name_set, last_look = glances, set(singles), self._last
        memory.evaluations = {name: value for name, value in memory.evaluations.items() if name in name_set}
        memory.monitors = {name: value for name, value in memory.monitors.items() if name in glances}
        changes = 0 if last_look is None else last_look.changes + (entries != last_look.entries)
        return StoreLook(entries=entries, glances=glances, at=self._clock(), changes=changes)

    def _own(self, windows: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """The evaluations that are no window of a monitor, be it damaged; windows: of each monitor."""
        memory, folders = self._known, tuple(retried(_folders)(self._store))
        if folders == memory.folders and windows == memory.windows:
            return memory.own
        of_windows = {f"{name}-{window}" for name, own_windows in windows.items() for window in own_windows}
        memory.folders, memory.windows = folders, windows
        memory.own = tuple(
            name for name in folders
            if name not in of_windows and _without_number(name) not in of_windows
            and layout.spec.match(layout.spec(name)) is not None
        )
        return memory.own

    def _glance(self, name: str) -> MonitorGlance | None:
        if not self._store.exists(layout.spec(layout.monitor_ledger(name))):
            return None
        return glance_at_monitor(self._store, name, self._now(), self._known.glances.get(name))

    def _monitor(self, name: str, glance: MonitorGlance) -> HomeEntry:
        spec, muted = glance.spec, mute_at(glance.mutes, self._now())
        before = self._known.monitors.get(name)
        if before is not None and before[0] is glance and before[1] == muted:
            return before[2]
        made = monitor_entry(self.served.alias, MonitorSums(
            monitor=name, measure=spec.leading_measure, question=spec.question or "",
            ownership=spec.ownership, states=glance.states, bought=glance.bought,
            this_month=glance.bought_this_month, monthly=spec.monitor.monthly_labels,
            muted=None if muted is None else muted.until, changed=glance.changed,
        ), glance.newest, glance.judged)
        self._known.monitors[name] = glance, muted, made
        return made

    def _evaluation(self, name: str, index: StandingIndex) -> HomeEntry | None:
        keys = [] if index.is_open(name) else index.kept(name)
        print_of = frozenset(keys or retried(_keys)(self._store, f"{name}/"))
        before = self._known.evaluations.get(name)
        if before is not None and before[0] == print_of:
            return before[1]
        made = self._made(name, index, bool(keys))
        if made is not None:
            self._known.evaluations[name] = (print_of, made)
        return made

    def _made(self, name: str, index: StandingIndex, is_kept: bool) -> HomeEntry | None:
        alias, ledger = self.served.alias, Ledger(self._store, name)
        if is_kept and (summary := retried(index.read_kept)(name)) is not None:
            return evaluation_entry(alias, summary.standing, summary.closed)
        if not ledger.exists(layout.manifest(name)):
            return None
        standing = retried(current_standing)(open_evaluation(self._store, name))
        closed = read_closed(ledger, standing.rounds) if standing.rounds else None
        return evaluation_entry(alias, standing, closed or read_begun(ledger))

    def _damaged(self, kind: str, name: str, error: AssayError) -> HomeEntry:
        return damaged_entry(
            self.served.alias, "monitor" if kind == "monitor" else "evaluation", name,
            without_paths(str(error), [self.served]),
        )


def _folders(store: Store, prefix: str = "") -> list[str]:
    return list(store.folders(prefix))


def _keys(store: Store, prefix: str) -> list[str]:
    return list(store.keys(prefix))


def _is_name(name: str) -> bool:
    return layout.spec.match(layout.spec(layout.monitor_ledger(name))) is not None


def _without_number(name: str) -> str:
    """Without the `-r2` of predictions that were replaced."""
    before, dash, number = name.rpartition("-r")
    return before if dash and number.isdecimal() else name


MOST_KEPT = 64 << 20     # bytes of bodies


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of one answer and its entity tag, by which a browser asks whether they changed.

    What was made of a page, kept as long as the ledger says the same: keys are written once, so the same keys
    are the same page. One page is made at a time, and those who ask for the same one meanwhile wait for it.
    """

    content: bytes
    etag: str


def body_of(content: bytes) -> Body:
    """The bytes with their entity tag: 32 hexadecimal digits of their SHA-256 in quotes, so that equal bytes
    have equal tags. Browsers that send the tag back are spared the bytes."""
    return Body(content, f'"{sha256(content).hexdigest()[:32]}"')


class Bodies:
    """A cache of the bodies of pages, by page and digest of the ledger. Beyond its size in bytes the least
    recently used are forgotten; one page is made at a time."""

    def __init__(self, limit: int = MOST_KEPT) -> None:
        self._most, self._size = limit, 0
        self._kept: OrderedDict[Hashable, tuple[str, Body]] = OrderedDict()
        self._lock, self._making = threading.Lock(), threading.Lock()

    @property
    def size(self) -> int:
        """The number of bytes of all bodies that are kept."""
        return self._size

    def body(self, page: Hashable, digest: str, make: Callable[[], bytes]) -> Body:
        """The body of a page whose ledger has this digest; `make`, where it is not known yet. It is made
        once, however many ask for it at a time."""
        body = self._find(page, digest)
        if body is not None:
            return body
        with self._making:      # figures are drawn with settings of the whole process
            body = self._find(page, digest)
            if body is None:
                body = body_of(make())
                self._keep(page, digest, body)
            return body

    def _find(self, page: Hashable, digest: str) -> Body | None:
        with self._lock:
            entry = self._kept.get(page)
            if entry is None or entry[0] != digest:
                return None
            self._kept.move_to_end(page)
            return entry[1]

    def _keep(self, page: Hashable, digest: str, body: Body) -> None:
        with self._lock:
            old = self._kept.pop(page, None)
            self._size -= len(old[1].content) if old else 0
            self._kept[page] = digest, body
            self._size += len(body.content)
            while self._size > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._size -= len(gone.content)
