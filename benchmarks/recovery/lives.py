"""Lives of evaluations and monitors, each a list of steps that may be repeated: begin, advance, extend …

An evaluation of every kind of outcome, and of several questions; one that is extended and then revised; one
with gold, two people an item who differ, and a round that is closed early; and a monitor that catches up.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from doubles import classes, outcomes, stream_of_kinds
from doubles.small_pool import small_spec
from doubles.stream import after, monitor_data, write_stream

from assay.flows.evaluation.advance import Timing, advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.evaluation.finish import extend
from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec
from assay.tasks.testing import FakeDesk, MemoryStore

Step = Callable[[Any, Any], Any]      # of a store and a desk


def _nobody() -> FakeDesk:
    """The desk of lives that name one in their spec."""
    return FakeDesk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What is written into a folder before it, its steps, and the people whom it asks."""

    write: Callable[[Path], None]
    steps: Callable[[Path], Sequence[Step]]
    people: Callable[[], FakeDesk] = _nobody
    away: int = 1      # of the operations at which the store is away, one in so many is tried


@dataclass(slots=True)
class Scene:
    """What outlives a process: the store, and what lies on the desk."""

    life: Life
    store: MemoryStore
    desk: FakeDesk

    @classmethod
    def empty(cls, life: Life) -> "Scene":
        """Before the first step."""
        return cls(life, MemoryStore(), life.people())

    def copy(self) -> "Scene":
        """Another that has come as far."""
        other = Scene.empty(self.life)
        other.store._values.update(self.store._values)
        other.store._counted = -1      # its folders are looked up when something is put
        other.desk.answers = dict(self.desk.answers)
        other.desk.on_desk = {place: list(items) for place, items in self.desk.on_desk.items()}
        other.desk.people = dict(self.desk.people)
        return other


_FEW = {"budget": {"labels": 6}, "batch_size": 3}
_AT_ONCE = Timing(repost_after=after(1) - after(1))


def _at_a_simulated_desk(data: dict[str, Any]) -> list[Step]:
    spec = Spec.from_json(data, origin="the study")
    return [lambda store, desk: begin_evaluation(store, spec), lambda store, desk: advance(store, spec.name)]


def _with_answers(desk: Any, answers: Mapping[str, str | None]) -> Any:
    """The desk, whose people answer so from now on."""
    desk.answers.clear()
    desk.answers.update(answers)
    return desk


def _truth(folder: Path) -> dict[str, str]:
    with (folder / "labels.csv").open(newline="") as opened:
        return {row["item_id"]: row["label"] for row in csv.DictReader(opened)}


def _extended_and_revised(folder: Path) -> list[Step]:
    """Extended once it has stopped, and revised once it has stopped again."""
    spec = small_spec(folder, n=60, limit={"min": 0.999}, alerts={"each_round": True}, **_FEW)
    truth = _truth(folder)
    turned = dict.fromkeys(truth, "match")

    def go_on(store: Any, desk: Any, **more: Any) -> None:
        advance(store, "small", _with_answers(desk, truth), timing=_AT_ONCE, **more)

    return [
        lambda store, desk: begin_evaluation(store, spec, _with_answers(desk, truth)),
        go_on,
        lambda store, desk: extend(store, "small", 9, reason="to be sure", clock=lambda: after(1)),
        go_on,
        lambda store, desk: advance(
            store, "small", _with_answers(desk, turned), timing=_AT_ONCE, look_again=True
        ),
    ]


_GOLD = [(f"gold-{i}", ("match", "no match")[i % 2], f"gold {i}") for i in range(6)]


