"""The same answers on every processor: other kernels of BLAS, other vector instructions, other threads.

Kernels are chosen for a process by its environment, so each runs in a process of its own.  `make processors`
runs every golden case under all of them; here are the ones that are furthest from this machine.
"""

import json
import subprocess
import sys

import pytest
from golden.answers import differences
from golden.kernels import KERNELS, environment_of
from golden.recordings import recordings

OLDEST = "oldest"    # SSE3 alone, and a C library without fused multiplication

pytestmark = pytest.mark.skipif(not KERNELS, reason="kernels can be chosen on x86-64 only")


def run(kernel: str | None, *args: str) -> str:
    """What `python -m` of these prints under a kernel; None: as this machine is."""
    done = subprocess.run(
        [sys.executable, "-m", *args], env=environment_of(kernel), capture_output=True, text=True,
        check=False, timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize(("made", "verified", "step", "ledgers"), [
    (None, OLDEST, "some", 3), (OLDEST, None, "make", 11),
])
def test_a_ledger_made_on_one_processor_verifies_on_another(tmp_path, made, verified, step, ledgers):
    run(made, "golden.ledgers", step, str(tmp_path))
    found = json.loads(run(verified, "golden.ledgers", "verify", str(tmp_path)))
    assert len(found) == ledgers
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_an_evaluation_goes_on_elsewhere_as_it_would_have_here(tmp_path):
    here, moved = tmp_path / "here", tmp_path / "moved"
    for folder in (here, moved):
        folder.mkdir()
    expected = json.loads(run(None, "golden.ledgers", "whole", str(here)))
    run(None, "golden.ledgers", "half", str(moved))
    found = json.loads(run(OLDEST, "golden.ledgers", "finish", str(moved)))
    assert len(found) == 3
    assert [*differences(expected, found, same_platform=False)] == []


def test_the_golden_file_holds_on_the_oldest_processor(tmp_path):
    from doubles.pools import pools_folder

    pools_folder()    # skips where the pools are not there
    beginnings = ("two classes/curve/recalibrated", "number", "live/restaurant/recalibrated")
    path = tmp_path / "answers.json"
    run(OLDEST, "golden", str(path), *beginnings)
    golden, found = recordings(), json.loads(path.read_text())["cases"]
    for beginning in beginnings:
        assert any(name.startswith(beginning) for name in found)
    expected = {name: golden[name].answer for name in found}
    wrong = [*differences(expected, found, same_platform=False)]
    assert wrong[:5] == []
