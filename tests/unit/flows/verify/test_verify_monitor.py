"""A monitor's ledger with damaged keys: each is named, and what rests on it is not recomputed."""

from contextlib import suppress

import pytest
from doubles.stream import a_monitor, after, write_stream

from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import UnknownMonitor, amend, register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.monitors import read_verdicts
from assay.tasks.ledger.record import DamagedRecord, Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec

MONITOR = layout.monitor_ledger("stream")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Three windows, each with one verdict."""
    folder = tmp_path_factory.mktemp("stream")
    write_stream(folder, 3)
    store = MemoryStore()
    register(store, a_monitor(folder, quiet_labels=60))
    tick(store, "stream", moment=after(3))
    return store


def recomputed(found):
    """Verdicts recomputed."""
    return int(found.notes[0].split()[0])


def changed(store, key, change):
    copy = MemoryStore()
    for other in store.keys(""):
        blob = store.get(other)
        copy.put(other, change(blob) if other == key else blob)
    return copy


DAMAGE = {
    "not JSON": lambda blob: blob[:-5],
    "a field of another type": lambda blob: blob.replace(b'"number":', b'"number":"1","was":'),
    "bytes": lambda blob: b"\xff\x00",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_verdict_is_named_and_no_later_one_is_recomputed(watched, damage):
    key = layout.monitor_verdict(MONITOR, 2)
    found = verify_monitor(changed(watched, key, DAMAGE[damage]), "stream")
    assert [d.key for d in found.differences] == [key]
    assert found.differences[0].difference.startswith("cannot be read: DamagedRecord: ")
    assert (found.rounds, recomputed(found)) == (3, 1)
    assert "no verdict after number 1 was recomputed" in found.notes


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_opening_is_named_and_the_verdicts_are_recomputed(watched, damage):
    key = layout.monitor_opening(MONITOR, "2026-11-02", 1)
    found = verify_monitor(changed(watched, key, DAMAGE[damage]), "stream")
    assert [d.key for d in found.differences] == [key]
    assert found.differences[0].difference.startswith("cannot be read: DamagedRecord: ")
    assert recomputed(found) == 3


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
    assert recomputed(found) == 1


def test_a_damaged_spec_is_named_and_nothing_is_recomputed(watched):
    key = layout.spec(MONITOR)
    found = verify_monitor(changed(watched, key, DAMAGE["not JSON"]), "stream")
    assert [d.key for d in found.differences] == [key]
    assert recomputed(found) == 0


def test_damaged_evaluations_of_a_verdict_are_told_under_the_verdict(watched):
    [name] = {key.split("/")[0] for key in watched.keys("") if key.startswith("stream-2026-11-03")}
    key = layout.estimate(name, 1)
    found = verify_monitor(changed(watched, key, DAMAGE["bytes"]), "stream")
    assert [d.key for d in found.differences] == [layout.monitor_verdict(MONITOR, 3)]
    assert "cannot be recomputed: DamagedRecord: " in found.differences[0].difference


def test_whole_ledgers_have_no_differences_and_unknown_monitors_are_told(watched):
    found = verify_monitor(watched, "stream")
    assert found.verified
    assert recomputed(found) == 3
    # every key is in the log, or of it, or claimed by an opening that is
    assert found.keys_checked == found.keys == 17
    assert found.seal == layout.digest(watched.get(layout.log_entry(MONITOR, 7)))
    with pytest.raises(UnknownMonitor):
        verify_monitor(watched, "strean")


def without(store, *keys):
    copy = MemoryStore()
    for key in store.keys(""):
        if key not in keys:
            copy.put(key, store.get(key))
    return copy


def named(store, seal=None):
    return {found.key for found in verify_monitor(store, "stream", seal).differences}


def opening(day, number=1):
    return layout.monitor_opening(MONITOR, f"2026-11-0{day}", number)


def test_an_edited_opening_is_named(watched):
    for day in (1, 3):
        edited = changed(watched, opening(day), lambda blob: blob.replace(b'"labels":', b'"labels":1'))
        assert named(edited) == {opening(day)}


def test_a_deleted_verdict_or_opening_is_named(watched):
    entries = [layout.log_entry(MONITOR, number) for number in (1, 3, 6)]
    for key in (layout.monitor_verdict(MONITOR, 3), opening(1), opening(3), *entries):
        assert key in named(without(watched, key)), key
    assert entries[-1] in named(without(watched, opening(3), entries[-1]))


def test_a_digest_noted_earlier_is_found_in_the_log(watched):
    noted = layout.digest(watched.get(layout.log_entry(MONITOR, 5)))
    assert verify_monitor(watched, "stream", among=noted).differences == ()
    found = verify_monitor(watched, "stream", among="0" * 64).differences
    assert [d.key for d in found] == [layout.log_entry(MONITOR, 7)]


def test_the_seal_of_an_evaluation_that_was_made_anew_is_named(watched):
    [name] = {key.split("/")[0] for key in watched.keys("") if key.startswith("stream-2026-11-01")}
    key = layout.final_seal(name)
    assert named(changed(watched, key, lambda blob: blob.replace(b"a", b"b", 1))) == {key}


def test_the_digest_noted_elsewhere_finds_verdicts_cut_off_with_their_seals(watched):
    noted = verify_monitor(watched, "stream").seal
    assert named(watched, noted.upper()) == set()
    cut = without(watched, layout.monitor_verdict(MONITOR, 3), layout.log_entry(MONITOR, 7))
    assert named(cut) == set()
    assert named(cut, noted) == {layout.log_entry(MONITOR, 6)}


def test_a_record_that_a_crash_kept_from_its_key_is_named_and_put_there_by_the_next_run(watched):
    key = layout.monitor_verdict(MONITOR, 3)
    store = without(watched, key)
    assert named(store) == {key}
    tick(store, "stream", moment=after(3))
    assert store.get(key) == watched.get(key)
    assert named(store) == set()


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    """Alerts were muted, a window is missing, and a version of the spec judged the third."""
    folder = tmp_path_factory.mktemp("changing")
    write_stream(folder, 3, items=60)
    (folder / "predictions-2026-11-02.csv").unlink()
    store, name = MemoryStore(), "stream"
    register(store, a_monitor(folder, quiet_labels=30))
    mute(store, name, until=after(2), reason="roll-out", moment=after(0))
    tick(store, name, moment=after(1))
    amended = a_monitor(folder, quiet_labels=30, error_rate=0.1)
    amend(store, amended, moment=after(1), first_window="2026-11-03")
    tick(store, name, moment=after(3))
    return store


VERSION, STATE, MUTE = (
    layout.monitor_version(MONITOR, 2), layout.window_state(MONITOR, "2026-11-02", 1), layout.mute(MONITOR, 1)
)


@pytest.mark.parametrize(("key", "was", "now"), [
    (VERSION, b'"reason":""', b'"reason":"he asked"'),
    (STATE, b'"state":"missing"', b'"state":"empty"'),
    (MUTE, b"roll-out", b"roll-in"),
])
def test_an_edited_version_state_or_mute_is_named(changing, key, was, now):
    assert named(changing) == set()
    assert was in changing.get(key)
    found = named(changed(changing, key, lambda blob: blob.replace(was, now)))
    assert found == {key}


@pytest.mark.parametrize("key", [VERSION, STATE, MUTE])
def test_a_deleted_version_state_or_mute_is_named(changing, key):
    assert key in named(without(changing, key))


def entry_of(store, key):
    """The key of the entry that put this one."""
    short = key.removeprefix(f"{MONITOR}/")
    log = store.keys(layout.log_entries(MONITOR))
    return next(entry for entry in log if f'"key":"{short}"'.encode() in store.get(entry))


@pytest.mark.parametrize("key", [VERSION, STATE, MUTE])
def test_a_version_state_or_mute_deleted_with_its_entry_is_named(changing, key):
    entry = entry_of(changing, key)
    assert entry in named(without(changing, key, entry))


def test_a_planted_alert_that_cannot_be_read_is_named(watched):
    store = without(watched)
    store.put(layout.alert(MONITOR, "verdict-000009"), b"{}")
    assert named(store) == {layout.alert(MONITOR, "verdict-000009")}


def test_a_claim_with_other_spacing_is_named(watched):
    key = layout.month_claim(MONITOR, "2026-11", 2)
    assert named(changed(watched, key, lambda blob: blob.replace(b",", b", "))) == {key}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A monitor that told of a breach, and of a missing window."""
    folder = tmp_path_factory.mktemp("told")
    write_stream(folder, 2, drop_from=0, worse=0.45, items=60)
    (folder / "predictions-2026-11-02.csv").unlink()
    store = MemoryStore()
    register(store, a_monitor(folder, quiet_labels=40))
    tick(store, "stream", moment=after(4))
    return store


