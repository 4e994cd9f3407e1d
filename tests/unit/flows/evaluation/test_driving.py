"""The two drivers: `drive` waits for people and for outages, `sweep_store` advances whatever is open."""

import pytest
from doubles.world import World

from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation import advance as evaluate
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.desks.desk import DeskUnreachable
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import open_evaluations


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self):
        self.now = 0.0
        self.slept = []
        self.then = {}     # number of the sleep -> what happens during it

    def sleep(self, seconds):
        self.now += seconds
        self.slept.append(seconds)
        self.then.pop(len(self.slept), lambda: None)()

    def __call__(self):
        return self.now


@pytest.fixture
def world(tmp_path):
    made = World(tmp_path, n=60, budget={"labels": 4}, batch_size=2)
    begin_evaluation(made.store, made.spec, made.desk)
    made.time = Time()
    return made


def driven(world, in_all=None):
    return drive(
        world.store, "small", world.desk,
        patience=Patience(first=1, longest=4, in_all=in_all, sleep=world.time.sleep, clock=world.time),
    )


def test_drive_waits_longer_and_longer_until_people_answer(world):
    truth, world.desk.answers = world.desk.answers, {}
    world.time.then[6] = lambda: world.desk.answers.update(truth)
    assert driven(world).state == "finished"
    assert world.time.slept == [1, 1.5, 2.25, 3.375, 4, 4]


def test_drive_gives_up_waiting_when_told_to_and_leaves_everything_in_place(world):
    world.desk.answers = {}
    standing = driven(world, in_all=5)
    assert (standing.state, sum(world.time.slept) <= 5) == ("waiting", True)
    world.desk.answers = world.truth
    assert driven(world).state == "finished"


def test_drive_outlasts_a_desk_that_is_away_for_minutes_but_not_for_ever(world, monkeypatch):
    world.desk.answers = {}
    real = evaluate.advance
    away = []

    def advance(*args, **kwargs):
        if len(world.time.slept) >= 1 and len(away) < limit:
            away.append(1)
            raise DeskUnreachable("away")
        return real(*args, **kwargs)

    monkeypatch.setattr(evaluate, "advance", advance)
    limit = 30
    world.time.then[31] = lambda: world.desk.answers.update(world.truth)
    assert driven(world).state == "finished"
    limit = 10**6
    world.store._values.pop("small/ending.json")
    world.store._values.pop("small/rounds/0002/labels.parquet")
    with pytest.raises(DeskUnreachable):
        driven(world)


def test_a_sweep_advances_what_is_open_and_isolates_failures(tmp_path):
    first = World(tmp_path / "one", n=60, name="one", budget={"labels": 2}, batch_size=2)
    begin_evaluation(first.store, first.spec)
    for name, labels in (("two", "gone.csv"), ("three", None)):
        changes = {"desk": {"kind": "simulated", "labels": str(tmp_path / labels)}} if labels else {}
        other = World(tmp_path / name, first.store, n=60, name=name, budget={"labels": 2}, **changes)
        if labels:
            (tmp_path / labels).write_bytes((tmp_path / name / "labels.csv").read_bytes())
        begin_evaluation(first.store, other.spec)
    (tmp_path / "gone.csv").unlink()
    first.store.put(layout.open_index("never-begun"), b"")

    result = sweep_store(first.store, workers=3)
    assert sorted(result.finished) == ["one", "three"]
    assert list(result.failed) == ["two"]
    assert "gone.csv" in result.failed["two"]
    assert result.not_begun == ["never-begun"]
    assert open_evaluations(first.store) == ["never-begun", "two"]
    assert sweep_store(first.store).finished == {}


def test_a_stale_index_is_put_right(world):
    world.advance()
    world.store.put(layout.open_index("small"), b"")      # as after a crash before the index was left
    assert list(sweep_store(world.store).finished) == ["small"]
    assert open_evaluations(world.store) == []


def test_an_evaluation_missing_from_the_index_returns_to_it(world):
    world.desk.answers = {}
    world.store.discard(layout.open_index("small"))
    world.advance()
    assert open_evaluations(world.store) == ["small"]
