"""`assay status` without a name."""

import json
from pathlib import Path

import pytest

from assay.flows.cli.main import run_command_line
from assay.flows.monitor.registry import register
from assay.tasks.ledger import open_store
from assay.tasks.spec.monitor import load_monitor_spec
from assay.tasks.spec.monitor_template import monitor_template


def test_status_lists_monitors_before_any_window_was_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, where = tmp_path / "watch.yaml", str(tmp_path / "ledger")
    path.write_text(monitor_template())
    register(open_store(where), load_monitor_spec(path))

    assert run_command_line(["status", "--store", where]) == 0
    assert capsys.readouterr().out == (
        "my-first-monitor: a monitor; see assay history my-first-monitor\n"
    )
    assert run_command_line(["status", "--store", where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["monitors"] == ["my-first-monitor"]