def test_an_alert_that_somebody_silenced_is_named(told):
    key = layout.alert_muted(MONITOR, "verdict-000001")
    store = without(told)
    store.put(key, b'{"at":"2026-11-02T12:00:00+00:00","mute":1}\n')
    assert named(store) == {key}


def test_an_outbox_that_was_removed_is_named_alert_by_alert(told):
    alerts = [key for key in told.keys(layout.alerts(MONITOR)) if layout.alert.match(key)]
    assert any("verdict-000001" in key for key in alerts)
    gone = list(told.keys(layout.alerts(MONITOR)))
    assert set(alerts) <= named(without(told, *gone))
    for key in alerts:
        lie = changed(told, key, lambda blob: blob.replace(b"stream", b"strean"))
        assert key in named(lie), "the text of an alert is in the log"


# A limit, a state or a mute that is forged, whatever else is removed, and what the next run makes of it.

NEWEST = {
    "version": (VERSION, b'"min":0.85', b'"min":0.1'),
    "state": (layout.window_state(MONITOR, "2026-11-01", 1), b'"state":"missing"', b'"state":"empty"'),
    "mute": (MUTE, b"roll-out", b"holiday!"),
}


@pytest.fixture(scope="module", params=NEWEST)
def newest(request, tmp_path_factory):
    """A monitor whose newest record is a version, a state or a mute; and the key, what it says, and a lie."""
    folder = tmp_path_factory.mktemp("newest")
    write_stream(folder, 2, items=60)
    (folder / "predictions-2026-11-01.csv").unlink()
    store = MemoryStore()
    register(store, a_monitor(folder, quiet_labels=30))
    if request.param == "version":
        amended = a_monitor(folder, quiet_labels=30).to_json()
        amended["limit" if "limit" in amended else "threshold"] = {"min": 0.85001}
        amend(store, MonitorSpec.from_data(amended, origin="the test"), moment=after(1))
        return store, VERSION, b'"min":0.85001', b'"min":0.10000'
    if request.param == "state":
        tick(store, "stream", moment=after(2.5))
    else:
        mute(store, "stream", until=after(2), reason="roll-out", moment=after(0))
    return store, *NEWEST[request.param]


