"""Starting and stopping a Label Studio server, as a process of its own.

The server sees a clean environment (it reads bare HOST, PORT, DEBUG and CI), listens on 127.0.0.1 only and
calls nobody. Asked for a port that was just taken it moves to the next one without a word, so it counts as
started only once it accepts the token that only this server knows.
"""

import secrets
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from assay.evalcore.errors import AssayError, needs

with needs("label-studio", "desks in Label Studio"):
    import httpx

VERSION = "1.23.2"
EMAIL = "admin@example.com"
START_TIMEOUT = 240.0      # seconds; 7 on an idle machine


class LocalLabelStudioError(AssayError):
    """Label Studio could not be installed or started here; the message holds the end of its own output."""


def server_command(venv: Path, data: Path, port: int, token: str) -> tuple[list[str], dict[str, str]]:
    """How to start a server on this data folder: the command, and all of its environment.

    Loopback only, silent on the network, and reading nothing of ours: it looks for bare HOST, PORT and DEBUG.
    """
    environment = {
        "PATH": f"{venv / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(data),
        "LANG": "C.UTF-8",
        "DJANGO_DB": "sqlite",                         # "default" means PostgreSQL
        "LABEL_STUDIO_BASE_DATA_DIR": str(data),
        "LABEL_STUDIO_DATABASE_NAME": str(data / "ls.sqlite3"),
        "LABEL_STUDIO_SENTRY_DSN": "",
        "LABEL_STUDIO_FRONTEND_SENTRY_DSN": "",
        "LABEL_STUDIO_COLLECT_ANALYTICS": "false",
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false",
        "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "LABEL_STUDIO_SSRF_PROTECTION_ENABLED": "false",   # or no webhook could reach 127.0.0.1
        "LABEL_STUDIO_TASK_LOCK_TTL": "3600",          # an item somebody opened and left: 24 hours if unset
        # of the first user; not on the command line, which everybody on the machine can read
        "LABEL_STUDIO_USERNAME": EMAIL,
        "LABEL_STUDIO_PASSWORD": secrets.token_urlsafe(12),
        "LABEL_STUDIO_USER_TOKEN": token,
    }
    command = [
        str(venv / "bin" / "label-studio"), "start", "--no-browser", "--internal-host", "127.0.0.1",
        "-p", str(port), "--enable-legacy-api-token", "--log-level", "WARNING",
    ]
    return command, environment


def start_on_a_free_port(
    venv: Path, folder: Path, token: str, *, timeout: float = START_TIMEOUT
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start a server on folder/data; its address and process once it has accepted the token."""
    for _ in range(3):
        port = _free_port()
        process = _spawn(venv, folder, port, token)
        url = f"http://127.0.0.1:{port}"
        if _answers(url, token, process, timeout):
            return url, process
        stop_server(process)   # somebody took the port in between: it may have moved to the next one
    tail = (folder / "server.log").read_text(errors="replace")[-2000:].strip().replace(token, "***")
    raise LocalLabelStudioError(f"Label Studio {VERSION} did not start; the end of its output:\n{tail}")


def stop_server(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, and end it if it does not within 15 seconds."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _spawn(venv: Path, folder: Path, port: int, token: str) -> subprocess.Popen[bytes]:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    command, environment = server_command(venv, data, port, token)
    with (folder / "server.log").open("ab") as log:
        # A session of its own: Ctrl-C in the terminal reaches us first, and we stop it in order.
        return subprocess.Popen(  # noqa: S603
            command, env=environment, cwd=data, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )


def _answers(url: str, token: str, process: subprocess.Popen[bytes], timeout: float) -> bool:
    """Whether the server became healthy and accepts our token before the timeout, in seconds."""
    give_up = time.monotonic() + timeout
    headers = {"Authorization": f"Token {token}"}
    with httpx.Client(base_url=url, timeout=10, trust_env=False) as client:   # no proxy for loopback
        while time.monotonic() < give_up and process.poll() is None:
            with suppress(httpx.HTTPError):
                if client.get("/health").status_code == 200:
                    return client.get("/api/current-user/whoami", headers=headers).status_code == 200
            time.sleep(0.5)
    return False
