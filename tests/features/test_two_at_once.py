"""Two `advance` at once: one plan, one label per item, one round closed, on both stores."""

import subprocess
import sys
import threading
from collections import Counter
from datetime import timedelta

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from doubles.world import World

from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.ledger.closed_round import read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

TIMES = {"folder": 2, "s3": 1}


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.services)])
def places(request, tmp_path):
    """Addresses of fresh stores of one kind."""
    times = TIMES[request.param]
    if request.param == "folder":
        return [f"{tmp_path}/ledger-{n}" for n in range(times)]
    s3 = request.getfixturevalue("s3")
    return [s3.new_url(f"race-{n}") for n in range(times)]


def test_two_advances_at_once_do_what_one_does(places, tmp_path):
    alone = World(tmp_path, MemoryStore(), n=80, budget={"labels": 6}, batch_size=3)
    alone.run()
    expected = alone.record()
    for n, place in enumerate(places):
        world = World(tmp_path, open_store(place), n=80, budget={"labels": 6}, batch_size=3)
        world.spec = alone.spec
        begin_evaluation(world.store, world.spec, world.desk)
        _both_at_once(world)
        assert world.advance(repost_after=timedelta(hours=1)).state == "finished"
        assert world.record() == expected, f"time {n}"
        assert set(Counter(world.desk.posted).values()) == {1}, f"asked twice, time {n}"
        labelled = [d.item_id for r in (1, 2) for d in read_labels(Ledger(world.store, "small"), r)]
        assert len(labelled) == len(set(labelled)) == 6


def test_two_begins_at_once_freeze_one_pool(places, tmp_path):
    world = World(tmp_path, open_store(places[0]), n=80)
    _at_once(lambda: begin_evaluation(world.store, world.spec, world.desk))
    assert sum(key.endswith("manifest.json") for key in world.store.keys("")) == 1
    assert world.advance().state == "finished"


def test_two_runs_at_once_in_processes_of_their_own_print_the_same(tmp_path):
    predictions, labels = write_small_pool(tmp_path, n=80)
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec_json(predictions, labels, store="ledger")))
    command = [sys.executable, "-m", "assay.flows.cli.entry", "run", "spec.yaml", "--json"]
    both = [
        subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=240) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert said[0][0] == said[1][0]
    store = open_store(f"{tmp_path}/ledger")
    asked = [d.item_id for r in (1, 2, 3) for d in read_labels(Ledger(store, "small"), r)]
    assert len(asked) == len(set(asked)) == 60


def _both_at_once(world):
    _at_once(lambda: world.advance(repost_after=timedelta(hours=1)))


def _at_once(act):
    start = threading.Barrier(2)
    errors = []

    def one():
        start.wait()
        try:
            act()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
