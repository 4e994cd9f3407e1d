"""Warm starts beyond two classes: from the labels of an earlier evaluation to the estimate, verified."""

import csv

import numpy as np
import pytest
from doubles.classes import NAMES, spec_of_classes, write_pool
from doubles.outcomes import spec_of, write_pairs
from doubles.stream import after
from doubles.stream_of_classes import a_monitor_of_classes, write_classes

from assay.evalcore.errors import BadInput
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.monitor.history import read_monitor_history
from assay.flows.monitor.tick import tick
from assay.flows.monitor.versions import register
from assay.flows.record.opened import open_evaluation
from assay.flows.verify.ledger import verify
from assay.flows.verify.monitor import verify_monitor
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)
WARM = [name for name, one in OUTCOME_METHODS.items() if one.capabilities.starts_warm]
OWLS = [{"name": "f1", "class": "owl"}]
CATS_AND_OWLS = [*OWLS, {"name": "recall", "class": "cat"}]
BEFORE = {"evaluation": "before", "discount": 0.5}


def run(store, data):
    begin_evaluation(store, spec := Spec.from_json(data))
    standing = drive(store, spec.name, patience=AT_ONCE)
    assert verify(store, spec.name).differences == ()
    return standing, open_evaluation(store, spec.name).question.evidence


def test_the_methods_that_start_warm_are_these():
    assert WARM == ["recalibrated", "dirichlet-tree", "dirichlet-flat", "dirichlet-tree-stochastic"]


@pytest.mark.parametrize(("method", "columns"), [
    *((name, {}) for name in WARM), ("recalibrated", {"pool_probability": None}),
    ("recalibrated", {"pool_judge": "predicted"}), ("dirichlet-tree", {"pool_probability": "sure"}),
    ("dirichlet-tree", {"pool_cluster": "text"}),
])
def test_labels_of_an_earlier_evaluation_are_pseudo_labels(tmp_path, method, columns):
    write_pool(tmp_path)
    store = MemoryStore()
    run(store, spec_of_classes(tmp_path, name="before", method="passive", seed=1, **columns))
    warm, evidence = run(store, spec_of_classes(
        tmp_path, method=method, measure=OWLS, warm_start=BEFORE, **columns
    ))
    assert warm.labels == 40 + warm.known_before
    assert warm.known_before > 0, "an item that was labelled before, and shows the same, is not asked again"
    assert evidence.sum() == 40 * 0.5
    of_owls = evidence[:, 1].sum() if method == "recalibrated" else evidence[:, NAMES.index("owl")].sum()
    assert 0 < of_owls < evidence.sum()


def test_each_of_a_few_named_classes_starts_from_all_labels(tmp_path):
    write_pool(tmp_path)
    store = MemoryStore()
    run(store, spec_of_classes(tmp_path, name="before", method="passive", seed=1))
    warm, evidence = run(store, spec_of_classes(tmp_path, measure=CATS_AND_OWLS, warm_start=BEFORE))
    assert warm.known_before > 0
    cats, owls = np.split(evidence.sum(axis=0), 2)
    assert cats.sum() == owls.sum() == 40 * 0.5
    assert cats[1] > owls[1] > 0
    told = {(row.measure, row.class_name) for row in warm.estimates if row.lower <= row.value <= row.upper}
    assert told == {("f1", "owl"), ("recall", "cat")}


@pytest.mark.parametrize("measure", [["macro_f1", "accuracy"], ["confusion_matrix"]])
def test_a_tree_takes_labels_of_every_class(tmp_path, measure):
    write_pool(tmp_path)
    store = MemoryStore()
    run(store, spec_of_classes(tmp_path, name="before", method="passive"))
    tree = {"method": "dirichlet-tree", "measure": measure, "warm_start": BEFORE}
    _, evidence = run(store, spec_of_classes(tmp_path, **tree))
    assert (evidence.sum(axis=0) > 0).sum() > 2


def test_what_was_inherited_is_handed_on_and_worth_less(tmp_path):
    write_pool(tmp_path)
    store, taken = MemoryStore(), []
    run(store, spec_of_classes(tmp_path, name="one", measure=OWLS))
    for name, before in (("two", "one"), ("three", "two")):
        start = {"evaluation": before, "discount": 0.5}
        run(store, spec_of_classes(tmp_path, name=name, measure=OWLS, warm_start=start))
        taken.append(open_evaluation(store, name).evidence)
    assert taken[0] == 40 < taken[1]


