"""An evaluation that is begun again."""

import pytest
from doubles.small_pool import small_spec

from assay.flows.evaluation import begin as module
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.desks.desk import DeskRefused
from assay.tasks.ledger.life import RecordedSpec, versions, write_spec
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.testing import FakeDesk


def test_what_a_freeze_left_behind_that_was_killed_at_its_end_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PART_ROWS", 1)
    spec, store = small_spec(tmp_path), MemoryStore()
    begin_evaluation(store, spec, FakeDesk())
    keys = list(store.keys())
    store.put(f"index/freezing/{spec.name}/000000-aa.json", b"{}")
    begin_evaluation(store, spec, FakeDesk())
    assert list(store.keys()) == keys


def test_a_folder_that_an_evaluation_of_another_ledger_labels_in_is_refused(tmp_path):
    desk = {"kind": "folder", "path": str(tmp_path / "desk")}
    store = MemoryStore()
    for _ in range(2):
        begin_evaluation(store, small_spec(tmp_path, desk=desk, question="Spam?"))
    other = MemoryStore()
    with pytest.raises(DeskRefused, match="in another ledger"):
        begin_evaluation(other, small_spec(tmp_path, desk=desk, question="Toxic?"))
    assert not other.exists("small/manifest.json")


def test_one_that_was_recorded_with_a_threshold_resumes_with_the_limit(tmp_path):
    """`threshold` is what `limit` was called."""
    spec, now, store = small_spec(tmp_path, limit={"min": 0.8}), MemoryStore(), MemoryStore()
    begin_evaluation(now, spec, FakeDesk())
    told = spec.to_json()
    old = {key: value for key, value in told.items() if key != "limit"} | {"threshold": told["limit"]}
    write_spec(Ledger(store, spec.name), RecordedSpec(spec=old, versions=versions()))
    for key in list(now.keys()):
        if not key.endswith("/spec.json"):
            store.put(key, now.get(key))
    assert begin_evaluation(store, spec, FakeDesk()).spec == spec
