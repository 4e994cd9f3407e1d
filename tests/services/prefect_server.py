"""A real Prefect server and a process worker, as separate processes with a home of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

START_TIMEOUT = 300.0   # seconds; 6 to 36 on an idle machine
BUSY = 150.0            # seconds for which a server may say 503 or nothing: it is setting up, or starved
ROOT = Path(__file__).parents[2]
# Loops of the server that no test needs: each looks into its SQLite every few seconds, and requests wait.
NOT_NEEDED = (
    "CANCELLATION_CLEANUP", "CLEANUP_RECONCILER", "FOREMAN", "LATE_RUNS", "PAUSE_EXPIRATIONS", "REPOSSESSOR",
)
LEASES = "prefect.server.concurrency.lease_storage.filesystem"
PREFECT = [sys.executable, "-m", "prefect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefectServer:
    """Where the server is, and the environment in which commands and workers find it."""

    api: str
    environment: Mapping[str, str]
    folder: Path
    process: int            # of the group of processes it is

    def run(self, *arguments: str, timeout: float = 240, **more: str) -> str:
        """A `prefect` command from the repository's root; what it printed."""
        done = subprocess.run(
            [*PREFECT, *arguments], env={**self.environment, **more}, cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False,
        )
        assert done.returncode == 0, f"prefect {' '.join(arguments)}:\n{done.stdout[-3000:]}"
        return done.stdout

    def post(self, path: str, body: Any = None) -> Any:
        """A POST to the API: most of its reads are."""
        reply = self._ask("POST", path, json=body or {})
        return reply.json() if reply.content else None

    def get(self, path: str) -> Any:
        """A GET."""
        return self._ask("GET", path).json()

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Asked again on a 503, as Prefect's own client does: its SQLite was busy, and nothing was done.

        So are reads that got no answer in time.
        """
        give_up = time.monotonic() + BUSY
        reads = method == "GET" or path.endswith("/filter")
        while True:
            try:
                reply = httpx.request(method, f"{self.api}/{path}", timeout=30, trust_env=False, **more)
            except httpx.ReadTimeout:
                if reads and time.monotonic() < give_up:
                    continue
                raise
            if reply.status_code != 503 or time.monotonic() > give_up:
                assert reply.status_code < 300, f"{path}: {reply.status_code} {reply.text[:1000]}"
                return reply
            time.sleep(0.5)

    def finished(self, flow_run: str, timeout: float) -> dict[str, Any]:
        """The flow run once it has ended."""
        give_up = time.monotonic() + timeout
        while time.monotonic() < give_up:
            found = self.get(f"flow_runs/{flow_run}")
            if found["state_type"] in ("COMPLETED", "FAILED", "CRASHED", "CANCELLED"):
                return found
            time.sleep(0.5)
        raise AssertionError(f"flow run {flow_run} is still {found['state_type']} after {timeout} s")


@contextmanager
def prefect_server(
    folder: Path, *, port: int = 0, every_loop: bool = False, python: str = sys.executable
) -> Iterator[PrefectServer]:
    """Start a server on this port, or a free one; gone with everything it started when the context ends.

    Started again in the same folder, it has the data it had. every_loop: with those of NOT_NEEDED, and slots
    that survive, as deployments/ has it. python: of the environment with the version of Prefect that the
    server has.
    """
    home = folder / "prefect-home"
    home.mkdir(exist_ok=True)
    port = port or _free_port()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "ASSAY_"))
    } | {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "2",
        **{f"PREFECT_SERVER_SERVICES_{name}_ENABLED": str(every_loop).lower() for name in NOT_NEEDED},
        "DO_NOT_TRACK": "1",
        "ASSAY_ROOT": str(ROOT),
    }
    if every_loop:
        environment["PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE"] = LEASES
    command = [python, *PREFECT[1:], "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-ui"]
    with _process(command, environment, folder / "server.log") as process:
        server = PrefectServer(
            api=f"http://127.0.0.1:{port}/api", environment=environment, folder=folder, process=process.pid
        )
        _wait_until_healthy(server, process)
        yield server


@contextmanager
def process_worker(server: PrefectServer, pool: str, **more: str) -> Iterator[None]:
    """A worker of this pool; `more` is added to the environment of its runs."""
    command = [*PREFECT, "worker", "start", "--pool", pool, "--type", "process"]
    with _process(command, {**server.environment, **more}, server.folder / "worker.log"):
        yield


@contextmanager
def _process(
    command: list[str], environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, env=dict(environment), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,   # a group of its own, so that all of it can be ended
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_until_healthy(server: PrefectServer, process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + START_TIMEOUT
    while time.monotonic() < give_up and process.poll() is None:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{server.api}/health", timeout=5, trust_env=False).status_code == 200:
                return
        time.sleep(0.3)
    log = (server.folder / "server.log").read_text(errors="replace")
    raise AssertionError(f"the Prefect server did not start:\n{log[-3000:]}")


def _free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def reporting_to(server: PrefectServer) -> Iterator[None]:
    """Let flows that are called in this process report to the server.

    Without heartbeats: joining their thread takes a second at the end of every flow.
    """
    from prefect.settings import (
        PREFECT_API_URL,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
        PREFECT_HOME,
        PREFECT_LOGGING_TO_API_ENABLED,
        temporary_settings,
    )

    with temporary_settings({
        PREFECT_API_URL: server.api,
        PREFECT_HOME: Path(server.environment["PREFECT_HOME"]),
        PREFECT_LOGGING_TO_API_ENABLED: False,
        PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None,
    }):
        yield
