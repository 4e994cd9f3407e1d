"""Yilmaz et al. (2021) with independent coins and equal weights, against their formulas item by item."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import real_pool, synthetic_pool
from scipy.stats import binom

from assay.evalcore.design.draws import simulate_labels
from assay.evalcore.errors import BadInput, UnknownName
from assay.evalcore.estimators.horvitz_thompson import estimate_of_totals, one_round
from assay.evalcore.estimators.importance import WeightSums, estimate_of_draws
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.partition import build_partition
from assay.evalcore.pool.strata import Cells
from assay.evalcore.replay.pool import prepared, prepared_cells
from assay.evalcore.replay.run import ReplayPlan, run_block

COINS = "bernoulli:draws=independent"
EQUATION_128 = "bernoulli-online:draws=independent:combination=equal"


def live(name, sizes, seed=1, n_items=400):
    """Rounds of a live evaluation of F1: (π of each asked item, item), and the question and state after."""
    pool = synthetic_pool(n_items, seed=5)
    m = method(name)
    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=m, cells=partition.cells, measures=(measure("f1", None),), confidence=0.95, seed=seed,
        evaluation="test",
    )
    state, rounds = before_any_label(question), []
    for size in sizes:
        p = plan(question, state, size)
        items = order[offset[p.cell] + p.rank]
        rounds.append((p.probability, items, p.design.unlabelled[0][cell]))
        state = observe(question, state, p, pool.label[items])
    return pool, rounds, question, state


def test_one_shot_is_equation_18_with_the_error_of_equation_28():
    pool, ((b, asked, _),), question, state = live(COINS, [60])
    (e,) = estimates(question, state)
    f = (pool.prediction * pool.label)[asked]
    g = ((pool.prediction + pool.label) / 2)[asked]
    ratio = (f / b).sum() / (g / b).sum()
    assert e.value == pytest.approx(ratio)
    h2 = (1 / b - 1) * (f - ratio * g) ** 2
    assert e.variance == pytest.approx((h2 / b).sum() / (g / b).sum() ** 2)


@pytest.mark.parametrize("epsilon", [1e-10, 4.5e-5, 0.01])
def test_footnote_3_adds_epsilon_to_every_deviation_of_equation_28(epsilon):
    pool, ((b, asked, _),), question, state = live(f"{COINS}:epsilon={epsilon}", [60])
    (e,) = estimates(question, state)
    f = (pool.prediction * pool.label)[asked]
    g = ((pool.prediction + pool.label) / 2)[asked]
    ratio = (f / b).sum() / (g / b).sum()
    h2 = (1 / b - 1) * (f - ratio * g) ** 2 + epsilon
    assert e.variance == pytest.approx((h2 / b).sum() / (g / b).sum() ** 2, rel=1e-9)


def test_where_no_true_positive_is_drawn_epsilon_alone_is_the_variance():
    # F1 is 0, so every f - F g is 0.  Of 18 predicted positives nine are drawn (b = 1/2), none positive:
    # Σ 1/b = 18, Σ g/b = 9, and eq. 28 is 18 ε/9².  No beta distribution has a mean of 0: the whole range.
    cells = Cells(
        stratum=np.array([0]), prediction=np.array([1]), size=np.array([18]), mean_score=np.array([1.0]),
        mean_probability=np.array([0.9]), log_density=np.zeros(1), n_slots=1,
    )
    drawn = np.array([[[9, 0]]])
    totals = one_round(cells, np.zeros_like(drawn), cells.size[None], drawn, np.array([[0.5]]))
    for epsilon, variance in ((0.0, 0.0), (0.01, 0.18 / 81)):
        found = estimate_of_totals(measure("f1"), totals, 0.95, epsilon=epsilon)
        assert (found.value[0], found.lower[0], found.upper[0]) == (0, 0, 1)
        assert found.variance[0] == pytest.approx(variance)


def test_footnote_3_adds_epsilon_to_every_deviation_of_equation_17():
    f1, rng = measure("f1"), np.random.default_rng(8)
    prediction, label = rng.integers(0, 2, (2, 50))
    w = rng.uniform(0.5, 2.0, 50)                                      # 1/(N q)
    weight, squared = np.zeros((1, 2, 2)), np.zeros((1, 2, 2))
    np.add.at(weight[0], (prediction, label), w)
    np.add.at(squared[0], (prediction, label), w**2)
    sums = replace(WeightSums.none(1), weight=weight, squared=squared, draws=np.array([50]),
                   say=np.array([50.0]), say_squared=np.array([50.0]))
    f, g = prediction * label, (prediction + label) / 2
    ratio = (w * f).sum() / (w * g).sum()
    found = estimate_of_draws(f1, sums, 0.95, self_normalised=True, interval="beta", epsilon=0.01)
    h2 = (f - ratio * g) ** 2 + 0.01
    assert found.variance[0] == pytest.approx((w**2 * h2).sum() / (w * g).sum() ** 2)
    assert method("optimal-is:epsilon=0.01").added_to_squares == 0.01


def test_rounds_of_equal_weight_are_equation_128():
    pool, rounds, question, state = live(EQUATION_128, [20, 60, 5, 35])
    (e,) = estimates(question, state)
    f, g = pool.prediction * pool.label, (pool.prediction + pool.label) / 2
    before, sums = [], np.zeros(2)
    for b, asked, _ in rounds:                                     # F̂_1:R of f and of g, item by item
        sums += [sum(x[before]) + (x[asked] / b).sum() for x in (f, g)]
        before += asked.tolist()
    assert e.value == pytest.approx(sums[0] / sums[1])
    assert len({len(asked) for _, asked, _ in rounds}) == 4


def test_the_weights_of_labels_and_of_rounds_differ():
    values = {
        rule: estimates(question, state)[0].value
        for rule in ("plain", "equal")
        for _, _, question, state in [live(f"bernoulli-online:combination={rule}", [10, 80])]
    }
    assert values["plain"] != values["equal"]


def test_an_item_not_asked_has_the_chance_that_the_design_says():
    sizes, expected = [], []
    for seed in range(100):
        _, rounds, _, _ = live(COINS, [30], seed=seed, n_items=150)
        sizes.append(len(rounds[0][1]))
        expected.append(rounds[0][2])
    b = expected[0]
    assert all((x == b).all() for x in expected), "the first design does not depend on the coins"
    assert b.sum() == pytest.approx(30)
    # 4.9 standard errors: a false alarm in a million
    assert abs(np.mean(sizes) - 30) < 4.9 * np.sqrt((b * (1 - b)).sum() / 100)
    assert len(set(sizes)) > 5


def two_rounds(name, sizes, repeats):
    """The state after rounds of so many expected labels, and the pool's confusion counts."""
    pool, rng = synthetic_pool(60, seed=3), np.random.default_rng(2)
    m = method(name)
    cells, by_label = prepared_cells(m, pool)
    state = m.start(cells, [measure("f1", None)], repeats)
    for size in sizes:
        design, draws = m.next_round(state, np.full(repeats, size), rng)
        labels = simulate_labels(draws, by_label - state.labelled, rng)
        state = m.observe(state, design, labels, np.zeros_like(state.excluded))
    return state, pool.confusion()


