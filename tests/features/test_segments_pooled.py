"""Segments with what the other segments tell, from Python to the report."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import assay
from assay.flows.cli.main import run_command_line

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "segments.md"
ROWS = 1500


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(8)
    region = rng.integers(0, 10, ROWS)
    right = rng.random(ROWS) < np.where(region == 4, 0.45, 0.9)
    spam = rng.random(ROWS) < 0.4
    predicted = np.where(right, spam, ~spam)
    score = np.clip(np.where(predicted, 0.8, 0.2) + rng.normal(0, 0.08, ROWS), 0.01, 0.99)
    names = np.array(["ham", "spam"])
    return pd.DataFrame({
        "truth": names[spam.astype(int)], "predicted": names[predicted.astype(int)], "score": score,
        "region": [f"r{number}" for number in region],
        "grade": 1 + 4 * right.astype(int),
        "judge": np.where(region == 4, 2.5, 4.5) + rng.uniform(-0.5, 0.5, ROWS),
    })


@pytest.fixture(scope="module")
def answered(frame):
    """The example of the how-to."""
    [block] = re.findall(r"^```python\n(.*?)^```", HOW_TO.read_text(encoding="utf-8"), re.M | re.S)
    namespace = {"assay": assay, "frame": frame, "label_of": lambda item: item["truth"]}
    exec(compile(block, str(HOW_TO), "exec"), namespace)
    return namespace


def test_the_example_of_the_page_finds_the_worst_part(answered, frame, capsys):
    segments = answered["segments"]
    assert max(segments, key=lambda row: row.pooled.chance_worst).segment == "region=r4"
    pooled = np.array([row.pooled.value for row in segments])
    right = (frame.predicted == frame.truth).groupby("region=" + frame.region).mean()
    truth = np.array([right[row.segment] for row in segments])
    whole = answered["result"].value
    assert np.mean((pooled - truth) ** 2) < np.mean((whole - truth) ** 2)
    assert all(row.pooled.together.lower <= row.pooled.lower <= row.pooled.value for row in segments)


def test_frames_lines_and_json_have_it(answered):
    row = answered["segments"][0]
    assert row.to_dict()["pooled"]["together"]["lower"] == row.pooled.together.lower
    assert "with the other segments" in str(row)
    told = answered["result"].to_frame()
    assert told["pooled_value"].notna().sum() == len(answered["segments"])
    assert "pooled" not in answered["result"]["accuracy"].to_dict()


def test_judges_of_every_item_predict_the_segments(frame):
    result = assay.evaluate(
        frame[["grade", "judge", "region"]], outcome={"grades": [1, 2, 3, 4, 5]}, judge=["judge"],
        measures=["mean"], segments=["region"], oracle=lambda item: item["grade"], budget=80,
    )
    towards = {row.segment: row.pooled.towards for row in result if row.segment}
    assert min(towards, key=towards.__getitem__) == "region=r4"


def test_report_verify_and_status_have_it(frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame.assign(item_id=[f"i{row}" for row in range(ROWS)]).to_parquet("pool.parquet")
    Path("assay.yaml").write_text("""
name: parts
store: ledger
pool: {source: pool.parquet, id: item_id, prediction: predicted, score: score, segments: [region]}
labels: {positive: spam, negative: ham}
measure: accuracy
budget: {labels: 100}
batch_size: 50
method: recalibrated
desk: {kind: simulated, labels: pool.parquet, label: truth}
""", encoding="utf-8")
    monkeypatch.setenv("ASSAY_STORE", "ledger")
    assert run_command_line(["run", "assay.yaml"]) == 0
    capsys.readouterr()
    assert run_command_line(["report", "parts", "--out", "out"]) == 0
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "With the others" in page
    assert "For all at once" in page
    assert "Most likely the worst: region=" in page
    capsys.readouterr()
    assert run_command_line(["status", "parts", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["estimates"]
    assert {"value", "lower", "upper", "towards", "own_share", "spread", "together", "chance_worst"} == set(
        next(row for row in told if row["segment"])["pooled"]
    )
    assert run_command_line(["verify", "parts"]) == 0
