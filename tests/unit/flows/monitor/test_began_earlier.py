"""Monitors that began when `auto` was one method, or before windows were judged by themselves, go on so."""

from datetime import UTC, datetime

import pytest
from doubles.stream import monitor_data

from assay.flows.monitor.versions import amend, open_monitor, register
from assay.tasks.ledger import layout
from assay.tasks.ledger.life import LEDGER_FORMAT, RecordedSpec, write_spec
from assay.tasks.ledger.log import MARK
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.spec.monitor import MonitorSpec


@pytest.mark.parametrize(("recorded", "alone"), [(MARK, "pooled"), ({}, "none")])
def test_a_monitor_that_began_earlier_keeps_its_method_and_its_test(tmp_path, recorded, alone):
    data = monitor_data(tmp_path)
    before, auto = (MonitorSpec.from_data(data | {"method": m}, "test") for m in ("recalibrated", "auto"))
    store = MemoryStore()
    write_spec(Ledger(store, layout.monitor_ledger(before.name)), RecordedSpec(
        spec=before.to_json(), versions=dict(recorded), format=LEDGER_FORMAT,
    ))
    assert not register(store, auto)
    found = open_monitor(store, before.name)
    assert (found.newest.method, found.alone) == ("recalibrated", alone)
    assert amend(store, auto, moment=datetime(2026, 10, 1, tzinfo=UTC)) is None


def test_a_new_monitor_leaves_the_method_to_its_windows_and_judges_them_by_strata(tmp_path):
    store, spec = MemoryStore(), MonitorSpec.from_data(monitor_data(tmp_path) | {"method": "auto"}, "test")
    assert register(store, spec)
    found = open_monitor(store, spec.name)
    assert (found.newest.method, found.alone) == ("auto", "strata")
