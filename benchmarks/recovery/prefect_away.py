"""Prefect's API is away for an hour, or as long as asked, while people label and a monitor has its windows.

A real server with the deployments of deployments/prefect.yaml (a sweep a minute) and their automations, a
worker that is started again whenever it ends, as compose and Kubernetes do, and a receiver of alerts. One
evaluation is driven by a run of `evaluate`, another by sweeps, both at folders in which somebody answers all
the while; a monitor runs every minute. The server is killed by SIGKILL, and started again on its data. While
it is away a window of the monitor comes in that is in breach.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import httpx
from doubles.small_pool import spec_json, write_small_pool
from doubles.stream import monitor_data, write_stream
from services.prefect_server import PREFECT, ROOT, PrefectServer, prefect_server, reporting_to
from services.receivers import webhook_receiver
from services.s3 import free_ports

from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.deployment import deploy_monitor
from assay.flows.monitor.versions import register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import open_store
from assay.tasks.ledger.life import read_ending
from assay.tasks.ledger.monitors import read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.evaluation import Spec
from assay.tasks.spec.monitor import MonitorSpec
from benchmarks.recovery.trials import FaultKind, Trial, judge

T = TypeVar("T")
DRIVEN, SWEPT = "driven", "swept"
AGAIN = 20.0          # seconds until a worker that ended is started again
PATIENCE = 1_200.0    # seconds that everything may take once the server is back


@dataclass(kw_only=True)
class Outage:
    """What became of runs, labels and alerts."""

    minutes: float
    worker_ended: int = 0                        # times, while the server was away
    worker_lived: float = 0.0                    # seconds it lived on the first time
    flow_process_lived: bool = False             # the run of `evaluate`, to the end of the outage
    rounds_meanwhile: int = 0                    # closed by that run while the server was away
    told_meanwhile: int = 0                      # alerts that arrived while the server was away
    back_after: dict[str, float] = field(default_factory=dict)   # what: seconds after the server was back
    runs: dict[str, int] = field(default_factory=dict)           # flow and state: how many, at the end
    breach_told: int = 0                         # times that people heard of the breach
    labels_lost: int = 0
    labelled_twice: int = 0
    differences: list[str] = field(default_factory=list)         # that `verify` names
    too_late: list[str] = field(default_factory=list)            # what did not come to pass within PATIENCE
    alerts: list[str] = field(default_factory=list)              # subjects of all that were told

    @property
    def well(self) -> bool:
        """Nothing lost, doubled or untold."""
        return self.breach_told == 1 and not (
            self.labels_lost or self.labelled_twice or self.differences or self.too_late
        )


class Worker(threading.Thread):
    """A worker that is started again whenever it ends."""

    def __init__(self, server: PrefectServer, environment: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.command = [*PREFECT, "worker", "start", "--pool", "assay", "--type", "process"]
        self.environment = {**server.environment, **environment}
        self.log = server.folder / "worker.log"
        self.ends: list[float] = []
        self.process: subprocess.Popen[bytes] | None = None
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            with self.log.open("ab") as output:
                self.process = subprocess.Popen(
                    self.command, env=self.environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output,
                    stderr=output, start_new_session=True,
                )
            self.process.wait()
            self.ends.append(time.monotonic())
            self.over.wait(AGAIN)

    def end(self) -> None:
        self.over.set()
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.join()


class Person(threading.Thread):
    """Answers every batch in the folders, one a look."""

    def __init__(self, folder: Path, every: float) -> None:
        super().__init__(daemon=True)
        self.folder, self.every = folder, every
        with (folder / "labels.csv").open(newline="") as opened:
            self.truth = {row["item_id"]: row["label"] for row in csv.DictReader(opened)}
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(self.every):
            for batch in sorted((self.folder / "desk").glob("*/round-*.csv")):
                answers = batch.parent / "answers" / batch.name
                if not answers.exists():
                    with batch.open(newline="", encoding="utf-8-sig") as opened:
                        items = [row["item_id"] for row in csv.DictReader(opened)]
                    partial = answers.with_suffix(".partial")
                    answers.parent.mkdir(exist_ok=True)
                    with partial.open("w", newline="", encoding="utf-8") as opened:
                        rows = ([item, self.truth[item]] for item in items)
                        csv.writer(opened).writerows([["item_id", "label"], *rows])
                    partial.rename(answers)


def away(folder: Path, minutes: float, say: Callable[[str], None] = sys.stderr.write) -> Outage:
    """The whole experiment in this folder."""
    outage = Outage(minutes=minutes)
    predictions, labels = write_small_pool(folder, n=400)
    store = open_store(str(folder / "ledger"))
    for name in (DRIVEN, SWEPT):
        spec = spec_json(
            predictions, labels, name=name, budget={"labels": 60}, batch_size=5,
            desk={"kind": "folder", "path": str(folder / "desk")},
        )
        begin_evaluation(store, Spec.from_json(spec, origin="the study"))
        advance(store, name)
    write_stream(folder / "stream", 2, drop_from=1, worse=0.45)
    later = folder / "stream" / "predictions-2026-11-02.csv"
    later.rename(folder / "later.csv")
    watch = MonitorSpec.from_data(monitor_data(
        folder / "stream", last="2026-11-02", quiet_labels=100, schedule={"every_minutes": 1},
        grace_hours=8760, catch_up={"older_than": 3660},
    ), "watch.yaml")
    register(store, watch)
    person = Person(folder, every=minutes * 60 / 14)
    (port,) = free_ports(1)
    with ExitStack() as running:
        told = running.enter_context(webhook_receiver())
        environment = {
            "ASSAY_STORE": store.url, "ASSAY_ALERTS": told.url(), "ASSAY_POLL_FIRST": "5",
            "ASSAY_POLL_LONGEST": "15", "PYTHONPATH": str(ROOT), "PREFECT_WORKER_QUERY_SECONDS": "10",
        }
        with prefect_server(folder, port=port, every_loop=True) as server:
            _deploy(server, folder, watch, store, environment)
            worker = Worker(server, environment)
            worker.start()
            running.callback(worker.end)
            found = server.get("deployments/name/assay-evaluate/evaluate")
            run = server.post(f"deployments/{found['id']}/create_flow_run", {"parameters": {
                "evaluation": DRIVEN, "store": store.url, "wait_minutes": 10 * minutes + 30,
            }})["id"]
            _until(lambda: server.get(f"flow_runs/{run}")["state_type"] == "RUNNING", 300)
            _until(lambda: len(read_verdicts(Ledger(store, "monitors/stream"))) == 1, 300)
            _until(lambda: _completed(server, "assay-sweep") > 0, 300)
            person.start()
            say("everything runs; the server is killed\n")
            os.killpg(server.process, signal.SIGKILL)
        gone, before, rounds = time.monotonic(), len(told.received), _rounds(store, DRIVEN)
        ended = len(worker.ends)
        (folder / "later.csv").rename(later)
        time.sleep(minutes * 60)
        outage.worker_ended = len(worker.ends) - ended
        outage.worker_lived = round(worker.ends[ended] - gone, 1) if outage.worker_ended else -1.0
        outage.flow_process_lived = bool(_processes(run))
        outage.rounds_meanwhile = _rounds(store, DRIVEN) - rounds
        outage.told_meanwhile = len(told.received) - before
        say(f"it comes back: {outage}\n")
        with prefect_server(folder, port=port, every_loop=True) as server:
            back, returned = time.monotonic(), datetime.now(UTC)
            person.every = 15.0
            due: dict[str, Callable[[], bool]] = {
                "a sweep completed": lambda: _completed(server, "assay-sweep", since=returned) > 0,
                "the breach told": lambda: any(_is_breach(message) for message in told.received),
                "driven finished": lambda: read_ending(Ledger(store, DRIVEN)) is not None,
                "swept finished": lambda: read_ending(Ledger(store, SWEPT)) is not None,
                "no run is late": lambda: not _late(server),
                "its run ended": lambda: server.get(f"flow_runs/{run}")["state_type"] not in (
                    "RUNNING", "PENDING"),
            }
            seen = back
            while due and time.monotonic() - back < PATIENCE:
                for what in [what for what, is_so in due.items() if _read(is_so, say)]:
                    outage.back_after[what] = round(time.monotonic() - back, 1)
                    del due[what]
                    say(f"{what}: {outage.back_after[what]} s\n")
                if time.monotonic() - seen > 60:
                    seen = time.monotonic()
                    say(f"{seen - back:.0f} s: {_read(lambda: _under_way(server), say)}\n")
                time.sleep(2)
            outage.too_late += due
            outage.runs = _read(lambda: _states(server), say) or {}
            final = _read(lambda: server.get(f"flow_runs/{run}")["state"], say)
            say(f"the run of `evaluate`: {final}\n")
        person.over.set()
        person.join()
    outage.alerts = [str(message.get("subject", message))[:200] for message in told.received]
    outage.breach_told = sum(map(_is_breach, told.received))
    _judged(outage, store, person.truth)
    return outage


def _deploy(
    server: PrefectServer, folder: Path, watch: MonitorSpec, store: Store, environment: dict[str, str]
) -> None:
    server.run("work-pool", "create", "assay", "--type", "process")
    text = (ROOT / "deployments" / "prefect.yaml").read_text().replace("interval: 600", "interval: 60")
    (folder / "prefect.yaml").write_text(text)
    written = str(folder / "prefect.yaml")
    server.run("--no-prompt", "deploy", "--all", "--prefect-file", written, **environment)
    subprocess.run([sys.executable, "deployments/automations.py"], cwd=ROOT, check=True,
                   env={**server.environment, **environment}, stdout=subprocess.DEVNULL)
    with reporting_to(server):
        deploy_monitor(watch, store.url)


def _judged(outage: Outage, store: Store, truth: dict[str, str]) -> None:
    """Labels against the truth, and what `verify` names."""
    for name in (DRIVEN, SWEPT):
        trial = Trial(kind=FaultKind(service="Prefect", fault="away", injected=""))
        judge(trial, store, name, truth, None)
        outage.labels_lost += trial.labels_lost
        outage.labelled_twice += trial.labelled_twice
        outage.differences += trial.differences
    of_monitor = verify_monitor(store, "stream").differences
    outage.differences += [f"{each.key}: {each.difference}" for each in of_monitor]


def _is_breach(message: dict[str, object]) -> bool:
    return "breach" in json.dumps(message) and "stream" in json.dumps(message)


def _rounds(store: Store, name: str) -> int:
    return len({key.split("/")[2] for key in store.keys(f"{name}/rounds/") if key.endswith("/estimate.json")})


def _runs(server: PrefectServer) -> list[dict[str, object]]:
    runs: list[dict[str, object]] = []
    while True:
        page = server.post("flow_runs/filter", {"limit": 200, "offset": len(runs)})
        runs += page
        if len(page) < 200:
            return runs


def _flows(server: PrefectServer) -> dict[object, str]:
    return {each["id"]: each["name"] for each in server.post("flows/filter")}


def _completed(server: PrefectServer, flow: str, since: datetime | None = None) -> int:
    """Runs of the flow that completed, after this moment."""
    flows = _flows(server)
    return sum(
        flows[each["flow_id"]] == flow and each["state_type"] == "COMPLETED"
        and (since is None or datetime.fromisoformat(str(each["end_time"])) > since)
        for each in _runs(server)
    )


def _read(read: Callable[[], T], say: Callable[[str], None]) -> T | None:
    """What it reads; None, and a line that says so, where a busy server gives no answer."""
    try:
        return read()
    except (httpx.HTTPError, AssertionError) as error:
        say(f"no answer: {type(error).__name__}: {error}\n")
        return None


def _under_way(server: PrefectServer) -> list[str]:
    """Flow, state and name of the runs that hold a slot or wait for one, and the slots that are taken."""
    flows = _flows(server)
    runs = [
        f"{flows[each['flow_id']]} {each['state_name']} {each['name']} since {each['state']['timestamp']}"
        for each in _runs(server)
        if each["state_type"] in ("PENDING", "RUNNING") or each["state_name"] == "AwaitingConcurrencySlot"
    ]
    limits = server.post("v2/concurrency_limits/filter", {"limit": 200})
    return runs + [f"{each['name']}: {each['active_slots']} of {each['limit']}" for each in limits]


def _late(server: PrefectServer) -> bool:
    """Whether a run that was due a minute and a half ago has not begun."""
    due = datetime.now(UTC) - timedelta(seconds=90)
    return any(
        each["state_type"] == "SCHEDULED" and datetime.fromisoformat(str(each["expected_start_time"])) < due
        for each in _runs(server)
    )


def _states(server: PrefectServer) -> dict[str, int]:
    flows = _flows(server)
    return dict(sorted(Counter(
        f"{flows[each['flow_id']]} {each['state_name']}" for each in _runs(server)
        if each["state_type"] != "SCHEDULED"
    ).items()))


def _processes(run: str) -> list[int]:
    """The processes of a flow run."""
    processes = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/environ", "rb") as opened:
            if f"PREFECT__FLOW_RUN_ID={run}".encode() in opened.read():
                processes.append(int(name))
    return processes


def _until(is_so: Callable[[], bool], seconds: float) -> None:
    give_up = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > give_up:
            raise AssertionError("waited for too long")
        with suppress(httpx.HTTPError):
            time.sleep(1)
