"""A store whose listings lag: a key that was just put is read by its name, and not listed yet."""

import pytest
from doubles.stream import a_monitor, after, write_stream
from doubles.world import World

from assay.flows.evaluation.finish import extend
from assay.flows.monitor.mute import mute
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import amend, register
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import layout
from assay.tasks.ledger.log import newest_digest, put_logged
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

SMALL = {"n": 60, "budget": {"labels": 6}, "batch_size": 3}


class Lagging(MemoryStore):
    """Of keys whose name has `part` in it, the last few that were put are not listed yet."""

    part, few = "/log/", 2

    def keys(self, prefix=""):
        late = [key for key in self._values if self.part in key][-self.few:] if self.few else []
        return iter(key for key in super().keys(prefix) if key not in late)

    def caught_up(self):
        self.few = 0
        return self


@pytest.mark.parametrize("few", [1, 2, 50])
def test_entries_that_are_not_listed_yet_are_met_when_the_next_one_is_put(few):
    store = Lagging()
    store.few = few
    ledger = Ledger(store, "monitors/m")
    for number in range(1, 9):
        key = layout.mute("monitors/m", number)
        assert put_logged(ledger, key, b"%d" % number) == b"%d" % number
        assert put_logged(ledger, key, b"another") == b"%d" % number
    entries = [key for key in store._values if "/log/" in key]
    assert entries == [layout.log_entry("monitors/m", number) for number in range(1, 10)]
    store.caught_up()
    assert newest_digest(ledger) == layout.digest(store.get(entries[-1]))


def test_an_evaluation_and_a_monitor_lag_behind_nothing(tmp_path):
    prompt, late = World(tmp_path, **SMALL), World(tmp_path, store=Lagging(), **SMALL)
    for world in (prompt, late):
        assert world.run().state == "finished"
        extend(world.store, "small", 9, clock=lambda: after(1))
        world.advance()
    assert verify(late.store.caught_up(), "small").differences == ()
    assert late.record().keys() == prompt.record().keys()
    write_stream(tmp_path, 3, items=60)
    store = Lagging()
    register(store, a_monitor(tmp_path, quiet_labels=20))
    tick(store, "stream", moment=after(1))
    amend(store, a_monitor(tmp_path, quiet_labels=20, error_rate=0.1), moment=after(1))
    mute(store, "stream", until=after(9), reason="roll-out", moment=after(1))
    tick(store, "stream", moment=after(3))
    assert verify_monitor(store.caught_up(), "stream").differences == ()


class Late(MemoryStore):
    """Whatever was put is missing from the next few listings, whoever lists."""

    def __init__(self, lag):
        super().__init__()
        self.lag, self.listings, self.put_at = lag, 0, {}

    def put(self, key, blob):
        self.put_at.setdefault(key, self.listings)
        return super().put(key, blob)

    def keys(self, prefix=""):
        self.listings += 1
        shown = [key for key in super().keys(prefix) if self.put_at[key] + self.lag < self.listings]
        return iter(shown)

    def caught_up(self):
        self.lag = -1
        return self


@pytest.mark.parametrize("lag", [1, 3])
def test_keys_of_every_kind_may_lag(tmp_path, lag):
    prompt, late = World(tmp_path, **SMALL), World(tmp_path, store=Late(lag), **SMALL)
    for world in (prompt, late):
        for _ in range(3):
            world.run()
        extend(world.store, "small", 9, clock=lambda: after(1))
        for _ in range(3):
            world.advance()
    assert verify(late.store.caught_up(), "small").differences == ()
    assert late.record().keys() == prompt.record().keys()
    write_stream(tmp_path, 3, items=60)
    store = Late(lag)
    register(store, a_monitor(tmp_path, quiet_labels=20))
    for day in (1, 1, 3, 3):
        tick(store, "stream", moment=after(day))
    assert verify_monitor(store.caught_up(), "stream").differences == ()
