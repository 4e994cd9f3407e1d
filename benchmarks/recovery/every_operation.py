"""Every n-th operation of a whole life: a store that is cut off there, and one that fails there.

A life is a list of steps, each of which is one call that may be repeated: begin, advance, extend, run a
monitor.  Its store counts operations.  For every n the life is lived again, and its n-th operation

    cuts off     raises what nothing catches, before the operation or after it: a process that is killed
    fails        raises the error of a full disk, once
    is away      raises the error of a store that cannot be reached, once: the call is tried again by itself

and the step in which that happened is run again, by something that remembers nothing.  The ledger must then
be that of an undisturbed life, key by key and byte by byte, but for times and random words.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from doubles import classes, outcomes
from doubles.fuses import PowerCut
from doubles.logged import without_chance
from doubles.small_pool import small_spec
from doubles.stream import after, monitor_data, write_stream

from assay.evalcore.errors import AssayError
from assay.flows.evaluation.advance import Timing, advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import extend
from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.stores.store import MemoryStore, Store, StoreError, StoreUnreachable
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec
from assay.tasks.testing import FakeDesk

WRITES = ("put", "discard")
READS = ("get", "get_range", "size", "exists", "keys", "folders", "check")
How = Literal["before", "after", "fails", "is away"]
Step = Callable[[Any], Any]
VERIFIED = 10     # of so many ledgers, each of which is compared key by key, one is verified too


class Operated:
    """A store that counts its operations, and at one of them does what it was told."""

    def __init__(
        self, inner: Store, at: int | None = None, how: How = "before", *, reads: bool = True
    ) -> None:
        self.url, self._inner, self._at, self._how, self._reads = inner.url, inner, at, how, reads
        self.operations: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in WRITES and not (self._reads and name in READS):
            return found

        def call(*args: Any) -> Any:
            self.operations.append(f"{name} {args[0] if args else ''}")
            if len(self.operations) != self._at:
                return found(*args)
            match self._how:
                case "before":
                    raise PowerCut(self.operations[-1])
                case "after":
                    found(*args)
                    raise PowerCut(self.operations[-1])
                case "fails":
                    raise StoreError(f"{self.url}: cannot {name}: no space left")
                case "is away":
                    raise StoreUnreachable(f"{self.url}: cannot {name}: it is away")

        return call


@dataclass(slots=True, kw_only=True)
class Life:
    """The steps of one life, made anew each time, in a folder with its files."""

    write: Callable[[Path], None]
    steps: Callable[[Path], list[Step]]


@dataclass(slots=True, kw_only=True)
class Lived:
    """A life that came to its end."""

    life: Life
    folder: Path
    store: MemoryStore
    writes: list[str] = field(default_factory=list)        # of an undisturbed one
    operations: list[str] = field(default_factory=list)


def undisturbed(life: Life, folder: Path) -> Lived:
    """A life without any disturbance, its files written into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    life.write(folder)
    store = MemoryStore()
    watched = Operated(store)
    for step in life.steps(folder):
        step(watched)
    operations = watched.operations
    return Lived(
        life=life, folder=folder, store=store, operations=operations,
        writes=[one for one in operations if one.startswith(WRITES)],
    )


def cut_at(whole: Lived, at: int, how: How, *, reads: bool = False) -> Lived:
    """The same life, disturbed at an operation; reads: whether they count too."""
    store = MemoryStore()
    disturbed = Operated(store, at, how, reads=reads)
    for step in whole.life.steps(whole.folder):
        for _ in range(3):
            try:
                step(disturbed)
            except (PowerCut, AssayError):
                continue
            break
        else:
            raise AssertionError(f"{how} {at}: a step does not end")
    return Lived(life=whole.life, folder=whole.folder, store=store)


def compared(lived: Lived, whole: Lived, *, verified: bool = True) -> list[str]:
    """The keys that differ, and, unless it is not asked for, those that `verify` names."""
    here, there = _comparable(lived.store), _comparable(whole.store)
    differ = [key for key in sorted({*here, *there}) if here.get(key) != there.get(key)]
    return differ + ([f"verify: {said}" for said in named_by_verify(lived.store)] if verified else [])


_BESIDE = ("identity.json", "sources.json")
_MOMENT = re.compile(rb"The last labels came on [^.]*\.")


def _comparable(store: MemoryStore) -> dict[str, bytes]:
    return {
        key: b"a time" if key.endswith("times.json")
        else _MOMENT.sub(b"", without_chance(key, store.get(key)))
        for key in store.keys("")
        if not key.endswith(_BESIDE) and "/posts/" not in key and not key.startswith(("index/", "desks/"))
    }


def named_by_verify(store: MemoryStore) -> Iterator[str]:
    for key in store.keys(""):
        if (found := layout.manifest.match(key)) is not None:
            yield from (f"{one.key}: {one.difference}" for one in verify(store, found[0]).differences)
    for name in store.folders(layout.MONITORS_PREFIX):
        yield from (f"{one.key}: {one.difference}" for one in verify_monitor(store, name).differences)


def outcome_of(store: MemoryStore) -> Mapping[str, Any]:
    """The JSON of every record of a monitor."""
    keys = [key for key in store.keys(layout.MONITORS_PREFIX) if "/log/" not in key]
    return {key: record.from_json(store.get(key), key) for key in keys}


# The lives.

