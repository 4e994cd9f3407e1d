"""Evaluations of classes by the Dirichlet tree: from the spec to the report, verified, and the same again."""

import numpy as np
import pytest
from doubles.classes import spec_of_classes, write_pool
from doubles.small_pool import spec_json, write_small_pool
from unit.evalcore.methods.test_label_model_as_printed import printed_posterior

from assay.flows.evaluation.advance import Patience, drive
from assay.flows.evaluation.begin import begin_evaluation
from assay.flows.record.fold import fold, not_begun
from assay.flows.record.opened import open_evaluation
from assay.flows.report.gather import report_data
from assay.flows.verify.ledger import verify
from assay.tasks.ledger.checkpoint_values import read_value, written_value
from assay.tasks.report.files import render_report
from assay.tasks.spec.evaluation import Spec
from assay.tasks.testing import MemoryStore

AT_ONCE = Patience(first=0.0, longest=0.0, in_all=0.0)


def run(data):
    store, spec = MemoryStore(), Spec.from_json(data)
    begin_evaluation(store, spec)
    return store, drive(store, spec.name, patience=AT_ONCE)


@pytest.mark.parametrize("changes", [
    {"method": "dirichlet-tree-stochastic", "pool_probability": None, "measure": ["f1", "cohen_kappa"]},
    {"method": "dirichlet-tree", "pool_probability": "sure", "pool_cluster": "text", "measure": "macro_f1"},
    {"method": "dirichlet-tree:reuse=0.2:self-normalised=true", "measure": "accuracy"},
    {"method": "dirichlet-flat:region-quantile=F:variance=printed", "measure": ["accuracy", "macro_f1"]},
    {"method": "dirichlet-flat:printed=true", "pool_probability": None, "measure": "macro_f1"},
])
def test_a_run_is_verified_reported_and_the_same_again(tmp_path, changes):
    write_pool(tmp_path, n=120)
    data = spec_of_classes(tmp_path, **changes)
    store, standing = run(data)
    assert (standing.stopped_by, standing.labels, standing.rounds) == ("budget", 40, 2)
    rows = [row for row in standing.estimates if row.value is not None]
    assert rows
    assert all(row.lower <= row.value <= row.upper for row in rows)
    kind = ("ais-student-as-printed" if "printed=true" in data["method"] else
            "ais-normal-as-printed" if "printed" in data["method"] else "importance and model")
    assert {row.interval.split(",")[0] for row in rows if row.segment is None} == {kind}
    assert verify(store, "classes").differences == ()
    page = render_report(report_data(open_evaluation(store, "classes"), standing))["report.html"].decode()
    assert "Adaptive importance sampling" in page
    assert run(data)[1].to_json() == standing.to_json()


def test_what_is_known_between_rounds_fits_a_checkpoint(tmp_path):
    write_pool(tmp_path, n=120)
    store, spec = MemoryStore(), Spec.from_json(spec_of_classes(tmp_path, method="dirichlet-tree"))
    begin_evaluation(store, spec)
    drive(store, spec.name, patience=AT_ONCE)
    opened = open_evaluation(store, spec.name)
    begun = not_begun(opened.statistics)
    state, first = fold(opened.ledger, opened.statistics, begun).state, begun.state
    blob, runs = written_value(state, 2, first)
    back = read_value(blob, runs.__getitem__, first)
    assert back.inner.by_class is first.inner.by_class
    np.testing.assert_array_equal(back.inner.belief.joint, state.inner.belief.joint)
    np.testing.assert_array_equal(back.inner.chance, state.inner.chance)


def live_state(data):
    """The question, what is known after the run, and the counts (C, K) of its labels by cell and class."""
    store, spec = MemoryStore(), Spec.from_json(data)
    begin_evaluation(store, spec)
    drive(store, spec.name, patience=AT_ONCE)
    opened = open_evaluation(store, spec.name)
    state = fold(opened.ledger, opened.statistics, not_begun(opened.statistics)).state
    chances = state.inner.belief.chances[0]
    labelled = np.zeros(chances.shape, np.int64)
    for cell, asked in state.asked.items():
        np.add.at(labelled[cell], np.asarray(list(asked.code), np.int64), 1)
    return state.inner.cells, chances, labelled


def leaves_of(cells, chances, labelled, depth):
    """Mean supplied probabilities, items and labels of every leaf, and the leaf of each cell."""
    if hasattr(cells, "mean_probability"):
        slot, mean = cells.stratum, np.stack([1 - cells.mean_probability, cells.mean_probability], axis=1)
    else:
        slot, mean = cells.slot, cells.chance
    leaf_size = np.bincount(slot, cells.size, 2**depth)
    by_leaf = [
        np.stack([np.bincount(slot, values[:, y], 2**depth) for y in range(chances.shape[1])], axis=1)
        for values in (mean * cells.size[:, None], labelled)
    ]
    return by_leaf[0] / leaf_size[:, None], leaf_size, by_leaf[1], slot


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_a_live_label_model_as_printed_is_that_of_a_second_implementation(tmp_path, classes):
    depth = 2
    if classes == 2:
        data = spec_json(*write_small_pool(tmp_path), measure=["f1"],
                         method=f"dirichlet-tree:printed=true:depth={depth}")
    else:
        rng, names = np.random.default_rng(classes), [f"c{k}" for k in range(classes)]
        truth = rng.integers(0, classes, 300)
        odds = np.exp(rng.normal(size=(300, classes)) + 2.0 * np.eye(classes)[truth])
        chance = odds / odds.sum(axis=1, keepdims=True)
        rows = [",".join([f"i{k},shown,c{p.argmax()}", *map(str, p)]) for k, p in enumerate(chance)]
        head = ",".join(["item_id", "text", "predicted", *(f"p_{name}" for name in names)])
        (tmp_path / "pool.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
        answers = "\n".join(["item_id,label", *(f"i{k},c{y}" for k, y in enumerate(truth))])
        (tmp_path / "labels.csv").write_text(answers + "\n", encoding="utf-8")
        data = spec_of_classes(tmp_path, labels={"classes": names}, measure="accuracy",
                               method=f"dirichlet-tree:printed=true:depth={depth}")
    cells, chances, labelled = live_state(data)
    score, size, counts, slot = leaves_of(cells, chances, labelled, depth)
    assert counts.sum() >= 40
    assert np.abs(chances - printed_posterior(score, size, counts, depth)[slot]).max() < 1e-6
