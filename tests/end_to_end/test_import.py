"""`assay import`: from the log of another tool to an interval, with people who are simulated."""

import json

import pyarrow.parquet as pq
import yaml
from services.logs import LOGS

from assay.flows.cli.main import run_command_line


def test_a_log_becomes_an_estimate_with_an_interval(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    log = str(LOGS / "inspect/sums.eval")
    assert run_command_line(["import", log, "--to", "pool.parquet", "--write", "assay.yaml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["format"], told["rows"], told["systems"]) == ("inspect", 40, ["made/small"])
    assert run_command_line(["doctor", "assay.yaml"]) == 0

    # people who know: the model is wrong on multiples of 3; those are 14 of 40 responses
    rows = pq.read_table("pool.parquet").to_pylist()
    numbers = [int(row["item_id"].removeprefix("sum-").split("/")[0]) for row in rows]
    right = ["incorrect" if number % 3 == 0 else "correct" for number in numbers]
    known = [{"item_id": row["item_id"], "label": label} for row, label in zip(rows, right, strict=True)]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in known))
    spec = yaml.safe_load((tmp_path / "assay.yaml").read_text())
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(
        spec | {"desk": {"kind": "simulated", "labels": "people.jsonl"}, "batch_size": 40}
    ))
    capsys.readouterr()
    assert run_command_line(["run", "spec.yaml", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["estimates"][:2]
    # all 40 are labelled, so both are exact: 26 of 40 are right
    assert (first["measure"], first["class"], first["value"]) == ("rate", "correct", 26 / 40)
    agree = sum(row["judge_includes"] == label for row, label in zip(rows, right, strict=True))
    assert (second["measure"], second["value"]) == ("accuracy", agree / 40)


def test_errors_are_told_in_one_line_and_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    assert run_command_line(["import", "notes.txt", "--to", "pool.parquet"]) == 2
    assert "assay: notes.txt: has no format that can be imported" in capsys.readouterr().err
    (tmp_path / "assay.yaml").write_text("mine")
    log = str(LOGS / "promptfoo/one.json")
    assert run_command_line(["import", log, "--to", "pool.parquet", "--write", "assay.yaml"]) == 2
    assert "assay.yaml exists" in capsys.readouterr().err
    assert not (tmp_path / "pool.parquet").exists()
