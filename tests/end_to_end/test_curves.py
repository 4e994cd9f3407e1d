"""Curves, the areas under them, `drive` and clusters, from the spec to the report, on the embedded desk."""

import csv

import numpy as np
import pytest
from doubles.small_pool import spec_json, write_small_pool
from sklearn import metrics

from assay.evalcore.errors import BadInput
from assay.flows.cli.standing import print_standing
from assay.flows.evaluation.advance import advance
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.ledger.stores.store import MemoryStore
from assay.tasks.report.page import report_html
from assay.tasks.spec.evaluation import Spec

CURVE = {"name": "pr_curve", "at": [0, 0.6, 1.2]}


def spec_of(folder, n, pool=(), **changes):
    predictions, labels = write_small_pool(folder, n=n)
    data = spec_json(predictions, labels, method="auto", **changes)
    data["pool"] = {k: v for k, v in data["pool"].items() if k != "segments"} | dict(pool)
    return data


def truth(folder):
    with (folder / "predictions.csv").open() as opened:
        score = np.array([float(row["score"]) for row in csv.DictReader(opened)])
    with (folder / "labels.csv").open() as opened:
        label = np.array([row["label"] == "match" for row in csv.DictReader(opened)])
    return score, label


def run(spec):
    store = MemoryStore()
    begin_evaluation(store, spec)
    return store, advance(store, spec.name)


def test_a_curve_and_its_areas_with_everything_labelled_are_those_of_scikit_learn(tmp_path):
    measures = [CURVE, "average_precision", "roc_auc", {"name": "roc_curve", "at": 0.6}, "f1"]
    store, standing = run(Spec.from_json(spec_of(
        tmp_path, 90, measure=measures, budget={"labels": 90}, batch_size=45
    )))
    score, label = truth(tmp_path)
    rows = {(r["measure"], r["at"], r.get("curve")): r for r in standing.to_json()["estimates"]}
    assert len(rows) == 6 + 2 + 2 + 1
    for at in (0.0, 0.6, 1.2):
        said = score > at
        precision, recall = (rows[name, at, "pr_curve"]["value"] for name in ("precision", "recall"))
        assert precision == pytest.approx(metrics.precision_score(label, said))
        assert recall == pytest.approx(metrics.recall_score(label, said))
    false = ((score > 0.6) & ~label).sum() / (~label).sum()
    assert rows["false_positive_rate", 0.6, "roc_curve"]["value"] == pytest.approx(false)
    assert rows["roc_auc", None, None]["value"] == pytest.approx(metrics.roc_auc_score(label, score))
    area = rows["average_precision", None, None]
    assert area["value"] == pytest.approx(metrics.average_precision_score(label, score))
    assert area["interval"] == "exact"
    assert rows["f1", None, None]["class"] is None
    assert verify(store, standing.evaluation).differences == ()
    page = report_html(report_data(open_evaluation(store, standing.evaluation), standing)).decode()
    assert "The first drove the choice of items." in page      # along the score, unless the spec says which


def test_a_curve_has_two_bands_and_the_ledger_recomputes(tmp_path):
    store, standing = run(Spec.from_json(spec_of(
        tmp_path, 400, measure=["roc_auc", CURVE, "f1"], drive=["pr_curve"], budget={"labels": 60},
    )))
    rows = standing.to_json()["estimates"]
    points = [r for r in rows if r.get("curve")]
    assert len(points) == 6
    assert all(r["band"]["lower"] <= r["lower"] <= r["upper"] <= r["band"]["upper"] for r in points)
    assert any(r["band"]["upper"] - r["band"]["lower"] > r["upper"] - r["lower"] for r in points)
    assert rows[0]["measure"] == "roc_auc"
    opened = open_evaluation(store, standing.evaluation)
    assert opened.statistics.question.measures.drive == (False, True, False)
    planned = read_plan(Ledger(store, standing.evaluation), 1)
    assert len(planned.scores) == len(planned.item_id)
    assert verify(store, standing.evaluation).differences == ()
    data = report_data(opened, standing)
    assert data.contract()["estimates"] == rows
    page = report_html(data).decode()
    assert ">Precision-recall curve</h2>" in page
    assert "The choice of items served Precision-recall curve." in page
    points_shown = page.partition(">Precision-recall curve</h2>")[2].partition("</section>")[0]
    assert points_shown.count('<th scope="row" class="n">') == 3


def test_a_curve_alone_is_told_point_by_point(tmp_path, capsys):
    spec = Spec.from_json(spec_of(tmp_path, 60, measure=[CURVE], budget={"labels": 20}))
    store, standing = run(spec)
    print_standing(standing)
    told = capsys.readouterr().out
    assert "precision at 0.6" in told
    assert "recall at 1.2" in told
    page = report_html(report_data(open_evaluation(store, standing.evaluation), standing)).decode()
    assert page.count('>Precision-recall curve</h2>') == 1


def test_intervals_over_clusters_stay_open_when_all_is_labelled(tmp_path):
    store, standing = run(Spec.from_json(spec_of(
        tmp_path, 60, pool={"cluster": "region"}, measure=["accuracy"], budget={"labels": 60}, batch_size=30,
    )))
    [row] = standing.to_json()["estimates"]
    score, label = truth(tmp_path)
    assert row["value"] == pytest.approx(((score > 0.6) == label).mean())
    assert row["lower"] < row["value"] < row["upper"]
    assert row["interval"] == "score test, over clusters"
    assert set(read_plan(Ledger(store, standing.evaluation), 1).clusters) == {"north", "south"}
    assert verify(store, standing.evaluation).differences == ()


@pytest.mark.parametrize(("changes", "pool", "said"), [
    ({"measure": ["f1"], "drive": ["recall"]}, {}, "names 'recall', which is not listed under `measure`"),
    ({"measure": ["f1"], "drive": []}, {}, "is an empty list"),
    ({"measure": ["pr_curve"]}, {}, "needs `at`"),
    ({"measure": [{"name": "f1", "at": [0.5]}]}, {}, "takes no `at`"),
    ({"measure": ["roc_auc"], "labels": {"classes": ["match", "no match"]}}, {"score": None},
     "is of one class: name it"),
])
def test_what_a_spec_cannot_ask(tmp_path, changes, pool, said):
    data = spec_of(tmp_path, 40) | changes
    data["pool"] = {k: v for k, v in (data["pool"] | pool).items() if v is not None}
    with pytest.raises(BadInput, match=said):
        Spec.from_json(data)


@pytest.mark.parametrize("method", ["sawade", "oasis", "stratified"])
def test_another_method_of_two_classes_serves_one_measure(tmp_path, method):
    data = spec_of(tmp_path, 40, measure=["f1", "recall"], drive=["recall"]) | {"method": method}
    with pytest.raises(BadInput, match="its first measure drives"):
        Spec.from_json(data)


@pytest.mark.parametrize("method", ["dirichlet-tree", "static-is"])
def test_a_method_of_two_classes_that_serves_several_is_told_which(tmp_path, method):
    data = spec_of(tmp_path, 40, measure=["f1", "recall"], drive=["recall"]) | {"method": method}
    assert tuple(Spec.from_json(data).drive) == ("recall",)
