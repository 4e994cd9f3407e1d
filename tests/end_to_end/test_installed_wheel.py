"""The wheel as people install it: alone, with the light core's packages and no others.

Its environment has what requirements/light.txt pins, and nothing of ours. It is made once for each version of
that file, outside the checkout, under ASSAY_CACHE.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pytest
from services.prefect_server import ROOT

PINS = ROOT / "requirements" / "light.txt"
JOURNEY = ROOT / "tests" / "services" / "light_journey.py"
LINKS = ("evalcore", "tasks", "flows")
# what a file on Windows cannot be called
FORBIDDEN = frozenset('<>:"|?*\\')


@pytest.fixture(scope="module")
def light():
    """A Python that has the pinned packages of the light core."""
    uv = Path(sys.executable).with_name("uv")
    digest = sha256(PINS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = Path(os.environ.get("ASSAY_CACHE") or "~/.cache/assay").expanduser()
    home = cache / f"light-{digest}"
    if not home.exists():
        made = cache / f"{home.name}.{uuid4().hex}"    # renamed when it is whole: several may be at it
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, made], check=True)
        into = ["--python", made / "bin" / "python"]
        subprocess.run([uv, "pip", "install", "--quiet", *into, "--require-hashes", "-r", PINS], check=True)
        with suppress(OSError):        # another was quicker
            made.rename(home)
        shutil.rmtree(made, ignore_errors=True)
    return home / "bin" / "python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    return build("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel):
    """A folder with the wheel's contents, as an environment would hold them."""
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(wheel.parent / "site")
    return wheel.parent / "site"


@pytest.fixture
def theirs(tmp_path):
    """A user's folder that has modules of the three names."""
    (tmp_path / "flows").mkdir()
    for name in ("flows/__init__.py", "tasks.py", "evalcore.py"):
        (tmp_path / name).write_text("raise ImportError('this is the user\\'s own module')\n")
    return tmp_path


@pytest.fixture
def run(light, installed):
    """Run Python with arguments, in a folder, with the wheel and the packages of the light core."""

    def started(folder, *command):
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        ran = subprocess.run(
            [light, *command], cwd=folder, capture_output=True, text=True, check=False, env=environment
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return started


def build(kind, checkout, folder):
    """Build a wheel or an sdist of a checkout; its file."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)], cwd=checkout, check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl" if kind == "wheel" else "*.tar.gz"))


def files(wheel):
    """What a wheel holds: name and bytes."""
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/RECORD")}


def test_the_wheel_has_one_top_level_name(installed):
    names = {path.name for path in installed.iterdir()}

    assert {name for name in names if not name.endswith(".dist-info")} == {"assay"}
    assert [name for name in names if name.endswith(".dist-info")] == ["assay_evaluation-1.0.0.dist-info"]
    assert not any(path.is_symlink() for path in installed.rglob("*"))
    assert (installed / "assay" / "tasks" / "report" / "templates" / "page.html.j2").is_file()


def test_a_checkout_without_links_makes_the_same_wheel_by_way_of_its_sdist(wheel, tmp_path):
    """git on Windows and some archives have a small file where a link was."""
    checkout = tmp_path / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "assay", *LINKS, "pyproject.toml", "README.md", "LICENSE", ".gitignore"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()
    for name in listed:
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            to = f"assay/{name}" if (ROOT / name).is_symlink() else (ROOT / name).read_bytes()
            (checkout / name).write_bytes(to.encode() if isinstance(to, str) else to)
    assert all((checkout / name).is_file() for name in LINKS)

    sdist = build("sdist", checkout, tmp_path)
    with tarfile.open(sdist) as opened:
        assert all(member.isfile() for member in opened.getmembers())
        opened.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert not {"tests", "docs", "benchmarks"} & {path.name for path in unpacked.iterdir()}
    assert files(build("wheel", unpacked, tmp_path)) == files(wheel)


def test_the_light_core_evaluates_asks_replays_and_reports_without_what_windows_does_not_have(run, tmp_path):
    """It opens no folder, removes no read-only file, renames nothing onto a file, makes no symbolic link."""
    found = json.loads(run(tmp_path, JOURNEY, "evaluate", tmp_path, "--like-windows"))

    assert found["stopped_by"] == "half_width"
    assert found["people"] == 30
    assert found["page"], "the report has no figures"
    assert found["replayed"] == ["auto", "passive"]
    assert found["codes"] == {"folder": 5, "first try": 0, "verify": 0}
    assert "people/by-file/round-0001.csv" in found["files"]
    assert not [name for name in found["files"] if FORBIDDEN & set(name) or name.endswith((".", " "))]


def test_a_missing_extra_is_one_line_with_the_command(run, tmp_path):
    said = json.loads(run(tmp_path, JOURNEY, "extras", tmp_path))

    extras = {
        "s3 predictions": "s3", "s3 store": "s3", "gs": "gcs", "az": "azure", "label-studio": "label-studio",
        "alerts": "service", "monitor": "service", "prefect": "service", "assay listen": "service",
        "assay demo": "demo", "platt": "scikit-learn", "clusters": "scikit-learn", "mlflow": "mlflow",
        "prometheus": "prometheus", "otel": "otel", "dask": "dask", "ray": "ray",
    }
    assert said.keys() == extras.keys()
    for tried, extra in extras.items():
        assert f": pip install 'assay-evaluation[{extra}]'" in said[tried], tried
        assert " need the package " in said[tried]
        assert "\n" not in said[tried]
    assert said["assay demo"].endswith("(2)"), "no exit code of bad input"


def test_assay_is_imported_from_a_folder_with_modules_of_those_names(run, installed, theirs):
    code = "import assay, assay.flows.evaluation.advance as a; print(assay.__file__); print(a.__file__)"
    assert all(line.startswith(str(installed)) for line in run(theirs, "-c", code).split())


def test_every_command_has_its_help_without_any_extra(run, theirs):
    every = (
        "from assay.flows.cli.main import COMMANDS\n"
        "from assay.flows.cli.main import run_command_line\n"
        "for name in COMMANDS: assert run_command_line([name, '--help']) == 0, name\n"
        "assert run_command_line(['--version']) == 0\n"
    )
    assert run(theirs, "-c", every).splitlines()[-1].startswith("assay, version 1.0")
