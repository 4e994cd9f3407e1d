"""`make up` comes up, an evaluation runs through all of it, its alert arrives, and nothing is left behind.

Minutes on a busy machine: ASSAY_SLOW=1, or `make test-slow`.
"""

import csv
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool
from services.prefect_server import ROOT
from services.receivers import webhook_receiver

from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.local import SimulatedPerson
from assay.tasks.ledger import layout, open_store
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.life import read_ending
from assay.tasks.ledger.record import Ledger

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(1200),
    pytest.mark.skipif("ASSAY_SLOW" not in os.environ, reason="takes minutes: ASSAY_SLOW=1"),
]


@contextmanager
def everything(folder: Path, **more: str):
    """The stack in a folder of its own; its environment, once everything is up."""
    local = folder / "local"
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("PREFECT_", "AWS_", "LABEL_STUDIO_")) and name != "ASSAY_STORE"} | more
    prepare = [sys.executable, "deployments/local.py", "prepare", str(local), "--any-port"]
    subprocess.run(prepare, cwd=ROOT, env=clean, check=True)
    env = dict(line.split("=", 1) for line in (local / "env").read_text().splitlines())
    honcho = [str(Path(sys.executable).with_name("honcho")), "-f", "deployments/Procfile", "-d", str(ROOT),
              "-e", str(local / "env"), "start"]
    log = folder / "up.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            honcho, cwd=ROOT, env=clean | {"ASSAY_PYTHON": sys.executable}, stdout=output, stderr=output,
            start_new_session=True,
        )
    try:
        until(lambda: "ProcessWorker" in log.read_text() and "listening on" in log.read_text()
              and "serving " in log.read_text(), 600,
              lambda: f"not up: {log.read_text()[-3000:]}", process)
        said = log.read_text()
        for name in ("AWS_SECRET_ACCESS_KEY", "LABEL_STUDIO_API_KEY", "LABEL_STUDIO_PASSWORD",
                     "ASSAY_WEBHOOK_SECRET", "ASSAY_SERVE_TOKEN", "PREFECT_API_AUTH_STRING"):
            assert env[name] not in said, name
        yield env
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        process.wait(60)


def until(true, seconds, otherwise, process=None):
    give_up = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < give_up, otherwise()
        assert process is None or process.poll() is None, otherwise()
        time.sleep(0.5)


def assert_closed_to_others(folder, env):
    """No other user reads a file, and no port of the S3 server answers who has no credential."""
    assert folder.stat().st_mode & 0o077 == 0
    there = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    data = folder / "s3" / "data"   # SeaweedFS gives its files rights of its own, in a folder that is closed
    assert data.stat().st_mode & 0o077 == 0
    assert [path for path in there if path.stat().st_mode & 0o077 and data not in path.parents] == []
    for name in ("MASTER", "VOLUME", "FILER"):
        port = env[f"ASSAY_LOCAL_PORT_{name}"]
        assert httpx.get(f"http://127.0.0.1:{port}/", trust_env=False).status_code == 400
        with pytest.raises(httpx.TransportError):
            httpx.get(f"https://127.0.0.1:{port}/", verify=False, trust_env=False)
    assert httpx.get(f"{env['AWS_ENDPOINT_URL']}/assay/.ready", trust_env=False).status_code == 403


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


def test_an_evaluation_runs_through_the_whole_local_stack(tmp_path, monkeypatch):
    predictions, labels = write_small_pool(tmp_path / "pool", n=40)
    with labels.open(newline="") as opened:
        truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
    with webhook_receiver() as told, everything(tmp_path, ASSAY_ALERTS=told.url()) as env:
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        spec = spec_json(
            predictions, labels, name="whole", budget={"labels": 40}, batch_size=20, threshold={"min": 0.99},
            desk={"kind": "label-studio", "url": env["LABEL_STUDIO_URL"]},
        )
        (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
        api = env["PREFECT_API_URL"]
        auth = tuple(env["PREFECT_API_AUTH_STRING"].split(":"))
        assert httpx.post(f"{api}/deployments/filter", json={}, trust_env=False).status_code == 401
        assert_closed_to_others(tmp_path / "local", env)
        with httpx.Client(base_url=api, auth=auth, timeout=60, trust_env=False) as prefect:
            evaluate = prefect.get(f"{api}/deployments/name/assay-evaluate/evaluate").json()["id"]
            run = prefect.post(f"{api}/deployments/{evaluate}/create_flow_run", json={
                "parameters": {"spec_file": str(tmp_path / "spec.yaml"), "wait_minutes": 0}
            }).raise_for_status().json()["id"]
            automations = prefect.post(f"{api}/automations/filter", json={}).json()
            assert {"assay: deliver alerts", "assay: a run died", "assay: a run never began",
                    "assay: sweeps are silent"} <= {one["name"] for one in automations}
        pages = f"http://127.0.0.1:{env['ASSAY_LOCAL_PORT_PAGES']}"
        assert httpx.get(f"{pages}/healthz", trust_env=False).status_code == 200
        assert httpx.get(pages, trust_env=False).status_code == 401
        store = open_store(env["ASSAY_STORE"])
        until(lambda: store.exists(layout.arrived("whole", 1, 1)), 240, lambda: "no first batch")
        desk = LabelStudioApi(env["LABEL_STUDIO_URL"], env["LABEL_STUDIO_API_KEY"])
        until(lambda: desk.get_json("api/webhooks/"), 240, lambda: "the receiver registered nothing")
        person = SimulatedPerson(desk, "whole", truth)
        for round in (1, 2):
            until(lambda r=round: store.exists(layout.arrived("whole", r, 1)), 240, lambda: "no next batch")
            person.answer(read_plan(Ledger(store, "whole"), round))
        # nobody calls anything: the webhook does
        until(told.arrived.is_set, 240, lambda: "no alert")
        assert [got["reference"] for got in told.received] == ["whole/round-0002-breach"]
        assert read_ending(Ledger(store, "whole")).verdict == "breach"
        token = {"Authorization": f"Bearer {env['ASSAY_SERVE_TOKEN']}"}
        assert "whole" in httpx.get(pages, headers=token, timeout=60, trust_env=False).text
        (store_alias,) = httpx.get(
            pages, headers=token | {"Accept": "application/json"}, timeout=60, trust_env=False
        ).json()["stores"]
        page = httpx.get(
            f"{pages}/evaluations/{store_alias}/whole", headers=token, timeout=120, trust_env=False
        ).text
        (project,) = {one["project"] for one in desk.get_json("api/webhooks/")}
        assert f'href="{env["LABEL_STUDIO_URL"]}/projects/{project}/data?labeling=1"' in page
        assert f'href="{api.removesuffix("/api")}/runs/flow-run/{run}"' in page
    taken = [name for name, value in env.items() if name.startswith("ASSAY_LOCAL_PORT_") and listens(value)]
    assert taken == []
