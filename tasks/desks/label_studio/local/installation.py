"""Installing Label Studio: its environment, and a data folder whose migrations have run.

Each of the two is built under an exclusive `flock`, which the kernel drops when its holder dies, and counts
only once its last file is in place: a build that was killed is thrown away and made again.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.tasks.desks.label_studio.local.process import (
    VERSION,
    LocalLabelStudioError,
    start_on_a_free_port,
    stop_server,
)
from assay.tasks.operating_system import WINDOWS

# Hashed pins, where this is a checkout of the repository; the folders are reached through links.
REQUIREMENTS = Path(__file__).resolve().parents[4] / "requirements" / "label-studio.txt"
INSTALL_TIMEOUT = 1200.0   # seconds; 20 when downloads are quick
TEMPLATE_TIMEOUT = 600.0   # 75 on an idle machine


def install(cache: Path | None = None, say: Callable[[str], None] = lambda _line: None) -> Path:
    """Make sure environment and template exist; the folder that holds them. Processes take turns.

    say: told of the steps that take minutes, before each.
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
        wanted = ["--require-hashes", "-r", str(REQUIREMENTS)]
        command = [uv, "pip", "install", "--quiet", "--python", python, *wanted]
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
