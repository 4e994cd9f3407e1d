"""A real Label Studio on this machine, for `assay demo --label-studio` and for tests; and
somebody who labels there.

    python -m assay.tasks.desks.label_studio.local --install

    with LocalLabelStudio() as server:
        print(server.url, server.token)

Production has a server of its own. What is made here, in three steps, the first two kept under `$ASSAY_CACHE`
(default `~/.cache/assay`) in a folder named after the version:

    venv/        Label Studio in an environment of its own: 790 MB, and pins that clash with ours
    template/    a data folder whose migrations have run: they take over a minute, a copy of them does not
    (a copy)     per server, in a temporary folder, with a token and a password nobody else has
"""

import argparse
import atexit
import base64
import hashlib
import os
import re
import secrets
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from html import unescape
from pathlib import Path
from types import TracebackType
from typing import Any

from assay.evalcore.errors import AssayError, needs
from assay.tasks.desks.label_studio.api import LabelStudioApi
from assay.tasks.desks.label_studio.page.fields import unmarked
from assay.tasks.ledger.asked_round import PlannedRound
from assay.tasks.operating_system import WINDOWS

with needs("label-studio", "desks in Label Studio"):
    import httpx

VERSION = "1.23.2"
EMAIL = "admin@example.com"
START_TIMEOUT = 240.0      # seconds; 7 on an idle machine
# Django's own server sends headers and body apart: replies would wait 40 ms for the receipt of the headers.
_START = """
import socketserver, sys
socketserver.StreamRequestHandler.disable_nagle_algorithm = True
from label_studio.server import main
sys.exit(main())
"""


class LocalLabelStudioError(AssayError):
    """Label Studio could not be installed or started here; the message holds the end of its own output."""


