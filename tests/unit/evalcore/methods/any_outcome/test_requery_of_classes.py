"""Appendix H of Marchant & Rubinstein (2021) with K classes: every answer is another draw from p(y|x)."""

import numpy as np
import pytest
from scipy.stats import binom

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

NAME = "dirichlet-tree-stochastic:requery="
FALSE_ALARM = 1e-4
SHARE = np.array([0.6, 0.3, 0.1])


def _pool(n=200):
    rng = stream(0, "requery of classes")
    label = rng.choice(3, n, p=SHARE)
    odds = rng.normal(size=(n, 3)) + np.log(SHARE)
    odds[np.arange(n), label] += 2.0
    chance = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    return OutcomePool(
        kind=Classes(("cat", "dog", "owl")), codes=label.astype(np.float64),
        items=Items(prediction=chance.argmax(axis=1).astype(np.float64)[:, None], probability=chance),
    )


def _stack(pool, *names):
    return Stack(kind=pool.kind, measures=tuple(
        outcome_measure(name, pool.kind, len(pool.codes)) for name in names
    ))


@pytest.mark.parametrize("setting", ["rounds", "true"])
def test_estimates_go_to_the_truth_with_more_answers_than_items_and_are_never_exact(setting):
    pool, repeats = _pool(), 100
    stack = _stack(pool, "accuracy", "macro_f1")
    traces = simulate(
        outcome_method(NAME + setting), pool, stack, ReplayPlan(budgets=(60, 400)), repeats=repeats
    )
    least = int(binom.ppf(FALSE_ALARM, repeats, 0.95))
    for trace, truth in zip(traces, pool.truth(stack).tolist(), strict=True):
        assert trace.labels[:, 1].tolist() == [400] * repeats, "twice the 200 items"
        assert (trace.lower < trace.upper).all()
        held = (trace.lower <= truth) & (truth <= trace.upper)
        assert (held.sum(axis=0) >= least).all()
        off, error = trace.value[:, 1] - truth, trace.value[:, 1].std()
        assert abs(off.mean()) < 5 * error / np.sqrt(repeats) + 0.01, "five standard errors"
        assert error < trace.value[:, 0].std() / 1.5, "1 over the root of 400/60 is 1 over 2.6"


def _after(setting, rounds, size, rng):
    pool, method = _pool(), outcome_method(NAME + setting)
    ready = prepared(method, pool, _stack(pool, "accuracy"))
    people, state = ready.respondents(method, 2, rng, rng), ready.begin(method, 2)
    asked = []
    for _ in range(rounds):
        design, draws = method.next_round(state, np.full(2, size), rng)
        heard = people.answer(draws, state, rng)
        state = method.observe(state, design, heard, np.zeros_like(state.excluded))
        asked.append((design, heard))
    return method, state, asked


def test_a_round_asks_about_different_items_and_the_next_one_about_any():
    _, state, asked = _after("rounds", 3, 120, np.random.default_rng(1))
    for design, heard in asked:
        assert all(len(np.unique(row)) == 120 for row in heard.item)
        assert (design.unlabelled <= 1).all()
        assert (design.left * design.unlabelled).sum(axis=1) == pytest.approx(120)
    assert state.bought.tolist() == [360, 360]
    assert (state.left == state.cells.size).all(), "no item is done with"


def test_independent_draws_repeat_items_within_a_round():
    _, state, asked = _after("true", 1, 150, np.random.default_rng(2))
    assert all(len(np.unique(row)) < 150 for row in asked[0][1].item)
    assert state.bought.tolist() == [150, 150]


def test_answers_weigh_by_the_chance_of_their_draw_alone():
    method, state, asked = _after("rounds", 2, 50, np.random.default_rng(3))
    stands = method.weights(state).weight
    chance = np.concatenate([
        design.unlabelled[0, heard.cell[0]] for design, heard in asked
    ])
    np.testing.assert_allclose(stands, 0.5 / chance)
