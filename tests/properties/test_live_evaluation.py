"""A live evaluation by any method: every label once, the fold repeatable, and the exact value at the end."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.design.round import CountedDesign
from assay.evalcore.errors import BadInput
from assay.evalcore.evaluation.estimates import estimates, joint_region, reuse
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method, method_names
from assay.evalcore.outcomes.base import UNDECIDED
from assay.evalcore.pool.partition import build_partition

METHODS = [name for name in method_names() if name != "auto"]
# settings that draw, or estimate, in another way than their method does by itself
VARIANTS = [
    "dirichlet-tree:combination=square-root",
    "dirichlet-tree:combination=inverse-variance",
    "dirichlet-tree:reuse=0.2",
    "bernoulli-online:combination=square-root",
    "bernoulli-online:combination=inverse-variance",
    "bernoulli-online:assisted=true", "acis:top_k=false", "acis:calibration=platt", "acis-pooled:top_k=false",
    "gmm:top_domain=true", "herding:kernel=gaussian:top_domain=true", "platt:top_domain=true",
    "isotonic:prior_labels=1:top_domain=true",
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


@pytest.mark.parametrize("method_name", [*METHODS, *VARIANTS])
def test_labelling_everything_gives_the_exact_value_of_every_measure(method_name):
    """From what the ledger keeps of each design, and with items that nobody can decide."""
    pool, everything = synthetic_pool(120, seed=3), set()
    undecidable = np.random.default_rng(1).random(120) < 0.1
    question, items_of = live(pool, method_name, MEASURES)
    state = before_any_label(question)
    while not state.exhausted:
        p = plan(question, state, 15)
        items = items_of(p)
        new = items[p.ask].tolist()
        assert len(new) == len(set(new)) <= 15, "at most the wanted number, each once"
        assert not everything & set(new), "no label is bought twice"
        assert set(items.tolist()) <= everything | set(new), "every draw has a label in the end"
        assert not (undecidable & np.isin(np.arange(120), [*everything]))[items].any(), "never drawn again"
        everything |= set(new)
        stored = replace(p, design=CountedDesign.from_columns(p.design.to_columns()))
        labels = np.where(undecidable[items], UNDECIDED, pool.label[items])
        state = observe(question, state, stored, labels)
        assert state.round < 200, "the loop makes progress"
    counts = np.bincount((pool.prediction * 2 + pool.label)[~undecidable], minlength=4).reshape(2, 2)
    for m, e in zip(question.measures, estimates(question, state), strict=True):
        truth = float(m.of_confusion(counts.astype(float)))
        assert (e.value, e.lower, e.upper) == pytest.approx((truth, truth, truth), abs=1e-12), m.name
        assert e.interval == "exact"
        assert e.diagnostics["undecided"] == undecidable.sum() == state.undecided


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_items=st.integers(1, 60),
    size=st.integers(1, 12),
    method_name=st.sampled_from([*METHODS, *VARIANTS]),
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
        assert state.round <= 40 * n_items
    for m, e in zip(question.measures, estimates(question, state), strict=True):
        truth = float(m.of_confusion(pool.confusion()))
        if np.isnan(truth):
            assert (e.value, e.lower) == (None, None)
            assert e.undefined_reason
        else:
            assert (e.value, e.lower, e.upper) == pytest.approx((truth, truth, truth), abs=1e-12)


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