def server_command(venv: Path, data: Path, port: int, token: str) -> tuple[list[str], dict[str, str]]:
    """How to start a server on this data folder: the command, and all of its environment.

    Loopback only, silent on the network, and reading nothing of ours: it looks for bare HOST, PORT and DEBUG.

    Starting and stopping a Label Studio server, as a process of its own.

    The server sees a clean environment (it reads bare HOST, PORT, DEBUG and CI), listens on 127.0.0.1 only
    and calls nobody. Asked for a port that was just taken it moves to the next one without a word, so it
    counts as started only once it accepts the token that only this server knows.
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
        str(venv / "bin" / "python"), "-c", _START, "start", "--no-browser", "--internal-host", "127.0.0.1",
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


# Hashed pins, where this is a checkout of the repository.
REQUIREMENTS = Path(__file__).resolve().parents[4] / "requirements" / "label-studio.txt"
INSTALL_TIMEOUT = 1200.0   # seconds; 20 when downloads are quick
TEMPLATE_TIMEOUT = 600.0   # 75 on an idle machine


def install(cache: Path | None = None, say: Callable[[str], None] = lambda _line: None) -> Path:
    """Make sure environment and template exist; the folder that holds them. Processes take turns.

    say: told of the steps that take minutes, before each.

    Installing Label Studio: its environment, and a data folder whose migrations have run.

    Each of the two is built under an exclusive `flock`, which the kernel drops when its holder dies, and
    counts only once its last file is in place: a build that was killed is thrown away and made again.
    """
    home = (cache or _default_cache()) / f"label-studio-{VERSION}"
    if WINDOWS:
        raise LocalLabelStudioError(
            "Assay starts a Label Studio of its own on Linux and macOS only; start one yourself, and put "
            "its address into desk.url"
        )
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _exclusive(home / "install.lock"):
            if not (home / "venv" / ".complete").exists():
                say(f"installing Label Studio {VERSION} into {home}: 790 MB, once; this takes minutes")
                _build_environment(home / "venv")
            if not (home / "template").exists():
                say("making Label Studio's database, once; this takes a minute or two")
                _build_template(home)
    except OSError as error:
        raise LocalLabelStudioError(
            f"could not install Label Studio into {home}: {error}; set ASSAY_CACHE to a folder with 1 GB free"
        ) from error
    return home


def _default_cache() -> Path:
    configured = os.environ.get("ASSAY_CACHE")
    return Path(configured).expanduser() if configured else Path.home() / ".cache" / "assay"


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    import fcntl  # not on Windows

    with path.open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_environment(venv: Path) -> None:
    """Install the pinned, hashed requirements with uv where both are at hand, else the version with pip."""
    shutil.rmtree(venv, ignore_errors=True)
    uv = _find_uv()
    if uv is not None:
        _run([uv, "venv", "--quiet", "--python", sys.executable, str(venv)], what="create an environment")
    else:
        _run([sys.executable, "-m", "venv", str(venv)], what="create an environment")
    python = str(venv / "bin" / "python")
    if uv is not None and REQUIREMENTS.exists():
        requirements = ["--require-hashes", "-r", str(REQUIREMENTS)]
        command = [uv, "pip", "install", "--quiet", "--python", python, *requirements]
    elif uv is not None:
        command = [uv, "pip", "install", "--quiet", "--python", python, f"label-studio=={VERSION}"]
    else:
        command = [python, "-m", "pip", "install", "--quiet", f"label-studio=={VERSION}"]
    _run(command, what=f"install label-studio {VERSION}")
    (venv / ".complete").touch()


def _find_uv() -> str | None:
    beside = Path(sys.executable).parent / "uv"
    return str(beside) if beside.exists() else shutil.which("uv")


def _run(command: list[str], *, what: str) -> None:
    try:
        done = subprocess.run(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=INSTALL_TIMEOUT, check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LocalLabelStudioError(f"could not {what}: {error}") from error
    if done.returncode != 0:
        tail = done.stdout[-2000:].strip()
        raise LocalLabelStudioError(f"could not {what}; the end of the output:\n{tail}")


def _build_template(home: Path) -> None:
    """Start once on an empty folder so that it migrates, stop, and move the folder into place in one step."""
    for leftover in home.glob("template-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix="template-", dir=home))
    token = secrets.token_hex(20)
    _, process = start_on_a_free_port(home / "venv", folder, token, timeout=TEMPLATE_TIMEOUT)
    stop_server(process)
    (folder / "data").rename(home / "template")
    shutil.rmtree(folder, ignore_errors=True)


PASSWORD_ROUNDS = 100_000  # Django raises them by itself at the first sign-in


class LocalLabelStudio:
    """A running server with a data folder of its own. A context manager; `stop` may be called twice.

    url       http://127.0.0.1:PORT
    token     the owner's legacy API token, for LABEL_STUDIO_API_KEY
    email     the owner's sign-in, with `password`: what a person types into the browser
    """

    def __init__(self, cache: Path | None = None, say: Callable[[str], None] = lambda _line: None) -> None:
        """say: told of what takes minutes the first time."""
        self.email = EMAIL
        self.password = secrets.token_urlsafe(12)
        self.token = secrets.token_hex(20)
        home = install(cache, say)
        self._venv = home / "venv"
        self._folder = Path(tempfile.mkdtemp(prefix="assay-label-studio-"))
        try:
            new_data(home, self._folder / "data", token=self.token, password=self.password)
            self.url, self._process = start_on_a_free_port(self._venv, self._folder, self.token)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        atexit.register(self.stop)

    def restart(self, *, killed: bool = False) -> None:
        """Stop the server, or kill it as a crash would, and start it on the same data; `url` changes."""
        if killed:
            self._process.kill()
            self._process.wait()
        stop_server(self._process)
        self.url, self._process = start_on_a_free_port(self._venv, self._folder, self.token)

    def stop(self) -> None:
        """Stop the server and remove its temporary folder with all its data. The environment and the
        template in the cache stay for the next server."""
        stop_server(self._process)
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self) -> "LocalLabelStudio":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def new_data(home: Path, data: Path, *, token: str, password: str) -> None:
    """Make a data folder for a server of its own from the template; `home` is what `install` returned."""
    shutil.copytree(home / "template", data)
    (data / ".env").unlink(missing_ok=True)   # the signing key: it makes a new one
    _set_credentials(data / "ls.sqlite3", token=token, password=password)


def _set_credentials(database: Path, *, token: str, password: str) -> None:
    """Give this copy a token and a password of its own.

    The server's flags for both act only when its first user is created, and that was in the template.
    """
    salt = secrets.token_hex(11)
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), PASSWORD_ROUNDS)
    hashed = f"pbkdf2_sha256${PASSWORD_ROUNDS}${salt}${base64.b64encode(key).decode()}"   # as Django has it
    with closing(sqlite3.connect(database)) as connection, connection:
        (user,) = connection.execute("SELECT id FROM htx_user WHERE email = ?", (EMAIL,)).fetchone()
        connection.execute("UPDATE htx_user SET password = ? WHERE id = ?", (hashed, user))
        connection.execute("UPDATE authtoken_token SET key = ? WHERE user_id = ?", (token, user))


def main(arguments: list[str] | None = None) -> int:
    """`--install`: everything a later start needs, so that the start itself takes seconds."""
    program = "python -m assay.tasks.desks.label_studio.local"
    parser = argparse.ArgumentParser(prog=program, description=main.__doc__)
    parser.add_argument("--install", action="store_true", required=True, help="install and migrate, once")
    parser.parse_args(arguments)
    try:
        home = install()
    except AssayError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"Label Studio {VERSION} is ready in {home}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())


_SHOWN = "shown_"
_CHOICES = re.compile(r'<Choices name="([^"]+)" toName="([^"]+)"')


class CannotRecognise(AssayError):
    """An item on the desk is none of those the round asked about."""


class SimulatedPerson:
    """Somebody who labels in a real Label Studio, for demos and tests: knows the class of every item of one
    evaluation, recognises items by the fields that the page shows, and submits answers through the API.

    A person in Label Studio who knows the answers, for the demo: reads what is shown, and submits a choice.

    It uses the public API that a browser uses, and sees what a person sees: it recognises an item by its
    shown fields, because the item's id is not uploaded.
    """

    def __init__(self, api: LabelStudioApi, evaluation: str, truth: Mapping[str, str]) -> None:
        """evaluation: its name, which is its project's title. truth: item id -> class name."""
        self._api, self._evaluation, self._truth = api, evaluation, truth

    def answer(self, planned: PlannedRound) -> int:
        """Answer every item of the round that nobody has answered; how many that were."""
        labels = {
            _seen(planned.shown[t] or {}): self._truth[planned.item_id[t]] for t in planned.asked()
        }
        answered = 0
        for project in self._api.projects(self._evaluation):
            full_project = self._api.read_object(f"api/projects/{project['id']}/")
            control = _CHOICES.search(str(full_project.get("label_config")))
            if control is None:
                continue
            batch = ("data.assay_batch", "equal", "String", f"{self._evaluation}/{planned.number:04d}")
            for task in self._api.tasks(int(project["id"]), batch):
                if not task.get("annotations"):
                    self._submit(task, unescape(control[1]), unescape(control[2]), labels)
                    answered += 1
        return answered

    def _submit(
        self, task: Mapping[str, Any], name: str, to_name: str, labels: Mapping[tuple[str, ...], str]
    ) -> None:
        shown = {key: value for key, value in task["data"].items() if key.startswith(_SHOWN)}
        choice = labels.get(_seen(shown))
        if choice is None:
            raise CannotRecognise(f"Label Studio shows an item that round asked nobody about: {shown}")
        result = [{"from_name": name, "to_name": to_name, "type": "choices", "value": {"choices": [choice]}}]
        self._api.change("POST", f"api/tasks/{task['id']}/annotations/", {"result": result})


def _seen(shown: Mapping[str, str]) -> tuple[str, ...]:
    """What a person sees, whatever the fields are called, and marks of differences aside."""
    return tuple(sorted(unmarked(value) for value in shown.values()))
