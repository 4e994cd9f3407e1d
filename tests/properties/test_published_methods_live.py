"""The published methods, live, on any small pool: budgets kept, the fold repeatable, the end exact."""

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from doubles.published import PUBLISHED
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.design.round import CountedDesign
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import estimates, joint_region, reuse
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.outcomes.base import UNDECIDED
from assay.evalcore.pool.partition import build_partition

VARIANTS = [
    "dirichlet-tree:combination=square-root",
    "dirichlet-tree:combination=inverse-variance",
    "dirichlet-tree:reuse=0.2",
    "bernoulli-online:combination=square-root",
    "bernoulli-online:combination=inverse-variance",
    "bernoulli-online:assisted=true",
]
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


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_items=st.integers(1, 60),
    size=st.integers(1, 12),
    method_name=st.sampled_from([*PUBLISHED, *VARIANTS]),
    measures=st.lists(st.sampled_from(MEASURES), min_size=1, max_size=3, unique=True),
)
def test_any_small_pool_is_evaluated_to_the_end(seed, n_items, size, method_name, measures):
    pool = synthetic_pool(n_items, seed=seed, noise=3.0)
    question, items_of = live(pool, method_name, measures, seed)
    state, bought = before_any_label(question), set()
    while not state.exhausted:
        p = plan(question, state, size)
        items = items_of(p)
        new = items[p.ask].tolist()
        assert len(set(new)) == len(new) <= size
        assert not bought & set(new)
        bought |= set(new)
        assert ((p.probability > 0) & (p.probability <= 1)).all(), "no item is drawn that could not be"
        state = observe(question, state, p, pool.label[items])
        for e in estimates(question, state):
            assert e.value is None or np.isfinite(e.value)
            assert e.value is not None or e.undefined_reason
            if e.value is not None:
                assert e.lower <= e.value <= e.upper
                assert e.variance is not None
        assert state.round <= 40 * n_items
    for m, e in zip(question.measures, estimates(question, state), strict=True):
        truth = float(m.of_confusion(pool.confusion()))
        if np.isnan(truth):
            assert e.value is None
        else:
            assert (e.value, e.lower, e.upper) == pytest.approx((truth, truth, truth), abs=1e-12)


@pytest.mark.parametrize("method_name", PUBLISHED)
def test_the_ledger_columns_of_a_design_give_the_same_state_again(method_name):
    pool = synthetic_pool(300, seed=8)
    question, items_of = live(pool, method_name, [("f1", None)])
    ends = []
    for stored in (False, True):
        state = before_any_label(question)
        for _ in range(4):
            p = plan(question, state, 20)
            if stored:
                columns = p.design.to_columns()
                p = type(p)(
                    cell=p.cell, rank=p.rank, ask=p.ask, probability=p.probability, census=p.census,
                    design=CountedDesign.from_columns(columns),
                )
            state = observe(question, state, p, pool.label[items_of(p)])
        ends.append((estimates(question, state), plan(question, state, 20)))
    assert ends[0][0] == ends[1][0]
    for name in ("cell", "rank", "ask", "probability"):
        assert np.array_equal(getattr(ends[0][1], name), getattr(ends[1][1], name))


@pytest.mark.parametrize("method_name", PUBLISHED)
def test_undecided_items_are_set_aside(method_name):
    pool = synthetic_pool(60, seed=4)
    question, items_of = live(pool, method_name, [("f1", None)])
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


@pytest.mark.parametrize(
    "method_name",
    ["stratified", "stratified-neyman", "stratified-online", "bernoulli", "bernoulli-online"],
)
def test_draws_without_replacement_fill_the_batch_exactly(method_name):
    pool = synthetic_pool(500, seed=2)
    question, items_of = live(pool, method_name, [("f1", None)])
    state = before_any_label(question)
    for size in (7, 1, 30, 100):
        p = plan(question, state, size)
        assert p.ask.sum() == len(p.cell) == size
        assert (p.design.left * p.design.unlabelled).sum() == pytest.approx(size)
        state = observe(question, state, p, pool.label[items_of(p)])


def test_labels_drawn_for_one_measure_answer_for_another_that_looks_at_the_same_items():
    pool = synthetic_pool(400, seed=5)
    question, items_of = live(pool, "dirichlet-tree:reuse=0.2", [("f1", None)])
    state = before_any_label(question)
    for _ in range(5):
        p = plan(question, state, 20)
        state = observe(question, state, p, pool.label[items_of(p)])
    (recall,) = reuse(question, state, [measure("recall")])
    truth = float(measure("recall").of_confusion(pool.confusion()))
    assert recall.measure == "recall"
    assert recall.lower <= truth <= recall.upper


def test_labels_cannot_answer_for_items_that_were_never_at_risk():
    pool = synthetic_pool(400, seed=5)
    question, items_of = live(pool, "sawade", [("precision", None)])
    p = plan(question, before_any_label(question), 20)
    state = observe(question, before_any_label(question), p, pool.label[items_of(p)])
    with pytest.raises(BadInput, match=r"recall depends on items that precision never looks at"):
        reuse(question, state, [measure("recall")])


def test_the_joint_region_is_centred_on_the_estimates():
    pool = synthetic_pool(400, seed=5)
    question, items_of = live(pool, "dirichlet-flat", [("precision", None), ("recall", None)])
    state = before_any_label(question)
    for _ in range(4):
        p = plan(question, state, 25)
        state = observe(question, state, p, pool.label[items_of(p)])
    region = joint_region(question, state)
    assert region.centre == pytest.approx([e.value for e in estimates(question, state)])
    assert region.contains(region.centre)
    for e, half in zip(estimates(question, state), region.half_widths(), strict=True):
        # 5.9915 is the 95% point of chi-squared with 2 degrees of freedom
        assert half == pytest.approx(np.sqrt(5.991464547107979 * e.variance))
