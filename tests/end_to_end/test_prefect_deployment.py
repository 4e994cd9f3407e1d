"""The deployments, on a real server with a real worker: what `deployments/README.md` promises."""

import asyncio
import importlib
import json
import os
import time
from uuid import uuid4

import pytest
import yaml
from doubles.small_pool import small_spec, spec_json, write_small_pool
from services.prefect_server import ROOT, PrefectServer, process_worker

from assay.evalcore.errors import BadInput
from assay.flows.drivers.deployed import begin_deployed
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.tasks.ledger import open_store
from assay.tasks.report import wording
from assay.tasks.settings import Settings

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def server(prefect_api):
    """A real Prefect server with our deployments and a running worker."""
    store = f"file://{prefect_api.folder}/ledger"
    from prefect.workers.process import ProcessWorker

    if "assay" not in {pool["name"] for pool in prefect_api.post("work_pools/filter")}:
        prefect_api.post("work_pools/", {      # as `prefect work-pool create assay --type process` does
            "name": "assay", "type": "process",
            "base_job_template": ProcessWorker.get_default_base_job_template(),
        })
    prefect_api.run("--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml")
    with process_worker(prefect_api, "assay", ASSAY_STORE=store):
        yield prefect_api


def test_the_deployments_run_and_leave_artifacts_and_events(server: PrefectServer):
    store = open_store(f"file://{server.folder}/ledger")
    predictions, labels = write_small_pool(server.folder / "pool")
    (server.folder / "small.yaml").write_text(
        yaml.safe_dump(spec_json(predictions, labels, name="Deployed_1", store=store.url))
    )
    swept = small_spec(server.folder / "pool", name="swept", budget={"labels": 20})
    begin_evaluation(store, swept)

    deployed = {d["name"]: d for d in server.post("deployments/filter")}
    assert {"evaluate", "sweep", "deliver"} <= set(deployed)
    evaluate = server.post(
        f"deployments/{deployed['evaluate']['id']}/create_flow_run",
        {"parameters": {"spec_file": str(server.folder / "small.yaml")}},
    )
    sweep = server.post(f"deployments/{deployed['sweep']['id']}/create_flow_run")
    form = deployed["begin"]["parameter_openapi_schema"]
    assert [kind["type"] for kind in form["properties"]["spec"]["anyOf"]] == ["string", "object"]
    assert "as YAML" in form["properties"]["spec"]["description"]
    for run in (evaluate, sweep):
        ended = server.finished(run["id"], timeout=200)
        assert ended["state_type"] == "COMPLETED", ended["state"]

    finished = current_standing(open_evaluation(store, "Deployed_1"))
    assert (finished.state, finished.stopped_by, finished.labels, finished.rounds) == (
        "finished", "budget", 60, 3,
    )
    assert current_standing(open_evaluation(store, "swept")).state == "finished"

    artifacts = server.post("artifacts/filter", {"limit": 200})
    of_rounds = [a for a in artifacts if a["type"] == "markdown" and "Deployed_1" in a["description"]]
    assert {a["description"] for a in of_rounds} == {f"Deployed_1, round {n}" for n in (1, 2, 3)}
    last = next(a for a in of_rounds if a["description"].endswith("3"))
    first = finished.known.estimates[0]
    assert f"| {wording.estimate_text(first.value, first.lower, first.upper)} |" in last["data"]

    events = _events(server, {"Deployed_1", "swept"})
    closed = sorted(
        e["payload"]["round"] for e in events
        if e["event"] == "assay.round.closed" and e["payload"]["evaluation"] == "Deployed_1"
    )
    assert closed == [1, 2, 3]
    ends = {
        e["payload"]["evaluation"]: e for e in events if e["event"] == "assay.evaluation.finished"
    }
    assert ends["Deployed_1"]["payload"]["estimate"] == finished.known.estimates[0].value
    assert ends["Deployed_1"]["resource"]["prefect.resource.id"] == "assay.evaluation.Deployed_1"


