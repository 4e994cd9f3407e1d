"""What a look at closed rounds costs does not grow with them; and what is kept of it decides nothing."""

import pytest
from doubles.counted_store import CountedStore
from doubles.fuses import Fuse, Fused, PowerCut
from doubles.world import World

from assay.evalcore.annotators.adjudication import Annotation
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.verify.ledger import verify
from assay.tasks.desks.desk import Collected
from assay.tasks.ledger import checkpoints, layout, record
from assay.tasks.ledger.closed_round import read_labels, read_revisions
from assay.tasks.ledger.record import Ledger

LABELS = 2   # a round
OTHER = {"match": "no match", "no match": "match"}


class Slow(World):
    """A world whose people answer a round when they are told to."""

    def __init__(self, folder, rounds=0, **changes):
        super().__init__(folder, **{
            "n": 120, "batch_size": LABELS, "target": {"half_width": 1e-6}, "measure": "f1",
            "budget": {"labels": 60},
        } | changes)
        self.desk.answers = {}
        begin_evaluation(self.store, self.spec, self.desk)
        self.advance()
        for _ in range(rounds):
            self.close()

    def close(self):
        """One round."""
        on_desk = [item for items in self.desk.on_desk.values() for item in items]
        self.desk.answers = {item: self.truth[item] for item in on_desk} | self.desk.answers
        self.advance()

    def look(self):
        """The calls and the keys that were got of one look."""
        plain, self.store = self.store, CountedStore(Noted(self.store))
        try:
            self.advance(look_again=True)
            return self.store.calls, self.store._inner.got
        finally:
            self.store = plain

    def rounds_read(self):
        """The rounds of which a look reads the labels."""
        _, got = self.look()
        return sorted({found[1] for key in got if (found := layout.labels.match(key))})

    def item(self, round=1):
        return read_labels(Ledger(self.store, "small"), round)[0].item_id

    def kept(self):
        return list(self.store.keys("index/looks/"))


class Noted:
    """A store that remembers which keys were got."""

    def __init__(self, inner):
        self._inner, self.got = inner, []

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def get(self, key):
        self.got.append(key)
        return self._inner.get(key)


def test_a_look_costs_the_same_calls_however_many_rounds_are_closed(tmp_path):
    world = Slow(tmp_path)
    calls = {}
    for number in range(1, 8):
        world.close()
        calls[number] = world.look()[0]   # at one round that no look has seen yet
    assert calls[7] <= calls[3] + 2, calls
    assert calls[7] <= 40
    again, got = world.look()             # at none
    assert again <= 16
    assert not [key for key in got if layout.labels.match(key) or layout.plan.match(key)]
    assert len(world.kept()) == 1


def test_only_the_round_is_read_whose_answers_changed(tmp_path):
    world = Slow(tmp_path, rounds=5)
    assert world.rounds_read() == [1, 2, 3, 4, 5]
    assert world.rounds_read() == []
    world.desk.delete(3, world.item(3))   # its answer still counts: no revision
    assert world.rounds_read() == [3]
    assert world.rounds_read() == [3], "answers of items that are gone are in the ledger alone"


def test_a_look_at_a_finished_evaluation_reads_no_round_of_which_nothing_changed(tmp_path):
    calls = []
    for rounds in (2, 4):
        world = Slow(tmp_path / str(rounds), budget={"labels": rounds * LABELS}, rounds=rounds)
        edit(world)
        world.look()
        world.look()
        few, got = world.look()
        assert not [key for key in got if layout.plan.match(key)]
        calls.append(few)
        before = world.record()
        world.look()
        assert world.record() == before
        assert world.advance().state == "finished"
        edit(world, round=1)
        assert world.advance(look_again=True).revision == 2
        assert verify(world.store, "small").differences == ()
    assert calls[0] == calls[1] <= 40


def edit(world, round=2):
    item = world.item(round)
    world.desk.answers[item] = OTHER[world.desk.answers[item]]


def nothing(world):
    """The index stays as it is."""


def lose(world):
    for key in world.kept():
        world.store.discard(key)


