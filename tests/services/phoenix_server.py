"""A real server of Arize Phoenix, on this machine and without sign-in."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PATIENCE = 300.0   # seconds: it imports for a while


@contextmanager
def phoenix_server(command: str, folder: Path) -> Iterator[str]:
    """Run `command serve` with its data in the folder until the block ends; yields its address."""
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(str(free.getsockname()[1]))
    environment = os.environ | {
        "PHOENIX_WORKING_DIR": str(folder), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": ports[0],
        "PHOENIX_GRPC_PORT": ports[1], "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    url = f"http://127.0.0.1:{ports[0]}"
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([command, "serve"], env=environment, stdout=log, stderr=log, cwd=folder)
        try:
            _wait_for(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        try:
            if httpx.get(f"{url}/healthz").status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    raise RuntimeError(f"Phoenix does not answer at {url}")
