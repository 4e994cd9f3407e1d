"""The labelled items of a report, as the ledger has them."""

import json

import pytest
from doubles.world import World

from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.weighted.export import exported
from assay.flows.weighted.sample import read_sample
from assay.tasks.ledger.rounds.plan import read_plan
from assay.tasks.report import render_report


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
    shown = [text for one in read_plan(opened.ledger, 1).shown if one for text in one.values()]
    assert shown
    assert not any(text in page for text in shown), "what people saw stays in the ledger"
