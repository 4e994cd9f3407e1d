"""One class of rows by a score test: weights, clusters, several systems and areas under curves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import difference
from assay.evalcore.measures.registry import named, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.score_strata import aim_of_rows
from assay.evalcore.methods.registry import method, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.score_grid import grids
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

TWO = Classes(("negative", "positive"), positive="positive")
METHOD = outcome_method("score-test")


def pool_of(n=2000, *, systems=1, weighted=False, **beside):
    rng = stream(8, "score strata")
    odds = 1.8 * rng.standard_normal(n) - 1
    scores = odds[:, None] + 0.7 * rng.standard_normal((n, systems))
    p = expit(scores[:, 0])
    if weighted:
        beside["weight"] = rng.lognormal(0, 1, (n, 1))
    return OutcomePool(kind=TWO, codes=(rng.random(n) < expit(odds)).astype(float), items=Items(
        prediction=(scores > 0).astype(float), score=scores[:, :1],
        probability=np.stack([1 - p, p], axis=1), **beside,
    ))


def stack_of(pool, name, *, differs=False):
    weights = pool_weights(OneShard(pool.items))
    made = [
        outcome_measure(name, TWO, len(pool.items), system=s, weights=weights,
                        grids=grids(TWO, pool.items) if name == "roc_auc" else None)
        for s in range(1 + differs)
    ]
    measures = (difference(made[1], made[0]),) if differs else tuple(made)
    return Stack(kind=TWO, measures=measures, weights=weights, clustered=pool.items.cluster is not None)


CASES = [
    ("f1", pool_of(weighted=True), False), ("mcc", pool_of(weighted=True), False),
    ("f1", pool_of(systems=2), True), ("roc_auc", pool_of(), False),
]
NAMES = ["weights", "weights, no ratio", "two systems", "area"]


@pytest.mark.parametrize(("name", "pool", "differs"), CASES, ids=NAMES)
def test_intervals_cover(name, pool, differs):
    """An interval that covers with 0.94 falls below in one of 10,000 tries of a question and budget."""
    runs, stack = 24, stack_of(pool, name, differs=differs)
    (truth,) = pool.truth(stack)
    (trace,) = simulate(METHOD, pool, stack, ReplayPlan(budgets=(80,), batch_size=40), repeats=runs)
    covers = ((trace.lower <= truth) & (truth <= trace.upper)).sum(axis=0)
    assert covers[0] >= binom.ppf(1e-4, runs, 0.94)
    assert np.abs(np.mean(trace.value) - truth) < 4 * np.std(trace.value) / runs**0.5


@pytest.mark.parametrize(("name", "pool", "differs"), CASES, ids=NAMES)
def test_a_census_is_exact(name, pool, differs):
    few = OutcomePool(kind=TWO, codes=pool.codes[:80], items=pool.items.at(np.arange(80)))
    stack = stack_of(few, name, differs=differs)
    (trace,) = simulate(METHOD, few, stack, ReplayPlan(budgets=(80,)), repeats=2)
    for number in (trace.value, trace.lower, trace.upper):
        np.testing.assert_allclose(number, few.truth(stack)[0], rtol=0, atol=1e-9)


def widths(name, pool, stack):
    (trace,) = simulate(outcome_method(name), pool, stack, ReplayPlan(budgets=(100,)), repeats=20)
    return (trace.upper - trace.lower).mean()


def test_f1_of_rows_has_the_price_of_f1_of_counts_and_a_constant_weight_changes_nothing():
    pool = pool_of()
    two = LabelledPool(
        score=pool.items.score[:, 0], probability=pool.items.probability[:, 1],
        prediction=pool.items.prediction[:, 0].astype(int), label=pool.codes.astype(int),
    )
    (counts,) = simulate(method("score-test"), two, [named("f1")], ReplayPlan(budgets=(100,)), repeats=20)
    plain = widths("score-test", pool, stack_of(pool, "f1"))
    alike = replace(pool, items=replace(pool.items, weight=np.full((2000, 1), 3.0)))
    assert plain == pytest.approx((counts.upper - counts.lower).mean(), rel=0.05)
    assert widths("score-test", alike, stack_of(alike, "f1")) == pytest.approx(plain, rel=0.05)


def test_clusters_widen_the_interval_and_weights_draw_heavy_items():
    pool = pool_of(cluster=np.arange(2000)[:, None] // 50 * 1.0)
    assert widths("score-test", pool, stack_of(pool, "f1")) > widths(
        "score-test", pool_of(), stack_of(pool_of(), "f1"))
    heavy = pool_of(weighted=True)
    stack = stack_of(heavy, "accuracy")
    cut = METHOD.cut(stack, heavy.items)
    design = METHOD.propose(METHOD.start(cut.cells, stack, 1), np.array([50]))
    chance, weight = design.unlabelled[0, cut.cell], heavy.items.weight[:, 0]
    assert chance[weight > 2].mean() > 2 * chance[weight < 1].mean()


def test_other_questions_are_refused_or_left_to_others():
    pool = pool_of(n=100)
    stack = Stack(kind=TWO, measures=(outcome_measure("brier", TWO, 100),))
    assert aim_of_rows(stack, pool.items.at(slice(0, 0)), (), None, 0.95, None) is None
    with pytest.raises(BadInput, match="this question is neither: use auto"):
        METHOD.cut(stack, pool.items)


def test_the_aim_is_counted_by_the_class_that_is_asked_for():
    pool = pool_of(n=100)
    aim = aim_of_rows(stack_of(pool, "roc_auc"), pool.items.at(slice(0, 0)), (90, 10), 0.05, 0.95, 300)
    assert (aim.predicted, aim.measures[0].name, aim.budget) == ((90, 10), "recall", 300)
