"""People who change their answers after a round was closed: revisions, whenever and however often."""

import threading
from dataclasses import replace

import pytest
from doubles.fuses import Fuse, Fused, PowerCut, cuts
from doubles.world import World

from assay.flows.evaluation.advance import advance
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.verify.ledger import verify
from assay.tasks.ledger import layout
from assay.tasks.ledger.closed_round import read_labels, read_revisions, write_revision
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.seals import seal_revision
from assay.tasks.ledger.stores.store import MemoryStore

SMALL = {"n": 60, "budget": {"labels": 16}, "batch_size": 8, "measure": ["accuracy", "precision"],
         "method": "dirichlet-tree:depth=2"}
OTHER = {"match": "no match", "no match": "match"}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """An evaluation that has stopped, to be copied."""
    world = World(tmp_path_factory.mktemp("finished"), **SMALL)
    world.run()
    return world


@pytest.fixture
def world(finished, tmp_path):
    return copy_of(finished, tmp_path)


def copy_of(finished, folder):
    copied = World(folder, **SMALL)
    copied.spec = finished.spec
    copied.store = MemoryStore()
    for key in finished.store.keys(""):
        copied.store.put(key, finished.store.get(key))
    copied.desk.on_desk = {place: list(items) for place, items in finished.desk.on_desk.items()}
    return copied


def first_of(world, round=1):
    return read_labels(Ledger(world.store, "small"), round)[0].item_id


def look(world, **more):
    return world.advance(look_again=True, **more)


def test_a_look_at_answers_that_did_not_change_writes_nothing(world, finished):
    before = finished.record()
    standing = look(world)
    assert (standing.revision, standing.state) == (0, "finished")
    assert world.record() == before


def test_an_edited_label_becomes_a_revision_and_nothing_old_is_touched(world, finished):
    edited = first_of(world)
    world.desk.answers[edited] = OTHER[world.truth[edited]]
    before = current_standing(open_evaluation(world.store, "small"))
    standing = look(world)
    assert (standing.revision, standing.revised_items) == (1, 1)
    assert standing.to_json()["revision"] == 1
    assert {e["revision"] for e in standing.to_json()["estimates"]} == {1}
    assert standing.moved[0].value_before == before.known.estimates[0].value
    assert standing.moved[0].value == standing.known.estimates[0].value != standing.moved[0].value_before
    old = finished.record()
    now = world.record()
    assert {key: now[key] for key in old} == old
    new = {key.split("/", 1)[1] for key in now.keys() - old.keys()}
    assert {name for name in new if name.startswith("revisions/")} == {
        "revisions/0001/labels.parquet", "revisions/0001/estimate.json", "revisions/0001/seal.json"
    }
    (revision,) = read_revisions(Ledger(world.store, "small"))
    assert [(i.round, i.decided.item_id, i.by) for i in revision.changed] == [(1, edited, ("person-0",))]
    checked = verify(world.store, "small")
    assert checked.verified, checked.differences
    assert checked.revisions == 1


def test_the_number_of_a_revision_is_the_one_it_would_have_had_from_the_start(finished, tmp_path):
    # accuracy of an importance sample from stored probabilities: with the label of now in its place, the
    # revised estimate is the estimate of the same draws; here all draws of the first round are of new items
    edited = World(tmp_path / "a", **SMALL)
    edited.spec = replace_budget(finished.spec, 8)
    edited.run()
    item = first_of(edited)
    otherwise = World(tmp_path / "b", **SMALL)
    otherwise.spec = edited.spec
    otherwise.desk.answers[item] = OTHER[edited.truth[item]]
    otherwise.run()
    edited.desk.answers[item] = OTHER[edited.truth[item]]
    revised, fresh = look(edited), current_standing(
        open_evaluation(otherwise.store, "small")
    )
    assert {one.revision for one in revised.estimates} == {1}
    assert [replace(one, revision=0) for one in revised.estimates] == list(fresh.estimates)


def replace_budget(spec, labels):
    return spec.model_copy(update={"budget": spec.budget.model_copy(update={"labels": labels})})


def test_an_answer_taken_back_leaves_the_item_undecided_and_a_new_one_settles_it(world):
    item = first_of(world)
    answer = world.desk.answers.pop(item)
    taken_back = look(world)
    assert (taken_back.revision, taken_back.undecided, taken_back.labels) == (1, 1, 15)
    (revision,) = read_revisions(Ledger(world.store, "small"))
    assert (revision.items[0].decided.label, revision.items[0].decided.reason) == (None, "withdrawn")
    bounds = taken_back.estimates[0].undecided
    assert bounds.items == 1
    assert bounds.all_negative.value != bounds.all_positive.value
    world.desk.answers[item] = answer
    again = look(world)
    assert (again.revision, again.undecided, again.labels, again.revised_items) == (2, 0, 16, 0)
    assert again.moved[0].value == again.moved[0].value_before
    checked = verify(world.store, "small")
    assert checked.verified, checked.differences


def test_an_item_deleted_on_the_desk_keeps_the_answer_that_was_seen(world, finished):
    before = finished.record()
    world.desk.delete(1, first_of(world))
    assert look(world).revision == 0
    assert world.record() == before


