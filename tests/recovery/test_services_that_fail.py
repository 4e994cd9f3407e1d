"""A slice of the fault matrix (`make recovery` runs the rest): real servers behind a proxy that misbehaves.

Whatever the fault, the ledger ends as if nothing had happened, with one label for every item; what people
saw is an evaluation that waits, or a message, or nothing.
"""

import random

import pytest

from benchmarks.recovery import store_faults
from benchmarks.recovery.desk_faults import DeskStage, desk_stage

pytestmark = pytest.mark.services


@pytest.fixture(scope="module", autouse=True)
def _quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("assay.tasks.effects.FIRST_WAIT", 0.01)
        patch.setattr("assay.tasks.desks.replies.FIRST_PAUSE", 0.1)
        yield


@pytest.fixture(scope="module")
def desk(label_studio, tmp_path_factory):
    with desk_stage(tmp_path_factory.mktemp("desk"), label_studio) as stage:
        yield stage


@pytest.fixture(scope="module")
def store(s3, tmp_path_factory):
    with store_faults.s3_stage(tmp_path_factory.mktemp("store"), s3) as stage:
        yield stage


def test_an_import_whose_reply_never_came_is_neither_lost_nor_repeated(desk: DeskStage):
    first_import = desk.positions(1, random.Random(1))[0]
    trial = desk.trial("does it, and hangs past the timeout", first_import)
    assert trial.as_if_nothing_had_happened, trial
    assert (trial.injected, trial.happened, trial.copies_made) == (True, "unnoticed", 0)


def test_copies_of_an_import_that_committed_late_are_counted_and_gone(desk: DeskStage):
    trial = desk.late_commit()
    assert trial.as_if_nothing_had_happened, trial
    assert (trial.happened, trial.copies_made, trial.copies_left) == ("waited", 2, 0)


def test_a_project_somebody_deleted_is_named_and_its_restoration_is_enough(desk: DeskStage):
    trial = desk.deleted_project()
    assert trial.as_if_nothing_had_happened, trial
    assert "it was deleted" in trial.said[0]
    assert "restore the project" in trial.said[0]


@pytest.mark.parametrize("fault", ["answers 503 SlowDown", "does a conditional put, and its reply is lost"])
def test_an_s3_that_stumbles_goes_unnoticed(store: store_faults.S3Stage, fault: str):
    trial = store.trial(fault, store.positions(fault, 5, random.Random(3))[2])
    assert trial.as_if_nothing_had_happened, trial
    assert (trial.injected, trial.happened) == (True, "unnoticed")


def test_an_s3_that_stays_away_is_named_and_the_next_run_goes_on(
    store: store_faults.S3Stage, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("assay.tasks.ledger.stores.s3.REQUEST_ATTEMPTS", 2)
    store_faults.s3_store._shared_client.cache_clear()
    trial = store.trial("answers 500", store.positions("answers 500", 5, random.Random(4))[2], stays=True)
    assert trial.as_if_nothing_had_happened, trial
    assert "overloaded or failing; try again later" in trial.said[0]


@pytest.mark.parametrize("mounted", [True, False], ids=["file system", "quota"])
def test_a_full_disk_is_named_and_room_is_enough(tmp_path_factory, monkeypatch, mounted):
    disk = store_faults.DiskStage(tmp_path_factory.mktemp("disk"))
    if not mounted:
        monkeypatch.setattr(store_faults, "_mount", lambda _folder, _room: False)
    for share in (0.05, 0.4, 0.8):
        trial = disk.trial(share)
        assert trial.as_if_nothing_had_happened, trial
        assert trial.injected
        assert "no space left" in trial.said[0]
