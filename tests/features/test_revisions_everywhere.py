"""Labels that change under every kind of evaluation: revised in the middle and at the end, and verified."""

import csv
import json
from datetime import UTC, datetime, timedelta

import pytest
from doubles.fuses import Fuse, PowerCut
from doubles.stream import after, monitor_data, write_stream
from doubles.world import World

from assay.evalcore.evaluation.nonresponse import NothingToStandFor
from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.finished import finished_since, forget_finished
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.desks.desk import DeskRefused
from assay.tasks.ledger import layout
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_closing, read_gold_answers, read_labels, read_revisions
from assay.tasks.ledger.life import leave_index, open_evaluations
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.data import ANNOTATORS
from assay.tasks.report.files import render_report
from assay.tasks.spec.monitor import MonitorSpec

SMALL = {"n": 60, "budget": {"labels": 24}, "batch_size": 8, "measure": ["accuracy", "f1"]}
OTHER = {"match": "no match", "no match": "match"}
GOLD = [(f"gold-{i}", ("match", "no match")[i % 2], f"gold {i}") for i in range(8)]


def several_people(folder, rule, people=2):
    """Gold among the items, so many people for each, and the last of them errs now and then."""
    folder.mkdir(exist_ok=True)
    with (folder / "gold.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([("item_id", "label", "text"), *GOLD])
    desk = {"kind": "simulated", "labels": str(folder / "labels.csv"), "annotators_per_item": people,
            "gold": {"labels": str(folder / "gold.csv"), "rate": 0.2}}
    world = World(folder, desk=desk, adjudication={"rule": rule}, **SMALL, method="passive")
    world.truth |= {item: label for item, label, _ in GOLD}
    world.desk.answers = dict(world.truth)
    world.desk.people = dict.fromkeys(world.truth, people)

    def vote(item, person):
        said = world.desk.answers[item]
        return OTHER[said] if person == people - 1 and errs_on(item) else said

    world.desk.votes = vote
    return world


def errs_on(item):
    """Whether the last person gets it wrong."""
    return int(item.rpartition("-")[2]) % 5 == 0


def warm(folder):
    """One that starts from the labels of another in the same store; both small."""
    first = World(folder / "first", **{**SMALL, "n": 40, "budget": {"labels": 8}}, name="earlier")
    first.run()
    return World(folder / "second", store=first.store, warm_start={"evaluation": "earlier"}, **SMALL,
                 method="dirichlet-tree:depth=2")


KINDS = {
    "recalibrated": lambda folder: World(folder, **SMALL, method="recalibrated"),
    "warm-started": warm,
    "dawid-skene of two, with gold": lambda folder: several_people(folder, "dawid-skene"),
}


def step(world, **more):
    return world.advance(repost_after=timedelta(hours=1), **more)


def labelled(world, number):
    """Items of a round that people labelled in it, all of them alike."""
    decided = read_labels(Ledger(world.store, world.spec.name), number)
    return [d.item_id for d in decided if d.label is not None and d.annotations and not errs_on(d.item_id)]


def verified(world):
    result = verify(world.store, world.spec.name)
    assert result.verified, result.differences
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_labels_revised_in_the_middle_and_at_the_end_are_verified(tmp_path, kind):
    world = KINDS[kind](tmp_path)
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.answers = {}
    step(world)
    planned = read_plan(Ledger(world.store, world.spec.name), 1)
    asked = [planned.item_id[t] for t in planned.to_people()]
    world.desk.answers = {item: world.truth[item] for item in (*asked, *planned.gold)}
    step(world)
    assert step(world).rounds == 1       # two who differ send an item to a third
    edited = labelled(world, 1)[0]
    world.desk.answers[edited] = OTHER[world.truth[edited]]
    assert step(world, look_again=True).revision == 1
    verified(world)
    world.desk.answers = {**world.truth, edited: OTHER[world.truth[edited]]}
    for _ in range(4):
        standing = step(world)
    assert standing.state == "finished"
    # reissued with each round that closed since; labels that cost nothing make one more round
    rounds = 4 if kind == "warm-started" else 3
    assert (standing.rounds, standing.revision, standing.revised_items) == (rounds, rounds, 1)
    for number in (2, 3):
        item = labelled(world, number)[-1]
        world.desk.answers[item] = OTHER[world.truth[item]]
    del world.desk.answers[labelled(world, 1)[-1]]
    standing = step(world, look_again=True)
    assert (standing.revision, standing.revised_items, standing.undecided) == (rounds + 1, 4, 1)
    assert all(e.value is not None for e in standing.known.estimates)
    assert verified(world).revisions == rounds + 1


def test_a_revision_has_a_record_of_the_annotators_by_the_answers_of_now(tmp_path):
    world = several_people(tmp_path, "majority", people=3)
    for _ in range(4):
        world.run()
    name = world.spec.name
    # the third person is corrected wherever they erred
    world.desk.votes = lambda item, _person: world.desk.answers[item]
    step(world, look_again=True)
    assert read_revisions(Ledger(world.store, name)) == [], "no label changed: the majority had it right"
    edited = labelled(world, 1)[0]
    world.desk.answers[edited] = OTHER[world.truth[edited]]
    assert step(world, look_again=True).revision == 1
    closed, now = (
        json.loads(world.store.get(key)) for key in (
            layout.annotators(name, 3), layout.revision_annotators(name, 1)
        )
    )
    assert (now["round"], now["revision"], now["gold"]) == (3, 1, closed["gold"])
    agreed = [[p["labels"]["agreed"] for p in record["people"]] for record in (closed, now)]
    assert agreed[1][:2] == agreed[0][:2] == [24, 24]   # whatever the label became, these two said it
    sealed = json.loads(world.store.get(layout.revision_seal(name, 1)))["seals"]
    assert "revisions/0001/annotators.json" in sealed
    verified(world)
    opened = open_evaluation(world.store, name)
    data = report_data(opened, world.advance())
    assert ANNOTATORS.value_in(data).revision == 1
    assert b"By the answers of revision 1" in render_report(data)["report.html"]


def test_a_revised_record_of_the_annotators_that_was_altered_or_removed_is_found(tmp_path):
    world = several_people(tmp_path, "majority")
    for _ in range(4):
        world.run()
    item = labelled(world, 1)[0]
    world.desk.answers[item] = OTHER[world.truth[item]]
    step(world, look_again=True)
    key = layout.revision_annotators(world.spec.name, 1)
    for blob in (None, world.store.get(key).replace(b'"round":3', b'"round":2')):
        changed = world.copy()
        changed.store = type(world.store)()
        for other in world.store.keys(""):
            if other != key:
                changed.store.put(other, world.store.get(other))
        if blob is not None:
            changed.store.put(key, blob)
        assert key in {d.key for d in verify(changed.store, changed.spec.name).differences}


def test_one_person_and_no_gold_leave_nothing_to_record(tmp_path):
    world = World(tmp_path, **SMALL, method="passive")
    world.run()
    item = labelled(world, 1)[0]
    world.desk.answers[item] = OTHER[world.truth[item]]
    assert step(world, look_again=True).revision == 1
    assert not world.store.exists(layout.revision_annotators("small", 1))
    data = report_data(open_evaluation(world.store, "small"), world.advance())
    assert "nothing is known about annotators' errors" in ANNOTATORS.value_in(data).correction.reason


def test_gold_nobody_answered_is_no_non_response(tmp_path):
    world = several_people(tmp_path, "majority")
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.votes = lambda item, _person: world.desk.answers[item]
    world.desk.answers = {}
    step(world)
    planned = read_plan(Ledger(world.store, "small"), 1)
    assert len(planned.gold) == 2        # 8 asked at a rate of 20%
    asked = [planned.item_id[t] for t in planned.to_people()]
    world.desk.answers = {item: world.truth[item] for item in asked}
    assert step(world).waiting_for.answered == 8
    standing = step(world, close_round=1)
    assert (standing.rounds, standing.labels) == (1, 8)
    assert "nonresponse" not in standing.to_json()["estimates"][0]
    assert read_closing(Ledger(world.store, "small"), 1) == "request"
    assert read_gold_answers(Ledger(world.store, "small"), 1) == {}
    # and the other way round: gold answered, an item not
    second = read_plan(Ledger(world.store, "small"), 2)
    heard = [second.item_id[t] for t in second.to_people()]
    by_prediction = sorted(heard, key=lambda i: second.prediction[second.item_id.index(i)])
    silent = by_prediction[0] if len({*second.prediction}) == 1 else max(
        ([i for i in heard if second.prediction[second.item_id.index(i)] == f] for f in (0, 1)), key=len
    )[0]
    world.desk.answers = {i: world.truth[i] for i in (*heard, *second.gold) if i != silent}
    standing = step(world, close_round=2)
    said = standing.to_json()["estimates"][0]["nonresponse"]
    assert (said["unanswered"], said["response_rate"]) == (1, 15 / 16)
    assert set(read_gold_answers(Ledger(world.store, "small"), 2)) == set(second.gold)
    verified(world)


def test_gold_that_somebody_removed_twice_keeps_no_label_waiting(tmp_path):
    world = several_people(tmp_path, "dawid-skene")
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.answers = {}
    step(world)
    planned = read_plan(Ledger(world.store, "small"), 1)
    removed, *others = planned.gold
    for _ in range(2):
        world.desk.delete(1, removed)
        world.advance()                            # posted again the first time
    world.desk.answers = {i: world.truth[i] for i in (*planned.item_id, *others)}
    assert world.advance().rounds == 1
    assert set(read_gold_answers(Ledger(world.store, "small"), 1)) == set(others)
    verified(world)


def test_only_gold_that_was_answered_closes_no_round(tmp_path):
    world = several_people(tmp_path, "majority")
    begin_evaluation(world.store, world.spec, world.desk)
    world.desk.answers = {}
    step(world)
    world.desk.answers = {i: world.truth[i] for i in read_plan(Ledger(world.store, "small"), 1).gold}
    with pytest.raises(NothingToStandFor):
        step(world, close_round="open")


def test_a_sweep_that_looks_again_revises_what_finished_lately_and_isolates_failures(tmp_path, monkeypatch):
    worlds = {}
    first = World(tmp_path / "a", **SMALL, method="passive", name="a")
    for name in ("a", "b", "c"):
        world = first if name == "a" else World(
            tmp_path / name, store=first.store, **SMALL, method="passive", name=name
        )
        world.run()
        item = labelled(world, 1)[0]
        world.desk.answers[item] = OTHER[world.truth[item]]
        worlds[name] = world

    def desk_of(_store, spec):
        if spec.name == "b":
            raise DeskRefused("the project is gone")
        return worlds[spec.name].desk

    monkeypatch.setattr("assay.flows.evaluation.advance.desk_of", desk_of)
    store, month = first.store, timedelta(days=30)
    assert sweep_store(store).summary() == "nothing is open"
    assert sweep_store(store, look_again=True).summary() == "nothing is open"
    later = datetime.now(UTC) + timedelta(days=31)
    assert sweep_store(store, look_again=True, look_back=month, clock=lambda: later).rows() == []
    swept = sweep_store(store, look_again=True, look_back=month)
    assert {name: it.revision for name, it in swept.finished.items()} == {"a": 1, "c": 1}
    assert swept.failed == {"b": "the project is gone"}


def test_a_sweep_that_looks_again_finds_what_was_lost_from_the_index_of_open_ones(tmp_path):
    world = World(tmp_path, **SMALL, desk={"kind": "caller"})
    begin_evaluation(world.store, world.spec)
    advance(world.store, "small")
    write_stream(tmp_path / "stream", 1)
    store, data = world.store, monitor_data(tmp_path / "stream") | {"desk": {"kind": "caller"}}
    register(store, MonitorSpec.from_data(data, origin="monitor.yaml"))
    tick(store, "stream", moment=after(1))
    assert open_evaluations(store) == ["small", "stream-2026-11-01"]
    for name in open_evaluations(store):
        leave_index(Ledger(store, name))
    sweep_store(store, workers=1)
    assert open_evaluations(store) == []
    sweep_store(store, workers=1, look_again=True, look_back=timedelta(days=1))
    assert open_evaluations(store) == ["small"], "those of monitors are their monitor's"


@pytest.mark.parametrize("lost", ["by a power cut", "by hand"])
def test_an_evaluation_whose_last_close_was_not_dated_is_looked_at_again_and_dated(tmp_path, lost):
    world = World(tmp_path, **SMALL, method="passive")
    last = "small/rounds/0003/times.json"
    if lost == "by a power cut":
        whole = Fuse()
        World(tmp_path, store=MemoryStore(), **SMALL, method="passive").run(whole)
        with pytest.raises(PowerCut):
            world.run(Fuse(whole.effects.index(f"put {last}") + 1))
        assert not world.store.exists(last)
    world.run()
    if lost == "by hand":
        del world.store._values[last]
        forget_finished(Ledger(world.store, "small"))
    assert finished_since(world.store, datetime.now(UTC) - timedelta(days=1)) == ["small"]
    world.advance(look_again=True)
    assert world.store.exists(last)
    assert finished_since(world.store, datetime.now(UTC) + timedelta(days=1)) == []
