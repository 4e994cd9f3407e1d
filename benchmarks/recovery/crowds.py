"""A monitor with open windows, whose processes are killed: its own runs, alone or beside two sweepers.

People answer in a folder of CSV files. With one process they answer between its runs, so the order of events
is always the same, and everything must end as in a run nobody disturbed, to the last value. With three at
once they answer all the while. Then the order in which windows are judged differs from trial to trial, and it
is an input: the evidence of a verdict is that of the verdicts before it, and a follow-up gets the labels that
the verdict asks for and the month still has. So of a crowd it is checked that

    every evaluation    is, key by key, what one process makes of its spec and the same answers, alone
    every item asked    has one label, and the right one
    every follow-up     has the labels that its verdict asked for, or what the month had left
    the month           is not overspent
    `assay verify`      finds nothing, in any evaluation nor in the monitor, whose verdicts it recomputes
"""

import csv
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from doubles.stream import monitor_data, write_day
from services.ledger_record import Record, record_differences, record_of

from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import buy_further
from assay.flows.monitor.judging import is_finished
from assay.flows.monitor.month import spent_in
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.fold import read_fold
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.life import read_extensions, read_spec
from assay.tasks.ledger.monitors import Opening, WindowVerdict, latest, read_openings, read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore, Store
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec
from assay.tasks.testing import FakeDesk
from benchmarks.recovery.killing import Kill, Killer, Victims

MONITOR = "stream"
WINDOWS = 4
ITEMS = 60                # of a window
MOST_EFFECTS = 60         # of one process, before it is killed
LONGEST = 900.0           # seconds of a trial
_TIMES = ("opened", "at", "files", "raised")   # fields that say when, or what a file looked like
VARIANTS: tuple[Mapping[str, Any], ...] = (
    {"method": "passive"},
    {"method": "dirichlet-tree"},                        # labels are carried over from window to window
    {"method": "passive", "monthly_labels": 60},         # the month's labels do not do for every follow-up
)


@dataclass(kw_only=True)
class Survived:
    """What became of one monitor."""

    variant: int
    processes: int               # at once
    kills: list[Kill] = field(default_factory=list)
    runs: int = 0
    seconds: float = 0.0
    evaluations: int = 0
    follow_ups: int = 0
    labels: int = 0
    labels_lost: int = 0         # asked, and without the label the person gave: must be 0
    labelled_twice: int = 0      # items with more than one effective label: must be 0
    overspent: int = 0           # labels bought beyond those of the month: must be 0
    by_order: int = 0            # evaluations that are not those of the undisturbed run; with one process: 0
    differences: list[str] = field(default_factory=list)   # must be none

    @property
    def as_if_nothing_had_happened(self) -> bool:
        return not (self.differences or self.labels_lost or self.labelled_twice or self.overspent)


