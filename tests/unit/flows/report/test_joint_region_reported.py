"""The joint region of several measures, from the method to the ledger, the JSON and the page."""

import json

import numpy as np
import pytest
from doubles.classes import spec_of_classes, write_pool
from doubles.report_data import report_data
from doubles.world import World

from assay.evalcore.estimators.joint_region import Region
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.opened import open_evaluation
from assay.flows.record.standing import current_standing
from assay.flows.report.gather import report_data as gathered
from assay.flows.verify.ledger import verify
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore


def test_the_region_in_plain_values_is_the_region():
    covariance = np.array([[0.01, 0.004], [0.004, 0.02]])
    region = Region(
        measures=("f1", "precision"), centre=np.array([0.6, 0.7]), covariance=covariance,
        radius_squared=5.991464547107979, rank=2, confidence=0.95,
    )
    said = region.in_plain_numbers()
    shape, center = np.array(said.shape), np.array(said.center)
    for point in ([0.6, 0.7], [0.8, 0.8], [0.85, 0.7], [0.5, 1.0], [0.6, 1.05]):
        inside = (point - center) @ np.linalg.solve(shape, point - center) <= 1
        assert inside == bool(region.contains(np.array(point)))
    assert said.reach == pytest.approx([np.sqrt(5.991464547107979 * v) for v in (0.01, 0.02)])


@pytest.mark.parametrize("method", ["dirichlet-tree", "dirichlet-flat", "dirichlet-tree-stochastic"])
def test_two_measures_of_a_tree_method_have_a_joint_region_everywhere(tmp_path, method):
    world = World(tmp_path, n=200, method=method, measure=["f1", "precision"])
    standing = world.run()
    joint = standing.to_json()["joint_region"]
    assert joint["measures"] == ["f1", "precision"]
    assert joint["center"] == pytest.approx([e["value"] for e in standing.to_json()["estimates"][:2]])
    assert joint["confidence"] == 0.95
    opened = open_evaluation(world.store, "small")
    assert current_standing(opened).to_json()["joint_region"] == joint, "read, not recomputed"
    files = render_report(gathered(opened, standing))
    assert json.loads(files["report.json"])["joint_region"] == joint
    page = files["report.html"].decode()
    assert "All measures at once" in page
    assert "The joint region: F1 from " in page
    assert verify(world.store, "small").differences == ()


@pytest.mark.parametrize("method", ["dirichlet-tree", "dirichlet-tree-stochastic"])
def test_so_have_measures_of_many_classes(tmp_path, method):
    write_pool(tmp_path, n=150)
    asked = ["macro_f1", {"name": "recall", "class": "cat"}, "accuracy"]
    store, spec = MemoryStore(), Spec.from_json(spec_of_classes(tmp_path, method=method, measure=asked))
    begin_evaluation(store, spec)
    standing = drive(store, spec.name, patience=Patience(first=0.0, longest=0.0, in_all=0.0))
    joint = standing.to_json()["joint_region"]
    assert joint["measures"] == ["macro_f1", "recall(cat)", "accuracy"]
    assert joint["center"] == pytest.approx([e["value"] for e in standing.to_json()["estimates"][:3]])
    assert joint["rank"] == 3
    page = render_report(gathered(open_evaluation(store, spec.name), standing))["report.html"].decode()
    assert "The joint region: Macro F1 from " in page
    assert verify(store, spec.name).differences == ()


def test_one_measure_or_a_method_without_a_region_has_none(tmp_path):
    one = World(tmp_path / "one", n=150, method="dirichlet-tree", measure="f1").run()
    other = World(tmp_path / "other", n=150, method="passive", measure=["f1", "precision"]).run()
    assert "joint_region" not in one.to_json()
    assert "joint_region" not in other.to_json()
    assert "All measures at once" not in render_report(report_data())["report.html"].decode()


def test_exact_values_need_no_region(tmp_path):
    done = World(tmp_path, n=60, method="dirichlet-tree", measure=["f1", "precision"], budget={"labels": 60})
    standing = done.run()
    assert standing.stopped_by == "pool"
    assert "joint_region" not in standing.to_json()
