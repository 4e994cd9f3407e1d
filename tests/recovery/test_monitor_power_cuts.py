"""A monitor cut off at any effect and run again leaves what one leaves that was never cut."""

import pytest
from doubles.fuses import Fuse, Fused, PowerCut
from doubles.stream import a_monitor, after, write_stream

from assay.flows.monitor.registry import register
from assay.flows.monitor.tick import tick
from assay.tasks.ledger.stores.memory import MemoryStore

_BESIDE = ("times.json", "identity.json", "sources.json")
_EVERY = 29  # of some 180 effects, one in so many is cut, before it and after it


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    """The stream, the spec, the record of an undisturbed life of two windows, and its number of effects."""
    folder = tmp_path_factory.mktemp("stream")
    write_stream(folder, 2, drop_from=1, worse=0.45, items=150)
    spec = a_monitor(folder, quiet_labels=50, follow_ups=1)
    fuse, store = Fuse(), MemoryStore()
    register(store, spec)
    tick(Fused(store, fuse), "stream", now=after(2))
    return spec, _record(store), len(fuse.effects)


def _record(store):
    return {
        key: store.get(key) for key in store.keys("")
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
            tick(Fused(store, Fuse(at, when)), "stream", now=after(2))
        tick(store, "stream", now=after(2))
        assert _record(store) == record, f"cut {when} effect {at}"
