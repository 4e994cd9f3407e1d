"""Judges are looked at: what moves them away from people, in command, JSON and report; audits of them."""

import json

import numpy as np
import pytest
import yaml

import assay
from assay.evalcore.errors import BadInput
from assay.evalcore.reproducible import stream
from assay.flows.cli.main import run_command_line
from assay.tasks.report.data import JUDGE_CHECKS

N = 400


def write_answers(path, seed, *, harsher=0.0):
    """Answers of which the judge likes long ones, and code."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = stream(seed, "judges looked at")
    words = rng.integers(5, 120, N)
    layout = rng.choice(["prose", "code"], N, p=[0.7, 0.3])
    quality = rng.normal(3.2, 0.9, N)
    human = np.clip(np.round(quality - harsher), 1, 5)
    judge = np.clip(np.round(
        quality + 0.6 * (words - 60) / 33 + 0.5 * (layout == "code") + rng.normal(0, 0.4, N)
    ), 1, 5)
    pq.write_table(pa.table({
        "item_id": [f"a{i}" for i in range(N)], "answer": ["word " * n for n in words],
        "layout": layout.tolist(), "place": [str(i % 2 + 1) for i in range(N)],
        "judge": judge.astype(int).astype(str).tolist(), "human": human.astype(int).astype(str).tolist(),
    }), path)


def run(folder, name, seed, judges=None, **more):
    write_answers(folder / f"{name}.parquet", seed, **more)
    spec = {
        "name": name, "pool": {
            "source": str(folder / f"{name}.parquet"), "id": "item_id", "judge": "judge",
            "display": ["answer"],
        },
        "labels": {"grades": [1, 2, 3, 4, 5]}, "measure": "mean", "budget": {"labels": 150}, "batch_size": 50,
        "desk": {"kind": "simulated", "labels": str(folder / f"{name}.parquet"), "label": "human"},
        "store": str(folder / "ledger"), "seed": 3,
    }
    if judges is not None:
        spec["judges"] = judges
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(spec))
    return run_command_line(["run", str(folder / f"{name}.yaml"), "--json"])


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    assert run(folder, "october", 1) == 0
    assert run(folder, "november", 2, {
        "features": ["length(answer)", "layout", "place"], "audit": {"evaluation": "october", "margin": 0.4},
    }) == 0
    assert run(folder, "december", 3, harsher=1.0) == 0
    return folder


def told(capsys, *command, code=0):
    assert run_command_line([*command, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_what_moves_a_judge_is_told_by_command_json_and_page(answers, capsys):
    at = ["--store", str(answers / "ledger")]
    found = told(capsys, "judges", "november", *at)
    effects = {(e["figure"], e["feature"]): e for e in found["checks"]["effects"]["effects"]}
    assert set(effects) == {
        (figure, feature) for figure in ("shift", "distance")
        for feature in ("length(answer)", "layout", "place")
    }
    length, layout = effects["shift", "length(answer)"], effects["shift", "layout"]
    assert length["beyond_chance"]
    assert length["value"] > 0.2
    assert length["step"] == pytest.approx(165, rel=0.2), "characters"
    assert layout["level"] == "code"
    assert layout["value"] > 0
    assert not effects["shift", "place"]["beyond_chance"]
    [audit] = found["checks"]["audits"]
    assert (audit["verdict"], found["verdict"], audit["calibrated_by"]) == ("pass", "pass", "october")
    assert run_command_line(["report", "november", *at, "--out", str(answers / "report")]) == 0
    page = (answers / "report" / "report.html").read_text(encoding="utf-8")
    assert "What moves the judge away from people" in page
    assert "pass: it still holds within the margin" in page
    assert json.loads((answers / "report" / "report.json").read_bytes())["judge_checks"] == found["checks"]
    capsys.readouterr()
    assert run_command_line(["judges", "november", *at]) == 0
    printed = capsys.readouterr().out
    assert "judge: judge minus label, length(answer), by" in printed
    assert "Beyond chance: judge by length(answer)" in printed
    assert run_command_line(["judges", "november", *at, "--markdown"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert "| Judge | Feature | Figure | Change | Interval of all together |" in rows
    assert any(row.startswith("| judge | length(answer), by ") for row in rows)


def test_an_audit_of_people_who_became_harsher_fails_and_a_narrow_margin_is_left_open(answers, capsys):
    at = ["--store", str(answers / "ledger")]
    found = told(capsys, "judges", "december", "--audit", "october", "--margin", "0.3", *at, code=3)
    assert found["verdict"] == "fail"
    [line] = found["checks"]["audits"][0]["lines"]
    assert line["lower"] > 0.3
    found = told(capsys, "judges", "november", "--audit", "october", "--margin", "0.05", *at, code=4)
    assert found["verdict"] == "inconclusive"
    assert found["checks"]["audits"][0]["more_labels"] >= 1


def test_features_that_nobody_named_beforehand_are_read_again(answers, capsys):
    at = ["--store", str(answers / "ledger")]
    found = told(capsys, "judges", "december", "--features", "layout,length(answer)", *at)
    assert {e["feature"] for e in found["checks"]["effects"]["effects"]} == {"layout", "length(answer)"}


@pytest.mark.parametrize(("given", "says"), [
    (["--audit", "october"], "go together"),
    (["--audit", "october", "--margin", "-1"], "above 0"),
    (["--audit", "november", "--margin", "1"], "itself"),
    (["--audit", "october", "--margin", "1", "--judge", "nobody"], "no judge 'nobody' in common"),
    (["--judge", "judge"], "leave it out"),
    (["--features", "length(prompt)"], "people are not shown"),
    (["--features", "colour"], "colour"),
    (["--features", "item_id"], "different values"),
    (["--audit", "never", "--margin", "1"], "never"),
])
def test_what_cannot_be_looked_at_is_refused(answers, capsys, given, says):
    assert run_command_line(["judges", "november", *given, "--store", str(answers / "ledger")]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(("judges", "says"), [
    ({}, "says nothing"),
    ({"features": ["length(prompt)"]}, "pool.display"),
    ({"features": ["colour"]}, "colour"),
    ({"audit": {"evaluation": "october", "margin": 0}}, "margin"),
    ({"audit": {"evaluation": "a/b", "margin": 1}}, "a/b"),
    ({"audit": {"evaluation": "refused", "margin": 1}}, "this evaluation itself"),
    ({"audit": {"evaluation": "never", "margin": 1}}, "no evaluation named 'never'"),
])
def test_a_spec_that_cannot_be_met_is_refused(tmp_path, capsys, judges, says):
    assert run(tmp_path, "refused", 4, judges) == 2
    assert says in capsys.readouterr().err


def test_from_python(answers):
    import pyarrow.parquet as pq

    evaluation = assay.begin(
        pq.read_table(answers / "november.parquet"), outcome=[1, 2, 3, 4, 5], judge="judge", show="answer",
        measures=["mean"], judges={"features": ["length(answer)", "layout"]}, budget=100, batch_size=50,
    )
    human = pq.read_table(answers / "november.parquet").to_pylist()
    by_id = {row["item_id"]: row["human"] for row in human}
    while len(batch := evaluation.ask()):
        evaluation.tell({item: by_id[item] for item in batch["item_id"].to_pylist()})
    checks = JUDGE_CHECKS.value_in(evaluation.report_data())
    assert {one.feature for one in checks.effects.effects} == {"length(answer)", "layout"}
    with pytest.raises(BadInput, match="colour"):
        assay.begin(
            pq.read_table(answers / "november.parquet"), outcome=[1, 2, 3, 4, 5], judge="judge",
            measures=["mean"], judges={"features": ["colour"]},
        )