@pytest.mark.parametrize("rule", ["equal", "plain", "square-root"])
def test_the_table_of_two_adaptive_rounds_is_unbiased(rule):
    state, truth = two_rounds(f"bernoulli-online:draws=independent:combination={rule}", (8, 12), 6_000)
    found = state.totals.table / state.totals.weight[:, None, None]
    error = found.std(axis=0) / np.sqrt(len(found))
    # 4.9 standard errors: a false alarm in a million for each of the four numbers
    assert (np.abs(found.mean(axis=0) - truth) < 4.9 * error).all()
    assert np.ptp(state.totals.weight) == pytest.approx(0), "weights do not depend on the coins"


def test_a_budget_is_right_on_average_and_exceeded_by_chance():
    pool, m = synthetic_pool(60, seed=3), method(COINS)
    (trace,) = run_block(
        m, prepared(m, pool, [measure("f1", None)]), ReplayPlan(budgets=[8, 16], batch_size=16), repeats=400
    )
    first = trace.labels[:, 0]
    assert abs(first.mean() - 8) < 4.9 * first.std() / np.sqrt(len(first))
    assert (first > 8).any()
    assert (trace.labels[:, 1] >= first).all()


def test_labelling_until_nothing_is_left_is_exact():
    pool, _, question, state = live(COINS, [40] * 6, n_items=60)
    (e,) = estimates(question, state)
    assert state.exhausted
    assert e.value == pytest.approx(float(measure("f1", None).of_confusion(pool.confusion())))
    assert (e.lower, e.upper) == (e.value, e.value)


