"""`assay export` and `assay estimate`: labels that were bought for one question answer others."""

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from doubles.classes import spec_of_classes, write_pool
from doubles.small_pool import spec_json, write_small_pool
from sklearn.metrics import f1_score, precision_score, recall_score

from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.tasks.ledger import open_store
from assay.tasks.spec.evaluation import Spec

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)


def run(folder: Path, data: dict) -> str:
    """Run an evaluation to its end; where its store is."""
    where = str(folder / "store")
    store = open_store(where)
    spec = Spec.from_json(data)
    begin_evaluation(store, spec)
    drive(store, spec.name, patience=AT_ONCE)
    return where


def small(folder: Path, **changes) -> str:
    predictions, labels = write_small_pool(folder, n=200)
    return run(folder, spec_json(predictions, labels, **({"method": "passive"} | changes)))


def called(capsys, *arguments: str) -> tuple[int, dict]:
    code = run_command_line([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def asked(capsys, where: str, *arguments: str, name: str = "small") -> list[dict]:
    code, found = called(capsys, "estimate", name, "--store", where, *arguments)
    assert code == 0, found
    return found["estimates"]


def exported(capsys, where: str, out: Path, *more: str, name: str = "small") -> tuple[dict, list[dict]]:
    code, said = called(capsys, "export", name, "--store", where, "--out", str(out), *more)
    assert code == 0, said
    if out.suffix == ".parquet":
        return said, pq.read_table(out).to_pylist()
    with out.open(newline="", encoding="utf-8") as opened:
        return said, list(csv.DictReader(opened))


def test_what_scikit_learn_makes_of_an_export_is_what_estimate_says(tmp_path, capsys):
    where = small(tmp_path)
    said, rows = exported(capsys, where, tmp_path / "labels.csv")
    assert said["items"] == len(rows) == 60
    assert {row["format_number"] for row in rows} == {"1"}
    assert list(rows[0])[:5] == ["item_id", "label", "prediction", "score", "segment:region"]
    assert not any(name.startswith("shown") for name in rows[0]), "only where it is asked for"
    assert {row["pool_digest"] for row in rows} == {said["pool"]["digest"]}
    assert {(row["seed"], row["pool_items"], row["probability_kind"]) for row in rows} == {
        ("3", "200", "inclusion")
    }
    weight = [float(row["sample_weight"]) for row in rows]
    assert sum(weight) == pytest.approx(200)
    y, f = ([row[column] == "match" for row in rows] for column in ("label", "prediction"))
    f1, recall = asked(capsys, where, "--measure", "f1,recall")
    assert f1["value"] == pytest.approx(f1_score(y, f, sample_weight=weight))
    assert recall["value"] == pytest.approx(recall_score(y, f, sample_weight=weight))
    assert recall["lower"] < recall["value"] < recall["upper"]
    assert (recall["interval"], recall["class"], recall["labels"]) == ("weighted", "match", 60)
    (other,) = asked(capsys, where, "--measure", "precision", "--threshold", "0.3")
    higher = [float(row["score"]) > 0.3 for row in rows]
    assert other["value"] == pytest.approx(precision_score(y, higher, sample_weight=weight))
    assert other["at"] == 0.3
    north = [i for i, row in enumerate(rows) if row["segment:region"] == "north"]
    (part,) = asked(capsys, where, "--measure", "f1(no match)", "--segment", "region=north")
    assert (part["segment"], part["labels"], part["class"]) == ("region=north", len(north), "no match")
    assert part["value"] == pytest.approx(f1_score(
        [not y[i] for i in north], [not f[i] for i in north], sample_weight=[weight[i] for i in north]
    ))


def test_a_report_holds_the_judge_against_the_labels(tmp_path, capsys):
    where = small(tmp_path)
    code, _ = called(capsys, "report", "small", "--store", where, "--out", str(tmp_path / "report"))
    told = json.loads((tmp_path / "report" / "report.json").read_text())["judges"]
    (judge,) = told["judges"]
    figures = {figure["figure"]: figure["value"] for figure in judge["figures"]}
    accuracy, recall, specificity = asked(capsys, where, "--measure", "accuracy,recall,specificity")
    assert code == 0
    assert (judge["name"], told["measure"], told["labels"]) == ("score", "f1", 60)
    assert figures["agreement"] == pytest.approx(accuracy["value"])
    assert figures["true_positive_rate"] == pytest.approx(recall["value"])
    assert figures["false_positive_rate"] == pytest.approx(1 - specificity["value"])
    assert 0 < judge["explains"] < 1


def test_an_export_has_what_people_saw_and_no_formula(tmp_path, capsys):
    predictions, labels = write_small_pool(tmp_path, n=120)
    for path in (predictions, labels):
        text = path.read_text(encoding="utf-8").replace("item-00", "=1+item-00")
        path.write_text(text.replace(",what item", ",=what item"), encoding="utf-8")
    where = run(tmp_path, spec_json(predictions, labels, method="passive", budget={"labels": 40}))
    _, rows = exported(capsys, where, tmp_path / "labels.csv", "--shown")
    assert any(row["item_id"].startswith("'=1+item") for row in rows)
    assert all(row["shown:text"].startswith("'=what item") for row in rows)
    _, table = exported(capsys, where, tmp_path / "labels.parquet", "--shown")
    assert any(row["item_id"].startswith("=1+item") for row in table), "Parquet runs nothing"
    assert [row["sample_weight"] for row in table] == [float(row["sample_weight"]) for row in rows]


def test_columns_that_were_not_frozen_are_read_again_and_must_be_the_same_items(tmp_path, capsys):
    where = small(tmp_path)
    pool = tmp_path / "predictions.csv"
    with pool.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    for i, row in enumerate(rows):
        row |= {"v2": "match" if float(row["score"]) > 0.2 else "no match", "site": "abc"[i % 3]}
    before = list(open_store(where).keys(""))

    def write():
        with pool.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)

    write()
    (by_system,) = asked(capsys, where, "--measure", "f1", "--system", "v2")
    (by_threshold,) = asked(capsys, where, "--measure", "f1", "--threshold", "0.2")
    assert by_system["system"] == "v2"
    assert [by_system[k] for k in ("value", "lower", "upper")] == [
        by_threshold[k] for k in ("value", "lower", "upper")
    ]
    code, found = called(capsys, "estimate", "small", "--store", where, "--measure", "accuracy",
                         "--segment", "site=b")
    assert (code, found["estimates"][0]["segment"]) == (0, "site=b")
    assert "was written since the pool was frozen" in found["notes"][0]
    assert list(open_store(where).keys("")) == before, "nothing is written to the ledger"
    for row in rows:
        row["score"] = "0.5"
    write()
    code, found = called(capsys, "estimate", "small", "--store", where, "--measure", "f1", "--system", "v2")
    assert code == 2
    assert "is not what it was when the pool was frozen" in found["error"]["message"]


@pytest.mark.parametrize(("arguments", "said"), [
    (["--measure", "f2"], "no measure 'f2'"),
    (["--measure", "f1", "--segment", "region=east"], "no labelled item has 'east'"),
    (["--measure", "f1", "--segment", "region"], "write region=north"),
    (["--measure", "f1", "--system", "v2"], "no column 'v2'"),
    (["--measure", "brier"], "needs a probability of each class"),
    (["--measure", "f1", "--system", "v2", "--threshold", "1"], "give one"),
])
def test_what_is_not_there_is_refused(tmp_path, capsys, arguments, said):
    where = small(tmp_path, budget={"labels": 20})
    code, found = called(capsys, "estimate", "small", "--store", where, *arguments)
    assert (code, said in found["error"]["message"]) == (2, True), found


def test_labels_that_cannot_carry_a_question_are_no_estimate(tmp_path, capsys):
    where = small(tmp_path, measure="precision", budget={"labels": 30}, method="bernoulli")
    precision, recall = asked(capsys, where, "--measure", "precision,recall")
    assert precision["value"] is not None
    assert recall["value"] is None
    assert "never look at, and none could be drawn" in recall["undefined_reason"]
    folder = tmp_path / "top"
    where = small(folder, method="topk")
    for command in (["export"], ["estimate", "--measure", "f1"]):
        code, found = called(capsys, command[0], "small", "--store", where, *command[1:])
        assert (code, "have no weights" in found["error"]["message"]) == (2, True)


def test_draws_are_reused_by_the_methods_own_estimate(tmp_path, capsys):
    where = small(tmp_path, method="dirichlet-tree:depth=4", measure=["f1", "recall"])
    f1, recall = asked(capsys, where, "--measure", "f1,recall", "--reuse")
    code, status = called(capsys, "status", "small", "--store", where)
    assert code == 0
    kept = ("measure", "value", "lower", "upper", "interval", "labels")
    whole = [e for e in status["estimates"] if e["segment"] is None]
    assert [[e[k] for k in kept] for e in (f1, recall)] == [[e[k] for k in kept] for e in whole]
    (accuracy,) = asked(capsys, where, "--measure", "accuracy", "--reuse")
    assert accuracy["interval"] == "ais-normal"
    assert accuracy["lower"] < accuracy["value"] < accuracy["upper"]
    for more, said in (["--measure", "f1", "--threshold", "0.3"], "whole pool"), (["--measure", "f2"], "f2"):
        code, found = called(
            capsys, "estimate", "small", "--store", where, "--reuse", *more
        )
        assert (code, said in found["error"]["message"]) == (2, True), found


def test_draws_that_no_other_measure_can_reuse_are_refused(tmp_path, capsys):
    where = small(tmp_path, method="dirichlet-tree:depth=4", measure="precision", budget={"labels": 20})
    code, found = called(capsys, "estimate", "small", "--store", where, "--measure", "recall", "--reuse")
    assert (code, "none could be drawn" in found["error"]["message"]) == (2, True)
    folder = tmp_path / "shared"
    where = small(folder, method="dirichlet-tree:depth=4:reuse=0.2", measure="precision")
    (recall,) = asked(capsys, where, "--measure", "recall", "--reuse")
    assert 0 <= recall["lower"] <= recall["value"] <= 1


def test_nothing_is_said_before_the_first_label(tmp_path, capsys):
    predictions, labels = write_small_pool(tmp_path, n=60)
    where = str(tmp_path / "store")
    begin_evaluation(open_store(where), Spec.from_json(spec_json(
        predictions, labels, desk={"kind": "folder", "path": str(tmp_path / "desk")}, budget={"labels": 20}
    )))
    code, found = called(capsys, "estimate", "small", "--store", where, "--measure", "f1")
    assert (code, "has no label yet" in found["error"]["message"]) == (2, True)


def test_classes_have_weights_too(tmp_path, capsys):
    write_pool(tmp_path)
    data = spec_of_classes(tmp_path, measure="accuracy", budget={"labels": 120}, batch_size=60)
    where = run(tmp_path, data)
    _, rows = exported(capsys, where, tmp_path / "labels.parquet", name="classes")
    assert sum(row["probability:cat"] for row in rows) > 0
    weight = [row["sample_weight"] for row in rows]
    assert sum(weight) == pytest.approx(240)
    y, f = [row["label"] for row in rows], [row["prediction"] for row in rows]
    found = {(e["measure"], e["class"]): e for e in asked(
        capsys, where, "--measure", "weighted_f1,recall(dog),macro_f1,brier", name="classes"
    )}
    value = found["weighted_f1", None]["value"]
    assert value == pytest.approx(f1_score(y, f, average="weighted", sample_weight=weight))
    assert found["recall", "dog"]["value"] == pytest.approx(
        recall_score(y, f, labels=["dog"], average=None, sample_weight=weight)[0]
    )
    assert found["brier", None]["interval"] == "weighted"
    code, refused = called(capsys, "estimate", "classes", "--store", where, "--measure", "accuracy",
                           "--threshold", "0.5")
    assert (code, "needs a positive and a negative class" in refused["error"]["message"]) == (2, True)


def test_systems_that_are_compared_are_exported_and_none_is_the_judge(tmp_path, capsys):
    predictions, labels = write_small_pool(tmp_path, n=200)
    data = spec_json(predictions, labels, method="recalibrated", measure="recall")
    data["pool"] = {
        "source": str(predictions), "id": "item_id", "display": ["text"], "baseline": "old",
        "systems": {"old": {"score": "score", "threshold": 0.6}, "new": {"score": "score", "threshold": 0.9}},
    }
    where = run(tmp_path, data)
    _, rows = exported(capsys, where, tmp_path / "labels.parquet")
    assert all(row["prediction"] == row["system:old"] for row in rows)
    assert any(row["system:new"] != row["system:old"] for row in rows)
    (recall,) = asked(capsys, where, "--measure", "recall")
    assert recall["system"] == "old"
    weight = [row["sample_weight"] for row in rows]
    y, f = ([row[column] == "match" for row in rows] for column in ("label", "system:old"))
    assert recall["value"] == pytest.approx(recall_score(y, f, sample_weight=weight))
    code, _ = called(capsys, "report", "small", "--store", where, "--out", str(tmp_path / "report"))
    assert code == 0
    assert "judges" not in json.loads((tmp_path / "report" / "report.json").read_text())


def test_intervals_are_about_what_is_asked_for(tmp_path, capsys):
    where = small(tmp_path)
    (as_it_is,) = asked(capsys, where, "--measure", "recall")
    (of_pool,) = asked(capsys, where, "--measure", "recall", "--about", "pool")
    (of_population,) = asked(capsys, where, "--measure", "recall", "--about", "population")
    assert as_it_is == of_pool
    assert (of_pool["about"], of_population["about"]) == ("pool", "population")
    assert of_population["value"] == of_pool["value"]
    assert of_population["lower"] < of_pool["lower"]
    assert of_population["upper"] > of_pool["upper"]
    code, found = called(capsys, "estimate", "small", "--store", where, "--measure", "recall", "--reuse",
                         "--about", "pool")
    assert (code, "leave --about out" in found["error"]["message"]) == (2, True)


def test_an_export_says_that_it_replaced_a_file(tmp_path, capsys):
    where, out = small(tmp_path), tmp_path / "exported.csv"
    assert not exported(capsys, where, out)[0]["replaced"]
    assert exported(capsys, where, out)[0]["replaced"]
    assert run_command_line(["export", "small", "--store", where, "--out", str(out)]) == 0
    assert "exported.csv, in place of the file that was there" in capsys.readouterr().out
