"""The Python face: frames in, results out, and the numbers of every other way to run an evaluation."""

import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.evalcore.errors import BadInput
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.begin import NameTaken

QUESTION = {
    "outcome": ["spam", "ham"], "prediction": "predicted", "score": "score", "measures": ["f1", "recall"],
    "budget": 50,
}


@pytest.fixture(scope="module")
def mails():
    rng = np.random.default_rng(0)
    n = 600
    spam = rng.random(n) < 0.3
    score = np.where(spam, rng.normal(1, 1, n), rng.normal(-1, 1, n))
    return pd.DataFrame({
        "score": score, "predicted": np.where(score > 0, "spam", "ham"),
        "truth": np.where(spam, "spam", "ham"), "text": [f"mail {i}" for i in range(n)],
    })


@pytest.fixture(scope="module")
def result(mails):
    return assay.evaluate(mails, oracle=lambda row: row["truth"], seed=3, name="mails", **QUESTION)


@pytest.mark.parametrize("module", ["errors", "face.beginning", "face.evaluation", "face.inline",
                                    "face.several", "face.labelled", "face.question", "face.simulation"])
def test_every_example_of_the_docstrings_runs(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(importlib.import_module(f"assay.{module}"))
    assert found.attempted
    assert not found.failed


def test_importing_assay_imports_nothing_else():
    heavy = "'numpy', 'pyarrow', 'prefect', 'narwhals', 'pydantic'"
    code = f"import sys, assay; print([name for name in ({heavy}) if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
    with pytest.raises(AttributeError, match=r"no attribute 'evalate'; it has .*evaluate"):
        _ = assay.evalate
    assert set(assay.__all__) <= set(dir(assay))
    assert all(getattr(assay, name) is not None for name in assay.__all__)


def test_an_oracle_is_asked_for_what_the_budget_allows(result, mails):
    assert (result.state, result.stopped_by, result.labels, result.rounds) == ("finished", "budget", 50, 2)
    predicted, truth = mails["predicted"] == "spam", mails["truth"] == "spam"
    f1 = 2 * (predicted & truth).sum() / (predicted.sum() + truth.sum())
    assert result.lower < f1 < result.upper
    assert result["recall"].half_width == (result["recall"].upper - result["recall"].lower) / 2
    assert result["f1"].value == result.value
    with pytest.raises(KeyError, match="no estimate of 'mcc'; there are: f1, recall"):
        _ = result["mcc"]
    assert result.summary().splitlines()[0] == "mails: finished (budget), 50 labels in 2 rounds"
    assert result.to_dict()["estimates"][0]["value"] == result.value
    assert list(result.to_frame()["measure"]) == ["f1", "recall"]
    assert "<td>recall</td>" in result._repr_html_()
    assert [text.get_text() for text in result.plot().axes[0].get_yticklabels()] == ["f1", "recall"]


def test_the_numbers_are_those_of_the_command_line(result, mails, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mails.assign(item_id=[str(i) for i in range(len(mails))]).to_parquet("mails.parquet")
    (tmp_path / "spec.yaml").write_text("""
name: mails
pool: {source: mails.parquet, id: item_id, prediction: predicted, score: score}
labels: {positive: spam, negative: ham}
measure: [f1, recall]
budget: {labels: 50}
seed: 3
desk: {kind: simulated, labels: mails.parquet, id: item_id, label: truth}
""")
    assert run_command_line(["run", "spec.yaml", "--store", "ledger", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    for theirs, ours in zip(printed["estimates"], result.estimates, strict=True):
        assert (theirs["value"], theirs["lower"], theirs["upper"]) == (ours.value, ours.lower, ours.upper)


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_every_kind_of_frame_gives_the_same_and_is_given_back(kind, result, mails):
    frame = kind(mails)
    again = assay.evaluate(frame, oracle="truth", seed=3, name="mails", **QUESTION)
    assert again.estimates == result.estimates
    assert isinstance(again.to_frame(), type(frame))
    labels = {str(i): label for i, label in enumerate(mails["truth"])}
    by_id = assay.evaluate(frame, oracle=labels, seed=3, name="mails", **QUESTION)
    assert by_id.estimates == result.estimates


def test_ask_and_tell_survive_the_object_they_began_with(mails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun = assay.begin(mails, store="ledger", show="text", **QUESTION)
    batch = begun.ask()
    assert list(batch.columns) == ["item_id", "text"]
    assert len(batch) == 25
    assert begun.estimates == ()
    assert begun.result.value is None
    assert not begun.finished
    begun.tell({item: None if place == 0 else mails["truth"][int(item)]
                for place, item in enumerate(batch["item_id"])})
    assert assay.open("ledger").evaluations() == [begun.name]
    again = assay.begin(mails, store="ledger", show="text", **QUESTION)    # the same question goes on
    assert again.name == begun.name
    assert again.result.rounds == begun.result.rounds
    loaded = assay.load(begun.name, store="ledger")
    while len(batch := loaded.ask()):
        loaded.tell(batch.assign(label=[mails["truth"][int(item)] for item in batch["item_id"]]))
    assert loaded.finished
    assert loaded.stopped_by == "budget"
    assert loaded.result.labels >= 49
    assert begun.report(tmp_path / "page.html").read_text().startswith("<!doctype html>")
    with pytest.raises(NameTaken):
        assay.begin(mails, store="ledger", name=begun.name, **QUESTION | {"budget": 60})


def test_a_file_and_a_spec_are_taken_too(mails, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.Table.from_pandas(mails.assign(key=[f"m{i}" for i in range(len(mails))])), "m.parquet")
    labels = {f"m{i}": label for i, label in enumerate(mails["truth"])}
    result = assay.evaluate("m.parquet", id="key", oracle=labels, **QUESTION)
    assert result.labels == 50
    spec = {
        "name": "as-a-mapping", "labels": {"positive": "spam", "negative": "ham"}, "measure": "f1",
        "pool": {"source": "m.parquet", "id": "key", "prediction": "predicted", "score": "score"},
        "target": {"half_width": 0.05}, "budget": {"labels": 25}, "desk": {"kind": "caller"},
    }
    with pytest.raises(BadInput, match=r"budget\.labels is 25, with which no target can be met"):
        assay.evaluate(spec, oracle=labels, store="ledger")
    del spec["target"]
    assert assay.evaluate(spec, oracle=labels, store="ledger").labels == 25
    with pytest.raises(BadInput, match="measures: is given beside a spec"):
        assay.begin(spec, measures=["f1"])


@pytest.mark.parametrize(("change", "message"), [
    ({"outcome": None}, "outcome: list the classes"),
    ({"outcome": "spam"}, "outcome: list the classes"),
    ({"measures": None}, "measures: name at least one"),
    ({"measures": ["f1", "f2"]}, r"^measures\[1\]: unknown measure 'f2'; known measures: accuracy"),
    ({"measures": "f1_score"}, "did you mean 'f1'?"),
    ({"measures": "F1"}, "did you mean 'f1'?"),
    ({"measures": "auc"}, "did you mean 'roc_auc'?"),
    ({"measures": "speed"}, "known measures: accuracy, .*brier.*mae.*win_rate"),
    ({"measures": "f1(spam)"}, r"^measures\[0\]: measure 'f1' takes `class` only with outcome="),
    ({"threshold": 0.5}, "^the columns: needs exactly one of `prediction` and `threshold`, got both"),
    ({"limit": {"min": 2}}, "^limit.min is 2, and f1 lies between 0 and 1"),
    ({"target": 2}, "^target is 2, which every interval"),
    ({"target": 0.05, "budget": 49}, "^budget is 49, with which no target can be met: .* Give 50 or more"),
    ({"budget": 0}, "^budget must be greater than"),
    ({"show": ["score", "score"]}, "^show lists 'score' twice"),
    ({"prediction": ["spam"]}, "prediction has 1, the frame has 600 rows; give as many values each"),
    ({"id": "nobody"}, "id: the frame has no column 'nobody'"),
    ({"prediction": "guess"}, "^prediction: the frame has no column 'guess'; known columns: score,"),
    ({"score": "scores"}, "^score: the frame has no column 'scores'; did you mean 'score'"),
    ({"segments": ["language"]}, "^segments: the frame has no column 'language'"),
    ({"systems": {"a": "predicted", "b": "gone"}, "prediction": None, "score": None},
     "^systems: the frame has no column 'gone'"),
    ({"method": "magic"}, "^method: unknown method 'magic'"),
    ({"outcome": {"colour": 3}}, r"^outcome\['colour'\] is not a known key"),
    ({"oracle": "nothing"}, "oracle: there is no column 'nothing'"),
    ({"oracle": {}}, "oracle: there is no label for item"),
    ({"oracle": lambda row: "maybe"}, "'maybe' is no answer"),
])
def test_a_wrong_argument_is_named(change, message, mails):
    with pytest.raises(BadInput, match=message):
        assay.evaluate(mails, **{"oracle": "truth", **QUESTION, **change})


def test_an_argument_that_there_is_none_of_is_refused_by_python(mails):
    with pytest.raises(TypeError, match="colour"):
        assay.evaluate(mails, oracle="truth", colour="red", **QUESTION)


def test_a_wrong_value_is_said_of_the_frame(mails):
    with pytest.raises(BadInput, match=r"^the frame: column 'score'"):
        assay.begin(mails.assign(score=np.inf), **QUESTION)


def test_what_is_no_frame_is_refused():
    with pytest.raises(BadInput, match="a list is not a frame"):
        assay.evaluate([1, 2], oracle="truth", **QUESTION)


def test_classes_grades_and_limits(mails):
    result = assay.evaluate(mails, outcome={"classes": ["spam", "ham"]}, prediction="predicted",
                            measures=["accuracy"], oracle="truth", budget=50, limit={"min": 0.2})
    assert result.verdict == "ok"
    assert str(result).splitlines()[0].endswith("; it meets its limit")
    graded = mails.assign(grade=3, guess=np.where(mails["score"] > 0, 3.0, 2.0))
    result = assay.evaluate(graded, outcome=[1, 2, 3], prediction="guess", measures="accuracy",
                            oracle=lambda row: row["grade"], budget=25)
    assert result.labels == 25
    assert result.value is not None


def test_a_curve_and_a_measure_share_the_threshold_of_the_pool(mails):
    curve = {"name": "pr_curve", "at": [0.0, 1.0]}
    result = assay.evaluate(mails, outcome=["spam", "ham"], score="score", threshold=0.0, oracle="truth",
                            measures=[curve, "f1"], budget=25)
    assert [one.title for one in result.estimates] == [
        "precision at 0", "precision at 1", "recall at 0", "recall at 1", "f1",
    ]


def test_a_replay_says_what_the_command_line_says(mails, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = assay.replay(mails, label="truth", prediction="predicted", outcome=["spam", "ham"],
                         methods="passive", budgets=[50], repeats=5)
    named = mails.rename(columns={"predicted": "prediction", "truth": "label"})
    named.assign(item_id=[str(i) for i in range(len(mails))]).to_parquet("m.parquet")
    arguments = ["--method", "passive", "--budgets", "50", "--repeats", "5", "--positive", "spam", "--json"]
    assert run_command_line(["replay", "m.parquet", *arguments, "--processes", "1"]) == 0
    printed = json.loads(capsys.readouterr().out)
    ours = found.to_dict()
    assert ours["methods"][0]["budgets"] == printed["methods"][0]["budgets"]
    assert list(found.to_frame()["labels"]) == [50]
    assert "passive" in found.summary()
    assert "passive" in found._repr_html_()
    assert len(found.plot().axes) == 2
    of_classes = assay.replay(mails, outcome="classes", label="truth", prediction="predicted",
                              measures=["accuracy"], methods=["passive"], budgets=[50], repeats=5)
    assert 0 < of_classes.to_dict()["methods"][0]["budgets"][0]["width"] < 0.5
    with pytest.raises(BadInput, match="label: the frame has no column 'label'"):
        assay.replay(mails)


def test_a_replay_tells_the_divergence_that_the_command_line_tells(mails, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = {"methods": ["static-is", "passive"], "budgets": [50], "repeats": 3}
    found = assay.replay(mails, label="truth", prediction="predicted", outcome=["spam", "ham"],
                         divergence=True, **asked)
    named = mails.rename(columns={"predicted": "prediction", "truth": "label"})
    named.assign(item_id=[str(i) for i in range(len(mails))]).to_parquet("m.parquet")
    arguments = ["--method", "static-is,passive", "--budgets", "50", "--repeats", "3", "--positive", "spam"]
    assert run_command_line(["replay", "m.parquet", *arguments, "--divergence", "--json"]) == 0
    proposed, without = (entry["budgets"][0] for entry in json.loads(capsys.readouterr().out)["methods"])
    static_is, passive = (entry["budgets"][0] for entry in found.to_dict()["methods"])
    assert static_is["divergence"] == proposed["divergence"] > 0
    assert "divergence" not in passive
    assert "divergence" not in without
    assert found.to_frame()["divergence"][0] == static_is["divergence"]
    with pytest.raises(BadInput, match="divergence: is told of methods that draw by a proposal"):
        assay.replay(mails, outcome="classes", label="truth", prediction="predicted", divergence=True)


def test_grades_and_preferences_are_replayed():
    rows = np.arange(300)
    frame = pd.DataFrame({"label": rows % 5, "prediction": (rows + rows % 3) % 5,
                          "better": np.array(["first", "second", "tie"])[rows % 3]})
    shared = {"methods": ["passive"], "budgets": [50], "repeats": 4}
    graded = assay.replay(frame, outcome="grades", measures=["mean", "mae"], **shared)
    assert graded.to_dict()["truth"]["mean"] == pytest.approx(2.0)
    assert graded.to_dict()["truth"]["mae"] == pytest.approx(
        (frame["label"] - frame["prediction"]).abs().mean()
    )
    compared = assay.replay(
        frame[["better"]], outcome="preference", label="better", measures="win_rate", **shared
    )
    assert compared.to_dict()["truth"]["win_rate"] == pytest.approx(0.5)


def test_every_snippet_of_the_page_runs(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[3] / "docs" / "tutorial" / "python.md").read_text()
    monkeypatch.chdir(tmp_path)
    known = {}
    for snippet in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(snippet, known)
    assert known["result"].labels <= 200
    assert known["both"]["accuracy", "new", "old"].versus == "old"
    assert known["again"].finished
    assert "report.html" in {path.name for path in tmp_path.iterdir()}
    assert "f1" in capsys.readouterr().out
