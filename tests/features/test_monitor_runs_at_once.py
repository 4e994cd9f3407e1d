"""Two runs of a monitor at once: what one of them decides does not depend on what the other one reads."""

import csv
import json

import pytest
from doubles.stream import a_monitor, after, monitor_data, write_stream
from services.ledger_record import record_of

from assay.flows.evaluation.advance import advance
from assay.flows.monitor.month import left_this_month
from assay.flows.monitor.opening import open_window
from assay.flows.monitor.run import read_run
from assay.flows.monitor.tick import judge_window_of, tick
from assay.flows.monitor.versions import register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.life import open_evaluations
from assay.tasks.ledger.monitors import read_openings
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec
from benchmarks.recovery.crowds import answer_all


@pytest.fixture
def two_runs(tmp_path):
    """A store, and two runs that read it before either of them opened a window; 30 labels a month."""
    write_stream(tmp_path, 3, items=60)
    spec = a_monitor(tmp_path, quiet_labels=20, monthly_labels=30, reserve=0.0, spending="first")
    store = MemoryStore()
    register(store, spec)
    return store, [read_run(store, "stream", after(3)) for _ in range(2)]


def test_two_runs_at_once_do_not_spend_the_same_labels_of_the_month(two_runs):
    store, runs = two_runs
    windows = ["2026-11-01", "2026-11-02"]
    opened = [open_window(run, run.window(one)) for run, one in zip(runs, windows, strict=True)]
    assert [opening.labels for opening in opened] == [30, 0]
    assert opened[1].evaluation is None
    assert left_this_month(read_run(store, "stream", after(3))) == 0
    assert not verify_monitor(store, "stream").differences


def test_labels_that_were_claimed_before_a_crash_are_those_of_the_opening(two_runs):
    store, runs = two_runs
    first = open_window(runs[0], runs[0].window("2026-11-01"))
    key = next(key for key in store.keys("monitors/stream/windows/"))
    del store._values[key]                            # the claim is there, the opening is not
    again = open_window(runs[1], runs[1].window("2026-11-01"))
    assert again == first
    assert len(list(store.keys("monitors/stream/months/"))) == 1


def test_verify_names_a_claim_that_is_not_what_its_opening_got(two_runs):
    store, _ = two_runs
    tick(store, "stream", moment=after(1))
    claim = next(key for key in store.keys("monitors/stream/months/"))
    store._values[claim] = json.dumps(json.loads(store._values[claim]) | {"labels": 7}).encode()
    assert claim in {one.key for one in verify_monitor(store, "stream").differences}
    del store._values[claim]
    named = {one.key: one.difference for one in verify_monitor(store, "stream").differences}
    opening = read_openings(Ledger(store, "monitors/stream"))["2026-11-01"][0]
    assert opening.labels == 30
    assert "no labels of its month were claimed" in named[
        "monitors/stream/windows/2026-11-01/openings/0001.json"
    ]


ORDERS = [("2026-11-01", "2026-11-02"), ("2026-11-02", "2026-11-01")]


@pytest.mark.parametrize("order", ORDERS)
def test_which_window_gets_the_labels_that_are_left_is_decided_by_who_is_answered_first(tmp_path, order):
    alone = _live(tmp_path / "alone", order, others=False)
    crowd = _live(tmp_path / "crowd", order, others=True)
    assert crowd == alone                                    # two sweeps beside the monitor change nothing
    follow_up = next(key for key in alone if "/extensions/0001/" in key)
    assert follow_up.startswith(f"stream-{order[0]}/")   # the window that was judged first has it


def _live(folder, order, *, others):
    """The evaluations of two windows that people answer in this order; 8 labels are left for a follow-up."""
    write_stream(folder, 2, items=60, seed=11)   # both windows are inconclusive at first
    desk, store = folder / "desk", MemoryStore()
    truth = {}
    for window in order:
        with (folder / f"labels-{window}.csv").open(newline="") as opened:
            truth |= {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    data = monitor_data(folder, quiet_labels=12, monthly_labels=32, follow_ups=1, reserve=0.0) | {
        "desk": {"kind": "folder", "path": str(desk)}, "budget": {"labels": 12}, "batch_size": 6,
        "threshold": {"min": 0.65},
    }
    spec = MonitorSpec.from_data(data, origin="the test")
    register(store, spec)
    tick(store, "stream", moment=after(2))
    for window in order * 2:                                 # whoever is answered first is judged first
        while answer_all(desk, truth, only=f"stream-{window}"):
            for name in open_evaluations(store) if others else []:   # what a sweep does
                if advance(store, name).state == "finished":
                    judge_window_of(store, name, clock=lambda: after(2))
            tick(store, "stream", moment=after(2))
    assert not verify_monitor(store, "stream").differences
    names = [one.evaluation for several in read_openings(Ledger(store, "monitors/stream")).values()
             for one in several]
    return {f"{name}/{key}": value for name in names for key, value in record_of(store, name).items()
            if key != "spec.json" and "manifest" not in key}