class Stage:
    """A stream, its people, and the specs of the monitors that watch it."""

    def __init__(self, folder: Path, seed: int, new_store: Callable[[], str], *, remote: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self._new_store = folder, new_store
        self._victims = Victims(
            folder=folder, killer=Killer(seed, MOST_EFFECTS), with_servers=remote
        )
        self.truth = _write_days(folder / "stream")
        self._trials = 0
        self._expected: dict[int, dict[str, Record]] = {}

    def spec(self, variant: int, desk: Path) -> MonitorSpec:
        """The monitor of a variant; people answer in `desk`."""
        changes = dict(VARIANTS[variant])
        days = _days()
        data = monitor_data(
            self.folder / "stream", first=str(days[0]), last=str(days[-1]), follow_ups=1, quiet_labels=12,
            late_days=30, monthly_labels=changes.pop("monthly_labels", 10_000),
        )
        data |= {
            "budget": {"labels": 12}, "batch_size": 6, "target": {"half_width": 0.001},
            "threshold": {"min": 0.7}, "desk": {"kind": "folder", "path": str(desk)}, **changes,
        }
        return MonitorSpec.from_data(data, origin="the benchmark")

    def survive(self, variant: int, processes: int, kills: int) -> Survived:
        """One monitor over all windows, with so many processes at once and so many kills, judged."""
        if variant not in self._expected:
            undisturbed, records = self._live(variant, 1, kills=0)
            assert undisturbed.as_if_nothing_had_happened, undisturbed
            self._expected[variant] = records
        survived, records = self._live(variant, processes, kills)
        expected = self._expected[variant]
        differing = {
            name: found for name in sorted({*records, *expected})
            if (found := record_differences(records.get(name, {}), expected.get(name, {})))
        }
        if processes == 1:
            survived.differences += [f"{name}: {one}" for name, many in differing.items() for one in many]
        survived.by_order = len(differing.keys() - {layout.monitor_ledger(MONITOR)})
        return survived

    def _live(self, variant: int, processes: int, kills: int) -> tuple[Survived, dict[str, Record]]:
        began = time.monotonic()
        self._trials += 1
        # the address is part of the specs, so it is the same in every trial
        desk, url = self.folder / "desk", self._new_store()
        if desk.exists():
            desk.rename(self.folder / f"desk-{self._trials}")
        store, spec = open_store(url), self.spec(variant, desk)
        register(store, spec)
        survived = Survived(variant=variant, processes=processes)
        if processes == 1:
            self._alone(survived, store, desk, kills)
        else:
            self._crowd(survived, store, desk, processes, kills)
        for _ in range(200):
            done = tick(store, MONITOR, moment=datetime.now(UTC))
            if not answer_all(desk, self.truth) and _is_settled(store, done):
                break
        else:
            raise AssertionError("the monitor does not come to an end")
        self._judge(survived, store, spec)
        survived.seconds = time.monotonic() - began
        names = [layout.monitor_ledger(MONITOR), *_evaluations(store)]
        return survived, {name: _without_times(record_of(store, name)) for name in names}

    def _alone(self, survived: Survived, store: Store, desk: Path, kills: int) -> None:
        """The monitor's own runs; people answer whenever one has ended well."""
        while len(survived.kills) < kills:
            survived.runs += 1
            kill = self._victims.function(look, [store.url], may_kill=True)
            if kill is not None:
                survived.kills.append(kill)
            elif not answer_all(desk, self.truth):
                return   # nobody was asked anything: it has come to its end

    def _crowd(self, survived: Survived, store: Store, desk: Path, processes: int, kills: int) -> None:
        """A lane for each process; people answer all the while."""
        enough, failed = threading.Event(), []
        deadline = time.monotonic() + LONGEST

        def lane(work: Callable[..., None]) -> None:
            try:
                while not enough.is_set():
                    assert time.monotonic() < deadline, "the trial lasts too long"
                    survived.runs += 1
                    kill = self._victims.function(work, [store.url], may_kill=True)
                    if kill is not None:
                        survived.kills.append(kill)
                    if len(survived.kills) >= kills or (kill is None and work is look and _all_judged(store)):
                        enough.set()
            except BaseException as error:
                failed.append(error)
                enough.set()

        threads = [
            threading.Thread(target=lane, args=(look if n == 0 else sweep,)) for n in range(processes)
        ]
        with _answering(desk, self.truth):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if failed:
            raise failed[0]

    def _judge(self, survived: Survived, store: Store, spec: MonitorSpec) -> None:
        ledger = Ledger(store, layout.monitor_ledger(MONITOR))
        openings, verdicts = read_openings(ledger), read_verdicts(ledger)
        for name in _evaluations(store):
            survived.evaluations += 1
            self._judge_evaluation(survived, store, name)
        survived.differences += [f"verify: {one.key}: {one.difference}"
                                 for one in verify_monitor(store, MONITOR).differences]
        several = [opening for of_window in openings.values() for opening in of_window]
        spent = sum(spent_in(month, openings, verdicts) for month in {one.month for one in several})
        survived.overspent = max(0, spent - spec.monitor.monthly_labels)
        survived.differences += _wrong_follow_ups(survived, spec, several, verdicts)

    def _judge_evaluation(self, survived: Survived, store: Store, name: str) -> None:
        ledger, number = Ledger(store, name), 1
        labelled: list[str] = []
        while (planned := read_plan(ledger, number)) is not None:
            decided = read_labels(ledger, number) or []
            asked = {planned.item_id[t] for t in planned.asked()}
            right = {one.item_id for one in decided if one.label == int(self.truth[one.item_id])}
            survived.labels_lost += len(asked - right)
            labelled += [one.item_id for one in decided]
            number += 1
        survived.labels += len(labelled)
        survived.labelled_twice += len(labelled) - len(set(labelled))
        survived.differences += [f"verify: {one.key}: {one.difference}"
                                 for one in verify(store, name).differences]
        alone = self._alone_in_memory(store, name)
        survived.differences += [f"{name}, alone: {one}"
                                 for one in record_differences(record_of(store, name), alone)]

    def _alone_in_memory(self, store: Store, name: str) -> Record:
        """The record of the same evaluation, made by one process from its spec and the truth."""
        spec = Spec.from_json(read_spec(Ledger(store, name)).spec, origin=name)
        memory = MemoryStore()
        if spec.warm_start is not None:
            for key in store.keys(f"{spec.warm_start.evaluation}/"):
                memory.put(key, store.get(key))
        desk = FakeDesk({item: "yes" if label == "1" else "no" for item, label in self.truth.items()})
        begin_evaluation(memory, spec, desk)
        assert advance(memory, name, desk).state == "finished"
        for one in read_extensions(Ledger(store, name)):
            asked = read_fold(Ledger(memory, name), open_evaluation(memory, name).statistics).asked
            buy_further(memory, name, one.number, one.labels - asked, clock=lambda at=one.at: at)
            assert advance(memory, name, desk).state == "finished"
        return record_of(memory, name)


def look(url: str) -> None:
    """What the monitor's own process does."""
    done = tick(open_store(url), MONITOR, moment=datetime.now(UTC))
    assert not done.failed, done.failed


def sweep(url: str) -> None:
    """What a sweeper does."""
    done = sweep_store(open_store(url), workers=2)
    assert not done.failed, done.failed


def answer_all(desk: Path, truth: Mapping[str, str], only: str = "") -> int:
    """People answer every batch file that has no answers yet; how many those were.

    only: of the evaluations whose name begins so
    """
    answered = 0
    for batch in sorted(desk.glob(f"{only}*/round-*.csv")):
        answers = batch.parent / "answers" / batch.name
        if answers.exists():
            continue
        with batch.open(encoding="utf-8-sig", newline="") as opened:
            items = [row["item_id"].removeprefix("'") for row in csv.DictReader(opened)]
        answers.parent.mkdir(exist_ok=True)
        half = answers.with_suffix(".part")
        with half.open("w", encoding="utf-8-sig", newline="") as opened:
            writer = csv.writer(opened)
            writer.writerow(["item_id", "label"])
            writer.writerows([item, "yes" if truth[item] == "1" else "no"] for item in items)
        half.rename(answers)
        answered += 1
    return answered


@contextmanager
def _answering(desk: Path, truth: Mapping[str, str]) -> Iterator[None]:
    """People answer while the block lasts."""
    enough = threading.Event()

    def work() -> None:
        while not enough.wait(0.3):
            answer_all(desk, truth)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def _days() -> list[date]:
    today = datetime.now(UTC).date()
    return [today - timedelta(days=WINDOWS - d) for d in range(WINDOWS)]


def _write_days(folder: Path) -> dict[str, str]:
    """The files of every day; item -> "1" or "0"."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = {}
    for d, day in enumerate(_days()):
        draw = np.random.default_rng([7, d])
        logit = 3.0 * draw.standard_normal(ITEMS)
        label = draw.random(ITEMS) < 1 / (1 + np.exp(-logit))
        ids = [f"item-{d}-{i:04d}" for i in range(ITEMS)]
        write_day(folder, day, logit, label, ids)
        truth |= {item: str(int(one)) for item, one in zip(ids, label, strict=True)}
    return truth


def _evaluations(store: Store) -> list[str]:
    openings = read_openings(Ledger(store, layout.monitor_ledger(MONITOR)))
    return sorted(
        opening.evaluation for several in openings.values() for opening in several
        if opening.evaluation is not None
    )


def _all_judged(store: Store) -> bool:
    """Whether every window was opened, and all that has labels has a verdict on all of them."""
    ledger = Ledger(store, layout.monitor_ledger(MONITOR))
    openings, verdicts = read_openings(ledger), latest(read_verdicts(ledger))
    return len(openings) == WINDOWS and all(
        is_finished(Ledger(store, str(several[0].evaluation)), len(several) - 1) and window in verdicts
        for window, several in openings.items() if several[0].evaluation is not None
    )


def _is_settled(store: Store, done: Any) -> bool:
    assert not done.failed, done.failed
    return not (done.opened or done.verdicts or done.waiting) and _all_judged(store)


def _wrong_follow_ups(
    survived: Survived, spec: MonitorSpec, openings: list[Opening], verdicts: list[WindowVerdict]
) -> list[str]:
    """Follow-ups that have other labels than the verdict before them asked for, and the month had."""
    wrong = []
    for one in openings:
        if one.why != "follow-up" or one.evaluation is None:
            continue
        survived.follow_ups += 1
        first = next(verdict for verdict in verdicts if verdict.window == one.window)
        wanted = min(first.labels_to_decide or 0, spec.budget.labels)
        if one.labels > wanted or (one.labels < wanted and spec.monitor.monthly_labels >= 10_000):
            wrong.append(f"{one.evaluation}: {one.labels} labels, and {wanted} were asked for")
    return wrong


def _without_times(record: Record) -> Record:
    return {key: _timeless(value) for key, value in record.items() if not key.endswith("seal.json")}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _timeless(one) for name, one in value.items() if name not in _TIMES}
    return [_timeless(one) for one in value] if isinstance(value, list) else value
