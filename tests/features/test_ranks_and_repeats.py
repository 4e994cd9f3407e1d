"""Ranks with prices, and repeated answers: the examples of the pages, reports, JSON, and refusals."""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from services.logs import LOGS

import assay
from assay.errors import BadInput
from assay.flows.cli.main import run_command_line

DOCS = Path(__file__).parents[2] / "docs"
ROWS = 1500


def example(page):
    """The first block of Python of a page, which may be indented."""
    [first, *_] = re.findall(
        r"^( *)```python\n(.*?)^ *```", (DOCS / page).read_text(encoding="utf-8"), re.M | re.S
    )
    indent, text = first
    return "\n".join(line.removeprefix(indent) for line in text.splitlines())


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(9)
    truth = rng.choice(["a", "b", "c"], ROWS)

    def predicted(accuracy):
        return np.where(rng.random(ROWS) < accuracy, truth, np.where(truth == "a", "b", "a"))

    return pd.DataFrame({
        "item_id": [f"i{row}" for row in range(ROWS)], "truth": truth, "big": predicted(0.9),
        "small": predicted(0.9), "tiny": predicted(0.6),
    })


def test_the_example_of_ranks_names_what_to_ship(frame):
    namespace = {"assay": assay, "frame": frame.drop(columns="item_id")}
    exec(compile(example("reference/systems.md"), "systems.md", "exec"), namespace)
    ranks = namespace["result"].ranks
    assert {place.system for place in ranks.systems} == {"big", "small"}
    assert ranks.ship.system == "small"
    assert "at a quarter of the price" in namespace["result"].summary()
    assert namespace["result"].json["ranks"]["ship"]["versus"] == "big"


def test_reports_and_comparisons_have_ranks(frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_STORE", "ledger")
    frame.to_parquet("pool.parquet")
    Path("assay.yaml").write_text("""
name: three
pool:
  source: pool.parquet
  id: item_id
  systems:
    big: {prediction: big, price: 4}
    small: {prediction: small, price: 1}
    tiny: {prediction: tiny, price: 0.2}
  baseline: big
  pairs: all
  margin: 0.1
labels: {classes: [a, b, c]}
measure: accuracy
budget: {labels: 200}
batch_size: 100
desk: {kind: simulated, labels: pool.parquet, label: truth}
""", encoding="utf-8")
    assert run_command_line(["run", "assay.yaml"]) == 0
    assert "Ranks by Accuracy, that hold together" in capsys.readouterr().out
    assert run_command_line(["report", "three", "--out", "out"]) == 0
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "Ship small: not worse than big by more than 0.1, at a quarter of the price." in page
    assert '<th scope="col" class="n">Tier</th>' in page
    capsys.readouterr()
    assert run_command_line(["compare", "three", "--json"]) in (0, 4)
    ranks = json.loads(capsys.readouterr().out)["ranks"]
    assert {place["system"]: place["worst"] for place in ranks["systems"]}["tiny"] == 3
    assert ranks["margin"] == 0.1
    assert run_command_line(["compare", "three"]) in (0, 4)
    assert "tiny 3" in capsys.readouterr().out


def test_prices_of_some_systems_and_a_margin_of_none_are_refused(frame):
    asked = {"outcome": ["a", "b", "c"], "measures": ["accuracy"], "oracle": "truth", "budget": 200}
    priced = {"big": {"prediction": "big", "price": 4}, "small": {"prediction": "small"}}
    with pytest.raises(BadInput, match="'small' has no `price`"):
        assay.evaluate(frame, **asked, systems=priced)
    with pytest.raises(BadInput, match="margin"):
        assay.evaluate(frame, **asked, prediction="big", margin=0.1)
    with pytest.raises(BadInput, match="price"):
        assay.evaluate(frame, **asked, systems={
            "big": {"prediction": "big", "price": 0}, "small": {"prediction": "small", "price": 1},
        })


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(10)
    question = np.repeat(np.arange(40), 6)
    passed = rng.random(240) < rng.beta(1, 1, 40)[question]
    return pd.DataFrame({
        "question": [f"q{number}" for number in question], "passed": passed,
        "verdict": np.where(passed, "C", "I"),
    })


def test_the_example_of_repeats_runs(answers, capsys):
    namespace = {"assay": assay, "frame": answers}
    exec(compile(example("how-to/repeats.md"), "repeats.md", "exec"), namespace)
    found = namespace["found"]
    assert [row.measure for row in found.measures] == ["pass@1", "pass@4", "pass^4", "alike@4", "within"]
    assert found.measures[0].value == pytest.approx(answers["passed"].mean())
    assert found.price.answers > 1
    assert "pass^4" in capsys.readouterr().out


def test_the_command_says_the_same_and_counts_gaps(answers, tmp_path, capsys):
    path = tmp_path / "answers.csv"
    answers.assign(verdict=answers["verdict"].where(answers.index % 6 != 0)).to_csv(path, index=False)
    asked = ["repeats", str(path), "--item", "question", "--label", "verdict", "--positive", "C", "--k", "4"]
    assert run_command_line([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["unlabelled"] == 40
    assert told["repeats"]["answers"] == 200
    assert run_command_line([*asked, "--price-item", "2", "--price-answer", "0.1"]) == 0
    shown = capsys.readouterr().out
    assert "40 rows without one left out" in shown
    assert "are worth their price" in shown
    assert run_command_line([*asked, "--price-item", "2"]) == 2
    assert "give both" in capsys.readouterr().err


def test_epochs_of_an_imported_log_are_repeats(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(LOGS / "inspect" / "sums.eval", "run.eval")
    page = (DOCS / "how-to" / "repeats.md").read_text(encoding="utf-8")
    [text] = re.findall(r"^```\n(assay .*?)^```", page, re.M | re.S)
    for line in text.splitlines():
        assert run_command_line(shlex.split(line, comments=True)[1:]) == 0
    told = capsys.readouterr().out
    assert "20 items, 40 answers with a label" in told
    assert "pass^2" in told


@pytest.mark.parametrize(("changed", "said"), [
    ({"label": "verdict"}, "neither true nor false"),
    ({"label": "verdict", "positive": "yes"}, "no answer is"),
    ({"k": 7}, "'q0' has 6 answers"), ({"item": "prompt"}, "no column 'prompt'"), ({"k": []}, "k: is empty"),
    ({"confidence": 95}, "confidence"), ({"prices": (-1, 1)}, "prices"),
])
def test_answers_that_cannot_be_counted_are_refused(answers, changed, said):
    with pytest.raises(BadInput, match=said):
        assay.repeats(answers, **{"item": "question", "label": "passed"} | changed)
    with pytest.raises(BadInput, match="names no item"):
        assay.repeats(answers.assign(question=""), item="question", label="passed")
