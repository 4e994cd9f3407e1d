"""A clock that jumps, and Prefect's API that is down: what is decided stays what it was."""

import json

import pytest
from doubles.small_pool import spec_json, write_small_pool
from doubles.stream import a_monitor, after, write_stream

from assay.flows.cli.main import run_command_line
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.ledger.monitors import read_verdicts
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore

DAYS = 3


def _verdicts(folder, moments):
    store = MemoryStore()
    register(store, a_monitor(folder, quiet_labels=20))
    for moment in moments:
        tick(store, "stream", moment=moment)
    assert verify_monitor(store, "stream").differences == ()
    verdicts = read_verdicts(Ledger(store, "monitors/stream"))
    return [(one.window, one.overall.verdict, one.rests_on.labels) for one in verdicts]


@pytest.mark.parametrize("jump", [-20_000, 40])
def test_a_clock_that_jumps_for_one_run_changes_no_verdict(tmp_path, jump):
    write_stream(tmp_path, DAYS, drop_from=1, worse=0.45, items=60)
    usual = [after(day) for day in range(1, DAYS + 1)]
    assert len(_verdicts(tmp_path, usual)) >= DAYS
    # after the first day the clock is wrong for a moment, by so many days
    jumping = [usual[0], after(1 + jump), *usual[1:]]
    expected = _verdicts(tmp_path, usual)
    found = _verdicts(tmp_path, jumping)
    assert {window for window, _, _ in found} == {window for window, _, _ in expected}
    if jump < 0:
        assert found == expected


def test_prefect_that_cannot_be_reached_holds_nothing_up_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    predictions, labels = write_small_pool(tmp_path, n=60)
    spec = spec_json(predictions, labels, budget={"labels": 6}, batch_size=3)
    (tmp_path / "small.yaml").write_text(json.dumps(spec))
    assert run_command_line(["run", "small.yaml", "--json"]) == 0
    assert run_command_line(["advance", "small"]) == 0
    assert run_command_line(["verify", "small"]) == 0
    assert "9/api" not in "".join(capsys.readouterr())
