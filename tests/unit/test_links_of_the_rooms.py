"""The rooms are real folders: a checkout in which git made no links imports, and its tools see every file."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("evalcore", "tasks", "flows")


def test_the_rooms_are_folders_and_the_top_level_links_to_them():
    for room in ROOMS:
        assert (ROOT / "assay" / room).is_dir()
        assert not (ROOT / "assay" / room).is_symlink()


def test_git_knows_the_path_that_a_traceback_names():
    from assay.evalcore.measures import rates

    listed = subprocess.run(
        ["git", "ls-files", "--error-unmatch", str(rates.__file__)], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )
    if "not a git repository" in listed.stderr:
        pytest.skip("this is no checkout of git")
    assert listed.stdout.strip() == "assay/evalcore/measures/rates.py"


def test_a_clone_without_links_imports(tmp_path):
    """git on Windows writes small files where links are (`core.symlinks=false`)."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of git")
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", "-c", "core.symlinks=false", f"file://{ROOT}", str(clone)],
        check=True, capture_output=True,
    )
    assert all((clone / room).is_file() for room in ROOMS)
    where = subprocess.run(
        [sys.executable, "-c", "import assay.flows.cli.main as main; print(main.__file__)"], cwd=clone,
        capture_output=True, text=True, check=True, env={"PYTHONPATH": str(clone), "PATH": ""},
    ).stdout.strip()
    assert where == str(clone / "assay" / "flows" / "cli" / "main.py")
