"""The labelled items of a report, as the ledger has them."""

import json

import pandas as pd
import pytest
from doubles.world import World

import assay
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.weighted import exported, read_sample
from assay.tasks.ledger.asked_round import read_plan
from assay.tasks.report.data import RELIABILITY
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec


@pytest.mark.parametrize("method", ["oasis", "passive"])
def test_the_errors_are_the_labels_that_differ_with_the_weights_of_an_export(tmp_path, method):
    world = World(tmp_path, n=200, method=method)
    standing = world.run()
    opened = open_evaluation(world.store, "small")
    table = exported(opened, read_sample(opened), shown=False)
    columns = (table[name] for name in ("item_id", "prediction", "label", "sample_weight"))
    wrong = {item: said for item, *said in zip(*columns, strict=True) if said[0] != said[1]}
    assert 0 < len(wrong) <= 50
    files = render_report(report_data(opened, standing))
    told = json.loads(files["report.json"])["errors"]
    assert {o["item_id"]: [o["predicted"], o["label"], o["weight"]] for o in told["items"]} == wrong
    assert (told["labelled"], told["count"]) == (standing.labels, len(wrong))
    weights = [one["weight"] for one in told["items"]]
    assert weights == sorted(weights, reverse=True)
    page = files["report.html"].decode()
    assert all(item in page for item in wrong)
    plan = read_plan(opened.ledger, 1)
    shown = {item: one["text"] for item, one in zip(plan.item_id, plan.shown, strict=True) if one}
    assert shown.keys() & wrong.keys()
    assert all((f">{text}<" in page) == (item in wrong) for item, text in shown.items()), "of errors alone"
    assert "what item" not in files["report.json"].decode()
    bins = json.loads(files["report.json"])["score_axis"]
    assert sum(one["items"] for one in bins) == 200
    assert sum(one["labelled"] for one in bins) == standing.labels
    assert sum(one["positives"] for one in bins) == table["label"].count("match")


def test_probabilities_are_held_against_the_labels_where_the_pool_has_them(tmp_path):
    world = World(tmp_path, n=200, method="passive", budget={"labels": 200})
    spec = world.spec.to_json()
    rows = (tmp_path / "predictions.csv").read_text().splitlines()
    given = [f"{row},{0.85 if ',match,' in row else 0.15}" for row in rows[1:]]
    (tmp_path / "predictions.csv").write_text("\n".join([rows[0] + ",p", *given]) + "\n")
    spec["pool"] = {
        "source": str(tmp_path / "predictions.csv"), "id": "item_id", "prediction": "prediction",
        "probability": "p", "display": ["text"],
    }
    world.spec = Spec.from_json(spec, origin="the test's spec")
    standing = world.run()
    opened = open_evaluation(world.store, "small")
    held = RELIABILITY.value_in(report_data(opened, standing))
    table = exported(opened, read_sample(opened), shown=False)
    pairs = list(zip(table["prediction"], table["label"], strict=True))
    for one, predicted in zip(held, ("no match", "match"), strict=True):
        mine = [label == "match" for said, label in pairs if said == predicted]
        assert (one.labels, one.share) == (len(mine), pytest.approx(sum(mine) / len(mine)))
    assert [one.lower for one in held] == [0.1, 0.8]


def test_what_is_guessed_of_compared_systems_is_no_probability_of_the_pool(tmp_path):
    said = [("spam", "ham")[n % 3 > 0] for n in range(90)]
    frame = pd.DataFrame({"text": [f"mail {n}" for n in range(90)], "a": said, "b": said[1:] + said[:1]})
    begun = assay.begin(
        frame, outcome=["spam", "ham"], systems={"a": "a", "b": "b"}, measures="accuracy", budget=75,
        show="text",
    )
    while len(batch := begun.ask()):
        begun.tell(batch.assign(label=frame.loc[batch.item_id].a.to_numpy()))
    page = begun.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Systems compared" in page
    assert "Whether the probabilities hold" not in page
