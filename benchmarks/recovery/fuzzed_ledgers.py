"""Small ledgers that together hold every kind of key, and who reads them.

Made by this version: an evaluation that was extended and revised; one with gold, two people an item, a round
closed early and a revision; one at a simulated desk whose people err, with outcomes known beforehand; one of
many rounds that is open; one whose pool was being frozen in shards when its process ended; a monitor with a
missing window, a mute, an amendment, a response, and alerts that were sent and not sent; and one with windows
of which nothing is due any more.  Of version 1.0.0: an evaluation that is open at the caller's desk, one that
inherits labels, one of three people an item, and a monitor whose records are sealed one by one.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from doubles.channels import FakeChannel
from doubles.stream import after, monitor_data, write_stream
from doubles.world import World
from promised import ledgers as of_first_version
from pyarrow.csv import read_csv
from pyarrow.parquet import write_table

from assay.evalcore.annotators.answers import class_answers
from assay.evalcore.evaluation import state
from assay.face.paid_judges import Judgements
from assay.flows.alerts import deliver
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import extend
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.incidents import Reply, respond, standing_incidents
from assay.flows.monitor.mute import mute
from assay.flows.monitor.run import read_run
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.flows.record.ahead import kept_outlook, read_outlook
from assay.flows.record.finished import standings
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.flows.verify.unsealed import check_alerts, check_desk, check_unsealed
from assay.tasks.alerts.outbox import deliver_due, outbox_rows
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger import checkpoint_values, checkpoints, layout, open_store, seals
from assay.tasks.ledger.findings import Integrity
from assay.tasks.ledger.integrity import check_integrity, check_monitor_seals
from assay.tasks.ledger.log_check import check_log
from assay.tasks.ledger.monitors import WindowState
from assay.tasks.ledger.record import Ledger, decode, encode
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.pool import freeze_shards, frozen, scores, shards
from assay.tasks.pool.freeze import freeze_pool
from assay.tasks.report.files import report_json
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec
from benchmarks.recovery.every_operation import undisturbed
from benchmarks.recovery.lives import LIVES

Reader = tuple[str, Callable[[], Any]]
@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzedLedger:
    """The values of a store, and who reads it once the value of a key was changed."""

    values: Mapping[str, bytes]
    readers: Callable[[MemoryStore, str], Iterator[Reader]]

    def by_kind(self) -> dict[str, list[str]]:
        """The keys of each kind."""
        kinds: dict[str, list[str]] = {}
        for key in self.values:
            parsed = layout.parse_key(key)
            if parsed is not None:
                kinds.setdefault(parsed.kind.template, []).append(key)
        return dict(sorted(kinds.items()))


def every_ledger(folder: Path) -> list[FuzzedLedger]:
    """All of them, with their files in the folder, which must be the current one."""
    closed = undisturbed(LIVES["two people and gold, closed early"], folder / "closed").end
    of_first_version.unpack(folder)
    early = open_store("ledger")
    return [
        FuzzedLedger(values=_revised(folder / "revised"), readers=partial(evaluation_readers, "small")),
        FuzzedLedger(values=dict(closed._values), readers=partial(evaluation_readers, "small")),
        FuzzedLedger(values=_known(folder / "known"), readers=partial(evaluation_readers, "small")),
        FuzzedLedger(values=_monitor(folder / "monitor"), readers=partial(monitor_readers, "stream")),
        FuzzedLedger(values=_of_many_rounds(folder / "many"), readers=partial(evaluation_readers, "small")),
        FuzzedLedger(values=_held(folder / "held"), readers=partial(evaluation_readers, "small")),
        FuzzedLedger(values=_settled(folder / "settled"), readers=partial(monitor_readers, "stream")),
        _being_frozen(folder / "frozen"),
        *(FuzzedLedger(
            values=_with_forecast({key: early.get(key) for key in early.keys("") if of.search(key)}, name),
            readers=partial(evaluation_readers, name),
        ) for name, of in _OF_FIRST_VERSION.items()),
        FuzzedLedger(
            values=_with_state({key: early.get(key) for key in early.keys("") if "animals" in key}),
            readers=partial(monitor_readers, "animals"),
        ),
    ]


@contextmanager
def small_runs() -> Iterator[None]:
    """What is kept in runs of many rounds or records is kept in runs of two."""
    with ExitStack() as patched:
        for module, name in (
            (state, "ENTRIES_OF_RUN"),
            (checkpoint_values, "ENTRIES_OF_RUN"),
            (checkpoints, "ENTRIES_OF_RUN"),
            (checkpoints, "RECORDS_OF_RUN"),
        ):
            patched.enter_context(patch.object(module, name, 2))
        yield


def _with_state(values: dict[str, bytes]) -> dict[str, bytes]:
    """A monitor of version 1.0.0 with a window that is missing, sealed as that version did."""
    owner, window = "monitors/animals", "2026-11-20"
    missing = WindowState(window=window, number=1, state="missing", why="no file", files="", at=after(30))
    key = layout.window_state(owner, window, 1)
    values |= {key: encode(missing)}
    sealed = {other: layout.digest(values[other]) for other in seals.STATES.sealed((owner, window, 1))}
    return values | {layout.window_state_seal(owner, window, 1): seals.seal_bytes(owner, sealed)}


_OF_FIRST_VERSION = {
    "open": re.compile(r"(^|/)open(/|$)(?!open-)"), "follower": re.compile("(^|/)(follower|recalibrated)/"),
    "people": re.compile("(^|/)people/"),
}


def _with_forecast(values: dict[str, bytes], name: str) -> dict[str, bytes]:
    store = _store_of(values)
    opened = open_evaluation(store, name)
    read_outlook(opened, current_standing(opened))
    return dict(store._values)


def _store_of(values: Mapping[str, bytes]) -> MemoryStore:
    store = MemoryStore()
    store._values.update(values)
    store._counted = -1      # its folders are looked up when something is put
    return store


_FEW = {"n": 40, "budget": {"labels": 6}, "batch_size": 3}


def _revised(folder: Path) -> dict[str, bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    world = World(folder, **_FEW, limit={"min": 0.999}, measure=["f1", "accuracy"])
    world.run()
    extend(world.store, "small", 9, reason="to be sure")
    world.advance()
    some = next(iter(world.desk.answers))
    for item in list(world.desk.answers)[:20]:
        world.desk.answers[item] = world.desk.answers[some]
    world.advance(look_again=True)
    return dict(world.store._values)


def _known(folder: Path) -> dict[str, bytes]:
    """Two people who often err, asked again where they differ; outcomes of some items; and open."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = folder / "labels.csv"
    desk = {"kind": "simulated", "labels": str(labels), "annotators_per_item": 2, "error_rate": 0.3}
    world = World(folder, n=40, budget={"labels": 12}, batch_size=4, desk=desk,
                  outcomes={"source": str(folder / "known.csv"), "label": "label"})
    with labels.open(newline="") as opened:
        rows = list(csv.reader(opened))
    with (folder / "known.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows(rows[:6])
    begin_evaluation(world.store, world.spec)
    advance(world.store, "small")
    return dict(world.store._values)


def _monitor(folder: Path) -> dict[str, bytes]:
    write_stream(folder, 3, drop_from=0, worse=0.45, items=60)
    (folder / "predictions-2026-11-02.csv").unlink()
    store = MemoryStore()
    data = monitor_data(folder, quiet_labels=30) | {"budget": {"labels": 40}, "batch_size": 20}
    data["threshold"] = {"min": 0.95}
    data["alerts"] = {"tell": ["breach", "recovery", "missing"]}
    register(store, MonitorSpec.from_data(data, origin="fuzz"))
    mute(store, "stream", until=after(1) + timedelta(hours=1), reason="roll-out", moment=after(0))
    tick(store, "stream", moment=after(1))
    tick(store, "stream", moment=after(2))
    data["threshold"] = {"min": 0.9}
    amend(store, MonitorSpec.from_data(data, origin="fuzz"), moment=after(2), reason="agreed")
    tick(store, "stream", moment=after(3))
    channel, other = FakeChannel(), FakeChannel("other")
    channel.down, other.down = 1, 99
    for hours in range(3):
        deliver_due(Ledger(store, "monitors/stream"), [channel, other], after(3) + timedelta(hours=hours))
    incident = standing_incidents(read_run(store, "stream", after(3)))[0]
    reply = Reply(action="acknowledge", incident=incident.name, by="Ada", reason="seen")
    respond(store, "stream", reply, now=after(3))
    tick(store, "stream", moment=after(3) + timedelta(minutes=5))
    return dict(store._values)


def _settled(folder: Path) -> dict[str, bytes]:
    """A monitor of which a checkpoint says that nothing is due for three windows."""
    write_stream(folder, 3, drop_from=1, worse=0.45, items=60)
    store = MemoryStore()
    data = monitor_data(folder, quiet_labels=20, late_days=0.0) | {"budget": {"labels": 20}}
    register(store, MonitorSpec.from_data(data, origin="fuzz"))
    for day in (1, 2, 3):
        tick(store, "stream", moment=after(day))
    return dict(store._values)


def _of_many_rounds(folder: Path) -> dict[str, bytes]:
    """Six rounds of the caller's desk, and a seventh that is open: with runs of early rounds."""
    world = World(folder, n=40, budget={"labels": 20}, batch_size=2, desk={"kind": "caller"})
    begin_evaluation(world.store, world.spec)
    desk = CallerDesk(world.store, evaluation="small", answers=class_answers("match", "no match"))
    for _ in range(6):
        advance(world.store, "small")
        desk.tell({waiting.item.item_id: world.truth[waiting.item.item_id] for waiting in desk.ask()})
    advance(world.store, "small")
    return dict(world.store._values)


def _held(folder: Path) -> dict[str, bytes]:
    """Labels that were there, a request to tell answers that was carried out, and rows that a judge has
    judged."""
    folder.mkdir(parents=True, exist_ok=True)
    held = {"source": str(folder / "held.csv"), "label": "label", "drawn": "random"}
    world = World(folder, n=40, budget={"labels": 8}, batch_size=4, desk={"kind": "caller"},
                  labels_so_far=held, method="passive")
    with (folder / "labels.csv").open(newline="") as opened:
        rows = list(csv.reader(opened))
    with (folder / "held.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows(rows[:9])
    begin_evaluation(world.store, world.spec)
    advance(world.store, "small")
    desk = CallerDesk(world.store, evaluation="small", answers=class_answers("match", "no match"))
    waiting = desk.ask()[0].item.item_id
    desk.tell({waiting: world.truth[waiting]}, request="the first")
    judged = Judgements(judge="length", rows=("0" * 32, "1" * 32), answers=(0.25, None))
    world.store.put(layout.judged_rows("small", layout.digest(b"rows")), encode(judged))
    return dict(world.store._values)


@contextmanager
def _small_shards() -> Iterator[None]:
    """A pool of some rows is frozen in shards, as one of millions is."""
    with ExitStack() as patched:
        for module in (frozen, freeze_shards, shards):
            patched.enter_context(patch.object(module, "PART_ROWS", 4))
        few = {"SHARD_ROWS": 8, "SMALL_BYTES": 0}
        of_scores = {"SCORES_TOGETHER": 0, "SUMMARY": 1, "LEAST_OF_RUN": 3, "GRID_SCORES": 5, "GATHERED": 7}
        for module, numbers in ((shards, few), (scores, of_scores)):
            for name, number in numbers.items():
                patched.enter_context(patch.object(module, name, number))
        yield


class _Ends(BaseException):
    """The process ends here."""


def _being_frozen(folder: Path) -> FuzzedLedger:
    """An evaluation whose process ended when all shards of its pool were read and none was put together."""
    world, store = World(folder, n=40, budget={"labels": 6}, batch_size=3), MemoryStore()
    data, source = world.spec.to_json(), folder / "predictions.parquet"
    write_table(read_csv(folder / "predictions.csv"), source, row_group_size=8)
    spec = Spec.from_json(data | {"pool": data["pool"] | {"source": str(source)}})

    def ends_after(work: Any, over: Any) -> Any:
        if not hasattr(work, "spec"):
            return map(work, over)
        list(map(work, over))
        raise _Ends

    def readers(store: MemoryStore, _key: str) -> Iterator[Reader]:
        end = MemoryStore()
        end._values.update(store._values)

        def goes_on() -> bool:
            with _small_shards():
                begin_evaluation(end, spec)
                return verify(end, "small").verified

        yield "digests", goes_on
        yield "standing", lambda: sorted(
            (key, layout.digest(end.get(key))) for key in end.keys("small/pool/") if "sources" not in key
        )

    with _small_shards(), suppress(_Ends):
        freeze_pool(spec, store, map_over=ends_after)
    return FuzzedLedger(values=dict(store._values), readers=readers)


# Who reads a ledger.

def evaluation_readers(name: str, store: MemoryStore, key: str) -> Iterator[Reader]:
    """Everything that reads an evaluation of this name."""
    owner = _owner(key) or name
    names = {name, owner} if store.exists(layout.manifest(owner)) else {name}

    def standing() -> Any:
        opened = open_evaluation(store, name)
        now = current_standing(opened)
        return now.state, now.labels, now.estimates

    yield "digests", lambda: not any(_damaged_by_digests(store, each) for each in names)
    yield "standing", standing
    yield "verify", lambda: all(verify(store, each).verified for each in names)
    yield "lists", lambda: len(standings(store))
    yield "alerts", lambda: len(outbox_rows(Ledger(store, name)))
    yield "judgements", lambda: [
        decode(Judgements, store.get(key), key) for key in store.keys("desks/judges/")
    ]
    yield "requests", lambda: _told_again(store, name)
    yield "report", lambda: _report(store, name)
    yield "forecast", lambda: bool(kept_outlook(
        open_evaluation(store, name), current_standing(open_evaluation(store, name))
    ))
    yield "the next run", lambda: advance(store, name).state


def _owner(key: str) -> str:
    """The evaluation that a key belongs to; nothing for that of a monitor."""
    parsed = layout.parse_key(key)
    if parsed is None:
        return ""
    values = dict(zip(parsed.kind.fields, parsed.values, strict=True))
    owner = str(values.get("evaluation", values.get("owner", "")))
    return "" if owner.startswith(layout.MONITORS_PREFIX) else owner


def _told_again(store: MemoryStore, name: str) -> bool:
    """Whether a request to tell answers, sent again, would be carried out again."""
    if not any(store.keys(f"desks/caller/{name}/requests/")):
        return False
    desk = CallerDesk(store, evaluation=name, answers=class_answers("match", "no match"))
    waiting = desk.ask()
    return desk.tell({waiting[0].item.item_id: None}, request="the first") if waiting else False


def _damaged_by_digests(store: MemoryStore, name: str) -> bool:
    integrity = check_integrity(Ledger(store, name))
    check_unsealed(integrity)
    check_desk(integrity)
    return bool(integrity.differences)


def _monitor_damaged_by_digests(store: MemoryStore, name: str) -> bool:
    ledger = Ledger(store, layout.monitor_ledger(name))
    integrity = Integrity(
        ledger=ledger, keys=frozenset(ledger.keys(f"{ledger.name}/")), known={}, rounds=0, finished=False
    )
    check_monitor_seals(integrity)
    check_log(integrity)
    check_alerts(integrity)
    return bool(integrity.differences)


def _report(store: MemoryStore, name: str) -> int:
    opened = open_evaluation(store, name)
    return len(json.loads(report_json(report_data(opened, current_standing(opened)))))


def monitor_readers(name: str, store: MemoryStore, key: str) -> Iterator[Reader]:
    """Everything that reads a monitor of this name, and its evaluation that the key belongs to."""
    owner = _owner(key)
    windows = sorted(folder for folder in store.folders("") if folder.startswith(f"{name}-"))
    evaluations = [owner] if owner else windows

    def standing() -> Any:
        history = read_monitor_history(store, name, lambda: after(4))
        return [(one.number, one.window, one.verdict) for one in history.verdicts]

    def digests() -> bool:
        if not owner:
            return not _monitor_damaged_by_digests(store, name)
        return not any(_damaged_by_digests(store, each) for each in evaluations)

    yield "digests", digests
    yield "standing", standing
    yield "verify", lambda: verify_monitor(store, name).verified and all(
        verify(store, each).verified for each in evaluations
    )
    yield "lists", lambda: len(standings(store))
    yield "alerts", lambda: len(outbox_rows(Ledger(store, layout.monitor_ledger(name))))
    yield "deliveries", lambda: len(deliver(store, clock=lambda: after(4), environment={}))
    yield "the next run", lambda: bool(tick(store, name, moment=after(4)))

