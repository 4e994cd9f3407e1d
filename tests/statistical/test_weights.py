"""Pools whose items have weights: estimates are right on average and intervals cover, by simulation.

Weights are lognormal with sigma 1, errors likelier among heavy items.  Of 200 runs at a coverage of 0.95
fewer than 177 cover once in 10,000 times; a mean is further than 4 standard errors from the truth as seldom.
"""

from dataclasses import replace

import numpy as np
import pytest
from doubles.studies import in_a_study

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack, stack_of_questions
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items, OneShard, pool_weights
from assay.evalcore.outcomes.numbers import Numbers
from assay.evalcore.outcomes.questions import OneQuestion, SeveralQuestions
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

N, RUNS, LABELS = 1_000, 200, 150
pytestmark = pytest.mark.statistical


def _classes(rng: np.random.Generator, weight: np.ndarray) -> OutcomePool:
    said, heavy = (rng.random(N) < 0.4).astype(float), weight > np.median(weight)
    codes = np.where(rng.random(N) < np.where(heavy, 0.35, 0.1), 1 - said, said)
    return OutcomePool(kind=Classes(("no", "yes"), positive="yes"), codes=codes, items=Items(
        prediction=said[:, None], weight=weight[:, None]
    ))


def _grades(rng: np.random.Generator, weight: np.ndarray) -> OutcomePool:
    true = np.clip(np.round(rng.normal(2, 1, N) - 0.3 * np.log(weight)), 0, 4)
    judge = np.clip(true + rng.integers(-1, 2, N), 0, 4)
    kind = Classes(tuple("12345"), values=(1.0, 2.0, 3.0, 4.0, 5.0))
    return OutcomePool(kind=kind, codes=true, items=Items(
        prediction=np.zeros((N, 0)), judge=judge[:, None], weight=weight[:, None]
    ))


def _numbers(rng: np.random.Generator, weight: np.ndarray) -> OutcomePool:
    said = rng.gamma(4, 2, N)
    return OutcomePool(kind=Numbers(), codes=said + rng.normal(0, 1, N) * weight**0.25, items=Items(
        prediction=said[:, None], weight=weight[:, None]
    ))


@pytest.mark.parametrize("method", ["auto", in_a_study("passive")])
@pytest.mark.parametrize(("make", "measure"), [
    in_a_study(_classes, "accuracy"), (_classes, "f1"), in_a_study(_grades, "mean"), (_numbers, "mae"),
])
def test_estimates_are_of_the_weighted_pool(make, measure, method) -> None:   # type: ignore[no-untyped-def]
    rng = np.random.default_rng(11)
    pool = make(rng, rng.lognormal(0, 1, N))
    weights = pool_weights(OneShard(pool.items))
    stack = Stack(kind=pool.kind, weights=weights, measures=(
        outcome_measure(measure, pool.kind, N, weights=weights),
    ))
    truth = float(pool.truth(stack)[0])
    (trace,) = simulate(
        outcome_method(method), pool, stack, ReplayPlan(budgets=[LABELS], batch_size=50), repeats=RUNS
    )
    (found,) = summarise(trace, truth, [LABELS])
    assert found.coverage * RUNS >= 177
    # of a ratio the bias is of the order of its variance: it is allowed that much besides
    error = np.sqrt(found.mse / RUNS)
    assert abs(found.bias) < 4 * error + found.mse / max(abs(truth), 0.2)


@pytest.mark.parametrize("method", ["questions", in_a_study("questions:even=true")])
def test_several_questions_are_each_of_the_weighted_pool(method: str) -> None:
    rng = np.random.default_rng(12)
    weight = rng.lognormal(0, 1, N)
    right, grade = _classes(rng, weight), _grades(rng, weight)
    kind = SeveralQuestions((
        OneQuestion(name="right", kind=right.kind, predicts=True),
        OneQuestion(name="grade", kind=grade.kind, judges=1),
    ))
    pool = OutcomePool(kind=kind, codes=kind.packing.pack(np.stack([right.codes, grade.codes], axis=1)),
                       items=replace(right.items, judge=grade.items.judge))
    weights = pool_weights(OneShard(pool.items))
    stack = stack_of_questions(kind, {
        "right": tuple(outcome_measure(name, right.kind, N, weights=weights) for name in ("accuracy", "f1")),
        "grade": (outcome_measure("mean", grade.kind, N, weights=weights),),
    }, weights=weights)
    truth = pool.truth(stack)
    assert truth[2] == pytest.approx(np.average(grade.codes + 1, weights=weight))
    traces = simulate(
        outcome_method(method), pool, stack, ReplayPlan(budgets=[LABELS], batch_size=50), repeats=RUNS
    )
    for trace, true in zip(traces, truth.tolist(), strict=True):
        (found,) = summarise(trace, true, [LABELS])
        assert found.coverage * RUNS >= 177
        assert abs(found.bias) < 4 * np.sqrt(found.mse / RUNS) + found.mse / max(abs(true), 0.2)
