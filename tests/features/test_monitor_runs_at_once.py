"""Two runs of a monitor at once: what one of them decides does not depend on what the other one reads."""

import json

import pytest
from doubles.stream import a_monitor, after, write_stream

from assay.flows.monitor.opening import left_this_month, open_window
from assay.flows.monitor.registry import register
from assay.flows.monitor.run import read_run
from assay.flows.monitor.tick import tick
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.monitors import read_openings
from assay.tasks.ledger.owner import Ledger
from assay.tasks.ledger.stores.memory import MemoryStore


@pytest.fixture
def two_runs(tmp_path):
    """A store, and two runs that read it before either of them opened a window; 30 labels a month."""
    write_stream(tmp_path, 3, items=60)
    spec = a_monitor(tmp_path, quiet_labels=20, monthly_labels=30)
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
    tick(store, "stream", now=after(1))
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