def damage(world):
    for key in world.kept():
        blob = bytearray(world.store.get(key))
        blob[len(blob) // 2] ^= 1
        world.store._values[key] = bytes(blob)


def renamed(change):
    def harm(world):
        for key in world.kept():
            name, number, _ = layout.looked_at.match(key)
            blob = change(world.store.get(key))
            world.store.discard(key)
            world.store.put(layout.looked_at(name, number, layout.digest(blob)[:32]), blob)
    return harm


HARMS = {
    "lost": lose, "damaged": damage, "cut off": renamed(lambda blob: blob[:-9]),
    "of other versions": renamed(lambda blob: blob.replace(b'"python": "', b'"python": "2')),
    "of another ledger": renamed(lambda blob: blob.replace(b'"anchor": "', b'"anchor": "0')),
}


@pytest.fixture(scope="module")
def two_rounds(tmp_path_factory):
    """An evaluation with two closed rounds, to be copied."""
    return Slow(tmp_path_factory.mktemp("two"), rounds=2)


def revised(start, harm):
    """The answers change between looks, and change back."""
    world = start.copy()
    for change in (nothing, edit, nothing, edit):
        change(world)
        world.advance(look_again=True)
        harm(world)
    world.close()
    world.advance(look_again=True)
    return world


@pytest.fixture(scope="module")
def read_in_full(two_rounds):
    return revised(two_rounds, lose)


def test_revisions_are_those_of_looks_that_read_everything(two_rounds, read_in_full):
    world = revised(two_rounds, nothing)
    assert world.record() == read_in_full.record()
    assert [len(one.changed) for one in read_revisions(Ledger(world.store, "small"))] == [1, 1, 0]
    assert verify(world.store, "small").differences == ()


@pytest.mark.parametrize("name", HARMS)
def test_what_becomes_of_what_is_kept_changes_no_revision(two_rounds, read_in_full, name):
    assert revised(two_rounds, HARMS[name]).record() == read_in_full.record()
    world = two_rounds.copy()
    world.look()
    HARMS[name](world)
    assert world.rounds_read() == [1, 2]
    assert world.rounds_read() == []
    assert len(world.kept()) == 1, "what was harmed is replaced"


def test_rounds_are_kept_in_several_files(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "ENTRIES_OF_RUN", 2)
    world = Slow(tmp_path, rounds=5)
    world.look()
    assert [layout.looked_at.match(key)[1] for key in world.kept()] == [2, 4, 6]
    before = world.kept()
    world.close()
    assert world.rounds_read() == [6]
    assert world.kept()[:2] == before[:2]
    assert world.kept()[2:] != before[2:]
    assert len(world.kept()) == 3


def test_a_look_that_is_cut_off_anywhere_changes_no_revision(two_rounds):
    start = two_rounds.copy()
    start.look()
    start.close()
    edit(start)

    def cut(at=None):
        world, fuse = start.copy(), Fuse(at, "after")
        try:
            advance(Fused(world.store, fuse), "small", Fused(world.desk, fuse), look_again=True)
        except PowerCut:
            world.advance(look_again=True)
        return world.record(), fuse.effects

    wanted, effects = cut()
    assert [effect for effect in effects if "index/looks/" in effect][1:], "one is put, one is removed"
    for at in range(1, len(effects) + 1):
        assert cut(at)[0] == wanted, effects[at - 1]


def test_a_round_is_not_kept_while_an_item_may_still_be_asked_again(tmp_path):
    # a process that saw the skip may be about to ask the item a second time, though the round is closed
    world = Slow(tmp_path, rounds=1)
    number, item = 1, world.item()
    skip = Annotation(item_id=item, annotation_id="earlier", annotator="person-0", kind="skip", label=None,
                      updated_at="")
    blob = record.encode(skip)
    world.store.put(layout.annotation("small", number, layout.digest(blob)), blob)
    assert world.rounds_read() == world.rounds_read() == [1]
    set_aside = Slow(tmp_path / "set-aside", rounds=1, skipped="set-aside")
    set_aside.store.put(layout.annotation("small", number, layout.digest(blob)), blob)
    assert [set_aside.rounds_read(), set_aside.rounds_read()] == [[1], []]


def test_nothing_is_asked_a_second_time_once_the_round_is_closed(tmp_path):
    world = Slow(tmp_path)
    first = world.desk.on_desk[1, 1][0]
    world.desk.answers = {item: world.truth[item] for item in world.desk.on_desk[1, 1]}
    labels = layout.labels("small", 1)

    class HeldUp:
        """Reads that everybody skipped the item; meanwhile that is corrected, and others close the round."""

        def __getattr__(self, name):
            return getattr(world.desk, name)

        def collect(self, batch) -> Collected:
            if (batch.round, batch.asking) != (1, 1) or world.store.exists(labels):
                return world.desk.collect(batch)
            world.desk.answers[first] = None
            seen = world.desk.collect(batch)
            world.desk.answers[first] = world.truth[first]
            world.advance()
            return seen

    advance(world.store, "small", HeldUp())
    assert world.store.exists(labels)
    assert (1, 2) not in world.desk.on_desk


def test_a_round_that_was_asked_twice_is_kept_with_both_askings(tmp_path):
    world = Slow(tmp_path)
    first = world.desk.on_desk[1, 1][0]
    world.desk.answers[first] = None
    world.desk.second_answers = {first: "match"}
    world.close()
    world.close()
    assert (1, 2) in world.desk.on_desk
    assert [world.rounds_read()[:1], world.rounds_read()] == [[1], []]
    world.desk.second_answers = {first: "no match"}
    assert 1 in world.rounds_read()
    (revision,) = read_revisions(Ledger(world.store, "small"))
    assert [one.decided.item_id for one in revision.changed] == [first]


def test_a_desk_is_asked_with_what_people_saw(tmp_path):
    world = Slow(tmp_path, rounds=2)
    world.look()
    asked = []

    class Shows:
        def __getattr__(self, name):
            return getattr(world.desk, name)

        def collect(self, batch) -> Collected:
            asked.append(batch)
            return world.desk.collect(batch)

    advance(world.store, "small", Shows(), look_again=True)
    kept = asked[:2]
    lose(world)
    asked.clear()
    advance(world.store, "small", Shows(), look_again=True)
    assert kept == asked[:2]
