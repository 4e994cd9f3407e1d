"""Measures of weighted pools: exact at a census, the same in any unit, and refused where they cannot be."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, mean_absolute_error, r2_score, roc_auc_score

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import OUTCOME_METHODS, outcome_method, refuse_weights
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

N = 160
KIND = Classes(("cat", "dog", "owl"))
TAKE_WEIGHTS = [
    name for name, one in OUTCOME_METHODS.items()
    if not (one.capabilities.no_weights or one.capabilities.needs_clusters or one.of_some_measures)
]


def _classes(unit: float = 1.0) -> OutcomePool:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, N).astype(float)
    said = np.where(rng.random(N) < 0.7, codes, rng.integers(0, 3, N))
    weight = rng.lognormal(0, 1, N) * (rng.random(N) < 0.9)
    return OutcomePool(kind=KIND, codes=codes, items=Items(
        prediction=said[:, None], weight=unit * weight[:, None]
    ))


def _numbers() -> OutcomePool:
    rng = np.random.default_rng(6)
    said = rng.normal(5, 2, N)
    return OutcomePool(kind=Numbers(), codes=said + rng.normal(0, 1, N), items=Items(
        prediction=said[:, None], weight=rng.lognormal(0, 1, (N, 1))
    ))


def _stack(pool: OutcomePool, *names: str) -> Stack:
    weights = pool_weights(OneShard(pool.items))
    return Stack(kind=pool.kind, weights=weights, measures=tuple(
        outcome_measure(name, pool.kind, N, weights=weights) for name in names
    ))


@pytest.mark.parametrize("method", TAKE_WEIGHTS)
def test_a_census_gives_what_scikit_learn_gives_with_sample_weight(method: str) -> None:
    pool = _classes()
    stack, (said, w) = _stack(pool, "accuracy", "macro_f1"), (pool.items.prediction[:, 0], pool.items.weight)
    assert w is not None
    traces = simulate(outcome_method(method), pool, stack, ReplayPlan(budgets=[N]), repeats=2)
    wanted = [
        accuracy_score(pool.codes, said, sample_weight=w[:, 0]),
        f1_score(pool.codes, said, average="macro", sample_weight=w[:, 0]),
    ]
    for trace, value in zip(traces, wanted, strict=True):
        np.testing.assert_allclose(trace.value, value, atol=1e-9)
        np.testing.assert_allclose(trace.upper - trace.lower, 0, atol=1e-9)


def test_the_same_of_numbers() -> None:
    pool = _numbers()
    w = np.asarray(pool.items.weight)[:, 0]
    said = pool.items.prediction[:, 0]
    for name, score in (("mae", mean_absolute_error), ("r2", r2_score)):
        (trace,) = simulate(
            outcome_method("auto"), pool, _stack(pool, name), ReplayPlan(budgets=[N]), repeats=1
        )
        assert trace.value[0, 0] == pytest.approx(score(pool.codes, said, sample_weight=w), abs=1e-9)


def test_the_same_of_the_area_under_a_curve_of_few_scores() -> None:
    rng = np.random.default_rng(2)
    kind, score = Classes(("no", "yes"), positive="yes"), rng.integers(0, 9, N).astype(float)
    codes, w = (rng.random(N) < score / 9).astype(float), rng.lognormal(0, 1, N)
    from assay.evalcore.outcomes.score_grid import grids

    items = Items(prediction=(score > 4).astype(float)[:, None], score=score[:, None], weight=w[:, None])
    weights = pool_weights(OneShard(items))
    area = outcome_measure("roc_auc", kind, N, grids=grids(kind, items), weights=weights)
    found = OutcomePool(kind=kind, items=items, codes=codes).truth(
        Stack(kind=kind, measures=(area,), weights=weights)
    )
    assert found[0] == pytest.approx(roc_auc_score(codes, score, sample_weight=w), abs=1e-12)
    with pytest.raises(BadInput, match="a rank counts the items above, whatever they weigh"):
        outcome_measure("average_precision", kind, N, grids=grids(kind, items), weights=weights)


@pytest.mark.parametrize("method", ["auto", "passive"])
def test_the_unit_of_weights_changes_nothing(method: str) -> None:
    one, other = (
        simulate(
            outcome_method(method), pool, _stack(pool, "accuracy"), ReplayPlan(budgets=[40]), repeats=3
        )[0]
        for pool in (_classes(), _classes(2.0**40))
    )
    np.testing.assert_allclose(one.value, other.value, atol=1e-12)
    np.testing.assert_allclose(one.lower, other.lower, atol=1e-12)


def test_equal_weights_are_as_none_for_a_random_sample() -> None:
    pool = _classes()
    even = replace(pool, items=replace(pool.items, weight=np.full((N, 1), 3.0)))
    without = replace(pool, items=replace(pool.items, weight=None))
    one, other = (
        simulate(
            outcome_method("passive"), of, _stack(of, "accuracy"), ReplayPlan(budgets=[40]), repeats=3
        )[0]
        for of in (even, without)
    )
    np.testing.assert_allclose(one.value, other.value, atol=1e-12)


def test_items_that_count_for_nothing_are_not_asked() -> None:
    pool = _classes()
    counting = int((np.asarray(pool.items.weight) > 0).sum())
    (trace,) = simulate(
        outcome_method("auto"), pool, _stack(pool, "accuracy"), ReplayPlan(budgets=[N]), repeats=2
    )
    assert trace.labels.max() == counting < N


@pytest.mark.parametrize("weight", [np.zeros(N), np.full(N, -1.0), np.full(N, np.nan), np.full(N, np.inf)])
def test_weights_that_are_none_are_refused(weight: np.ndarray) -> None:
    items = replace(_classes().items, weight=weight[:, None])
    with pytest.raises(BadInput, match="weight"):
        pool_weights(OneShard(items))


@pytest.mark.parametrize("method", [
    "static-is", "bernoulli", "lure", "dirichlet-tree", "passive:guaranteed=true",
])
def test_methods_that_cannot_take_weights_say_why(method: str) -> None:
    with pytest.raises(BadInput, match="methods that take weights: recalibrated"):
        refuse_weights(method, KIND)