def forgeries(store, key):
    """What somebody may remove beside: nothing, its entry, all entries from it on, or the whole log."""
    log = list(store.keys(layout.log_entries(MONITOR)))
    return [[], [entry_of(store, key)], log[log.index(entry_of(store, key)):], log]


@pytest.mark.parametrize("removed", range(4))
def test_the_newest_record_cannot_be_forged(newest, removed):
    store, key, truth, lie = newest
    noted = verify_monitor(store, "stream").seal
    assert truth in store.get(key)
    also = forgeries(store, key)[removed]
    forged = without(changed(store, key, lambda blob: blob.replace(truth, lie)), *also)
    for _ in range(2):
        found = verify_monitor(forged, "stream", among=noted)
        assert not found.verified
        assert key in {one.key for one in found.differences}
        assert forged.get(key) != store.get(key)
        with suppress(DamagedRecord):       # and the next run does not lend it a seal
            tick(forged, "stream", moment=after(3))


@pytest.mark.parametrize("removed", [0, 1])
def test_no_window_is_judged_by_a_limit_that_was_forged(tmp_path, removed):
    write_stream(tmp_path, 2, drop_from=0, worse=0.45, items=200)
    store, spec = MemoryStore(), a_monitor(tmp_path)
    register(store, spec)
    stricter = spec.to_json()
    stricter["limit" if "limit" in stricter else "threshold"] = {"min": 0.9}
    amend(store, MonitorSpec.from_data(stricter, origin="the test"), moment=after(0))
    for key, was, lie in (
        (VERSION, b'"min":0.9', b'"min":0.1'), (layout.spec(MONITOR), b'"min":0.85', b'"min":0.05'),
    ):
        forged = changed(store, key, lambda blob, was=was, lie=lie: blob.replace(was, lie))
        if removed:
            forged = without(forged, layout.log_entry(MONITOR, 2 if key == VERSION else 1))
        with pytest.raises(DamagedRecord):
            tick(forged, "stream", moment=after(2))
        assert not list(forged.keys(layout.monitor_verdicts(MONITOR)))
    tick(store, "stream", moment=after(2))
    assert [one.verdict for one in read_verdicts(Ledger(store, MONITOR))] == ["breach", "breach"]
    assert verify_monitor(store, "stream").verified
