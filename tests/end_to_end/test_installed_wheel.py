"""The wheel carries the one name `assay`, and works beside a user's own `flows`, `tasks` and `evalcore`."""

import json
import os
import subprocess
import sys
import zipfile

import pytest
from services.prefect_server import ROOT


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel's contents, as an environment would hold them."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT, check=True,
        capture_output=True,
    )
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def theirs(tmp_path):
    """A user's folder that has modules of the three names."""
    (tmp_path / "flows").mkdir()
    for name in ("flows/__init__.py", "tasks.py", "evalcore.py"):
        (tmp_path / name).write_text("raise ImportError('this is the user\\'s own module')\n")
    return tmp_path


def run(installed, folder, *command):
    return subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(installed)},
    )


def test_the_wheel_has_one_top_level_name(installed):
    names = {path.name for path in installed.iterdir()}

    assert {name for name in names if not name.endswith(".dist-info")} == {"assay"}
    assert not any(path.is_symlink() for path in installed.rglob("*"))
    assert (installed / "assay" / "tasks" / "report" / "templates" / "page.html.j2").is_file()


def test_assay_is_imported_from_a_folder_with_modules_of_those_names(installed, theirs):
    code = "import assay, assay.flows.evaluation.advance as a; print(assay.__file__); print(a.__file__)"
    ran = run(installed, theirs, "-c", code)

    assert ran.returncode == 0, ran.stderr
    assert all(line.startswith(str(installed)) for line in ran.stdout.split())


def test_commands_run_in_a_folder_with_modules_of_those_names(installed, theirs):
    every = (
        "from assay.flows.cli.commands import COMMANDS\n"
        "from assay.flows.cli.main import run_command_line\n"
        "for name in COMMANDS: assert run_command_line([name, '--help']) == 0, name\n"
    )
    ran = run(installed, theirs, "-c", every)
    assert ran.returncode == 0, ran.stderr

    pool = theirs / "pool.csv"
    rows = [f"i{i},{i / 40:.3f},{int(i > 20)},{int(i > 22)}" for i in range(40)]
    pool.write_text("item_id,score,prediction,label\n" + "\n".join(rows) + "\n")
    ran = run(
        installed, theirs, "-m", "assay.flows.cli.entry", "replay", "pool.csv", "--method", "passive",
        "--budgets", "10", "--repeats", "5", "--json",
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["n"] == 40