def test_begin_takes_a_spec_as_json_too_and_refuses_one_as_files_are_refused(in_prefect, tmp_path):
    predictions, labels = write_small_pool(tmp_path)
    spec = spec_json(predictions, labels, name="as-json")
    state = begin_deployed(spec, store=f"file://{tmp_path}/ledger", return_state=True)
    assert state.message.startswith("as-json: f1 ")
    written = yaml.safe_dump(spec | {"name": "by-form"})
    begun = begin_deployed(written, store=f"file://{tmp_path}/ledger", return_state=True)
    run = in_prefect.get(f"flow_runs/{begun.state_details.flow_run_id}")
    assert (run["name"], run["state_type"]) == ("by-form", "COMPLETED")
    store = open_store(f"file://{tmp_path}/ledger")
    assert current_standing(open_evaluation(store, "by-form")).labels == 60
    for wrong, says in (
        (spec | {"budgte": {}}, r"spec: \$\.budgte .*budget"),
        (spec | {"monitor": {}}, "this is the spec of a monitor"),
        ("name: [", "spec, line 1, column 8: not valid YAML"),
        ("just words", "spec: a spec is a mapping of keys, this is a str"),
    ):
        with pytest.raises(BadInput, match=says):
            begin_deployed(wrong, store=f"file://{tmp_path}/ledger")


def test_sweep_is_scheduled_and_the_schedule_yields_runs(server: PrefectServer):
    # 10 minutes apart: an hour's worth must have been scheduled ahead by now
    runs = server.post("flow_runs/filter", {
        "flow_runs": {"state": {"type": {"any_": ["SCHEDULED"]}}},
        "flows": {"name": {"any_": ["assay-sweep"]}},
    })
    assert len(runs) >= 3
    assert all(run["auto_scheduled"] for run in runs)


def test_of_runs_that_are_late_together_a_few_begin_and_the_others_are_cancelled(server: PrefectServer):
    watch = server.get("deployments/name/assay-watch/watch")["id"]
    to_come = {"state": {"type": "SCHEDULED", "state_details": {"scheduled_time": "2100-01-01T00:00:00Z"}}}
    late = [server.post(f"deployments/{watch}/create_flow_run", to_come)["id"] for _ in range(8)]
    # as a worker does with each run that is due, before it starts a process
    replies = [server.post(f"flow_runs/{run}/set_state", {"state": {"type": "PENDING"}}) for run in late]
    assert [reply["state"]["type"] for reply in replies] == 3 * ["PENDING"] + 5 * ["CANCELLED"]
    server.post(f"flow_runs/{late[0]}/set_state", {"state": {"type": "CRASHED"}, "force": True})
    another = server.post(f"deployments/{watch}/create_flow_run", to_come)["id"]
    reply = server.post(f"flow_runs/{another}/set_state", {"state": {"type": "PENDING"}})
    assert reply["state"]["type"] == "PENDING", "a run that ended, however, leaves its place to another"


def test_runs_of_every_schedule_are_limited_and_no_single_run_keeps_the_others_from_beginning():
    for deployment in _deployments():
        limit = deployment.get("concurrency_limit")
        assert (limit is not None) == ("schedules" in deployment), deployment["name"]
        if limit is not None:
            assert limit["limit"] > 1
            assert limit["collision_strategy"] == "CANCEL_NEW"


def test_every_deployment_names_an_importable_flow():
    for deployment in _deployments():
        module, name = deployment["entrypoint"].rsplit(".", 1)
        assert hasattr(importlib.import_module(module), name), json.dumps(deployment)


@pytest.mark.parametrize(
    ("job", "expected"), [({"ASSAY_FREEZE_RUNNER": "threads:2"}, "threads:2"), ({}, "serial")]
)
def test_job_variables_of_a_deployment_win_over_the_environment_of_its_worker(
    in_prefect, monkeypatch, job, expected
):
    from prefect.client.schemas.objects import FlowRun
    from prefect.workers.process import ProcessJobConfiguration, ProcessWorker

    monkeypatch.setenv("ASSAY_FREEZE_RUNNER", "serial")
    template = ProcessWorker.get_default_base_job_template()
    made = asyncio.run(ProcessJobConfiguration.from_template_and_values(template, {"env": job}))
    made.prepare_for_flow_run(FlowRun(flow_id=uuid4()))
    monkeypatch.setattr(os, "environ", made.env)
    assert Settings().freeze_runner == expected


def _deployments() -> list[dict]:
    return yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text())["deployments"]


def _events(server: PrefectServer, finished: set[str]) -> list[dict]:
    """All of our events, once these evaluations are among them: the server is a little late with them."""
    for _ in range(300):
        found = server.post("events/filter", {
            "filter": {"event": {"prefix": ["assay."]}, "occurred": {"since": "2020-01-01T00:00:00Z"}},
            "limit": 50,
        })["events"]
        ends = {e["payload"]["evaluation"] for e in found if e["event"] == "assay.evaluation.finished"}
        if finished <= ends:
            return found
        time.sleep(0.5)
    raise AssertionError(f"no end of {finished - ends} among the events")