def test_two_classes_and_preferences(tmp_path):
    write_pairs(tmp_path)
    store = MemoryStore()
    run(store, spec_of("preference", tmp_path, name="before"))
    _, evidence = run(store, spec_of("preference", tmp_path, method="dirichlet-tree", warm_start=BEFORE))
    assert evidence.shape[1] == 3


def test_labels_given_elsewhere_steer_a_tree(tmp_path):
    truth = write_pool(tmp_path)
    with (tmp_path / "known.csv").open("w", newline="", encoding="utf-8") as opened:
        rows = csv.writer(opened)
        rows.writerow(["item_id", "label"])
        rows.writerows(list(truth.items())[:60])
    given = {"source": str(tmp_path / "known.csv"), "discount": 0.3}
    data = spec_of_classes(tmp_path, method="dirichlet-tree", warm_start=given)
    standing, evidence = run(MemoryStore(), data)
    assert standing.known_before == 0, "nobody knows how they were chosen: an item that is drawn is asked"
    counted = np.array([sum(label == name for label in list(truth.values())[:60]) for name in NAMES])
    np.testing.assert_allclose(evidence.sum(axis=0), 0.3 * counted)
    with pytest.raises(BadInput, match="the estimates of this method would rest on them; use dirichlet-tree"):
        Spec.from_json(spec_of_classes(tmp_path, method="recalibrated", measure=OWLS, warm_start=given))


def test_windows_of_a_monitor_start_from_the_one_before(tmp_path):
    write_classes(tmp_path, 3)
    measure = [{"name": "recall", "class": "owl"}, {"name": "precision", "class": "cat"}]
    spec, store = a_monitor_of_classes(tmp_path, measure=measure), MemoryStore()
    register(store, spec)
    assert not tick(store, spec.name, moment=after(3)).failed
    assert [row.overall.source for row in read_monitor_history(store, spec.name).rows] == ["draws"] * 3
    taken = [open_evaluation(store, f"animals-2026-11-0{day}").evidence for day in (1, 2, 3)]
    assert taken == [0, 100, 200]
    assert verify_monitor(store, "animals").differences == ()


@pytest.mark.parametrize(("changes", "said"), [
    ({"method": "passive"}, "a label of another pool has no chance here; use recalibrated or dirichlet-tree"),
    ({"method": "guesses"}, "a label of another pool has no chance here"),
    ({"measure": ["macro_f1"]}, "Name the class, as in {name: f1, class: ...}, or leave it out; or use"),
    ({"pool_systems": {n: {"prediction": "predicted"} for n in "ab"}, "pool_prediction": None,
      "pool_probability": None, "measure": OWLS}, "several are compared"),
    ({"labels": {"number": {}}, "measure": "mae", "pool_probability": None}, "teaches a model of classes"),
    ({"measure": OWLS, "name": "before"}, "names the evaluation itself"),
])
def test_what_is_refused_with_the_reason(tmp_path, changes, said):
    with pytest.raises(BadInput) as caught:
        Spec.from_json(spec_of_classes(tmp_path, **{"warm_start": BEFORE, **changes}))
    assert said in str(caught.value)


def test_of_a_pool_that_says_less_and_of_labels_of_one_class_nothing_is_taken(tmp_path):
    write_pool(tmp_path)
    store = MemoryStore()
    run(store, spec_of_classes(tmp_path, name="before", pool_probability=None))
    with pytest.raises(BadInput, match="does not say what this one is cut by"):
        begin_evaluation(store, Spec.from_json(spec_of_classes(
            tmp_path, measure=OWLS, method="recalibrated", warm_start=BEFORE,
        )))
    run(store, spec_of_classes(tmp_path, name="owls", measure=OWLS, method="oasis"))
    with pytest.raises(BadInput, match="say whether an item is 'owl', and this evaluation asks more"):
        begin_evaluation(store, Spec.from_json(spec_of_classes(
            tmp_path, measure=OWLS, method="recalibrated",
            warm_start={"evaluation": "owls", "discount": 0.5},
        )))
