"""Hits and labels of a class by whether it is predicted, whose number is known."""

import numpy as np
import pytest

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import ReplayPlan, simulate, simulate_rounds

KIND = Classes(("no", "yes"), positive="yes")


def pool(n=2_000):
    rng = np.random.default_rng(4)
    label = (rng.random(n) < 0.3).astype(float)
    said = np.where(rng.random(n) < 0.85, label, 1 - label)
    return OutcomePool(kind=KIND, codes=label, items=Items(prediction=said[:, None]))


def f1_of(drawn):
    measure = outcome_measure("f1", KIND, len(drawn.codes), options={"class": "yes"})
    return Stack(kind=KIND, measures=(measure,))


def test_the_estimate_by_hand():
    drawn = pool()
    stack = f1_of(drawn)
    ((_, state),) = simulate_rounds(
        outcome_method("passive"), prepared(outcome_method("passive"), drawn, stack), [100], repeats=1,
        batch_size=100,
    )
    labels, said = drawn.codes[state.item[0]], drawn.items.prediction[state.item[0], 0]
    predicted, n = drawn.items.prediction[:, 0].sum(), len(drawn.codes)
    # one label more of each prediction, with the rate of hits among all labels
    hits, right = (labels * said).sum(), (labels == said).mean()
    rate = (hits + right) / (said.sum() + 1)
    missed = (labels * (1 - said)).sum() / (1 - said).sum()
    # the one label leans the rate; what it misses is added by the residuals of the sample
    residual = (labels - rate) * said
    hit = rate * predicted / n + residual.mean()
    label = hit + missed * (1 - predicted / n) + ((labels - missed) * (1 - said)).mean()
    value = outcome_method("passive").estimate(state, 0.95).value[0, 0]
    assert value == pytest.approx(2 * hit / (predicted / n + label))


def test_f1_of_a_random_sample_is_no_worse_than_that_of_its_own_table():
    drawn = pool()
    stack = f1_of(drawn)
    (truth,) = drawn.truth(stack)
    plan = ReplayPlan(budgets=(100,), batch_size=100, seed=3)
    (found,) = simulate(outcome_method("passive"), drawn, stack, plan, repeats=200)
    rng, own = np.random.default_rng(5), []
    for _ in range(400):
        some = rng.choice(len(drawn.codes), 100, replace=False)
        y, f = drawn.codes[some], drawn.items.prediction[some, 0]
        own.append(2 * (y * f).sum() / (y.sum() + f.sum()))
    assert ((found.value - truth) ** 2).mean() < 1.15 * ((np.array(own) - truth) ** 2).mean()
    assert ((found.lower <= truth) & (truth <= found.upper)).mean() >= 0.91


def test_a_census_is_exact():
    drawn = pool(150)
    stack = f1_of(drawn)
    for name in ("passive", "stratified", "stratified-neyman"):
        plan = ReplayPlan(budgets=(150,), batch_size=70)
        (found,) = simulate(outcome_method(name), drawn, stack, plan, repeats=2)
        np.testing.assert_allclose([found.value, found.lower, found.upper], drawn.truth(stack)[0], atol=1e-12)
