"""Labels of unknown origin steer what is asked, and are in no estimate."""

import csv
import json

import pytest
from doubles.small_pool import spec_json, write_small_pool
from doubles.world import World

from assay.evalcore.errors import BadInput
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.asked_round import read_design, read_plan
from assay.tasks.ledger.record import Ledger
from assay.tasks.pool.inherited import read_inherited
from assay.tasks.spec.evaluation import Spec

SMALL = {"n": 120, "budget": {"labels": 20}, "batch_size": 10}


def given(tmp_path, rows):
    with (tmp_path / "elsewhere.csv").open("w", newline="") as opened:
        csv.writer(opened).writerows([["item_id", "truth"], *rows])
    return {"source": str(tmp_path / "elsewhere.csv"), "label": "truth"}


def export(tmp_path, rows):
    path = tmp_path / "export.json"
    path.write_text(json.dumps([
        {"id": n, "data": {"item_id": item}, "annotations": [
            {"completed_by": 1, "result": [{"value": {"choices": [label]}}]}
        ]} for n, (item, label) in enumerate(rows)
    ]))
    return {"label_studio": str(path)}


def kept(world):
    opened = open_evaluation(world.store, "small")
    return read_inherited(world.store, opened.spec, opened.manifest.inherited_key)


def test_a_file_and_an_export_of_the_same_labels_are_the_same_evidence(tmp_path):
    World(tmp_path, n=120)   # writes the labels
    rows = [[f"item-{i:04d}", "match"] for i in range(40)] + [["not of this pool", "match"]]
    worlds = [World(tmp_path, **SMALL, warm_start=one(tmp_path, rows)) for one in (given, export)]
    for world in worlds:
        begin_evaluation(world.store, world.spec, world.desk)
        assert verify(world.store, "small").differences == ()
    assert kept(worlds[0]) == kept(worlds[1])
    assert [(one.item_id, one.label, one.weight, one.shown_hash) for one in kept(worlds[0])] == [
        (f"item-{i:04d}", 1, 0.5, None) for i in range(40)
    ]


def test_they_steer_the_draws_and_nobody_is_spared_a_question(tmp_path):
    cold = World(tmp_path, **SMALL)
    cold.run()
    rows = [[item, label] for item, label in cold.truth.items()]
    warm = World(tmp_path, **SMALL, warm_start=given(tmp_path, rows))
    warm.run()
    models = [read_design(Ledger(world.store, "small"), 1).to_columns() for world in (cold, warm)]
    assert any(list(models[0][name]) != list(models[1][name]) for name in models[0])
    for number in (1, 2):
        planned = read_plan(Ledger(warm.store, "small"), number)
        assert not planned.inherited, "every drawn item is asked, whatever was said of it elsewhere"
    opened = open_evaluation(warm.store, "small")
    standing = current_standing(opened)
    assert standing.known_before == 0
    assert verify(warm.store, "small").differences == ()
    (note,) = report_data(opened, standing).notes
    assert "started from 120 labels given elsewhere" in note
    assert "they are in no estimate" in note


def test_labels_that_cannot_be_used_are_refused(tmp_path):
    World(tmp_path, n=120)
    for rows, said in (
        ([["nobody", "match"]], "none of its 1 label is of an item of the pool"),
        ([["item-0001", "match"], ["item-0001", "no match"]], "'item-0001' has two different labels"),
        ([["item-0001", "perhaps"]], "'perhaps' is none of the classes"),
    ):
        with pytest.raises(BadInput, match=said):
            World(tmp_path, **SMALL, warm_start=given(tmp_path, rows)).run()


@pytest.mark.parametrize(("changes", "said"), [
    ({"method": "recalibrated"}, "warm_start.source holds labels of items that nobody knows how"),
    ({"method": "passive"}, "takes no earlier labels"),
    ({"warm_start": {"source": "a.csv", "evaluation": "b"}},
     "takes one of evaluation, source, label_studio, and this has evaluation and source"),
    ({"warm_start": {}}, "this has none"),
])
def test_a_spec_says_what_does_not_go_together(tmp_path, changes, said):
    written = spec_json(*write_small_pool(tmp_path, n=20), warm_start={"source": "a.csv"})
    with pytest.raises(BadInput, match=said):
        Spec.from_json(written | changes, origin="test")
