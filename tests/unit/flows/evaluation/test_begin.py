"""An evaluation that is begun again."""

from doubles.small_pool import small_spec

from assay.flows.evaluation import begin as module
from assay.flows.evaluation.begin import begin
from assay.tasks.ledger.stores.memory import MemoryStore
from assay.tasks.testing import FakeDesk


def test_what_a_freeze_left_behind_that_was_killed_at_its_end_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 1)
    spec, store = small_spec(tmp_path), MemoryStore()
    begin(store, spec, FakeDesk())
    keys = list(store.keys())
    store.put(f"index/freezing/{spec.name}/000000-aa.json", b"{}")
    begin(store, spec, FakeDesk())
    assert list(store.keys()) == keys
