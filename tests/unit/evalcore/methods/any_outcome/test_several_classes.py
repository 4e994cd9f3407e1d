"""A few named classes: one sample, a score model for each class."""

import numpy as np
import pytest
from scipy.stats import binom

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.any_outcome import score_model
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-4
NAMES = ("cat", "dog", "owl", "yak")
SHARE = np.array([0.6, 0.3, 0.07, 0.03])
METHOD = outcome_method("recalibrated")


def _pool(n=3000):
    rng = stream(0, "several-classes")
    label = rng.choice(4, n, p=SHARE)
    odds = rng.normal(size=(n, 4)) + np.log(SHARE)
    odds[np.arange(n), label] += 3.0
    chance = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    return OutcomePool(
        kind=Classes(NAMES), codes=label.astype(np.float64),
        items=Items(prediction=chance.argmax(axis=1).astype(np.float64)[:, None], probability=chance),
    )


def _stack(pool, asked, drive=()):
    return Stack(kind=pool.kind, drive=drive, measures=tuple(
        outcome_measure(name, pool.kind, len(pool.codes), options={"class": of} if of else None)
        for name, of in asked
    ))


@pytest.fixture
def few_draws(monkeypatch):
    """Intervals of 500 draws of the posterior, not 2,000: their ends move by a few percent of the width."""
    monkeypatch.setattr(score_model, "REPORT_DRAWS", 500)


ASKED = [("f1", "owl"), ("f1", "yak"), ("precision", "owl"), ("recall", "dog")]


@pytest.mark.usefixtures("few_draws")
def test_each_class_has_an_honest_and_narrow_interval():
    pool, repeats = _pool(1000), 12
    stack = _stack(pool, [("f1", "owl"), ("f1", "yak"), ("f1", "dog")])
    mine, others = (simulate(
        outcome_method(by), pool, stack, ReplayPlan(budgets=(150,), batch_size=50), repeats=repeats
    )
                    for by in ("recalibrated", "guesses"))
    least = int(binom.ppf(FALSE_ALARM, repeats, 0.93))
    for one, other, truth in zip(mine, others, pool.truth(stack).tolist(), strict=True):
        held = (one.lower <= truth + 1e-9) & (truth <= one.upper + 1e-9)
        assert held.sum() >= least
        assert (one.upper - one.lower).mean() < (other.upper - other.lower).mean()


@pytest.mark.usefixtures("few_draws")
def test_the_order_of_the_list_does_not_matter():
    pool = _pool()
    found = simulate(METHOD, pool, _stack(pool, ASKED, (True,) * 4), ReplayPlan(budgets=(60,)), repeats=2)
    turned = simulate(
        METHOD, pool, _stack(pool, ASKED[::-1], (True,) * 4), ReplayPlan(budgets=(60,)), repeats=2
    )
    for one, other in zip(found, turned[::-1], strict=True):
        np.testing.assert_allclose(one.value, other.value, atol=1e-8)
        np.testing.assert_allclose(one.upper, other.upper, atol=1e-8)


def test_all_labels_are_the_truth():
    pool = _pool(400)
    stack = _stack(pool, ASKED)
    found = simulate(METHOD, pool, stack, ReplayPlan(budgets=(400,)), repeats=1)
    for one, truth in zip(found, pool.truth(stack).tolist(), strict=True):
        np.testing.assert_allclose([one.value[0, 0], one.lower[0, 0], one.upper[0, 0]], truth, atol=1e-9)


@pytest.mark.parametrize("asked", [
    [("macro_f1", None)], [("f1", "owl"), ("macro_f1", None)], [("f1", "owl"), ("accuracy", None)],
])
def test_averages_stay_with_guesses(asked):
    pool = _pool(400)
    assert METHOD.cut(_stack(pool, asked), pool.items).cells.axis is None


def test_f1_of_every_class_is_of_several():
    pool = _pool(400)
    cells = METHOD.cut(_stack(pool, [("f1", None)]), pool.items).cells
    assert cells.axis is not None
    assert len(cells.axis) == 7 * len(NAMES)
