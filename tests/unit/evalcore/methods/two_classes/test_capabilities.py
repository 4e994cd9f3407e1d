"""What methods say they can do is what they can do, and nobody asks for their names instead."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.estimators.joint_region import NoRegion
from assay.evalcore.evaluation.estimates import estimates, joint_region, reuse, system_estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.method import Capabilities
from assay.evalcore.methods.registry import METHODS, OUTCOME_METHODS, method, methods_that
from assay.evalcore.methods.two_classes.passive import Passive
from assay.evalcore.pool.partition import build_partition

GUIDE = Path(__file__).parents[5] / "docs" / "how-to" / "using-methods.md"


def asked(how, names=("f1", "recall"), **changes):
    """A question about 300 items, and their labels by (cell, rank)."""
    pool = synthetic_pool(300, seed=6)
    partition, cell = build_partition(how, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    first = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=how, cells=partition.cells, measures=tuple(map(measure, names)), confidence=0.95, seed=1,
        evaluation="test", **changes,
    )
    return question, lambda p: pool.label[order[first[p.cell] + p.rank]]


def after_a_round(how, **changes):
    question, labels_of = asked(how, **changes)
    drawn = plan(question, before_any_label(question), 40)
    return question, drawn, observe(question, before_any_label(question), drawn, labels_of(drawn))


def test_the_registry_finds_every_method_under_its_own_name():
    for registry in (METHODS, OUTCOME_METHODS):
        assert {name: one.name for name, one in registry.items()} == {name: name for name in registry}


@pytest.mark.parametrize("name", METHODS)
def test_a_label_model_takes_earlier_labels_where_the_method_says_so(name):
    question, labels_of = asked(method(name))
    warm = replace(question, evidence=np.ones((question.cells.n_cells, 2)))
    if not method(name).capabilities.starts_warm:
        with pytest.raises(BadInput, match="takes no earlier labels"):
            before_any_label(warm)
        return
    drawn = plan(warm, before_any_label(warm), 20)
    state = observe(warm, before_any_label(warm), drawn, labels_of(drawn))
    assert state.labels == 20
    cold = plan(question, before_any_label(question), 20)
    assert not np.array_equal(drawn.design.model, cold.design.model), "the earlier labels count"


@pytest.mark.parametrize("name", METHODS)
def test_a_joint_region_exists_where_the_method_says_so(name):
    question, _, state = after_a_round(method(name))
    if not method(name).capabilities.joint_region:
        with pytest.raises(BadInput, match="no joint region"):
            joint_region(question, state)
        return
    try:
        assert joint_region(question, state).measures == ("f1", "recall")
    except NoRegion:
        pytest.fail("40 labels determine a region")


@pytest.mark.parametrize("name", METHODS)
def test_features_cut_the_pool_where_the_method_says_so(name):
    written = f"{name}:partition=kd-tree"
    if method(name).capabilities.cuts_by_features:
        assert method(written).feature_tree is not None
    else:
        with pytest.raises(UnknownName, match="no setting 'partition=kd-tree'"):
            method(written)
    assert method(name).feature_tree is None, "by score unless the settings say otherwise"


@pytest.mark.parametrize("name", METHODS)
def test_labels_answer_for_other_measures_where_the_method_says_so(name):
    question, _, state = after_a_round(method(name))
    if not method(name).capabilities.reuses_labels:
        with pytest.raises(BadInput, match="answer only for the measures they were drawn for"):
            reuse(question, state, [measure("accuracy")])
        return
    # F1 and recall look at every prediction, so any measure may be asked later
    (accuracy,) = reuse(question, state, [measure("accuracy")])
    assert accuracy.measure == "accuracy"
    assert accuracy.value is not None


@pytest.mark.parametrize(("name", "served"), [
    ("passive", True), ("oasis", True), ("dirichlet-tree:reuse=0.1", True),
    ("dirichlet-tree", False), ("static-is", False), ("bernoulli", False), ("stratified", False),
])
def test_labels_drawn_for_precision_answer_for_recall_where_every_item_may_be_drawn(name, served):
    question, drawn, state = after_a_round(method(name), names=("precision",))
    # precision depends on items predicted positive alone; the 1e-12 of `static-is` elsewhere is no chance
    elsewhere = drawn.design.unlabelled[0][question.cells.prediction == 0]
    assert (elsewhere > 1e-9).all() == served
    if served:
        assert len(reuse(question, state, [measure("recall")])) == 1
    else:
        with pytest.raises(BadInput, match="recall depends on items that precision never looks at"):
            reuse(question, state, [measure("recall")])


@pytest.mark.parametrize("name", METHODS)
def test_several_systems_are_judged_where_the_method_says_so(name):
    pool = synthetic_pool(300, seed=6)
    other = (pool.score > 1).astype(np.int64)[:, None]
    how = method(name)
    if not how.capabilities.judges_systems:
        question, _, state = after_a_round(how, systems=("child",))
        with pytest.raises(BadInput, match="judges one system"):
            system_estimates(question, state)
        assert how.further_systems(state.inner, 0.95) == []
        return
    partition, _ = build_partition(how, pool.score, pool.probability, pool.prediction, systems=other)
    question = Question(
        method=how, cells=partition.cells, measures=(measure("precision"),), confidence=0.95, seed=1,
        evaluation="test", systems=("child",),
    )
    drawn = plan(question, before_any_label(question), 40)
    state = observe(question, before_any_label(question), drawn, np.ones(40, np.int64))
    found = system_estimates(question, state)
    assert [(e.system, e.measure) for e in found] == [("child", "precision")]


@pytest.mark.parametrize("name", methods_that("negatively_associated"))
def test_only_draws_without_replacement_can_be_negatively_associated(name):
    question, _ = asked(method(name))
    assert not plan(question, before_any_label(question), 20).design.replacement


@dataclass(frozen=True, slots=True)
class Newcomer(Passive):
    """A method that is in no registry."""

    name: str = "newcomer"
    capabilities: ClassVar[Capabilities] = Capabilities(negatively_associated=False)


def test_a_method_is_known_by_what_it_declares_and_not_by_its_name():
    by_design, by_counts = after_a_round(Passive())[2], after_a_round(Newcomer())[2]
    # π = 40/300 in every cell; what is not negatively associated is bounded by the counts drawn from the cell
    assert by_design.reached == pytest.approx(-np.log1p(-40 / 300))
    counted = by_counts.inner.labelled[0].sum(axis=1) / by_counts.inner.cells.size
    assert by_counts.reached == pytest.approx(-np.log1p(-counted))
    question, _, state = after_a_round(Newcomer())
    assert estimates(question, state)[0].value is not None


@pytest.mark.parametrize("name", METHODS)
def test_an_audit_is_spread_where_the_method_says_so(name):
    how = method(name)
    question, _, state = after_a_round(how)
    if not how.capabilities.audits:
        with pytest.raises(BadInput, match="cannot spread part of a batch evenly"):
            how.audited(0.5)
        with pytest.raises(BadInput, match="has no recalibrated label model"):
            how.evidence(state.inner)
        return
    even = replace(question, method=how.audited(1.0))
    negative = question.cells.prediction == 0
    chance = plan(even, before_any_label(even), 20).design.unlabelled[0]
    assert chance[negative] == pytest.approx(20 / question.cells.size[negative].sum())
    assert how.evidence(state.inner).n.sum() == state.labels
    assert "wide_announced" in estimates(question, state)[0].diagnostics


def test_methods_are_found_by_a_capability():
    assert methods_that("judges_systems") == ["recycle"]
    with pytest.raises(UnknownName, match="unknown capability 'flies'"):
        methods_that("flies")


def test_the_guide_names_the_methods_that_can_be_cut_by_features():
    sentence = re.search(r"`partition=` is a setting of (.*?):\n", GUIDE.read_text(), re.S)
    assert sentence
    assert set(re.findall(r"`([a-z-]+)`", sentence[1])) == set(methods_that("cuts_by_features"))
