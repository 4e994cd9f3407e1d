"""A monitor's ledger with damaged keys: each is named, and what rests on it is not recomputed."""

import pytest
from doubles.stream import a_monitor, after, write_stream

from assay.flows.monitor.registry import UnknownMonitor, register
from assay.flows.monitor.tick import tick
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.stores.memory import MemoryStore

MONITOR = layout.monitor("stream")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Three windows, each with one verdict."""
    folder = tmp_path_factory.mktemp("stream")
    write_stream(folder, 3)
    store = MemoryStore()
    register(store, a_monitor(folder, quiet_labels=60))
    tick(store, "stream", now=after(3))
    return store


def changed(store, key, change):
    copy = MemoryStore()
    for other in store.keys(""):
        blob = store.get(other)
        copy.put(other, change(blob) if other == key else blob)
    return copy


DAMAGE = {
    "not JSON": lambda blob: blob[:-5],
    "a field of another type": lambda blob: blob.replace(b'"revision":0', b'"revision":"0"'),
    "bytes": lambda blob: b"\xff\x00",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_verdict_is_named_and_no_later_one_is_recomputed(watched, damage):
    key = layout.monitor_verdict(MONITOR, 2)
    found = verify_monitor(changed(watched, key, DAMAGE[damage]), "stream")
    assert [d.key for d in found.differences] == [key]
    assert found.differences[0].difference.startswith("cannot be read: DamagedRecord: ")
    assert (found.rounds, found.keys_checked) == (3, 1)
    assert "no verdict after number 1 was recomputed" in found.notes


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_opening_is_named_and_the_verdicts_are_recomputed(watched, damage):
    key = layout.monitor_opening(MONITOR, "2026-11-02", 1)
    found = verify_monitor(changed(watched, key, DAMAGE[damage]), "stream")
    assert [d.key for d in found.differences] == [key]
    assert found.differences[0].difference.startswith("cannot be read: DamagedRecord: ")
    assert found.keys_checked == 3


def test_an_opening_under_the_key_of_another_is_found(watched):
    key = layout.monitor_opening(MONITOR, "2026-11-02", 1)
    other = watched.get(layout.monitor_opening(MONITOR, "2026-11-03", 1))
    found = verify_monitor(changed(watched, key, lambda _: other), "stream")
    assert [(d.key, d.difference) for d in found.differences] == [(key, "says it is opening 1 of 2026-11-03")]


def test_a_missing_verdict_is_named(watched):
    store = MemoryStore()
    for key in watched.keys(""):
        if key != layout.monitor_verdict(MONITOR, 2):
            store.put(key, watched.get(key))
    found = verify_monitor(store, "stream")
    assert [d.key for d in found.differences] == [layout.monitor_verdict(MONITOR, 2)]
    assert "missing" in found.differences[0].difference
    assert found.keys_checked == 1


def test_a_damaged_spec_is_named_and_nothing_is_recomputed(watched):
    key = layout.spec(MONITOR)
    found = verify_monitor(changed(watched, key, DAMAGE["not JSON"]), "stream")
    assert [d.key for d in found.differences] == [key]
    assert found.keys_checked == 0


def test_damaged_evaluations_of_a_verdict_are_told_under_the_verdict(watched):
    [name] = {key.split("/")[0] for key in watched.keys("") if key.startswith("stream-2026-11-03")}
    key = layout.estimate(name, 1)
    found = verify_monitor(changed(watched, key, DAMAGE["bytes"]), "stream")
    assert [d.key for d in found.differences] == [layout.monitor_verdict(MONITOR, 3)]
    assert "cannot be recomputed: DamagedRecord: " in found.differences[0].difference


def test_whole_ledgers_have_no_differences_and_unknown_monitors_are_told(watched):
    found = verify_monitor(watched, "stream")
    assert found.verified
    assert found.keys_checked == 3
    with pytest.raises(UnknownMonitor):
        verify_monitor(watched, "strean")
