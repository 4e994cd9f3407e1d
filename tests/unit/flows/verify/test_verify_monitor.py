"""A monitor's ledger with damaged keys: each is named, and what rests on it is not recomputed."""

import pytest
from doubles.stream import a_monitor, after, write_stream

from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import UnknownMonitor, amend, register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.stores.store import MemoryStore

MONITOR = layout.monitor_ledger("stream")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """Three windows, each with one verdict."""
    folder = tmp_path_factory.mktemp("stream")
    write_stream(folder, 3)
    store = MemoryStore()
    register(store, a_monitor(folder, quiet_labels=60))
    tick(store, "stream", now=after(3))
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
    # all but spec.json are sealed, or are a seal; it is too
    assert found.keys_checked == found.keys == 16
    assert found.seal == layout.digest(watched.get(layout.monitor_verdict_seal(MONITOR, 3)))
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
    seals = layout.monitor_opening_seal(MONITOR, "2026-11-03", 1), layout.monitor_verdict_seal(MONITOR, 2)
    for key in (layout.monitor_verdict(MONITOR, 3), opening(1), opening(3), *seals):
        assert key in named(without(watched, key)), key
    assert seals[0] in named(without(watched, opening(3), seals[0]))


def test_a_digest_noted_earlier_is_found_among_the_seals(watched):
    noted = layout.digest(watched.get(layout.monitor_verdict_seal(MONITOR, 2)))
    assert verify_monitor(watched, "stream", among=noted).differences == ()
    found = verify_monitor(watched, "stream", among="0" * 64).differences
    assert [d.key for d in found] == [layout.monitor_verdict_seal(MONITOR, 3)]


def test_the_seal_of_an_evaluation_that_was_made_anew_is_named(watched):
    [name] = {key.split("/")[0] for key in watched.keys("") if key.startswith("stream-2026-11-01")}
    key = layout.final_seal(name)
    assert named(changed(watched, key, lambda blob: blob.replace(b"a", b"b", 1))) == {key}


def test_the_digest_noted_elsewhere_finds_verdicts_cut_off_with_their_seals(watched):
    noted = verify_monitor(watched, "stream").seal
    assert named(watched, noted.upper()) == set()
    cut = without(watched, layout.monitor_verdict(MONITOR, 3), layout.monitor_verdict_seal(MONITOR, 3))
    assert named(cut) == set()
    assert named(cut, noted) == {layout.monitor_verdict_seal(MONITOR, 2)}


def test_what_a_crash_left_unsealed_is_a_note_and_sealed_by_the_next_run(watched):
    seals = [key for key in watched.keys(MONITOR) if key.endswith(".seal.json")]
    store = without(watched, *seals)
    found = verify_monitor(store, "stream")
    assert found.verified
    assert found.notes[1] == "6 records not sealed yet"
    tick(store, "stream", now=after(3))
    assert all(store.get(key) == watched.get(key) for key in seals)


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    """Alerts were muted, a window is missing, and a version of the spec judged the third."""
    folder = tmp_path_factory.mktemp("changing")
    write_stream(folder, 3, items=60)
    (folder / "predictions-2026-11-02.csv").unlink()
    store, name = MemoryStore(), "stream"
    register(store, a_monitor(folder, quiet_labels=30))
    mute(store, name, until=after(2), reason="roll-out", now=after(0))
    tick(store, name, now=after(1))
    amend(store, a_monitor(folder, quiet_labels=30, error_rate=0.1), now=after(1), first="2026-11-03")
    tick(store, name, now=after(3))
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
    # a seal that no later one covers may be what was changed, as far as anyone can tell
    assert found == ({key} if key == VERSION else {key, key.replace(".json", ".seal.json")})


@pytest.mark.parametrize("key", [VERSION, STATE, MUTE])
def test_a_deleted_version_state_or_mute_is_named(changing, key):
    assert key in named(without(changing, key))


def test_a_version_deleted_with_its_seal_is_named_by_the_verdict_it_judged(changing):
    seal = layout.monitor_version_seal(MONITOR, 2)
    assert seal in named(without(changing, VERSION, seal))


def test_a_planted_alert_that_cannot_be_read_is_named(watched):
    store = without(watched)
    store.put(layout.alert(MONITOR, "verdict-000009"), b"{}")
    assert named(store) == {layout.alert(MONITOR, "verdict-000009")}