def _at_a_simulated_desk(data: dict[str, Any]) -> list[Step]:
    spec = Spec.from_json(data, origin="the study")
    return [lambda store: begin_evaluation(store, spec), lambda store: advance(store, spec.name)]


_FEW = {"budget": {"labels": 6}, "batch_size": 3}


def _revised(folder: Path) -> list[Step]:
    """Extended once it has stopped, and revised once it has stopped again."""
    spec = small_spec(folder, n=60, limit={"min": 0.999}, alerts={"each_round": True}, **_FEW)
    with (folder / "labels.csv").open(newline="") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    desk, turned = FakeDesk(truth), FakeDesk(truth)
    turned.on_desk = desk.on_desk
    turned.answers = dict.fromkeys(truth, "match")
    at_once = Timing(repost_after=after(1) - after(1))
    return [
        lambda store: begin_evaluation(store, spec, desk),
        lambda store: advance(store, "small", desk, timing=at_once),
        lambda store: extend(store, "small", 9, reason="to be sure", now=lambda: after(1)),
        lambda store: advance(store, "small", desk, timing=at_once),
        lambda store: advance(store, "small", turned, timing=at_once, look_again=True),
    ]


def _questions(folder: Path) -> list[Step]:
    return _at_a_simulated_desk({
        "name": "questions",
        "pool": {"source": str(folder / "pool.csv"), "id": "item_id", "display": ["text"]},
        "labels": [
            {"name": "size", "number": {"min": 0, "max": 100}, "prediction": "predicted", "measure": "mae"},
            {"name": "large", "positive": "yes", "negative": "no", "prediction": "large",
             "measure": "accuracy"},
        ],
        "desk": {"kind": "simulated", "labels": str(folder / "questions.csv")}, "seed": 5, **_FEW,
    })


def _write_questions(folder: Path) -> None:
    labels = outcomes.write_numbers(folder)
    with (folder / "pool.csv").open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    with (folder / "pool.csv").open("w", newline="") as opened:
        writer = csv.DictWriter(opened, [*rows[0], "large"])
        writer.writeheader()
        writer.writerows({**row, "large": _large(row["predicted"])} for row in rows)
    with (folder / "questions.csv").open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "size", "large"])
        writer.writerows([item, number, _large(number)] for item, number in labels.items())


def _large(number: Any) -> str:
    return "yes" if float(number) > 50 else "no"


def _catching_up(folder: Path) -> list[Step]:
    """A first window, a week without a run, an amendment and a mute, and another day."""
    data = monitor_data(folder, follow_ups=1, quiet_labels=20, catch_up={"newest": 2})
    data |= {"budget": {"labels": 40}, "batch_size": 20}
    data["alerts"] = {"tell": ["breach", "recovery", "missing"]}
    spec = MonitorSpec.from_data(data, origin="the study")
    changed = MonitorSpec.from_data({**data, "threshold": {"min": 0.8}}, origin="the study")
    return [
        lambda store: register(store, spec),
        lambda store: tick(store, "stream", now=after(1)),
        lambda store: mute(store, "stream", until=after(9), reason="roll-out", now=after(6)),
        lambda store: tick(store, "stream", now=after(7)),
        lambda store: amend(store, changed, now=after(7), reason="agreed"),
        lambda store: tick(store, "stream", now=after(9)),
    ]


def _write_stream(folder: Path) -> None:
    write_stream(folder, 9, drop_from=5, worse=0.45, items=120)
    (folder / "predictions-2026-11-03.csv").unlink()


def _of_kind(kind: str) -> Life:
    def write(folder: Path) -> None:
        outcomes.WRITERS[kind](folder)

    return Life(
        write=write, steps=lambda folder: _at_a_simulated_desk(outcomes.spec_of(kind, folder, **_FEW))
    )


def _write_classes(folder: Path) -> None:
    classes.write_pool(folder, 60)


LIVES: Mapping[str, Life] = {
    "extension and revision": Life(write=lambda folder: None, steps=_revised),
    "classes": Life(
        write=_write_classes,
        steps=lambda folder: _at_a_simulated_desk(classes.spec_of_classes(folder, **_FEW)),
    ),
    **{kind: _of_kind(kind) for kind in outcomes.WRITERS},
    "questions": Life(write=_write_questions, steps=_questions),
    "monitor that catches up": Life(write=_write_stream, steps=_catching_up),
}


@dataclass(slots=True, kw_only=True)
class Studied:
    """What came of one kind of life."""

    life: str
    how: How
    operations: int     # that an undisturbed life has
    tried: int
    wrong: list[str] = field(default_factory=list)


def study(folder: Path, name: str, how: How, every: int = 1) -> Studied:
    """The life disturbed at each operation, or at each `every`-th.

    Where it is cut off only writes count: what a process had read is gone with it.
    """
    whole = undisturbed(LIVES[name], folder / name.replace(" ", "-"))
    reads = how in ("fails", "is away")
    count = len(whole.operations if reads else whole.writes)
    found = Studied(life=name, how=how, operations=count, tried=0)
    for at in range(1, count + 1, every):
        found.tried += 1
        try:
            verified = found.tried % VERIFIED == 1
            differ = compared(cut_at(whole, at, how, reads=reads), whole, verified=verified)
        except Exception as error:
            differ = [f"{type(error).__name__}: {error}"]
        if differ:
            what = (whole.operations if reads else whole.writes)[at - 1]
            found.wrong.append(f"{how} {at} ({what}): {differ[:3]}")
    return found