def test_a_revision_made_while_rounds_go_on_is_reissued_with_each_of_them(finished, tmp_path):
    world = World(tmp_path, **SMALL)
    world.spec = finished.spec
    held = dict(world.desk.answers)
    with pytest.raises(PowerCut):   # stop after the first round: before the second plan
        world.run(Fuse(at=_effect(finished, "rounds/0002/plan.parquet"), when="before"))
    item = first_of(world)
    world.desk.answers = {item: OTHER[world.truth[item]]} | {
        i: a for i, a in held.items() if i != item
    }
    standing = look(world)
    assert standing.state == "finished"
    first, second = read_revisions(Ledger(world.store, "small"))
    assert (first.rounds, len(first.changed)) == (1, 1)
    assert (second.rounds, len(second.changed), len(second.items)) == (2, 0, 1)
    assert standing.revision == 2
    # plans and the rounds' own numbers go by the labels of the closing
    closed_with = [read_labels(Ledger(one.store, "small"), 1) for one in (world, finished)]
    assert closed_with[0] == closed_with[1]
    plans = [w.store.get("small/rounds/0002/plan.parquet") for w in (world, finished)]
    assert plans[0] == plans[1]
    checked = verify(world.store, "small")
    assert checked.verified, checked.differences


def _effect(finished, ending):
    """The number of the effect that puts a key, in a run of the same spec."""
    world = World(finished.folder, **SMALL)
    world.spec = finished.spec
    fuse = Fuse()
    world.run(fuse)
    return next(n for n, name in enumerate(fuse.effects, start=1) if name.endswith(ending))


def test_a_power_cut_at_any_effect_of_a_revision_changes_nothing(finished, tmp_path):
    def edited():
        world = copy_of(finished, tmp_path)
        for round in (1, 2):
            item = first_of(world, round)
            world.desk.answers[item] = OTHER[world.truth[item]]
        return world

    smooth, fuse = edited(), Fuse()
    standing = advance(Fused(smooth.store, fuse), "small", Fused(smooth.desk, fuse), look_again=True)
    assert standing.revision == 1
    # a cut around an effect that only reads is one after the write before it
    writes = [n for n, name in enumerate(fuse.effects, 1) if name.startswith(("put", "discard", "collect"))]
    for at, when in cuts(writes):
        cut = edited()
        blown = Fuse(at, when)
        with pytest.raises(PowerCut):
            advance(Fused(cut.store, blown), "small", Fused(cut.desk, blown), look_again=True)
        what = f"{when} effect {at}, {fuse.effects[at - 1]}"
        cut.advance()                        # finishes what was begun, without looking
        assert look(cut) == standing, what
        assert cut.record() == smooth.record(), what


def test_two_looks_at_once_make_one_revision(finished, tmp_path):
    for _ in range(5):
        world = copy_of(finished, tmp_path)
        item = first_of(world)
        world.desk.answers[item] = OTHER[world.truth[item]]
        start, errors = threading.Barrier(2), []

        def one(world=world, start=start, errors=errors):
            start.wait()
            try:
                look(world)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors
        assert len(read_revisions(Ledger(world.store, "small"))) == 1
        assert verify(world.store, "small").verified


def test_every_key_of_a_revision_that_is_missing_or_altered_is_found(world):
    for _ in range(2):
        item = first_of(world)
        world.desk.answers[item] = OTHER[world.desk.answers[item]]
        look(world)
    keys_ = list(world.store.keys("small/revisions/"))
    assert len(keys_) == 6
    for key in keys_:
        for blob in (None, world.store.get(key)[:-2] + b"x\n"):
            changed = MemoryStore()
            for other in world.store.keys(""):
                if other != key:
                    changed.put(other, world.store.get(other))
            if blob is not None:
                changed.put(key, blob)
            result = verify(changed, "small")
            assert not result.verified, key
            assert key in {found.key for found in result.differences}, key


@pytest.mark.parametrize("change", [
    {"reason": "deleted"}, {"reason": "unanswered"}, {"share": 0.5}, {"rank": 10**6},
])
def test_a_revision_that_no_look_could_have_made_is_found(world, change):
    del world.desk.answers[first_of(world)]
    look(world)
    (revision,) = read_revisions(Ledger(world.store, "small"))
    (item,) = revision.items
    assert item.decided.reason == "withdrawn"
    forged = replace(revision, items=(replace(item, decided=replace(item.decided, **change)),))
    made = MemoryStore()
    labels, seal = layout.revision_labels("small", 1), layout.revision_seal("small", 1)
    for key in world.store.keys(""):
        if key not in (labels, seal):
            made.put(key, world.store.get(key))
    write_revision(Ledger(made, "small"), forged)
    seal_revision(Ledger(made, "small"), forged)
    assert labels in {found.key for found in verify(made, "small").differences}


def test_looking_again_says_the_number_of_the_revision(world, monkeypatch):
    item = first_of(world)
    world.desk.answers[item] = OTHER[world.truth[item]]
    monkeypatch.setattr("assay.flows.evaluation.advance.desk_of", lambda _store, _spec: world.desk)
    assert advance(world.store, "small", look_again=True).revision == 1
    assert advance(world.store, "small", look_again=True).revision == 1


def test_a_revision_of_another_revision_counts_up_and_keeps_the_first(world):
    items = [d.item_id for d in read_labels(Ledger(world.store, "small"), 1)[:2]]
    kept = []
    for number, item in enumerate(items, start=1):
        world.desk.answers[item] = OTHER[world.truth[item]]
        assert look(world).revision == number
        kept.append(world.record())
    assert {key: kept[1][key] for key in kept[0]} == kept[0]
    second = read_revisions(Ledger(world.store, "small"))[1]
    assert {i.decided.item_id: i.changed for i in second.items} == {items[0]: False, items[1]: True}
    assert replace(second, number=1) != read_revisions(Ledger(world.store, "small"))[0]
