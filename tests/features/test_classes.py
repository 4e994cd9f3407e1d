"""Evaluations of several classes, from the spec to the report, at every desk that keeps no server."""

import csv
import json
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from doubles.classes import NAMES, spec_of_classes, write_pool
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, precision_score

from assay.evalcore.annotators.answers import class_answers
from assay.flows.cli.main import run_command_line
from assay.flows.evaluation.advance import Patience, Timing, advance, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.desks.caller import CallerDesk
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.closed_round import read_annotators, read_labels
from assay.tasks.ledger.record import Ledger
from assay.tasks.report.files import render_report
from assay.tasks.report.standing import Standing
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)


def begun(store, folder: Path, /, **changes) -> Spec:
    spec = Spec.from_json(spec_of_classes(folder, **changes))
    begin_evaluation(store, spec)
    return spec


def run(store, folder: Path, /, **changes) -> Standing:
    spec = begun(store, folder, **changes)
    return drive(store, spec.name, patience=AT_ONCE)


def by_place(standing: Standing) -> dict:
    return {(row.measure, row.class_name): row for row in standing.estimates}


def test_a_run_is_finished_verified_and_the_same_when_it_is_run_again(tmp_path):
    write_pool(tmp_path)
    store, again = MemoryStore(), MemoryStore()
    standing = run(store, tmp_path)
    assert (standing.state, standing.stopped_by, standing.labels, standing.rounds) == (
        "finished", "budget", 40, 2
    )
    rows = by_place(standing)
    assert [*rows][:3] == [("macro_f1", None), ("accuracy", None), ("recall", "cat")]
    assert [c for m, c in rows if m == "precision"] == list(NAMES)
    assert rows["accuracy", None].lower < rows["accuracy", None].value < rows["accuracy", None].upper
    first = standing.to_json()["estimates"][2]
    assert {key: first[key] for key in ("system", "versus", "class", "at", "segment")} == {
        "system": None, "versus": None, "class": "cat", "at": None, "segment": None
    }
    found = verify(store, "classes")
    assert (found.differences, found.rounds, found.labels) == ((), 2, 40)
    assert run(again, tmp_path).to_json() == standing.to_json()


def test_a_pool_that_is_labelled_out_has_exact_values_those_of_scikit_learn(tmp_path):
    truth = write_pool(tmp_path, n=90)
    measures = ["macro_f1", "accuracy", "precision", "confusion_matrix"]
    standing = run(MemoryStore(), tmp_path, measure=measures, budget={"labels": 90}, batch_size=45)
    with (tmp_path / "pool.csv").open(newline="", encoding="utf-8") as opened:
        predicted = {row["item_id"]: row["predicted"] for row in csv.DictReader(opened)}
    y, f = [truth[item] for item in truth], [predicted[item] for item in truth]
    rows = by_place(standing)
    assert standing.stopped_by == "pool"
    assert {row.interval for row in standing.estimates} == {"exact"}
    assert rows["macro_f1", None].value == pytest.approx(f1_score(y, f, average="macro"))
    assert rows["accuracy", None].value == pytest.approx(accuracy_score(y, f))
    for name, value in zip(NAMES, precision_score(y, f, average=None, labels=NAMES), strict=True):
        assert rows["precision", name].value == pytest.approx(value)
    matrix = [row.value for row in standing.estimates if row.measure == "confusion_matrix"]
    np.testing.assert_allclose(
        np.array(matrix).reshape(4, 4).T, confusion_matrix(y, f, labels=NAMES) / 90, atol=1e-12
    )


@pytest.mark.parametrize("probability", [None, "sure", {name: f"p_{name}" for name in NAMES}])
def test_predictions_alone_a_confidence_and_named_columns_will_do(tmp_path, probability):
    write_pool(tmp_path)
    store = MemoryStore()
    standing = run(store, tmp_path, pool_probability=probability)
    assert standing.labels == 40
    assert verify(store, "classes").differences == ()
    plan = read_plan(Ledger(store, "classes"), 1)
    if probability is None:
        assert plan.probabilities is None
    else:
        np.testing.assert_allclose(plan.probabilities.sum(axis=1), 1, atol=1e-6)
        assert (plan.probabilities.argmax(axis=1) == plan.prediction).all()


