"""Curves and the areas under them: against scikit-learn on full labels; gradients, grids, and bounds."""

import numpy as np
import pytest
from sklearn import metrics

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.measure import numerical_gradient
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.score_grid import EXACT, grids
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

KIND = Classes(("no", "yes"), positive="yes")
SKLEARN = {"roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score}


def made(n, decimals, *, score, seed=1):
    """Items with a score, or with probabilities; labels; and the numbers that scikit-learn ranks by."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=n), decimals)
    p = 1 / (1 + np.exp(4 - 3 * x))
    y = (rng.random(n) < p).astype(float)
    items = Items(
        prediction=(x > 1).astype(float)[:, None], score=x[:, None] if score else None,
        probability=np.stack([1 - p, p], axis=1),
    )
    return items, y, x if score else np.float32(p)


def risk_of(measure, items, y):
    loss = measure.losses[0]
    return np.concatenate([loss.item_losses(items, KIND.phi(y)).mean(axis=0), loss.known(items).mean(axis=0)])


@pytest.mark.parametrize("score", [True, False])
@pytest.mark.parametrize("name", SKLEARN)
def test_areas_are_those_of_scikit_learn_ties_included(name, score):
    for n, decimals in ((EXACT, 9), (3000, 1)):     # a band for each score; ties
        items, y, ranked = made(n, decimals, score=score)
        measure = outcome_measure(name, KIND, n, grids=grids(KIND, items))
        risk = risk_of(measure, items, y)
        assert measure.of_pool(items, KIND.phi(y))[0] == pytest.approx(SKLEARN[name](y, ranked), abs=1e-9)
        assert measure.slack(risk)[0] == 0
        slopes, numerical = measure.gradient(risk), numerical_gradient(measure.value, measure.losses[0].size)
        np.testing.assert_allclose(slopes, numerical(risk), rtol=1e-3, atol=1e-4 * np.abs(slopes).max())


@pytest.mark.parametrize("name", SKLEARN)
def test_more_scores_than_bands_stay_within_the_bound_that_is_told(name):
    for seed in range(5):
        items, y, ranked = made(20_000, 9, score=True, seed=seed)
        measure = outcome_measure(name, KIND, len(y), grids=grids(KIND, items))
        off = abs(measure.of_pool(items, KIND.phi(y))[0] - SKLEARN[name](y, ranked))
        slack = measure.slack(risk_of(measure, items, y))[0]
        assert off <= slack < {"roc_auc": 0.005, "average_precision": 0.025}[name]
        assert off < 0.002


@pytest.mark.parametrize("score", [True, False])
def test_curves_are_precision_recall_and_false_positive_rate_at_thresholds(score):
    items, y, ranked = made(500, 2, score=score)
    at = (0.5, 0.2) if not score else (1.0, 0.25)
    above = {t: ranked > t if score else ranked >= np.float32(t) for t in sorted(at)}
    pr = outcome_measure("pr_curve", KIND, 500, options={"at": at})
    expected = [metrics.precision_score(y, f) for f in above.values()]
    expected += [metrics.recall_score(y, f) for f in above.values()]
    np.testing.assert_allclose(pr.of_pool(items, KIND.phi(y)), expected)
    points = [(point.measure, point.at) for point in pr.points]
    assert points == [(m, t) for m in ("precision", "recall") for t in sorted(at)]
    roc = outcome_measure("roc_curve", KIND, 500, options={"at": at})
    expected = [metrics.recall_score(y, f) for f in above.values()]
    expected += [f[y == 0].mean() for f in above.values()]
    np.testing.assert_allclose(roc.of_pool(items, KIND.phi(y)), expected)
    for curve in (pr, roc):
        risk = risk_of(curve, items, y)
        np.testing.assert_allclose(curve.gradient(risk), numerical_gradient(curve.value, 3)(risk), atol=1e-5)
        assert curve.gradient(np.stack([risk, risk])).shape == (2, 4, 3)


def test_a_curve_of_one_class_of_several_is_of_its_probability():
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(3), 200)
    y = np.array([rng.choice(3, p=row) for row in p])
    kind = Classes(("a", "b", "c"))
    items = Items(prediction=p.argmax(axis=1).astype(float)[:, None], probability=p)
    auc = outcome_measure("roc_auc", kind, 200, options={"class": "b"}, grids=grids(kind, items))
    assert auc.of_pool(items, kind.phi(y.astype(float)))[0] == pytest.approx(
        metrics.roc_auc_score(y == 1, np.float32(p[:, 1]))
    )
    assert auc.parts == ("b",)
    with pytest.raises(BadInput, match="is of one class: name it"):
        outcome_measure("roc_auc", kind, 200)


def test_what_curves_need():
    items, _, _ = made(50, 2, score=True)
    with pytest.raises(BadInput, match="needs `at`"):
        outcome_measure("pr_curve", KIND, 50)
    with pytest.raises(BadInput, match="up to 1,024 different thresholds"):
        outcome_measure("roc_curve", KIND, 50, options={"at": (0.5, 0.5)})
    without = Stack(kind=KIND, measures=(outcome_measure("roc_auc", KIND, 50),))
    with pytest.raises(BadInput, match="give `outcome_measure` the pool's grids"):
        OUTCOME_METHODS["passive"].cut(without, items)
    bare = Items(prediction=items.prediction)
    curve = Stack(kind=KIND, measures=(outcome_measure("pr_curve", KIND, 50, options={"at": 0.5}),))
    with pytest.raises(BadInput, match="a score of each item, or a probability"):
        OUTCOME_METHODS["passive"].cut(curve, bare)


@pytest.mark.parametrize("method", ["recalibrated", "guesses", "passive", "dirichlet-tree", "lure"])
@pytest.mark.parametrize("name", SKLEARN)
def test_areas_are_exact_once_all_is_labelled_however_many_scores_there_are(name, method):
    items, y, ranked = made(EXACT + 44, 9, score=method != "dirichlet-tree")
    measure = outcome_measure(name, KIND, len(y), grids=grids(KIND, items))
    stack, pool = Stack(kind=KIND, measures=(measure,)), OutcomePool(kind=KIND, codes=y, items=items)
    plan = ReplayPlan(budgets=(len(y),), batch_size=150)
    (found,) = simulate(OUTCOME_METHODS[method], pool, stack, plan, repeats=1)
    exact = SKLEARN[name](y, ranked)
    np.testing.assert_allclose(pool.truth(stack), exact, atol=1e-12)
    np.testing.assert_allclose([found.value, found.lower, found.upper], exact, atol=1e-12)
