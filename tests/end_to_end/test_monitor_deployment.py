"""A monitor as a deployment of a real Prefect server: scheduled, run as a flow, its history as artifacts."""

from uuid import uuid4

import pytest
from doubles.stream import a_monitor, monitor_data, write_stream
from services.receivers import webhook_receiver

from assay.evalcore.errors import BadInput
from assay.flows.monitor.deployment import NotDeployed, deploy_monitor
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.versions import register
from assay.tasks.ledger import open_store
from assay.tasks.spec.monitor import MonitorSpec
from deployments import automations

pytestmark = pytest.mark.services


def test_a_monitor_is_scheduled_updated_and_run(in_prefect, tmp_path):
    from assay.flows.drivers.deployed import monitor_deployed

    write_stream(tmp_path, 2, drop_from=1, worse=0.45)
    store = open_store(str(tmp_path / "ledger"))
    data = monitor_data(tmp_path, last="2026-11-02", quiet_labels=100)
    spec = MonitorSpec.from_data(data | {"name": "deployed-stream"}, "watch.yaml")
    register(store, spec)
    assert deploy_monitor(spec, store.url).name == "assay-monitor/deployed-stream"
    there = data["monitor"] | {"timezone": "Europe/Berlin"}
    local = MonitorSpec.from_data(data | {"name": "deployed-stream", "monitor": there}, "watch.yaml")
    deploy_monitor(local, store.url)
    found = in_prefect.get("deployments/name/assay-monitor/deployed-stream")
    assert [s["schedule"]["timezone"] for s in found["schedules"]] == ["Europe/Berlin"]
    often = data["monitor"] | {"schedule": {"every_minutes": 5}}
    sooner = MonitorSpec.from_data(data | {"name": "deployed-stream", "monitor": often}, "watch.yaml")
    deploy_monitor(sooner, store.url)
    found = in_prefect.get("deployments/name/assay-monitor/deployed-stream")
    try:
        assert found["parameters"] == {"name": "deployed-stream", "store": store.url}
        assert found["entrypoint"] == "assay.flows.drivers.deployed.monitor_deployed"
        assert [s["schedule"]["interval"] for s in found["schedules"]] == [300.0]
        assert found["version"].endswith(", spec 1")
        assert {"assay-monitor", "monitor:deployed-stream"} == set(found["tags"])
        assert found["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"

        state = monitor_deployed("deployed-stream", store.url, return_state=True)
        assert state.is_completed()
        assert "2 verdicts" in state.message
        runs = in_prefect.post("flow_runs/filter", {"flows": {"name": {"any_": ["assay-window"]}}})
        mine = [one for one in runs if "monitor:deployed-stream" in one["tags"]]
        assert {one["name"] for one in mine} == {
            "deployed-stream 2026-11-01", "deployed-stream 2026-11-02"
        }
        tasks = in_prefect.post("task_runs/filter", {
            "task_runs": {"flow_run_id": {"any_": [one["id"] for one in mine]}}, "limit": 200,
        })
        names = {one["name"] for one in tasks}
        assert {"freeze deployed-stream-2026-11-01", "judge monitors/deployed-stream 2026-11-02: breach",
                "estimate deployed-stream-2026-11-02, round 2"} <= names
        assert len(tasks) <= 24, "what nobody looks at one by one is no task run"
    finally:
        import httpx

        httpx.delete(f"{in_prefect.api}/deployments/{found['id']}", timeout=150, trust_env=False)
    rows = read_monitor_history(store, "deployed-stream").rows
    assert rows[1].state == "breach"
    artifacts = {
        a["key"]: a for a in in_prefect.post("artifacts/filter", {"limit": 200})
        if (a["key"] or "").startswith("assay-monitor-deployed-stream")
    }
    assert set(artifacts) == {"assay-monitor-deployed-stream", "assay-monitor-deployed-stream-table"}
    assert "| 2026-11-02 |" in artifacts["assay-monitor-deployed-stream"]["data"]


def test_what_somebody_paused_stays_paused_and_its_anchor_stays(in_prefect, tmp_path):
    import httpx

    write_stream(tmp_path, 1)
    store = open_store(str(tmp_path / "ledger"))
    spec = a_monitor(tmp_path, last="2026-11-01", schedule={"every_minutes": 30})
    spec = spec.model_copy(update={"name": "paused-stream"})
    register(store, spec)
    assert not deploy_monitor(spec, store.url).paused
    found = in_prefect.get("deployments/name/assay-monitor/paused-stream")
    (schedule,) = found["schedules"]
    anchor = schedule["schedule"]["anchor_date"]
    httpx.patch(f"{in_prefect.api}/deployments/{found['id']}/schedules/{schedule['id']}",
                json={"active": False}, timeout=60, trust_env=False).raise_for_status()
    again = deploy_monitor(spec, store.url)
    assert again.paused
    assert "stays paused as somebody left it" in again.in_words
    (schedule,) = in_prefect.get("deployments/name/assay-monitor/paused-stream")["schedules"]
    assert (schedule["active"], schedule["schedule"]["anchor_date"]) == (False, anchor)
    other = spec.model_copy(update={"monitor": spec.monitor.model_copy(update={
        "schedule": spec.monitor.schedule.model_copy(update={"every_minutes": 60})
    })})
    assert deploy_monitor(other, store.url).paused, "another time is no reason to go on"
    (schedule,) = in_prefect.get("deployments/name/assay-monitor/paused-stream")["schedules"]
    assert (schedule["active"], schedule["schedule"]["interval"]) == (False, 3600.0)
    httpx.delete(f"{in_prefect.api}/deployments/{found['id']}", timeout=150, trust_env=False)


def test_a_run_that_failed_is_told_by_the_name_of_its_monitor(in_prefect, tmp_path):
    from prefect.blocks.notifications import CustomWebhookNotificationBlock

    from assay.flows.drivers.deployed import monitor_deployed

    data = monitor_data(tmp_path, last="2026-11-01") | {"name": "nightly"}
    spec = MonitorSpec.from_data(data, "watch.yaml")
    store = open_store(str(tmp_path / "ledger"))
    register(store, spec)
    # columns are missing
    (tmp_path / "predictions-2026-11-01.csv").write_text("item_id,probability\na,0.5\n")
    with webhook_receiver() as ops:
        block = CustomWebhookNotificationBlock(
            name="ops", url=ops.url(), json_data={"subject": "{{subject}}", "body": "{{body}}"}
        ).save("ops-of-monitors", overwrite=True)
        every = {one.name: one for one in automations.wanted(uuid4(), block)}
        wanted = every["assay: a monitor failed"]
        automations.save(wanted)
        try:
            state = monitor_deployed("nightly", store.url, return_state=True)
            assert state.is_failed()
            assert ops.arrived.wait(150)
        finally:
            wanted.delete()
    (got,) = ops.received
    assert got["subject"] == "Assay: a run of the monitor nightly failed"
    assert "window 2026-11-01: " in got["body"]
    assert "assay history nightly" in got["body"]


def test_a_cron_expression_prefect_does_not_take_is_bad_input(in_prefect, tmp_path):
    with pytest.raises(BadInput, match=r"monitor\.schedule"):
        deploy_monitor(a_monitor(tmp_path, schedule={"cron": "every day"}), "ledger")


def test_without_a_server_the_remedy_is_named(tmp_path):
    from prefect.settings import PREFECT_API_URL, temporary_settings

    with temporary_settings(restore_defaults={PREFECT_API_URL}), pytest.raises(NotDeployed, match="--once"):
        deploy_monitor(a_monitor(tmp_path), "ledger")
