"""What begin, run, advance and status say of the labels still to come, and of the method."""

import json
from pathlib import Path

import pytest
import yaml
from doubles.small_pool import spec_json, write_small_pool

from assay.evalcore.forecast.labels_needed import outlook
from assay.evalcore.methods.registry import auto
from assay.flows.cli.main import run_command_line
from assay.flows.record import ahead

AUTO = "auto:depth=8"   # settings of the tree, whose forecasts are quick
MEANT = auto(AUTO)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_small_pool(Path("."))
    spec = spec_json(Path("predictions.csv"), Path("labels.csv"), target={"half_width": 0.1},
                     budget={"labels": 390}, batch_size=30, measure="accuracy", threshold={"min": 0.5},
                     method=AUTO)
    spec["desk"] = {"kind": "folder", "path": "desk"}
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    return tmp_path


def told(capsys, *arguments):
    code = run_command_line([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_begin_says_which_method_and_why_and_what_the_target_will_take(folder, capsys):
    code, began = told(capsys, "begin", "spec.yaml")
    assert code == 0
    assert (began["method"], began["method_reason"]) == (MEANT.method, MEANT.reason)
    target = began["forecast"]["target"]
    assert target["half_width"] == 0.1
    # about 0.8 of 400 right: 1.96 √(0.16/n) = 0.1 at n = 61, so the least number of labels, 100, decides
    assert 100 <= target["labels"] <= 200
    assert target["low"] <= target["labels"]
    assert target["horizon"] == 390
    assert began["forecast"]["verdict"]["threshold"] == {"min": 0.5, "max": None}
    # the same again, and by status: nothing was asked in between
    assert told(capsys, "begin", "spec.yaml")[1]["forecast"] == began["forecast"]
    assert told(capsys, "status", "small", "--forecast")[1]["forecast"] == began["forecast"]
    assert told(capsys, "status", "small")[1]["forecast"] == began["forecast"]    # it is kept
    assert run_command_line(["begin", "spec.yaml"]) == 0
    text = capsys.readouterr().out
    assert "forecast: ± 0.1 takes about" in text
    assert f"method {MEANT.method}\n" in text
    assert MEANT.reason.split()[-1] not in text.partition("forecast:")[0], "why is said with --verbose"


def test_advance_and_status_update_the_forecast_and_a_finished_one_has_none(folder, capsys):
    spec = yaml.safe_load(Path("spec.yaml").read_text())
    spec["method"] = "passive"
    spec["desk"] = {"kind": "simulated", "labels": "labels.csv", "delay": 1000.0}
    Path("spec.yaml").write_text(yaml.safe_dump(spec))
    told(capsys, "begin", "spec.yaml")
    code, waiting = told(capsys, "advance", "small")
    assert code == 5
    assert waiting["forecast"]["target"]["more"] == waiting["forecast"]["target"]["labels"]
    assert run_command_line(["status", "small", "--forecast"]) == 5
    assert "forecast:" in capsys.readouterr().out
    spec["name"], spec["desk"] = "quick", {"kind": "simulated", "labels": "labels.csv"}
    Path("quick.yaml").write_text(yaml.safe_dump(spec))
    code = run_command_line(["run", "quick.yaml", "--json"])
    captured = capsys.readouterr()
    ran = json.loads(captured.out)
    assert code == 0
    assert "forecast: ± 0.1 takes about" in captured.err.replace("\n", " ")
    assert ran["forecast"] is None                          # nothing is to come
    assert told(capsys, "status", "quick")[1] == ran
    assert all(e["random_labels"] is None or e["random_labels"] > 0 for e in ran["estimates"])
    assert ran["estimates"][0]["not_excluded"]["no_positive_found"] is False


def test_a_forecast_is_simulated_once_and_made_again_when_it_is_damaged(folder, capsys, monkeypatch):
    simulated = []
    monkeypatch.setattr(ahead, "outlook", lambda *told: simulated.append(told) or outlook(*told))
    began = told(capsys, "begin", "spec.yaml")[1]["forecast"]
    for command in ("begin", "spec.yaml"), ("status", "small", "--forecast"), ("status", "small"):
        assert told(capsys, *command)[1]["forecast"] == began
    assert len(simulated) == 1
    (kept,) = Path("assay-ledger/index/forecasts/small").iterdir()
    kept.chmod(0o644)
    kept.write_bytes(kept.read_bytes()[:-9])
    assert told(capsys, "status", "small")[1]["forecast"] is None
    assert told(capsys, "begin", "spec.yaml")[1]["forecast"] == began
    assert told(capsys, "status", "small")[1]["forecast"] == began
    assert len(simulated) == 2


def test_how_many_worlds_a_forecast_plays_can_be_set(folder, capsys, monkeypatch):
    monkeypatch.setenv("ASSAY_FORECAST_WORLDS", "3")
    assert told(capsys, "begin", "spec.yaml")[1]["forecast"]["target"]["worlds"] == 3
    monkeypatch.delenv("ASSAY_FORECAST_WORLDS")
    assert told(capsys, "status", "small", "--forecast")[1]["forecast"]["target"]["worlds"] >= 24
