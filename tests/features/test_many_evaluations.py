"""Eighty open evaluations in one store: swept in parallel, each on its own, twice at once if need be."""

import os
import threading
import time
from contextlib import suppress

import pytest
from doubles.counted_store import CountedStore
from services.ledger_record import record_differences, record_of

from assay.flows.drivers.sweep import sweep_store
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import open_evaluations
from assay.tasks.ledger.stores.local import LEFTOVER_SECONDS, LocalStore
from assay.tasks.ledger.stores.store import MemoryStore
from benchmarks.recovery.many import begin_all, many_specs

MANY, WORKERS, BROKEN = 80, 4, 10
QUICK = {"budget": {"labels": 2}, "method": "passive"}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """The values of a store in which all have begun and nothing else has happened; the specs; the folder."""
    folder = tmp_path_factory.mktemp("many")
    specs = many_specs(folder, MANY, **QUICK)
    gone = folder / "gone.csv"
    gone.write_bytes((folder / "labels.csv").read_bytes())
    broken = many_specs(folder, BROKEN, {"kind": "simulated", "labels": str(gone)}, **QUICK)
    specs[:BROKEN] = broken
    store = MemoryStore()
    begin_all(store, specs)
    gone.unlink()
    return dict(store._values)


def a_copy(begun):
    store = MemoryStore()
    store._values.update(begun)
    return store


@pytest.fixture(scope="module")
def swept(begun):
    """After one sweep, with nobody else about."""
    store = CountedStore(a_copy(begun))
    store.damaged = [f"e{n:04d}" for n in range(50, 50 + BROKEN)]
    for name in store.damaged:
        store._values[layout.manifest(name) if int(name[1:]) % 2 else layout.spec(name)] = b"{"
    store.result = sweep_store(store, workers=WORKERS)
    return store


def test_sweeps_that_are_always_cut_off_come_to_every_evaluation(monkeypatch):
    store, turns = MemoryStore(), []
    for n in range(10):
        store.put(layout.open_index(f"e{n}"), b"")

    def cut_off(_store, name, _look_again):
        turns.append(name)
        if len(turns) % 3 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr("assay.flows.drivers.sweep._advance_one", cut_off)
    for _ in range(100):   # one that is never among the first 3 of 10: 10 times 0.7 to the 100th, 3e-15
        with suppress(KeyboardInterrupt):
            sweep_store(store, workers=1)
            raise AssertionError("was not cut off")
    assert len(set(turns)) == 10


def test_broken_desks_and_damaged_ledgers_keep_nobody_else_from_advancing(swept):
    broken = [f"e{n:04d}" for n in range(BROKEN)]
    assert sorted(swept.result.failed) == sorted(broken + swept.damaged)
    assert all("gone.csv" in swept.result.failed[name] for name in broken)
    assert all("restore this key" in swept.result.failed[name] for name in swept.damaged)
    assert len(swept.result.finished) == MANY - 2 * BROKEN
    assert open_evaluations(swept) == sorted(broken + swept.damaged)


def test_no_more_are_advanced_at_once_than_there_are_workers(swept):
    assert 1 <= swept.most_threads <= WORKERS


def test_two_overlapping_sweeps_leave_what_one_leaves(begun, swept):
    store = a_copy(begun)
    some = [f"e{n:04d}" for n in range(0, MANY, 4)]
    results, start = [], threading.Barrier(2)

    def sweep():
        start.wait()
        results.append(sweep_store(store, workers=WORKERS, only=some))

    threads = [threading.Thread(target=sweep) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert sorted(result.failed) == some[:3]        # the broken desks
        # one sweep may still wait for what the other is just posting
        assert sorted({**result.finished, **result.waiting}) == some[3:]
    assert sorted({*results[0].finished, *results[1].finished}) == some[3:]
    for name in sorted({*some[3:]} - {*swept.damaged}):
        assert record_differences(record_of(store, name), record_of(swept, name)) == [], name


def test_what_failed_goes_on_as_soon_as_it_is_repaired(begun, swept):
    for name in swept.damaged:
        for key in (layout.manifest(name), layout.spec(name)):
            swept._values[key] = begun[key]
    assert sorted(sweep_store(swept, workers=WORKERS).finished) == swept.damaged


def test_a_sweep_removes_what_crashed_writers_left_behind(tmp_path):
    store = LocalStore(tmp_path / "ledger")
    begin_all(store, many_specs(tmp_path, 1, **QUICK))
    left = tmp_path / "ledger" / ".temporary" / "left"
    left.write_bytes(b"x")
    then = time.time() - LEFTOVER_SECONDS - 60
    os.utime(left, (then, then))
    sweep_store(store, workers=1)
    assert not left.exists()
