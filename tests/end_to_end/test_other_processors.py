"""The same answers on every processor: other kernels of BLAS, other vector instructions, other threads.

Kernels are chosen for a process by its environment, so each runs in a process of its own.  `make processors`
runs every golden case under all of them; here are ledgers that one made and another goes on with.
"""

import json
import shutil
import subprocess
import sys

import pytest
from golden import ledgers
from golden.answers import differences
from golden.kernels import KERNELS, environment_of
from golden.recordings import recordings

OLDEST = "oldest"    # SSE3 alone, and a C library without fused multiplication

pytestmark = pytest.mark.skipif(not KERNELS, reason="kernels can be chosen on x86-64 only")


def run(*args: str) -> str:
    """What `python -m` of these prints on the oldest processor."""
    done = subprocess.run(
        [sys.executable, "-m", *args], env=environment_of(OLDEST), capture_output=True, text=True,
        check=False, timeout=500,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_a_ledger_made_on_the_oldest_processor_verifies_here(tmp_path):
    run("golden.ledgers", "make", str(tmp_path))
    found = ledgers.check(tmp_path)
    assert len(found) == 11
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_an_evaluation_goes_on_elsewhere_as_it_would_have_here_and_verifies_there(tmp_path):
    here, moved = tmp_path / "here", tmp_path / "moved"
    here.mkdir()
    ledgers.half(here)
    shutil.copytree(here, moved)
    expected = ledgers.finish(here)
    found = json.loads(run("golden.ledgers", "finish", str(moved)))
    assert len(found) == 3
    assert [*differences(expected, found, same_platform=False)] == []
    verified = json.loads(run("golden.ledgers", "verify", str(here)))
    assert verified == {name: [] for name in ledgers.TOLD}


@pytest.mark.study
def test_golden_cases_hold_on_the_oldest_processor(tmp_path):
    from doubles.pools import pools_folder

    pools_folder()    # skips where the pools are not there
    beginnings = ("two classes/curve/recalibrated", "number", "live/restaurant/recalibrated")
    path = tmp_path / "answers.json"
    run("golden", str(path), *beginnings)
    golden, found = recordings(), json.loads(path.read_text())["cases"]
    for beginning in beginnings:
        assert any(name.startswith(beginning) for name in found)
    expected = {name: golden[name].answer for name in found}
    wrong = [*differences(expected, found, same_platform=False)]
    assert wrong[:5] == []
