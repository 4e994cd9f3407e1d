"""Ctrl-C: exit code 130 and one line that says what it means, whatever a command is doing."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

ASSAY = [sys.executable, "-m", "assay.flows.cli.entry"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."))
    return tmp_path


def interrupted(process, said=""):
    """What it printed after Ctrl-C; it must have ended by it."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    told = said + out + (err or "")
    assert process.returncode == 130, told
    assert "interrupted; nothing is lost" in told
    assert "Traceback" not in told
    assert "KeyboardInterrupt" not in told
    return told


def started(*arguments, **streams):
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} | streams
    return subprocess.Popen([*ASSAY, *arguments], text=True, **pipe)


def when(happened, process):
    """Wait until something has happened, a minute at most."""
    for _ in range(1200):
        if happened():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("it never happened")


@pytest.mark.parametrize("imported", ["click", "numpy", "scipy"])
def test_while_libraries_are_imported(folder, imported):
    # a folder named like the module on the path first: its import takes until it is interrupted
    slow = folder / "slow" / imported
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text(
        "import pathlib, time\npathlib.Path('reached').touch()\ntime.sleep(60)\n", encoding="utf-8"
    )
    process = started("status", env=os.environ | {"PYTHONPATH": str(folder / "slow")})
    when(Path("reached").exists, process)
    interrupted(process)


def test_inside_a_progress_bar_with_processes_at_work(folder):
    ours, theirs = pty.openpty()
    arguments = ["replay", "predictions.csv", "--positive", "match", "--method", "passive,dirichlet-tree",
                 "--budgets", "100,200", "--repeats", "4000", "--processes", "2"]
    labelled = zip(*(Path(file).read_text().splitlines() for file in ("predictions.csv", "labels.csv")),
                   strict=True)
    Path("predictions.csv").write_text("".join(f"{a},{b.split(',')[1]}\n" for a, b in labelled))
    process = started(*arguments, stderr=theirs, env=os.environ | {"TERM": "xterm"})
    os.close(theirs)
    said = ""
    while "simulating" not in said:
        said += os.read(ours, 4096).decode(errors="replace")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    while True:
        try:
            chunk = os.read(ours, 4096)
        except OSError:       # the other side is closed
            break
        if not chunk:
            break
        said += chunk.decode(errors="replace")
    os.close(ours)
    assert process.returncode == 130, said
    assert "interrupted; nothing is lost" in said
    assert "Traceback" not in said + out


def test_while_people_are_waited_for(folder):
    spec = spec_json(Path("predictions.csv"), Path("labels.csv"), method="passive", measure="accuracy")
    spec["desk"] = {"kind": "folder", "path": "desk"}
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    process = started("run", "spec.yaml")
    when(lambda: list(Path("desk").glob("*/round-0001.csv")), process)
    time.sleep(0.5)
    told = interrupted(process)
    assert "to resume: assay run spec.yaml" in told
    assert "waiting for people" in told
