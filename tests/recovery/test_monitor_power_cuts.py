"""A monitor cut off at any effect and run again leaves what one leaves that was never cut."""

import re
from functools import partial

import pytest
from doubles.fuses import Fuse, Fused, PowerCut
from doubles.logged import without_chance
from doubles.stream import a_monitor, after, write_stream

from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.tasks.ledger.stores.store import MemoryStore

_BESIDE = ("times.json", "identity.json", "sources.json")
_CHANGES = ("/mutes/", "/versions/", "/states/", ".muted.json", "ended.json")
_EVERY = 29  # of some 180 effects, one in so many is cut, before it and after it


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    """The stream, the spec, the record of an undisturbed life of two windows, and its number of effects."""
    folder = tmp_path_factory.mktemp("stream")
    write_stream(folder, 2, drop_from=1, worse=0.45, items=150)
    spec = a_monitor(folder, quiet_labels=50, follow_ups=1)
    fuse, store = Fuse(), MemoryStore()
    register(store, spec)
    tick(Fused(store, fuse), "stream", moment=after(2))
    return spec, _record(store), len(fuse.effects)


def _record(store):
    """But for times: an alert says in which minute the last labels came."""
    return {
        key: re.sub(rb"The last labels came on [^.]*\.", b"", without_chance(key, store.get(key)))
        for key in store.keys("")
        if not key.endswith(_BESIDE) and "/posts/" not in key and not key.startswith(("index/", "desks/"))
    }


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_cut_changes_nothing(smooth, when):
    spec, record, effects = smooth
    assert any(key.endswith("verdict-000002.json") for key in record)     # there is an alert to lose
    for at in range(1 if when == "before" else 4, effects + 1, _EVERY):
        store = MemoryStore()
        register(store, spec)
        with pytest.raises(PowerCut):
            tick(Fused(store, Fuse(at, when)), "stream", moment=after(2))
        tick(store, "stream", moment=after(2))
        assert _record(store) == record, f"cut {when} effect {at}"


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    """A life in which a window is missing, the spec amended and alerts muted for a while; its record."""
    folder = tmp_path_factory.mktemp("changing")
    write_stream(folder, 3, drop_from=0, worse=0.45, items=60)
    (folder / "predictions-2026-11-02.csv").unlink()

    spec = partial(a_monitor, folder, quiet_labels=30)
    steps = [
        lambda store: register(store, spec()),
        lambda store: mute(store, "stream", until=after(2), reason="roll-out", moment=after(0)),
        lambda store: tick(store, "stream", moment=after(1)),
        lambda store: amend(store, spec(error_rate=0.1), moment=after(1)),
        lambda store: tick(store, "stream", moment=after(3)),
    ]

    def live(fuse):
        store = MemoryStore()
        for step in steps:
            try:
                step(Fused(store, fuse))
            except PowerCut:
                step(store)
        return _record(store)

    fuse = Fuse()
    return live, live(fuse), fuse.effects


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_cut_while_the_monitor_changes_changes_nothing(changing, when):
    live, record, effects = changing
    for ending in ("mutes/0001.json", "versions/0002.json", "states/0001.json", "mute-0001-ended.json",
                   ".muted.json"):
        assert any(key.endswith(ending) for key in record), ending
    # the last effect on each kind of key
    changes = {word: at for at, effect in enumerate(effects, 1) for word in _CHANGES if word in effect}
    assert len(changes) == len(_CHANGES)
    for at in changes.values():
        assert live(Fuse(at, when)) == record, f"cut {when} {effects[at - 1]}"