def test_a_round_always_asks_somebody():
    _, rounds, _, _ = live(EQUATION_128, [1] * 12)
    assert min(len(asked) for _, asked, _ in rounds) == 1


def test_settings_that_do_not_exist_are_refused():
    with pytest.raises(BadInput, match="one of systematic, independent"):
        method("bernoulli:draws=dice")
    with pytest.raises(UnknownName, match="draws"):
        method("bernoulli:coins=true")


def test_a_report_says_which_draws_were_made():
    assert "no budget is exceeded" in method("bernoulli").interval_note
    assert "coin of its own" in method(COINS).interval_note
    assert "no budget is exceeded" not in method(EQUATION_128).interval_note


def test_the_bias_is_that_of_the_corrected_equation_24():
    # 30 true positives (f = g = 1) and 50 errors on one side (f = 0, g = ½), b = 0.3: all sums can be had
    b, hits, errors = 0.3, np.arange(31), np.arange(51)
    chance = binom.pmf(hits, 30, b)[:, None] * binom.pmf(errors, 50, b)
    below = hits[:, None] + errors / 2
    estimate = np.divide(hits[:, None] + 0 * errors, below, out=np.zeros_like(below), where=below > 0)
    truth, n_mu = 30 / 55, 55.0
    bias = (chance * estimate).sum() - truth
    printed = 30 * (1 / b - 1) / n_mu**2
    corrected = -(30 * (1 - truth) + 50 * 0.5 * (0 - truth / 2)) * (1 / b - 1) / n_mu**2
    assert bias == pytest.approx(corrected, rel=0.1)
    assert (printed, corrected) == pytest.approx((0.0231, -0.0053), abs=5e-5)


@pytest.mark.parametrize(("name", "most"), [("abt-buy", 0.001), ("restaurant", 0.04)])
def test_what_it_costs_that_items_of_a_cell_share_their_b(name, most):
    # the paper has a b for each item; both variances are those of F1 with the true labels
    pool, bernoulli, f1 = real_pool(name), method("bernoulli"), measure("f1")
    partition, cell = build_partition(bernoulli, pool.score, pool.probability, pool.prediction)
    n = len(pool.score)
    single = Cells(
        stratum=np.arange(n), prediction=pool.prediction.astype(np.int64), size=np.ones(n, np.int64),
        mean_score=pool.score, mean_probability=pool.probability, log_density=np.zeros(n), n_slots=n,
    )
    labels = np.array([300])
    heads = [bernoulli.heads(bernoulli.start(cells, [f1], 1), labels)[0]
             for cells in (single, partition.cells)]
    truth = f1.of_confusion(pool.confusion())
    residual = pool.prediction * pool.label - truth * (pool.prediction + pool.label) / 2
    counts = residual != 0
    by_item, by_cell = (
        (residual[counts] ** 2 * (1 / b[counts] - 1)).sum() for b in (heads[0], heads[1][cell])
    )
    assert -1e-3 < by_cell / by_item - 1 < most
