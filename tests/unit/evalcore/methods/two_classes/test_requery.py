"""Appendix H of Marchant & Rubinstein (2021): every draw of a stochastic oracle is another answer."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.design.draws import independent, simulate_anew
from assay.evalcore.errors import BadArgument, BadInput
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.outcomes.base import UNDECIDED
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.replay.pool import prepared_cells
from assay.evalcore.replay.run import ReplayPlan, simulate

ANEW = "dirichlet-tree-stochastic:requery=true"
ROUNDS = "dirichlet-tree-stochastic:requery=rounds"


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
        design, draws = m.next_round(state, np.array([40]), rng)
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
    (trace,) = simulate(
        method(ANEW), pool, [f1], ReplayPlan(budgets=[60], batch_size=20, seed=1), repeats=200
    )
    assert (trace.labels == 60).all()
    spread = trace.value.std() / np.sqrt(200)
    assert trace.value.mean() == pytest.approx(truth, abs=5 * spread), "five standard errors"
    assert (trace.lower < trace.upper).all()
    (kept,) = simulate(
        method("dirichlet-tree-stochastic"), pool, [f1], ReplayPlan(budgets=[60], batch_size=20), repeats=5
    )
    np.testing.assert_array_equal(kept.lower, kept.upper)


def test_one_person_answers_a_draw():
    with pytest.raises(BadArgument, match="is 1 where every draw asks anew"):
        simulate(method(ANEW), differing(), [measure("f1")], ReplayPlan(budgets=[20]), repeats=1, people=3)


def question_of(name, pool, seed=1):
    m = method(name)
    cells, _ = prepared_cells(m, pool)
    return Question(
        method=m, cells=cells, measures=(measure("accuracy"),), confidence=0.95, seed=seed, evaluation="live"
    )


def test_live_a_round_cannot_ask_about_an_item_twice():
    asked = question_of(ANEW, differing())
    with pytest.raises(BadInput, match="use requery=rounds"):
        plan(asked, before_any_label(asked), 5)


def test_live_rounds_ask_about_items_again_and_each_of_them_once():
    asked, rng = question_of(ROUNDS, differing()), np.random.default_rng(3)
    state, seen = before_any_label(asked), []
    for number in range(1, 6):
        p = plan(asked, state, 40)
        address = list(zip(p.cell.tolist(), p.rank.tolist(), strict=True))
        assert len(set(address)) == len(address) == 40
        assert p.ask.all()
        # the chances of a systematic draw of 40: none beyond 1, and an answer weighs by a share of them
        assert (p.design.unlabelled * 40 <= 1 + 1e-9).all()
        assert (p.design.left * p.design.unlabelled).sum() == pytest.approx(1)
        state = observe(asked, state, p, rng.integers(0, 2, 40).astype(float))
        seen += address
        assert state.labels == 40 * number, "every answer is a label"
        assert not state.exhausted
    assert len(seen) == 200 > 3 * len(set(seen)), "many more answers than the 60 items"


def test_live_an_item_that_nobody_could_decide_is_not_asked_again():
    asked = question_of(ROUNDS, differing())
    first = plan(asked, before_any_label(asked), 50)
    state = observe(asked, before_any_label(asked), first, np.where(np.arange(50) < 20, UNDECIDED, 1.0))
    gone = set(zip(first.cell[:20].tolist(), first.rank[:20].tolist(), strict=True))
    second = plan(asked, state, 60)
    assert not gone & set(zip(second.cell.tolist(), second.rank.tolist(), strict=True))
    assert len(second.cell) == 40, "all the others"


def test_live_estimates_go_to_the_chances_and_intervals_cover():
    # 30 items whose answers vary, 4 rounds of 20: 80 answers, simulated person by person
    pool = differing(30)
    truth = float(measure("accuracy").of_confusion(pool.confusion()))
    m = method(ROUNDS)
    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    order, start = np.argsort(cell, kind="stable"), np.cumsum(partition.cells.size) - partition.cells.size
    values, covered, runs = [], 0, 100
    for seed in range(runs):
        asked, rng = question_of(ROUNDS, pool, seed), np.random.default_rng(seed)
        state = before_any_label(asked)
        for _ in range(4):
            p = plan(asked, state, 20)
            chance = pool.label_probability[order[start[p.cell] + p.rank]]
            state = observe(asked, state, p, (rng.random(20) < chance).astype(float))
        (e,) = estimates(asked, state)
        values.append(e.value)
        covered += e.lower <= truth <= e.upper
    # 5 standard errors, once in two million seeds; 84 of 100, for a coverage of 0.95, once in 30,000
    assert np.mean(values) == pytest.approx(truth, abs=5 * np.std(values) / np.sqrt(runs))
    assert covered >= 84
