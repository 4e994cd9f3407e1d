"""The dead man's switch of a monitor: no verdict for so many days, whatever the reason."""

from doubles.stream import after, monitor_data, write_stream

from assay.flows.alerts import outbox_of_all
from assay.flows.monitor.silence import tell_silence
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec


def watched(folder, **monitor):
    store = MemoryStore()
    register(store, MonitorSpec.from_data(monitor_data(folder, quiet_labels=20, **monitor), "x"))
    return store


def silent(store):
    rows = outbox_of_all(store, ["monitors/stream"])
    return [row.alert for row in rows if row.alert.kind == "silent"]


def test_a_monitor_whose_runs_do_not_happen_is_told_by_others_once_a_day(tmp_path):
    write_stream(tmp_path, 2, items=60)
    store = watched(tmp_path)
    tick(store, "stream", moment=after(2))
    assert tell_silence(store, moment=after(5)) == [], "window 3 was due at the end of day 3"
    assert tell_silence(store, moment=after(6)) == ["stream"]
    assert tell_silence(store, moment=after(6)) == ["stream"]
    (told,) = silent(store)
    assert told.subject == "stream: no verdict for 3 days"
    assert "the newest is of window 2026-11-02. 4 windows wait for one" in told.body
    tell_silence(store, moment=after(7))
    assert len(silent(store)) == 2


def test_one_that_never_gave_a_verdict_is_silent_too_and_one_that_has_ended_is_not(tmp_path):
    store = watched(tmp_path, silent_days=2.0)
    tick(store, "stream", moment=after(4))
    (told,) = silent(store)
    assert "there never was one" in told.body
    write_stream(tmp_path, 2, items=60)
    ended = watched(tmp_path, last="2026-11-02")
    tick(ended, "stream", moment=after(2))
    assert tell_silence(ended, moment=after(90)) == []


def test_windows_that_are_passed_over_are_no_silence(tmp_path):
    write_stream(tmp_path, 12, items=60)
    store = watched(tmp_path, monthly_labels=60, silent_days=2.0)
    for day in range(1, 9):
        tick(store, "stream", moment=after(day))
    assert silent(store) == []
