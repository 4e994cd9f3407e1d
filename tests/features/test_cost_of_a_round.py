"""What a round costs does not grow with the rounds before it; and a checkpoint decides nothing."""

import pytest
from doubles.counted_store import CountedStore
from doubles.world import World

from assay.evalcore.evaluation import state
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import checkpoint_values, layout

LABELS = 2   # a round
SIX_ROUNDS = {
    "n": 120, "batch_size": 7, "budget": {"labels": 40}, "target": {"half_width": 0.01},
    "measure": ["f1", "precision"],
}


@pytest.fixture
def short_runs(monkeypatch):
    """Histories are cut after two rounds already."""
    _cut_after(2, monkeypatch)


def _cut_after(rounds, monkeypatch):
    for module in (state, checkpoint_values):
        monkeypatch.setattr(module, "ENTRIES_OF_RUN", rounds)


class Slow(World):
    """A world whose people answer a round when they are told to."""

    def __init__(self, folder, **changes):
        super().__init__(folder, **{
            "n": 120, "batch_size": LABELS, "target": {"half_width": 1e-6}, "measure": "f1",
        } | changes)
        self.desk.answers = {}
        begin_evaluation(self.store, self.spec, self.desk)
        self.advance()

    def answer(self):
        on_desk = [item for items in self.desk.on_desk.values() for item in items]
        self.desk.answers |= {item: self.truth[item] for item in on_desk}

    def calls(self):
        """Of one `advance`."""
        plain, self.store = self.store, CountedStore(self.store)
        try:
            self.advance()
            return self.store.calls
        finally:
            self.store = plain

    def checkpoints(self):
        return [key for key in self.store.keys("index/") if layout.checkpoint.match(key)]

    def runs(self):
        return [key for key in self.store.keys("index/") if layout.checkpoint_run.match(key)]


def test_a_round_costs_the_same_calls_however_many_came_before(tmp_path, monkeypatch):
    _cut_after(12, monkeypatch)
    world = Slow(tmp_path, budget={"labels": 80})
    closing, idle = {}, {}
    for number in range(1, 31):
        counted = number in (1, 2, 3, 15, 28, 29, 30)
        if counted:
            idle[number] = world.calls()
        world.answer()
        closing[number] = world.calls() - LABELS
    assert set(idle.values()) == {5}
    assert max(closing.values()) <= 40
    assert closing[30] <= closing[3] + 5, "two runs are read for the estimates by segment"
    assert len(world.checkpoints()) == 1


def stepwise(world, before_each):
    for _ in range(10):
        before_each(world)
        world.answer()
        if world.advance().state == "finished":
            return world
    raise AssertionError("it should be finished")


def lose_all(world):
    for key in list(world.store.keys("index/")):
        world.store.discard(key)


def lose_runs(world):
    for key in world.runs():
        world.store.discard(key)


def damage(world):
    for key in [*world.checkpoints(), *world.runs()]:
        blob = bytearray(world.store.get(key))
        blob[len(blob) // 2] ^= 1
        world.store._values[key] = bytes(blob)


def cut_short(world):
    for key in world.checkpoints():
        world.store._values[key] = world.store.get(key)[:-20]


def of_another_version(world):
    for key in world.checkpoints():
        blob = world.store.get(key).replace(b'"python": "', b'"python": "2')
        world.store.discard(key)
        name, number, _ = layout.checkpoint.match(key)
        world.store.put(layout.checkpoint(name, number, layout.digest(blob)[:32]), blob)


def of_another_ledger(world):
    for key in world.checkpoints():
        name, number, digest = layout.checkpoint.match(key)
        blob = world.store.get(key)
        world.store.put(layout.checkpoint(name, number + 1, digest), blob)


def test_whatever_becomes_of_the_checkpoint_the_ledger_is_the_same(tmp_path, short_runs):
    undisturbed = World(tmp_path, **SIX_ROUNDS)
    undisturbed.run()   # in one call, which reads no checkpoint
    harms = iter([cut_short, of_another_ledger, damage, of_another_version, lose_runs, lose_all])

    def harm(world):
        assert world.checkpoints(), "there is one to harm"
        next(harms)(world)

    world = stepwise(Slow(tmp_path, **SIX_ROUNDS), harm)
    assert world.record() == undisturbed.record()
    assert list(harms) == []
    assert not world.checkpoints()
    assert not world.runs(), "nothing is left of them when it is finished"
    assert stepwise(Slow(tmp_path, **SIX_ROUNDS), lambda world: None).record() == undisturbed.record()


def test_people_who_answer_together_are_kept_too(tmp_path, short_runs):
    desk = {"kind": "simulated", "labels": str(tmp_path / "labels.csv"), "annotators_per_item": 3}

    def new(harm):
        world = Slow(tmp_path, desk=desk, adjudication={"rule": "dawid-skene"}, budget={"labels": 8})
        world.desk.annotators_per_item = 3
        return stepwise(world, harm).record()

    assert new(lambda world: None) == new(lose_all)


def test_verify_reads_no_checkpoint(tmp_path):
    world = Slow(tmp_path, budget={"labels": 20})
    world.answer()
    world.advance()
    damage(world)
    assert verify(world.store, "small").differences == ()


def test_a_pack_that_is_not_made_of_the_answers_is_found(tmp_path):
    world = Slow(tmp_path, budget={"labels": 4})
    world = stepwise(world, lambda world: None)
    key = layout.pack("small", 1)
    whole = world.store.get(key)
    for wrong in (b"", whole[:-1], whole + b"{}\n", b"".join(whole.splitlines(keepends=True)[::-1])):
        world.store._values[key] = wrong
        assert key in [one.key for one in verify(world.store, "small").differences]
    del world.store._values[key]
    assert [one.key for one in verify(world.store, "small").differences][:1] == [key]
