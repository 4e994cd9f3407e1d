"""Build what is released, and try it where it will run.

    python deployments/release/release.py [--python 3.12 ...] [--out dist]

The sdist is built from what git has, the wheel from the sdist. Then the wheel is installed with the pinned
packages, light and full, into fresh environments of each version of Python that is here; each runs the demo
(light: a first evaluation of its own) and a slice of the tests, from a folder with nothing of the checkout
but the tests. The command is also run from a local index, as `uvx` and `pipx run` do it. Beside the two files
stand bills of materials and SHA256SUMS. A version that is not here is named.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from bill_of_materials import ROOT, version_here, written_bill

PYTHONS = ("3.11", "3.12", "3.13")
INSTALLS = {"light": "light.txt", "full": "constraints.txt"}
# Of the tests: those that need neither the checkout's other folders nor a service. Fixtures of all need more
# than the light install has; those of its slice need none.
LIGHT = ("tests/unit/evalcore/measures/test_generalized_measures.py", "tests/unit/evalcore/estimators")
FULL = (
    "tests/unit/evalcore/measures/test_rates.py", "tests/unit/face/test_labelled.py", "tests/unit/tasks/pool",
)
SLICES = {"light": LIGHT, "full": (*LIGHT, *FULL)}
TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis")     # beside the light install, of the pinned versions
UV = Path(sys.executable).with_name("uv")


class NotReleased(Exception):
    """A step failed; the message says which, and the last that it said."""


@dataclass(frozen=True, slots=True)
class Tried:
    """How one install did on one version of Python."""

    python: str
    install: str
    seconds: float
    tests: str          # the last line of pytest


def did(what: str, command: Sequence[str | Path], folder: Path, **more: str) -> str:
    """What a step printed. Raises NotReleased."""
    ran = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=1800,
        env={**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **more},
    )
    if ran.returncode:
        raise NotReleased(f"{what} failed ({ran.returncode}):\n{(ran.stdout + ran.stderr)[-3000:]}")
    return ran.stdout


def built(out: Path) -> Path:
    """The sdist of what git has, and the wheel made from it, in `out`; the wheel."""
    changed = did("git status", ["git", "status", "--porcelain"], ROOT).strip()
    if changed:
        raise NotReleased(f"the checkout has changes that are not committed:\n{changed[:500]}")
    with TemporaryDirectory() as held:
        folder = Path(held)
        did("git archive", ["git", "archive", "--output", folder / "tree.tar", "HEAD"], ROOT)
        with tarfile.open(folder / "tree.tar") as tree:
            tree.extractall(folder / "tree", filter="tar")
        build = [sys.executable, "-m", "hatchling", "build", "-d", out, "-t"]
        did("the sdist", [*build, "sdist"], folder / "tree")
        (sdist,) = out.glob("*.tar.gz")
        with tarfile.open(sdist) as opened:
            opened.extractall(folder / "sdist", filter="data")
        (unpacked,) = (folder / "sdist").iterdir()
        did("the wheel", [*build, "wheel"], unpacked)
    (wheel,) = out.glob("*.whl")
    return wheel


def interpreter(version: str) -> Path | None:
    """A Python of this version that is here; None without one. Nothing is downloaded."""
    for root in (Path.home() / ".pyenv" / "versions", Path("/opt/pyenv/versions")):
        for home in sorted(root.glob(f"{version}.*")):
            if (home / "bin" / "python").exists():
                return home / "bin" / "python"
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = Path(folder) / f"python{version}"
        if not found.exists():
            continue
        if subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    return None


def tried(python: Path, version: str, install: str, wheel: Path) -> Tried:
    """Install into a fresh environment, and run the demo and the slice of the tests. Raises NotReleased."""
    began, pins = time.monotonic(), ROOT / "requirements" / INSTALLS[install]
    with TemporaryDirectory() as held:
        folder = Path(held)
        its = folder / "venv" / "bin"
        into = ["--quiet", "--python", its / "python"]
        what = f"Python {version}, {install}: "
        did(what + "an environment", [UV, "venv", "--quiet", "--python", python, folder / "venv"], folder)
        did(what + "the pins", [UV, "pip", "install", *into, "--require-hashes", "-r", pins], folder)
        did(what + "the wheel", [UV, "pip", "install", *into, "--no-deps", wheel], folder)
        did(what + "what it needs", [UV, "pip", "check", *into], folder)
        shutil.copytree(ROOT / "tests", folder / "tests")
        said = did(what + "--version", [its / "assay", "--version"], folder).strip()
        if not said.endswith(f" {version_here()}"):
            raise NotReleased(f"{what}assay --version says {said!r}")
        if install == "full":
            did(what + "the demo", [its / "assay", "demo", "--out", folder / "demo"], folder)
        else:
            journey = folder / "tests" / "services" / "light_journey.py"
            (folder / "first").mkdir()
            did(what + "a first evaluation", [its / "python", journey, "evaluate", folder / "first"], folder)
            # an environment that tests are run in has their tools beside the pins, and no more
            limits = ["--constraint", ROOT / "requirements" / "constraints.txt"]
            did(what + "pytest", [UV, "pip", "install", *into, *limits, *TEST_TOOLS], folder)
        shutil.copy(ROOT / "pyproject.toml", folder)
        tests = did(what + "its tests", [
            its / "python", "-P", "-m", "pytest", "-q", "-o", "pythonpath=tests", "-p", "no:cacheprovider",
            *(["--noconftest"] if install == "light" else []), *SLICES[install],
        ], folder)
    return Tried(version, install, time.monotonic() - began, tests.strip().splitlines()[-1])


@contextmanager
def local_index(wheel: Path) -> Iterator[str]:
    """The address of an index on this machine that has this wheel, and nothing else."""
    with TemporaryDirectory() as held:
        page = Path(held) / "simple" / "assay-evaluation"
        page.mkdir(parents=True)
        shutil.copy(wheel, page)
        digest = sha256(wheel.read_bytes()).hexdigest()
        (page / "index.html").write_text(f'<a href="{wheel.name}#sha256={digest}">{wheel.name}</a>')
        serving = partial(QuietHandler, directory=held)
        with ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/simple"
            server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def ran_from_index(wheel: Path) -> list[str]:
    """What `assay --version` says by `uvx` and `pipx run`, from an index of this wheel.

    Raises NotReleased.
    """
    said = []
    uvx = UV.with_name("uvx")
    with local_index(wheel) as index, TemporaryDirectory() as held:
        home = {"PIPX_HOME": held, "UV_CACHE_DIR": f"{held}/uv"}
        for name, command in {
            "uvx": [uvx, "--index", index, "--from", "assay-evaluation", "assay", "--version"],
            "pipx run": [
                uvx, "pipx", "run", "--no-cache", "--pip-args",
                f"--extra-index-url {index} --trusted-host 127.0.0.1", "--spec", "assay-evaluation", "assay",
                "--version",
            ],
        }.items():
            line = did(name, command, Path(held), **home).strip().splitlines()[-1]
            if not line.endswith(f" {version_here()}"):
                raise NotReleased(f"{name}: assay --version says {line!r}")
            said.append(f"{name}: {line}")
    return said


def _cleared(out: Path) -> None:
    """An empty folder, where there is none or one of an earlier release. Raises NotReleased for any other."""
    out.mkdir(parents=True, exist_ok=True)
    there = list(out.iterdir())
    if there and not (out / "SHA256SUMS").exists():
        raise NotReleased(f"{out} holds something else than a release; name another folder, or empty it")
    for path in there:
        path.unlink()


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, try, and say what became of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", action="append", choices=PYTHONS, help="only this version (repeatable)")
    parser.add_argument("--install", action="append", choices=list(INSTALLS), help="only this install")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args(arguments)
    out = given.out.resolve()
    missing, wrong = [], []
    try:
        _cleared(out)
        wheel = built(out)
    except NotReleased as error:
        print(error)
        return 1
    for install, pins in INSTALLS.items():
        bill = out / f"assay-evaluation-{version_here()}-{install}.cdx.json"
        bill.write_text(written_bill(ROOT / "requirements" / pins), encoding="utf-8")
    sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    print("".join(sums), end="", flush=True)
    for version in given.python or PYTHONS:
        python = interpreter(version)
        if python is None:
            missing.append(version)
            continue
        for install in given.install or INSTALLS:
            try:
                one = tried(python, version, install, wheel)
                print(f"Python {version}, {install}: {one.tests}; {one.seconds:.0f} s", flush=True)
            except NotReleased as error:
                wrong.append(f"{version} {install}")
                print(error, flush=True)
    try:
        print("\n".join(ran_from_index(wheel)), flush=True)
    except NotReleased as error:
        wrong.append("from an index")
        print(error, flush=True)
    for version in missing:
        print(f"Python {version}: NOT tried, for this machine has none")
    print(f"FAILED: {', '.join(wrong)}" if wrong else f"ready in {out}")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