def _closed_early(folder: Path) -> list[Step]:
    """Gold, two people an item who differ on some; a round closed early; and other answers after the end."""
    with (folder / "gold.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([("item_id", "label", "text"), *_GOLD])
    desk = {"kind": "simulated", "labels": str(folder / "labels.csv"), "annotators_per_item": 2,
            "gold": {"labels": str(folder / "gold.csv"), "rate": 0.25}}
    spec = small_spec(
        folder, n=60, desk=desk, budget={"labels": 8}, batch_size=4
    )
    everybody = {item: label for item, label, _ in _GOLD} | _truth(folder)
    some = {item: label for item, label in everybody.items() if not item.endswith(("1", "4", "7"))}
    return [
        lambda store, desk: begin_evaluation(store, spec, _with_answers(desk, some)),
        lambda store, desk: advance(store, "small", _with_answers(desk, some), timing=_AT_ONCE),
        lambda store, desk: advance(
            store, "small", _with_answers(desk, some), timing=_AT_ONCE, close_round=1
        ),
        lambda store, desk: advance(store, "small", _with_answers(desk, everybody), timing=_AT_ONCE),
        lambda store, desk: advance(
            store, "small", _with_answers(desk, dict.fromkeys(everybody, "match")), timing=_AT_ONCE,
            look_again=True,
        ),
    ]


def _two_people() -> FakeDesk:
    """The second of them takes every fifth item for a match."""
    desk = FakeDesk(annotators_per_item=2)
    desk.votes = lambda item, person: "match" if person and item.endswith(("0", "5")) else desk.answers[item]
    return desk


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
        table = csv.writer(opened)
        table.writerow(["item_id", "size", "large"])
        table.writerows([item, number, _large(number)] for item, number in labels.items())


def _large(number: Any) -> str:
    return "yes" if float(number) > 50 else "no"


def _catching_up(folder: Path) -> list[Step]:
    """A first window, four days without a run, a mute that ends, an amendment, and another day."""
    data = monitor_data(folder, follow_ups=1, quiet_labels=10, catch_up={"newest": 1})
    data |= {"budget": {"labels": 30}, "batch_size": 15}
    data["alerts"] = {"tell": ["breach", "recovery", "missing"]}
    spec = MonitorSpec.from_data(data, origin="the study")
    changed = MonitorSpec.from_data({**data, "threshold": {"min": 0.8}}, origin="the study")
    return [
        lambda store, desk: register(store, spec),
        lambda store, desk: tick(store, "stream", moment=after(1)),
        lambda store, desk: mute(
            store, "stream", until=after(5) + timedelta(hours=1), reason="roll-out", moment=after(4)
        ),
        lambda store, desk: tick(store, "stream", moment=after(5)),
        lambda store, desk: amend(store, changed, moment=after(5), reason="agreed"),
        lambda store, desk: tick(store, "stream", moment=after(6)),
    ]


def _write_stream(folder: Path) -> None:
    write_stream(folder, 6, drop_from=3, worse=0.5, items=60)
    (folder / "predictions-2026-11-03.csv").unlink()


def _of_kind(kind: str) -> Life:
    def write(folder: Path) -> None:
        stream_of_kinds.WRITERS[kind](folder)

    return Life(
        write=write, steps=lambda folder: _at_a_simulated_desk(outcomes.spec_of(kind, folder, **_FEW))
    )


def _write_classes(folder: Path) -> None:
    classes.write_pool(folder, 60)


def _write_nothing(folder: Path) -> None:
    """The steps write it."""


LIVES: Mapping[str, Life] = {
    "two classes, extended and revised": Life(
        write=_write_nothing, steps=_extended_and_revised, people=FakeDesk
    ),
    "two people and gold, closed early": Life(write=_write_nothing, steps=_closed_early, people=_two_people),
    "classes": Life(
        write=_write_classes,
        steps=lambda folder: _at_a_simulated_desk(classes.spec_of_classes(folder, **_FEW)),
    ),
    **{kind: _of_kind(kind) for kind in stream_of_kinds.WRITERS},
    "several questions": Life(write=_write_questions, steps=_questions),
    "monitor that catches up": Life(write=_write_stream, steps=_catching_up, away=10),
}
