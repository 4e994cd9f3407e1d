"""Prefect is down for a day, and a schedule is paused and resumed: what the runs of a monitor make of it.

The day does not go by: while the server is down, every run that it has scheduled is moved back by 24 hours
in its database, so that it comes back to runs that are a day late, and files of the windows in between are
put in place. The server may be of another version than the worker and the deployments: it has an
interpreter, and so an environment, of its own.
"""

import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from doubles.stream import monitor_data, write_stream
from services.prefect_server import PrefectServer, prefect_server, process_worker, reporting_to
from services.s3 import free_ports

from assay.flows.monitor.deployment import deploy_monitor
from assay.flows.monitor.versions import register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger import open_store
from assay.tasks.ledger.monitors import read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import Store
from assay.tasks.spec.monitor import MonitorSpec

MONITOR = "assay-monitor/stream"
PATIENCE = 420.0     # seconds
_WINDOWS = 6
QUIET = 45.0         # seconds in which a paused schedule must start nothing


@dataclass(kw_only=True)
class Scheduled:
    """What became of the runs and the windows."""

    server: str                     # its version
    client: str                     # that of worker and deployments
    late: int = 0                   # runs that were a day late when the server came back
    seconds: float = 0.0            # from then to the verdict of the newest window
    states: dict[str, int] = field(default_factory=dict)    # of all runs that were due by then
    verdicts: list[str] = field(default_factory=list)       # windows, in the order they were judged
    while_paused: int = 0           # runs that began
    resumed: list[str] = field(default_factory=list)        # windows judged after it was resumed
    anchor_kept: bool = False
    differences: int = 0            # that `verify` names

    @property
    def well(self) -> bool:
        """Every window judged once, in order, nothing while paused, and its anchor kept."""
        windows = [*self.verdicts, *self.resumed]
        return len(set(windows)) == len(windows) == _WINDOWS and self.anchor_kept and not (
            self.while_paused or self.differences)


def tried(folder: Path, server_python: str) -> Scheduled:
    """The whole experiment in this folder."""
    write_stream(folder / "stream", 6)
    waiting = {day: folder / "stream" / f"predictions-2026-11-0{day}.csv" for day in range(2, 7)}
    for path in waiting.values():
        path.rename(path.with_suffix(".later"))
    store = open_store(str(folder / "ledger"))
    spec = MonitorSpec.from_data(monitor_data(
        folder / "stream", last="2026-11-06", quiet_labels=60, schedule={"every_minutes": 30},
        grace_hours=8760, catch_up={"older_than": 3660},
    ), "watch.yaml")
    register(store, spec)
    result = Scheduled(server=_version(server_python), client=_version(sys.executable))
    (port,) = free_ports(1)
    with prefect_server(folder, port=port, every_loop=True, python=server_python) as server:
        with reporting_to(server):
            deploy_monitor(spec, store.url)
        deployment = server.get(f"deployments/name/{MONITOR}")["id"]
        with process_worker(server, "assay"):
            server.post(f"deployments/{deployment}/create_flow_run")
            _until(lambda: len(_windows(store)) == 1 and not _due(server, "RUNNING"))
    result.late = _a_day_goes_by(folder)
    for day in (2, 3, 4):
        waiting[day].with_suffix(".later").rename(waiting[day])
    with prefect_server(folder, port=port, every_loop=True, python=server_python) as server, \
            process_worker(server, "assay"):
        back = time.monotonic()
        _until(lambda: len(_windows(store)) == 4)
        result.seconds = round(time.monotonic() - back, 1)
        _until(lambda: not _due(server, "SCHEDULED"))
        result.states = dict(Counter(each["state_name"] for each in _due(server)))
        result.verdicts = _windows(store)
        (schedule,) = server.get(f"deployments/name/{MONITOR}")["schedules"]
        server.run("deployment", "schedule", "pause", MONITOR, schedule["id"])
        with reporting_to(server):
            assert deploy_monitor(spec, store.url).paused
    _a_day_goes_by(folder)
    for day in (5, 6):
        waiting[day].with_suffix(".later").rename(waiting[day])
    with prefect_server(folder, port=port, every_loop=True, python=server_python) as server, \
            process_worker(server, "assay"):
        begun = len(_due(server))
        time.sleep(QUIET)
        result.while_paused = len(_due(server)) - begun
        (after,) = server.get(f"deployments/name/{MONITOR}")["schedules"]
        server.run("deployment", "schedule", "resume", MONITOR, after["id"])
        result.anchor_kept = after["schedule"]["anchor_date"] == schedule["schedule"]["anchor_date"]
        _until(lambda: bool(_scheduled(server)))
        server.post(f"deployments/{server.get(f'deployments/name/{MONITOR}')['id']}/create_flow_run")
        _until(lambda: len(_windows(store)) == 6)
        result.resumed = _windows(store)[4:]
    result.differences = len(verify_monitor(store, "stream").differences)
    return result


def _a_day_goes_by(folder: Path) -> int:
    """Move every scheduled run back by a day; how many of them are late then."""
    database = folder / "prefect-home" / "prefect.db"
    with closing(sqlite3.connect(database)) as opened, opened:
        columns = {row[1] for row in opened.execute("PRAGMA table_info(flow_run)")}
        for column in {"expected_start_time", "next_scheduled_start_time"} & columns:
            opened.execute(
                f"UPDATE flow_run SET {column} = strftime('%Y-%m-%d %H:%M:%f', {column}, '-1 day') "
                "WHERE state_type = 'SCHEDULED'"
            )
        # the state of a scheduled run says it too
        opened.execute(
            "UPDATE flow_run_state SET state_details = json_set(state_details, '$.scheduled_time', "
            "strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(state_details, '$.scheduled_time'), '-1 day')) "
            "WHERE type = 'SCHEDULED' AND json_extract(state_details, '$.scheduled_time') IS NOT NULL"
        )
        (late,) = opened.execute(
            "SELECT count(*) FROM flow_run WHERE state_type = 'SCHEDULED' AND "
            "datetime(next_scheduled_start_time) < datetime('now')"
        ).fetchone()
    return int(late)


def _windows(store: Store) -> list[str]:
    return [verdict.window for verdict in read_verdicts(Ledger(store, "monitors/stream"))]


def _runs(server: PrefectServer) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = server.post("flow_runs/filter", {
        "flows": {"name": {"any_": ["assay-monitor"]}}, "limit": 200,
    })
    return runs


def _due(server: PrefectServer, state: str | None = None) -> list[dict[str, Any]]:
    """Runs whose time has come, in this state or any."""
    now = datetime.now(UTC)
    return [each for each in _runs(server) if datetime.fromisoformat(each["expected_start_time"]) < now
            and (state is None or each["state_type"] == state)]


def _scheduled(server: PrefectServer) -> list[dict[str, Any]]:
    return [each for each in _runs(server) if each["state_type"] == "SCHEDULED"]


def _version(python: str) -> str:
    code = "import prefect; print(prefect.__version__)"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _until(is_so: Any) -> None:
    give_up = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > give_up:
            raise AssertionError("waited for too long")
        time.sleep(2)
