"""A live evaluation on any small pool: every label bought once, and the exact value at the end."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method, method_names
from assay.evalcore.outcomes.base import UNDECIDED
from assay.evalcore.pool.partition import build_partition

METHODS = [name for name in method_names() if name != "auto"]
MEASURES = [("f1", None), ("precision", None), ("recall", None), ("accuracy", None), ("fbeta", 2.0),
            ("specificity", None), ("balanced_accuracy", None), ("mcc", None)]


def live(pool, method_name, measures, seed=1):
    m = method(method_name)
    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=m, cells=partition.cells, measures=tuple(measure(*x) for x in measures), confidence=0.95,
        seed=seed, evaluation="test",
    )
    return question, lambda p: order[offset[p.cell] + p.rank]


@pytest.mark.parametrize("method_name", METHODS)
def test_labelling_everything_gives_the_exact_value_of_every_measure(method_name):
    pool = synthetic_pool(70, seed=3)
    question, items_of = live(pool, method_name, MEASURES)
    state, bought = before_any_label(question), set()
    while not state.exhausted:
        p = plan(question, state, 9)
        items = items_of(p)
        new = items[p.ask].tolist()
        assert len(new) == len(set(new)) <= 9, "at most the wanted number, each once"
        assert not bought & set(new), "no label is bought twice"
        assert set(items.tolist()) <= bought | set(new), "every draw has a label in the end"
        bought |= set(new)
        state = observe(question, state, p, pool.label[items])
        assert state.round < 200, "the loop makes progress"
    for m, e in zip(question.measures, estimates(question, state), strict=True):
        truth = float(m.of_confusion(pool.confusion()))
        assert (e.value, e.lower, e.upper) == pytest.approx((truth, truth, truth), abs=1e-12), m.name
        assert e.interval == "exact"


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_items=st.integers(1, 60),
    size=st.integers(1, 12),
    method_name=st.sampled_from(["passive", "dirichlet-tree"]),
    measure_name=st.sampled_from(MEASURES),
)
def test_any_small_pool_is_evaluated_to_the_end(seed, n_items, size, method_name, measure_name):
    pool = synthetic_pool(n_items, seed=seed, noise=3.0)
    question, items_of = live(pool, method_name, [measure_name], seed)
    state = before_any_label(question)
    while not state.exhausted:
        p = plan(question, state, size)
        state = observe(question, state, p, pool.label[items_of(p)])
        for e in estimates(question, state):
            assert e.value is None or np.isfinite(e.value)
            assert e.value is not None or e.undefined_reason
            if e.value is not None:
                assert e.lower <= e.value <= e.upper
        assert state.round <= 40 * n_items
    (e,) = estimates(question, state)
    truth = float(question.measures[0].of_confusion(pool.confusion()))
    if np.isnan(truth):
        assert e.value is None
        assert e.lower is None
        assert e.undefined_reason
    else:
        assert e.value == pytest.approx(truth, abs=1e-12)


def test_the_same_rounds_give_the_same_plan_to_the_last_bit():
    pool = synthetic_pool(300, seed=8)
    plans = []
    for _ in range(2):
        question, items_of = live(pool, "dirichlet-tree", [("f1", None)])
        state = before_any_label(question)
        for _ in range(4):
            p = plan(question, state, 20)
            state = observe(question, state, p, pool.label[items_of(p)])
        plans.append(plan(question, state, 20))
    for name in ("cell", "rank", "ask", "probability"):
        assert np.array_equal(getattr(plans[0], name), getattr(plans[1], name)), name


def test_the_order_of_labels_within_a_round_does_not_matter():
    pool = synthetic_pool(300, seed=8)
    question, items_of = live(pool, "dirichlet-tree", [("f1", None)])
    p = plan(question, before_any_label(question), 40)
    labels = pool.label[items_of(p)]
    shuffled = np.random.default_rng(0).permutation(len(labels))
    columns = {name: getattr(p, name)[shuffled] for name in ("cell", "rank", "ask", "probability")}
    other = replace(p, **columns)
    a = estimates(question, observe(question, before_any_label(question), p, labels))
    b = estimates(question, observe(question, before_any_label(question), other, labels[shuffled]))
    assert a == b


def test_undecided_items_are_set_aside_and_counted():
    pool = synthetic_pool(60, seed=4)
    question, items_of = live(pool, "dirichlet-tree", [("f1", None)])
    state, undecided = before_any_label(question), set()
    while not state.exhausted:
        p = plan(question, state, 10)
        items = items_of(p)
        assert not undecided & set(items.tolist()), "an undecided item is never drawn again"
        undecided |= {i for i in items.tolist() if i % 7 == 0}
        labels = np.where(np.isin(items, list(undecided)), UNDECIDED, pool.label[items])
        state = observe(question, state, p, labels)
    (e,) = estimates(question, state)
    decided = np.array([i not in undecided for i in range(60)])
    counts = np.bincount(pool.prediction[decided] * 2 + pool.label[decided], minlength=4).reshape(2, 2)
    assert e.value == pytest.approx(float(question.measures[0].of_confusion(counts.astype(float))))
    assert e.diagnostics["undecided"] == len(undecided) == state.undecided
