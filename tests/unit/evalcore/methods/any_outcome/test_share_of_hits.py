"""A share of items that are hits, of any outcome, is answered as the accuracy of two classes is."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import binom

from assay.evalcore.measures.measure import side_by_side
from assay.evalcore.measures.registry import named, outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome.score_strata import aim_of_rows
from assay.evalcore.methods.registry import method, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.outcomes.tags import Tags
from assay.evalcore.replay.pool import LabelledPool, OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

METHOD = outcome_method("score-test")
N = 3000


def stack_of(pool, name, **options):
    asked = [outcome_measure(name, pool.kind, len(pool.items), options=options)]
    return Stack(kind=pool.kind, measures=side_by_side([asked]))


def classes_of(n_classes=3, size=N, sharpness=1.5, **beside):
    """Classes, the first of them common, whose probabilities are too sharp."""
    rng = stream(3, f"{n_classes} classes")
    odds = 1.5 * rng.standard_normal((size, n_classes)) - 0.5 * np.arange(n_classes)
    p = softmax(odds, axis=1)
    codes = (p.cumsum(axis=1) > rng.random((size, 1))).argmax(axis=1)
    told = softmax(sharpness * odds, axis=1)
    items = Items(prediction=told.argmax(axis=1).astype(float)[:, None], probability=told, **beside)
    return OutcomePool(kind=Classes(tuple(f"class {i}" for i in range(n_classes))),
                       codes=codes.astype(float), items=items)


def grades(highest):
    rng = stream(4, f"grades to {highest}")
    codes = rng.integers(0, highest + 1, N).astype(float)
    judge = np.where(rng.random((N, 2)) < 0.8, codes[:, None], highest - codes[:, None])
    levels = range(highest + 1)
    kind = Classes(tuple(map(str, levels)), values=tuple(map(float, levels)))
    return OutcomePool(kind=kind, codes=codes, items=Items(prediction=np.zeros((N, 0)), judge=judge))


def tags():
    rng = stream(5, "tags")
    codes = rng.integers(0, 8, N).astype(float)
    said = np.where(rng.random(N) < 0.7, codes, rng.integers(0, 8, N))
    return OutcomePool(kind=Tags(("a", "b", "c")), codes=codes, items=Items(prediction=said[:, None]))


def is_served(pool, stack):
    return aim_of_rows(stack, pool.items.at(slice(0, 0)), (), None, 0.95, None) is not None


@pytest.mark.parametrize(("pool", "name", "options"), [
    (classes_of(), "accuracy", {}), (classes_of(), "rate", {"class": "class 1"}),
    (grades(1), "mean", {}), (tags(), "subset_accuracy", {}),
], ids=["accuracy", "rate", "grades of 0 and 1", "sets of tags"])
def test_a_share_of_items_is_a_share_of_hits(pool, name, options):
    assert is_served(pool, stack_of(pool, name, **options))


@pytest.mark.parametrize(("pool", "name"), [
    (classes_of(), "macro_f1"), (classes_of(), "cohen_kappa"), (grades(4), "mean"),
    (classes_of(covariate=np.arange(N)[:, None] / N), "accuracy"),
], ids=["several numbers", "no share", "grades from 0 to 4", "covariates"])
def test_anything_else_is_not(pool, name):
    assert not is_served(pool, stack_of(pool, name))


@pytest.mark.parametrize(("pool", "name"), [
    (classes_of(), "accuracy"), (classes_of(8), "accuracy"), (tags(), "subset_accuracy"), (grades(1), "mean"),
], ids=["3 classes", "8 classes", "sets of tags", "judges alone"])
def test_intervals_cover_and_a_census_is_exact(pool, name):
    """An interval that covers with 0.94 falls below LEAST in one of 10,000 tries of a pool and budget."""
    runs, budgets = 150, (50, 100, 300)
    stack = stack_of(pool, name)
    (truth,) = pool.truth(stack)
    (trace,) = simulate(METHOD, pool, stack, ReplayPlan(budgets=budgets, seed=2), repeats=runs)
    covers = ((trace.lower <= truth) & (truth <= trace.upper)).mean(axis=0)
    assert (covers >= binom.ppf(1e-4, runs, 0.94) / runs).all(), covers
    few = OutcomePool(kind=pool.kind, codes=pool.codes[:90], items=pool.items.at(np.arange(90)))
    (whole,) = simulate(METHOD, few, stack_of(few, name), ReplayPlan(budgets=(90,)), repeats=2)
    np.testing.assert_allclose([whole.value, whole.lower, whole.upper],
                               float(few.truth(stack_of(few, name))[0]), rtol=0, atol=1e-9)


def test_accuracy_of_two_classes_has_one_price_however_they_are_written():
    """Their mean widths agree to 5% where most items are of one class and the threshold is far from 1/2."""
    rng = stream(6, "one price of accuracy")
    odds = 1.5 * rng.standard_normal(20_000) - 3
    p, label = expit(odds), rng.random(20_000) < expit(0.8 * odds)
    prediction = (p > 0.3).astype(float)
    two = LabelledPool(score=odds, probability=p, prediction=prediction.astype(int), label=label.astype(int))
    listed = OutcomePool(
        kind=Classes(("no", "yes")), codes=label.astype(float),
        items=Items(prediction=prediction[:, None], probability=np.stack([1 - p, p], axis=1)),
    )
    plan = ReplayPlan(budgets=(50, 100, 300), seed=1)
    (counts,) = simulate(method("score-test"), two, [named("accuracy")], plan, repeats=40)
    (rows,) = simulate(METHOD, listed, stack_of(listed, "accuracy"), plan, repeats=40)
    ratio = (rows.upper - rows.lower).mean(axis=0) / (counts.upper - counts.lower).mean(axis=0)
    assert (np.abs(ratio - 1) < 0.05).all(), ratio
