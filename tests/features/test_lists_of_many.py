"""Lists of many evaluations: by an index, which can be lost and damaged."""

from datetime import timedelta

import pytest
from doubles.counted_store import CountedStore
from doubles.world import World

from assay.flows.alerts import outbox_of_all
from assay.flows.drivers.sweep import sweep_store
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.finished import finished_since, standings
from assay.flows.record.named import UnknownEvaluation
from assay.flows.record.opened import open_evaluation, utc_now
from assay.flows.record.standing import current_standing
from assay.tasks.ledger import layout
from benchmarks.recovery.many import begin_all, many_specs

SOME = 5
OPEN = ["small"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A few that are finished, one whose people have not answered."""
    folder = tmp_path_factory.mktemp("some")
    world = World(folder, n=60)
    begin_all(world.store, many_specs(folder / "many", SOME, budget={"labels": 2}, method="passive"))
    sweep_store(world.store, workers=1)
    world.desk.answers = {}
    begin_evaluation(world.store, world.spec, world.desk)
    world.advance()
    return dict(world.store._values), world


@pytest.fixture
def store(filled):
    values, world = filled
    copied = world.copy().store
    copied._values.clear()
    copied._values.update(values)
    return CountedStore(copied)


def kept(store):
    return {key: store._values[key] for key in store.keys(layout.FINISHED_PREFIX)}


def as_json(store):
    store.calls = 0
    return {name: one.to_json() for name, one in standings(store)}


def test_what_is_listed_is_what_each_ledger_says(store):
    names = [f"e{n:04d}" for n in range(SOME)]
    assert as_json(store) == {
        name: current_standing(open_evaluation(store, name)).to_json() for name in [*names, *OPEN]
    }
    assert sorted({key.split("/")[2] for key in kept(store)}) == names


def test_a_finished_evaluation_costs_one_call(store):
    with_all = (as_json(store), store.calls)[1]
    for key in list(store.keys("e0000/")) + list(store.keys("index/finished/e0000/")):
        del store._values[key]
    as_json(store)
    assert store.calls == with_all - 1


@pytest.mark.parametrize("harm", [
    lambda values, key: values.pop(key),
    lambda values, key: values.update({key: values[key][:-1]}),
    lambda values, key: values.update({key: values[key].replace(b'"labels":2', b'"labels":9')}),
    lambda values, key: values.update({key[:-1] + "0": values[key]}),
], ids=["lost", "cut short", "altered", "one too many"])
def test_what_is_lost_or_damaged_is_made_again(store, harm):
    whole, listed = kept(store), as_json(store)
    for key in whole:
        harm(store._values, key)
    assert as_json(store) == listed
    assert kept(store) == whole


def test_one_that_cannot_be_read_hides_no_other(store):
    store._values[layout.spec("small")] = b"{"
    found = dict(standings(store))
    assert "restore this key" in str(found.pop("small"))
    assert len(found) == SOME


def test_those_that_finished_lately_are_found_in_the_index(store):
    now = utc_now()
    store.calls = 0
    assert finished_since(store, now - timedelta(hours=1)) == [f"e{n:04d}" for n in range(SOME)]
    assert store.calls <= SOME + 8
    assert finished_since(store, now + timedelta(hours=1)) == []


def test_alerts_of_all_are_one_listing_each(store):
    store.calls = 0
    assert outbox_of_all(store) == []
    assert store.calls == len(OPEN) + SOME + 2


def test_a_name_that_nobody_has_does_not_list_the_store(store):
    store.calls = 0
    with pytest.raises(UnknownEvaluation, match="it holds e0000, e0001, e0002, e0003, e0004 and others"):
        open_evaluation(store, "nobody")
    assert store.calls <= 10
