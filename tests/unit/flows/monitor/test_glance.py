"""A glance at a monitor says what its whole history says, and reads nothing twice."""

from datetime import UTC, datetime

import pytest
from doubles.counted_store import CountedStore
from doubles.history import place, row
from doubles.served import a_store, monitor_values

from assay.flows.monitor.glance import glance_at_monitor
from assay.flows.monitor.history import read_monitor_history
from assay.tasks.ledger import layout, record
from assay.tasks.ledger.monitors import Mute, create_mute, glance_at_verdict
from assay.tasks.ledger.record import Ledger

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.mark.parametrize("n", range(10))
@pytest.mark.parametrize("checkpoint", [True, False])
def test_it_says_what_the_history_says(n, checkpoint):
    values = monitor_values("m", 25, n)
    if not checkpoint:
        values = {key: blob for key, blob in values.items() if not key.startswith("index/")}
    store = a_store(values)
    history, glance = read_monitor_history(store, "m", lambda: NOW), glance_at_monitor(store, "m", NOW)
    states = [one.state for one in history.rows]
    assert glance.newest == history.rows[-1]
    assert glance.judged == [one for one in history.rows if one.verdict is not None][-1]
    assert dict(glance.states) == {state: states.count(state) for state in states}
    assert glance.bought == history.bought
    assert glance.windows == tuple(one.window for one in history.rows)
    month = [one for one in history.rows if one.openings and one.openings[0].month == "2026-11"]
    waiting = [one for one in month if one.verdict is None and one.openings[0].evaluation]
    assert glance.bought_this_month == sum(one.bought for one in month) + 100 * len(waiting)


def test_what_did_not_change_is_not_read_again_and_what_did_is():
    store = CountedStore(a_store(monitor_values("m", 25, 3)))
    first = glance_at_monitor(store, "m", NOW)
    before = store.calls
    assert glance_at_monitor(store, "m", NOW, first) is first
    assert store.calls - before <= 8
    create_mute(Ledger(store, layout.monitor_ledger("m")), Mute(number=1, until=NOW, reason="x", at=NOW))
    again = glance_at_monitor(store, "m", NOW, first)
    assert [one.reason for one in again.mutes] == ["x"]
    assert again.newest == first.newest


@pytest.mark.parametrize(("state", "segments", "said"), [
    ("ok", (), "ok"), ("inconclusive", (), "inconclusive"), ("breach", (), "breach"),
    ("ok", (place(0.9, "ok", "half=a"), place(0.7, "breach", "half=b")), "breach"),
    ("inconclusive", (place(None, "inconclusive", 'half="verdict":"breach"'),), "inconclusive"),
])
def test_a_glance_at_the_bytes_of_a_verdict_reads_what_the_record_says(state, segments, said):
    verdict = row("2026-11-01", 0.9, state, segments).verdict
    glance = glance_at_verdict(record.encode(verdict), "a key")
    assert (glance.window, glance.verdict, glance.bought) == ("2026-11-01", said, 90)
    assert said == verdict.verdict
    other_bytes = record.encode(verdict).replace(b'"pool":', b'"pool" :')
    assert glance_at_verdict(other_bytes, "a key") == glance


def test_bytes_that_are_no_verdict_are_damaged():
    with pytest.raises(record.DamagedRecord):
        glance_at_verdict(b"{}", "a key")
