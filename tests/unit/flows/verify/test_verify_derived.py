"""What lies below `index/` is believed and no evidence: `verify` names what says else than the ledger."""

import json
from dataclasses import replace

import pytest
from doubles.stream import a_monitor, after, write_stream
from doubles.world import World

from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.finished import standings
from assay.flows.record.fold import _base, _value, known_from, not_begun
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import checkpoints, layout
from assay.tasks.ledger.checkpoint_values import written_value
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

SMALL = {"n": 80, "budget": {"labels": 12}, "batch_size": 4}


def forged(store, old, pattern, blob):
    """The same store with other bytes under the key, which is named by their digest."""
    copy = MemoryStore()
    for key in store.keys(""):
        if key != old:
            copy.put(key, store.get(key))
    *of, _ = pattern.match(old)
    copy.put(pattern(*of, layout.digest(blob)[:32]), blob)
    return copy


def the_key(store, pattern):
    (key,) = filter(pattern.match, store.keys("index/"))
    return key


def named(result):
    return " ".join(f"{each.key}: {each.difference}" for each in result.differences)


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stream")
    write_stream(folder, 3, drop_from=1, worse=0.45, items=60)
    store = MemoryStore()
    register(store, a_monitor(folder, quiet_labels=30, late_days=0.0))
    for day in (1, 2, 3):
        tick(store, "stream", moment=after(day))
    return store


def with_records(change, settled=()):
    """How to forge a checkpoint of a monitor: its records and settled windows otherwise."""
    def forge(store):
        key = the_key(store, layout.monitor_checkpoint)
        line, _, body = store.get(key).partition(b"\n")
        head = json.loads(line)
        head["settled"] = sorted({*head["settled"], *settled})
        blob = json.dumps(head).encode() + b"\n" + checkpoints._packed(change(checkpoints._unpacked(body)))
        return forged(store, key, layout.monitor_checkpoint, blob)

    return forge


FORGED = {
    "a breach that is ok": (with_records(lambda records: {
        key: blob.replace(b'"verdict":"breach"', b'"verdict":"ok"') for key, blob in records.items()
    }), "has another monitors/stream/verdicts/000002.json"),
    "a verdict that is left out": (with_records(lambda records: {
        key: blob for key, blob in records.items() if "000002" not in key
    }), "leaves out monitors/stream/verdicts/000002.json"),
    "a window that nobody needs to judge": (
        with_records(lambda records: records, ["2026-11-04"]), "nothing is due for 2026-11-04"
    ),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_checkpoint_of_a_monitor_is_named(watched, what):
    assert verify_monitor(watched, "stream").verified
    forge, expected = FORGED[what]
    store = forge(watched)
    if "ok" in what:
        assert {row.state for row in read_monitor_history(store, "stream").rows} == {"ok"}, "it is believed"
    assert expected in named(verify_monitor(store, "stream"))
    assert "remove it" in named(verify_monitor(store, "stream"))


def test_a_forged_summary_of_a_finished_evaluation_is_named(tmp_path):
    world = World(tmp_path, **SMALL)
    world.run()
    assert verify(world.store, "small").verified
    key = the_key(world.store, layout.finished)
    summary = json.loads(world.store.get(key))
    summary["standing"]["known"]["estimates"][0]["value"] = 0.99
    store = forged(world.store, key, layout.finished, json.dumps(summary).encode())
    [(_, standing)] = standings(store)
    assert standing.known.estimates[0].value == 0.99, "it is believed"
    assert "recomputed" in named(verify(store, "small"))


def _another_estimate(kept):
    look = kept.fold.looks[-1]
    first = replace(look.estimates[0], value=0.99)
    looks = (*kept.fold.looks[:-1], replace(look, estimates=(first, *look.estimates[1:])))
    return replace(kept, fold=replace(kept.fold, looks=looks))


def _as_it_is(kept):
    return kept


@pytest.mark.parametrize(("of_value", "of_records", "expected"), [
    (_another_estimate, _as_it_is, "round 2.estimate.value"),
    (lambda kept: replace(kept, fold=replace(kept.fold, last_asked=3)), _as_it_is, "last_asked"),
    (_as_it_is, lambda records: {key: blob.replace(b'"labels":12', b'"labels":99')
                                 for key, blob in records.items()}, "has another small/spec.json"),
], ids=["an estimate", "the state", "the spec"])
def test_a_forged_checkpoint_of_an_evaluation_is_named(tmp_path, of_value, of_records, expected):
    world = World(tmp_path, **SMALL)
    world.desk.answers = {}
    begin_evaluation(world.store, world.spec, world.desk)
    for _ in range(2):
        world.advance()
        asked = [item for items in world.desk.on_desk.values() for item in items]
        world.desk.answers |= {item: world.truth[item] for item in asked}
    world.advance()
    assert verify(world.store, "small").verified
    ledger = Ledger(world.store, "small")
    newest = checkpoints.find_checkpoint(ledger).newest
    begun = not_begun(open_evaluation(world.store, "small").statistics)
    kept = of_value(known_from(ledger, newest, begun))
    value, _ = written_value(_value(kept), newest.round, _base(begun))
    other = MemoryStore()
    for key in world.store.keys(""):
        if not layout.checkpoint.match(key):
            other.put(key, world.store.get(key))
    forgery = checkpoints.Checkpoint(round=newest.round, records=of_records(newest.records), value=value)
    checkpoints.write_checkpoint(Ledger(other, "small"), forgery, {}, frozenset())
    assert expected in named(verify(other, "small"))
