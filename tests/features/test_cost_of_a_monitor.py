"""A monitor's run does not read windows that are settled, and believes nothing that is not in the ledger."""

import csv

import pytest
from doubles.logged import without_chance
from doubles.stream import a_monitor, after, monitor_data, write_stream

from assay.flows.evaluation.advance import advance
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.checkpoints import RECORDS_OF_RUN, find_kept, write_kept
from assay.tasks.ledger.monitors import read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec
from benchmarks.ledger_cost.windows import windows
from benchmarks.recovery.crowds import answer_all

NAME = layout.monitor_ledger("stream")


def test_a_run_makes_as_many_calls_with_thirty_windows_as_with_ten(tmp_path):
    costs = {(one.windows, one.what): one.calls for one in windows(tmp_path, [10, 30], {})}
    for what in ("nothing is due", "a window to open and judge"):
        assert costs[30, what] == costs[10, what]
    assert costs[30, "the checkpoint lost"] > costs[10, "the checkpoint lost"] + 40


@pytest.fixture
def settled(tmp_path):
    """A store in which three windows are settled: nothing that changes later is looked for."""
    write_stream(tmp_path, 5, drop_from=2, worse=0.45, items=60)
    (tmp_path / "predictions-2026-11-02.csv").unlink()
    store = MemoryStore()
    register(store, a_monitor(tmp_path, quiet_labels=20, late_days=0, grace_hours=0))
    tick(store, "stream", moment=after(3))
    assert find_kept(Ledger(store, NAME)).newest.settled == {"2026-11-01", "2026-11-02", "2026-11-03"}
    return store


def _evidence(store):
    return {
        key: without_chance(key, store.get(key)) for key in store.keys("")
        if not key.startswith(("index/", "desks/")) and not key.endswith(("times.json", "identity.json",
                                                                          "sources.json", "arrived.json"))
        and "/posts/" not in key
    }


def _copy(store):
    other = MemoryStore()
    other._values.update(store._values)
    return other


def _without(store):
    for key in list(store.keys(f"index/{NAME}/")):
        store.discard(key)


def _damaged(store):
    for key in list(store.keys(f"index/{NAME}/")):
        store._values[key] = store._values[key][:-3] + b"abc"


def _of_another_version(store):
    store._values[layout.monitor_verdict(NAME, 2)] += b" "


@pytest.mark.parametrize("happens", [_without, _damaged])
def test_without_its_checkpoint_a_monitor_decides_the_same(settled, happens):
    other = _copy(settled)
    happens(other)
    for store in (settled, other):
        tick(store, "stream", moment=after(5))
    assert _evidence(other) == _evidence(settled)
    assert find_kept(Ledger(other, NAME)).newest.settled == find_kept(Ledger(settled, NAME)).newest.settled


def test_a_checkpoint_is_not_believed_once_its_last_verdict_is_another(settled):
    _of_another_version(settled)
    assert find_kept(Ledger(settled, NAME)).newest is None


def test_a_run_says_of_settled_windows_what_it_said_before(settled):
    done = tick(settled, "stream", moment=after(3))
    assert list(done.left_out) == ["2026-11-02"]
    assert done.left_out["2026-11-02"].startswith("missing: ")
    kept = read_monitor_history(settled, "stream", lambda: after(3))
    _without(settled)
    assert kept == read_monitor_history(settled, "stream", lambda: after(3))


def test_verify_rests_nothing_on_a_checkpoint(settled):
    expected = verify_monitor(settled, "stream")
    for happens in (_damaged, _without):
        happens(settled)
        assert verify_monitor(settled, "stream") == expected


def test_records_of_many_windows_lie_in_runs_that_are_not_written_again():
    store = MemoryStore()
    ledger = Ledger(store, NAME)
    store.put(layout.spec(NAME), b"{}")
    records = {layout.monitor_opening(NAME, f"w{n:05d}", 1): b"%d" % n for n in range(4 * RECORDS_OF_RUN)}
    for many in (RECORDS_OF_RUN, 3 * RECORDS_OF_RUN, 4 * RECORDS_OF_RUN):
        some = dict(list(records.items())[:many])
        entries = find_kept(ledger)
        before = {key for key in entries.keys if "/run-" in key}
        write_kept(ledger, entries, verdicts=0, settled=frozenset({"w"}), windows=frozenset(), records=some)
        found = find_kept(ledger)
        assert found.newest.records == some
        assert before <= found.keys
        assert len(found.newest.rest) < 2 * RECORDS_OF_RUN


def test_a_checkpoint_that_was_thrown_away_meanwhile_is_not_put_back(settled):
    ledger = Ledger(settled, NAME)
    entries = find_kept(ledger)
    _without(settled)
    write_kept(ledger, entries, verdicts=0, settled=frozenset(), windows=frozenset(), records={})
    assert not list(settled.keys(f"index/{NAME}/"))


def test_an_answer_that_changes_in_a_settled_window_reissues_its_verdict(tmp_path):
    write_stream(tmp_path, 1, items=60)
    with (tmp_path / "labels-2026-11-01.csv").open(newline="") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    data = monitor_data(tmp_path, quiet_labels=10, late_days=0) | {
        "desk": {"kind": "folder", "path": str(tmp_path / "desk")}, "budget": {"labels": 10},
        "batch_size": 10,
    }
    store = MemoryStore()
    register(store, MonitorSpec.from_data(data, origin="the test"))
    tick(store, "stream", moment=after(1))
    answer_all(tmp_path / "desk", truth)
    tick(store, "stream", moment=after(1))
    assert "2026-11-01" in find_kept(Ledger(store, NAME)).newest.settled
    answers = next((tmp_path / "desk").glob("*/answers/round-0001.csv"))
    answers.write_text(answers.read_text(encoding="utf-8-sig").replace(",yes", ",no"), encoding="utf-8-sig")
    advance(store, "stream-2026-11-01", look_again=True)
    tick(store, "stream", moment=after(1))
    verdicts = read_verdicts(Ledger(store, NAME))
    assert [(one.reissue, one.rests_on.revision) for one in verdicts] == [(0, 0), (1, 1)]
