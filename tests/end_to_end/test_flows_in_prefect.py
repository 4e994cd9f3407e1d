"""Our code inside flow runs: effects are tasks, failures are isolated, and Prefect is never in the way."""

import logging
import time

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from doubles.world import World

from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.effects import effect
from assay.tasks.ledger import open_store
from assay.tasks.ledger.stores.store import StoreUnreachable

pytestmark = pytest.mark.services


def task_runs(server, flow_run, count):
    """Name and state of the flow run's tasks, once there are so many: the server is a little late."""
    wanted = {"flow_runs": {"id": {"any_": [str(flow_run)]}}, "limit": 200}
    for _ in range(300):
        found = server.post("task_runs/filter", wanted)
        if sum(run["state_type"] in ("COMPLETED", "FAILED") for run in found) >= count:
            break
        time.sleep(0.5)
    return {run["name"].rpartition("-")[0]: (run["state_type"], run["run_count"]) for run in found}


@pytest.fixture
def told():
    """The records of the effects' logger, by a handler of our own.

    pytest's handler would not do: it may hang on the root as well, or Prefect may have replaced it there.
    """
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    log = logging.getLogger("assay.effects")
    log.addHandler(handler)
    yield records
    log.removeHandler(handler)


def test_an_effect_in_a_flow_is_one_task_that_is_retried_and_shows_no_arguments(
    in_prefect, monkeypatch, tmp_path, told
):
    from prefect import flow
    from prefect.runtime import flow_run

    monkeypatch.setattr("assay.tasks.effects.FIRST_WAIT", 0.01)
    monkeypatch.setenv("ASSAY_EFFECT_LOG", str(tmp_path / "effects.log"))
    calls = []

    @effect("write-something", shown=lambda store, secret: "write something-1")
    def write(store, secret):
        calls.append(secret)
        if len(calls) < 3:
            raise StoreUnreachable("away")
        return secret[::-1]

    @effect("write-once", retries=0, shown=lambda secret: "write once-1")
    def once(secret):
        calls.append(secret)
        raise StoreUnreachable("away")

    @flow
    def writes():
        written = write({}, "secret-token")
        with pytest.raises(StoreUnreachable):
            once("tried once")
        return written, flow_run.get_id()

    written, run_id = writes()
    assert written == "nekot-terces"
    assert calls == ["secret-token"] * 3 + ["tried once"]
    assert task_runs(in_prefect, run_id, count=2) == {
        "write something": ("COMPLETED", 1), "write once": ("FAILED", 1),
    }
    lines = (tmp_path / "effects.log").read_text().splitlines()
    begun = [line.split()[2] for line in lines if line.startswith("+")]
    assert begun == ["write-something"] * 3 + ["write-once"]
    retries = [one.getMessage() for one in told]
    assert [line.partition(";")[0] for line in retries] == ["write-something: away"] * 2


def test_evaluate_stops_waiting_for_people_without_failing(in_prefect, tmp_path):
    from assay.flows.drivers.deployed import evaluate_deployed

    predictions, labels = write_small_pool(tmp_path)
    spec = spec_json(
        predictions, labels, name="patient", store=f"{tmp_path}/ledger",
        desk={"kind": "folder", "path": str(tmp_path / "desk")},
    )
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    state = evaluate_deployed(spec_file=str(tmp_path / "spec.yaml"), wait_minutes=0, return_state=True)
    assert (state.type.value, state.name) == ("COMPLETED", "Waiting")
    assert (tmp_path / "desk" / "patient" / "round-0001.csv").exists()


def test_evaluate_needs_exactly_one_of_its_two_ways_to_name_an_evaluation(in_prefect):
    from assay.flows.drivers.deployed import evaluate_deployed

    for both in ({}, {"evaluation": "a", "spec_file": "b"}):
        assert evaluate_deployed(**both, return_state=True).is_failed()


def test_a_sweep_names_what_failed_and_advances_the_rest(in_prefect, tmp_path):
    from assay.flows.drivers.deployed import sweep

    store = open_store(f"{tmp_path}/ledger")
    for name in ("good-1", "bad", "good-2"):
        world = World(tmp_path / name, store, n=60, name=name, budget={"labels": 2}, batch_size=2)
        begin_evaluation(store, world.spec)
    (tmp_path / "bad" / "labels.csv").unlink()
    state = sweep(store=store.url, return_state=True)
    assert state.is_failed()
    assert "2 finished, 1 failed" in state.message
    assert "bad" in state.message
    assert sweep(store=store.url, return_state=True).message.startswith("1 failed")


def test_an_evaluation_survives_losing_prefect(in_prefect, tmp_path, monkeypatch):
    from assay.flows.drivers.deployed import sweep

    def away(**_kwargs):
        raise ConnectionError("away")

    monkeypatch.setattr("prefect.artifacts.create_markdown_artifact", away)
    monkeypatch.setattr("prefect.artifacts.create_table_artifact", away)
    monkeypatch.setattr("prefect.events.emit_event", away)
    store = open_store(f"{tmp_path}/ledger")
    world = World(tmp_path, store, n=60, name="lonely", budget={"labels": 2}, batch_size=2)
    begin_evaluation(store, world.spec)
    assert sweep(store=store.url, return_state=True).message == "1 finished"
