"""Precision at k and DCG over queries: by hand, and by scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.studies import in_a_study
from scipy.special import stdtrit
from sklearn.metrics import dcg_score

from assay.evalcore.errors import BadInput
from assay.evalcore.estimators.linearised import WIDER
from assay.evalcore.measures.measure import numerical_gradient
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

QUERIES, DOCUMENTS = 60, 12
GRADES = Classes(tuple("0123"), values=(0.0, 1.0, 2.0, 3.0))
BINARY = Classes(("no", "yes"), positive="yes")


def _pool(kind: Classes, seed: int = 4) -> OutcomePool:
    rng = np.random.default_rng(seed)
    rank = np.tile(np.arange(1.0, DOCUMENTS + 1), QUERIES)
    good = rng.gamma(2, 1, QUERIES).repeat(DOCUMENTS) / (1 + 0.2 * rank)
    codes = np.minimum(rng.poisson(good), kind.width - 1).astype(float)
    judge = np.clip(codes + rng.integers(-1, 2, len(codes)), 0, kind.width - 1)
    return OutcomePool(kind=kind, codes=codes, items=Items(
        prediction=np.zeros((len(codes), 0)), judge=judge[:, None], rank=rank[:, None],
    ))


def _stack(pool: OutcomePool, name: str, k: int) -> Stack:
    return Stack(kind=pool.kind, measures=(
        outcome_measure(name, pool.kind, len(pool.items), options={"k": k}),
    ))


def test_by_hand() -> None:
    # two queries of three documents: relevant are ranks 1 and 3 of the first, rank 2 of the second
    items = Items(prediction=np.zeros((6, 0)), rank=np.array([[1.0], [2], [3], [1], [2], [3]]))
    pool = OutcomePool(kind=BINARY, codes=np.array([1.0, 0, 1, 0, 1, 0]), items=items)
    assert pool.truth(_stack(pool, "precision_at_k", 2))[0] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert pool.truth(_stack(pool, "dcg", 3))[0] == pytest.approx((1 + 1 / 2 + 1 / np.log2(3)) / 2)


def test_as_scikit_learn_has_it() -> None:
    pool = _pool(GRADES)
    gains = pool.codes.reshape(QUERIES, DOCUMENTS)
    order = np.tile(-np.arange(DOCUMENTS), (QUERIES, 1))
    assert pool.truth(_stack(pool, "dcg", 5))[0] == pytest.approx(dcg_score(gains, order, k=5))
    assert pool.truth(_stack(pool, "exponential_dcg", 5))[0] == pytest.approx(
        dcg_score(2**gains - 1, order, k=5)
    )


@pytest.mark.parametrize("name", ["dcg", "exponential_dcg"])
def test_its_gradient_and_its_margin(name: str) -> None:
    (measure,), risk = _stack(_pool(GRADES), name, 5).measures, np.array([0.3, 0.08])
    np.testing.assert_allclose(measure.gradient(risk), numerical_gradient(measure.value, 1)(risk), rtol=1e-4)
    assert measure.margin is not None
    margin = measure.margin(float(measure.value(risk)[0]), risk[1:], True)
    assert margin.constant + margin.slope @ risk[:1] + margin.known_slope @ risk[1:] == pytest.approx(
        0, abs=1e-12
    )


def test_documents_below_k_are_not_asked() -> None:
    pool = _pool(GRADES)
    (trace,) = simulate(
        outcome_method("auto"), pool, _stack(pool, "dcg", 3), ReplayPlan(budgets=[len(pool.items)]), repeats=1
    )
    assert trace.labels.max() == 3 * QUERIES
    assert trace.value[0, 0] == pytest.approx(pool.truth(_stack(pool, "dcg", 3))[0], abs=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize(("kind", "name", "method"), [
    (GRADES, "dcg", "auto"), in_a_study(GRADES, "dcg", "passive"),
    in_a_study(BINARY, "precision_at_k", "auto"),
])
def test_intervals_cover(kind: Classes, name: str, method: str) -> None:
    """Of 200 runs at 0.95 fewer than 177 cover once in 10,000 times."""
    pool = _pool(kind)
    stack = _stack(pool, name, 5)
    truth = float(pool.truth(stack)[0])
    (trace,) = simulate(
        outcome_method(method), pool, stack, ReplayPlan(budgets=[100], batch_size=50), repeats=200
    )
    (found,) = summarise(trace, truth, [100])
    assert found.coverage * 200 >= 177
    assert abs(found.bias) < 4 * np.sqrt(found.mse / 200)


def test_all_queries_labelled_err_as_a_mean_over_queries_does() -> None:
    pool = _pool(GRADES)
    numbers = np.repeat(np.arange(QUERIES), DOCUMENTS)[:, None]
    pool = replace(pool, items=replace(pool.items, cluster=numbers))
    gains = pool.codes.reshape(QUERIES, DOCUMENTS)[:, :5] / np.log2(np.arange(5) + 2)
    (trace,) = simulate(
        outcome_method("auto"), pool, _stack(pool, "dcg", 5), ReplayPlan(budgets=[5 * QUERIES]), repeats=1
    )
    half = WIDER * stdtrit(QUERIES - 1, 0.975) * gains.sum(axis=1).std(ddof=1) / np.sqrt(QUERIES)
    assert (trace.upper - trace.lower)[0, 0] / 2 == pytest.approx(half, rel=0.03)


def test_what_says_nothing_of_relevance_is_refused() -> None:
    with pytest.raises(BadInput, match="how relevant"):
        outcome_measure("dcg", Classes(("cat", "dog")), 10)
    with pytest.raises(BadInput, match="from which on one is relevant"):
        outcome_measure("precision_at_k", GRADES, 10)
    with pytest.raises(BadInput, match="whole number from 1"):
        outcome_measure("dcg", GRADES, 10, options={"k": 0.5})