def test_several_people_vote_and_agreement_and_errors_are_told(tmp_path):
    write_pool(tmp_path)
    store = MemoryStore()
    labels = str(tmp_path / "labels.csv")
    people = [{"error_rate": 0.05}, {"error_rate": 0.3}, {"confuses": {"cat": {"dog": 0.4}}}]
    desk = {"kind": "simulated", "labels": labels, "annotators": people, "annotators_per_item": 2,
            "gold": {"labels": labels, "rate": 0.2}}
    with (tmp_path / "labels.csv").open(newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    with (tmp_path / "gold.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(["item_id", "label", "text"])
        writer.writerows([f"gold-{i}", row["label"], "?"] for i, row in enumerate(rows[:20]))
        rows += [{"item_id": f"gold-{i}", "label": row["label"]} for i, row in enumerate(rows[:20])]
    with (tmp_path / "labels.csv").open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, ["item_id", "label"])
        writer.writeheader()
        writer.writerows(rows)
    desk["gold"]["labels"] = str(tmp_path / "gold.csv")
    standing = run(store, tmp_path, desk=desk, adjudication={"rule": "dawid-skene"})
    assert standing.state == "finished"
    known = read_annotators(Ledger(store, "classes"), 2)
    assert [a.statistic for a in known.agreement][:2] == ["fleiss-kappa", "krippendorff-alpha"]
    assert len(known.people) == 3
    assert {len(person.gold.answers) for person in known.people} == {4}
    assert all(person.errors is None and person.wrong is not None for person in known.people)
    assert "not taken out" in known.correction.reason
    assert verify(store, "classes").differences == ()
    report = render_report(report_data(open_evaluation(store, "classes"), standing))
    assert "Wrong answers" in report["report.html"].decode()
    # one person held against another: of every measure that is asked, on items that two answered
    assert "What two people reach against each other" in report["report.html"].decode()
    ceiling = {row["measure"]: row for row in json.loads(report["report.json"])["ceiling"]}
    assert {"macro_f1", "accuracy"} <= ceiling.keys()
    assert ceiling["accuracy"]["lower"] < ceiling["accuracy"]["value"] < ceiling["accuracy"]["upper"]
    assert ceiling["accuracy"]["value"] < 1


def test_ask_and_tell_revisions_skips_and_an_early_end(tmp_path):
    truth = write_pool(tmp_path)
    store = MemoryStore()
    begun(store, tmp_path, desk={"kind": "caller"}, skipped="set-aside")
    desk = CallerDesk(store, evaluation="classes", answers=class_answers(*NAMES))
    assert advance(store, "classes").state == "waiting"
    asked = [question.item.item_id for question in desk.ask()]
    desk.tell({item: None if i == 0 else truth[item] for i, item in enumerate(asked)})
    assert advance(store, "classes").undecided == 1
    # of the second round three items stay without an answer when it is closed
    second = [question.item.item_id for question in desk.ask()]
    desk.tell({item: truth[item] for item in second[3:]})
    standing = advance(store, "classes", close_round="open", timing=Timing(repost_after=timedelta(0)))
    assert (standing.undecided, standing.known.unanswered, standing.labels) == (1, 3, 36)
    # a changed answer becomes a revision
    other = next(name for name in NAMES if name != truth[asked[1]])
    desk.tell({asked[1]: other, **{item: truth[item] for item in second[:3]}})
    standing = advance(store, "classes", look_again=True)
    assert standing.revision == 1
    assert standing.revised_items == 4
    assert verify(store, "classes").differences == ()


def test_the_folder_desk_takes_classes(tmp_path):
    truth = write_pool(tmp_path)
    store = MemoryStore()
    begun(store, tmp_path, desk={"kind": "folder", "path": str(tmp_path / "desk")})
    standing = advance(store, "classes")
    while standing.state != "finished":
        folder = tmp_path / "desk" / "classes"
        batch = folder / f"round-{standing.waiting_for.round:04d}.csv"
        with batch.open(newline="", encoding="utf-8-sig") as opened:
            rows = list(csv.DictReader(opened))
        with (folder / "answers" / batch.name).open("w", newline="", encoding="utf-8") as opened:
            writer = csv.DictWriter(opened, rows[0].keys())
            writer.writeheader()
            writer.writerows(row | {"label": truth[row["item_id"]]} for row in rows)
        standing = advance(store, "classes")
    decided = read_labels(Ledger(store, "classes"), 2)
    assert [NAMES[int(one.label)] for one in decided] == [truth[one.item_id] for one in decided]
    assert verify(store, "classes").differences == ()


def test_grades_are_classes_in_order(tmp_path):
    truth = write_pool(tmp_path)
    grade = {name: str(i + 1) for i, name in enumerate(NAMES)}
    text = (tmp_path / "pool.csv").read_text(encoding="utf-8")
    for name, number in grade.items():
        text = text.replace(f"p_{name}", f"p_{number}").replace(name, f"{number}.0")
    (tmp_path / "pool.csv").write_text(re.sub('"', "", text), encoding="utf-8")
    lines = ["item_id,label", *(f"{item},{grade[name]}" for item, name in truth.items())]
    (tmp_path / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    standing = run(
        MemoryStore(), tmp_path, labels={"grades": [1, 2, 3, 4]},
        measure=[{"name": "cohen_kappa", "weights": "quadratic"}, "accuracy"],
    )
    assert [row.measure for row in standing.estimates] == ["cohen_kappa(quadratic)", "accuracy"]
    assert standing.estimates[0].value is not None


def test_a_changed_label_or_estimate_is_found(tmp_path):
    write_pool(tmp_path)
    store = MemoryStore()
    run(store, tmp_path)
    for key, old, new in (
        ("classes/rounds/0002/estimate.json", b'"labels":40', b'"labels":41'),
        ("classes/pool/manifest.json", b'"predicted":[', b'"predicted":[1'),
    ):
        damaged = MemoryStore()
        for name in store.keys(""):
            damaged.put(name, store.get(name).replace(old, new) if name == key else store.get(name))
        assert key in {d.key for d in verify(damaged, "classes").differences}


def test_the_command_line_and_the_report_with_a_confusion_matrix(tmp_path, capsys):
    import yaml

    write_pool(tmp_path)
    spec = spec_of_classes(tmp_path, measure=["macro_f1", "confusion_matrix"], budget={"labels": 20})
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    where = ["--store", str(tmp_path / "ledger")]
    assert run_command_line(["doctor", str(tmp_path / "spec.yaml"), *where]) == 0
    assert "can be frozen" in capsys.readouterr().out
    assert run_command_line(["run", str(tmp_path / "spec.yaml"), *where]) == 0
    assert "confusion_matrix of cat → dog" in capsys.readouterr().out
    assert run_command_line(["status", "classes", "--json", *where]) == 0
    assert len(json.loads(capsys.readouterr().out)["estimates"]) == 17
    out = tmp_path / "report"
    assert run_command_line(["report", "classes", "--evidence", "--out", str(out), *where]) == 0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Confusion matrix of 4 classes" in page
    assert "&lt;b&gt;" in page
    assert "and <b>" not in page
    assert "“”" not in page
