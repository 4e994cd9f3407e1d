"""A monitor says whether its judges changed: in its history, the JSON and the page."""

import json

from doubles.stream import after
from doubles.stream_of_classes import a_monitor_of_classes, write_classes

from assay.flows.cli.main import run_command_line
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.tasks.ledger.stores.local import LocalStore


def test_the_history_says_how_a_judge_changed_and_sounds_no_alarm(tmp_path, capsys):
    write_classes(tmp_path, 3, drop_from=2)
    store, spec = LocalStore(tmp_path / "ledger"), a_monitor_of_classes(tmp_path)
    register(store, spec)
    at = ["--store", str(tmp_path / "ledger")]
    tick(store, "animals", moment=after(1))
    assert run_command_line(["history", "animals", *at, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["judges"] == []   # one window: nothing to compare
    assert not tick(store, "animals", moment=after(3)).failed
    assert run_command_line(["history", "animals", *at, "--json", "--out", str(tmp_path / "pages")]) == 0
    told = {one["figure"]: one for one in json.loads(capsys.readouterr().out)["judges"]}
    assert set(told) == {"agreement", "kappa"}
    agreement = told["agreement"]
    assert agreement["judge"] == "probability"
    assert agreement["windows_before"] == ["2026-11-01", "2026-11-02"]
    assert agreement["change"] < -0.1
    assert agreement["change_upper"] < 0
    assert agreement["beyond_chance"]
    page = (tmp_path / "pages" / "history.html").read_text(encoding="utf-8")
    assert "Did the judges, or the scores, change?" in page
    assert "Nothing here is an alarm" in page
    assert run_command_line(["history", "animals", *at]) == 0
    assert "  probability: agrees with the label" in capsys.readouterr().out
