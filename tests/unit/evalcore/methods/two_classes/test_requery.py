"""Appendix H of Marchant & Rubinstein (2021): every draw of a stochastic oracle is another answer."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.design.draws import independent, simulate_anew
from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.evaluation.rounds import plan
from assay.evalcore.evaluation.state import Question, before_any_label
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.two_classes.base import draw_round
from assay.evalcore.methods.two_classes.registry import method
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.replay.run import simulate

ANEW = "dirichlet-tree-stochastic:requery=true"


def differing(n=60):
    """A small pool whose annotators differ about most items."""
    pool = synthetic_pool(n, seed=3)
    return replace(pool, label_probability=np.clip(0.15 + 0.7 * pool.label, 0, 1))


def test_draws_and_answers_are_independent_and_as_many_as_asked():
    m, pool, rng = method(ANEW), differing(), np.random.default_rng(1)
    cells, _ = prepared_cells(m, pool)
    state = m.start(cells, [measure("f1")], 2)
    design = m.propose(state, np.array([500, 300]))
    draws = independent(design, np.array([500, 300]), rng)
    labels = simulate_anew(draws, np.full(cells.n_cells, 0.25), rng)
    assert labels.drawn_new.sum(axis=(1, 2)).tolist() == [500, 300], "many more than the 60 items"
    assert labels.new.sum() == 0, "no item is done with"
    # 5 standard deviations: once in two million seeds
    share = labels.drawn_new[..., 1].sum() / 800
    assert share == pytest.approx(0.25, abs=5 * np.sqrt(0.25 * 0.75 / 800))


def test_every_answer_counts_its_weight_and_costs_a_label():
    m, rng = method(ANEW), np.random.default_rng(2)
    cells, by_label = prepared_cells(m, differing())
    state = m.start(cells, [measure("f1")], 1)
    for expected in (40, 80):
        design, draws = draw_round(m, state, np.array([40]), rng)
        labels = simulate_anew(draws, by_label[:, 1] / cells.size, rng)
        state = m.observe(state, design, labels, np.zeros_like(state.excluded))
        assert state.bought.tolist() == [expected]
        assert (state.left == cells.size).all()
    assert state.counts.sum() == pytest.approx(state.weight.sum()), "appendix H counts weights"
    # under q, E w = 1: the weights of n draws sum to about n
    assert state.weight.sum() == pytest.approx(80, rel=0.5)


def test_the_estimate_goes_to_the_measure_of_the_chances_and_is_never_exact():
    # more answers than items: asked anew, the sample goes to E p; with answers kept it would stop there
    pool, f1 = differing(), measure("accuracy")
    truth = float(f1.of_confusion(pool.confusion()))
    (trace,) = simulate(method(ANEW), pool, [f1], [60], repeats=200, batch_size=20, seed=1)
    assert (trace.labels == 60).all()
    spread = trace.value.std() / np.sqrt(200)
    assert trace.value.mean() == pytest.approx(truth, abs=5 * spread), "five standard errors"
    assert (trace.lower < trace.upper).all()
    (kept,) = simulate(method("dirichlet-tree-stochastic"), pool, [f1], [60], repeats=5, batch_size=20)
    np.testing.assert_array_equal(kept.lower, kept.upper)


def test_one_person_answers_a_draw():
    with pytest.raises(BadArgument, match="is 1 where every draw asks anew"):
        simulate(method(ANEW), differing(), [measure("f1")], [20], repeats=1, people=3)


def test_a_live_evaluation_asks_about_an_item_once():
    m = method(ANEW)
    cells, _ = prepared_cells(m, differing())
    asked = Question(
        method=m, cells=cells, measures=(measure("f1"),), confidence=0.95, seed=1, evaluation="live"
    )
    with pytest.raises(BadInput, match="leave out requery"):
        plan(asked, before_any_label(asked), 5)
