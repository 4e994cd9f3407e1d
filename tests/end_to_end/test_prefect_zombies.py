"""Runs whose worker was killed end by themselves, and two runs of one monitor never work at once."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest
from doubles.stream import monitor_data, write_stream
from services.prefect_server import PREFECT, ROOT, prefect_server, reporting_to

from assay.flows.monitor.deployment import deploy_monitor
from assay.flows.monitor.versions import register
from assay.tasks.ledger import open_store
from assay.tasks.spec.monitor import MonitorSpec
from deployments import automations

pytestmark = [pytest.mark.services, pytest.mark.skipif(
    not os.environ.get("ASSAY_SLOW"), reason="takes minutes: Prefect's heartbeats are half a minute apart"
)]


def test_a_run_whose_worker_was_killed_ends_and_the_next_one_works(tmp_path, monkeypatch):
    monkeypatch.setattr(automations, "NO_SIGN_OF_LIFE", timedelta(seconds=45))
    write_stream(tmp_path, 2)
    data = monitor_data(tmp_path, last="2026-11-02", quiet_labels=100) | {"name": "slow"}
    store = open_store(str(tmp_path / "ledger"))
    spec = MonitorSpec.from_data(data, "watch.yaml")
    register(store, spec)
    with prefect_server(tmp_path) as server, reporting_to(server):
        deployed = deploy_monitor(spec, store.url)
        found = server.get(f"deployments/name/{deployed.name}")
        assert found["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
        assert found["global_concurrency_limit"]["limit"] == 1
        (died,) = [one for one in automations.wanted(UUID(int=0), None, UUID(int=0))
                   if one.name == "assay: a run died"]
        automations.save(died)
        worker = subprocess.Popen(
            [*PREFECT, "worker", "start", "--pool", "assay", "--type", "process"], cwd=ROOT,
            env={**server.environment, "ASSAY_STANDS_STILL": "1",
                 "PYTHONPATH": str(_standing_still(tmp_path))},
            start_new_session=True, stdout=(tmp_path / "worker.log").open("wb"), stderr=subprocess.STDOUT,
        )
        try:
            run = server.post(f"deployments/{found['id']}/create_flow_run")["id"]
            _until(lambda: server.get(f"flow_runs/{run}")["state_type"] == "RUNNING", 300)
            # a second one is cancelled before it begins
            other = server.post(f"deployments/{found['id']}/create_flow_run")["id"]
            _until(lambda: server.get(f"flow_runs/{other}")["state_type"] == "CANCELLED", 200)
            time.sleep(5)     # a heartbeat was sent
        finally:
            with suppress(ProcessLookupError):
                os.killpg(worker.pid, signal.SIGKILL)
            for process in _children(run):
                os.kill(process, signal.SIGKILL)
            worker.wait()
        assert server.get(f"flow_runs/{run}")["state_type"] == "RUNNING", "nobody told the server"
        _until(lambda: server.get(f"flow_runs/{run}")["state_type"] == "CRASHED", 240)
        assert "No sign of life" in server.get(f"flow_runs/{run}")["state"]["message"]


def _standing_still(folder):
    """A folder whose sitecustomize makes every run of a flow of ours stand still."""
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if os.environ.get('PREFECT__FLOW_RUN_ID') and os.environ.get('ASSAY_STANDS_STILL'):\n"
        "    import importlib.abc, time\n"
        "    import assay.flows.monitor.tick as ticking\n"
        "    ticking.tick = lambda *_, **__: time.sleep(600)\n"
    )
    return folder / "site"


def _children(run):
    """The processes of a flow run, whoever started them."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/environ", "rb") as opened:
            if f"PREFECT__FLOW_RUN_ID={run}".encode() in opened.read():
                found.append(int(name))
    return found


def _until(is_so, seconds):
    give_up = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < give_up, "waited for too long"
        time.sleep(1)
