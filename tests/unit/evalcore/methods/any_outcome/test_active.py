"""`active-inference` and `lure`: unbiased, with a variance that tells their error, and exact at a census."""

import numpy as np
import pytest

from assay.evalcore.errors import BadInput
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate
from assay.evalcore.reproducible import stream

NAMES = ("active-inference", "active-inference:robust=true", "lure")
RUNS, SIZE, LABELS = 300, 1_000, 100


def pool() -> OutcomePool:
    """Three classes, with probabilities that are right."""
    rng = stream(1, "active")
    sure = rng.beta(2, 0.6, SIZE)
    prediction = rng.integers(0, 3, SIZE)
    probability = np.repeat(((1 - sure) / 2)[:, None], 3, axis=1)
    probability[np.arange(SIZE), prediction] = sure
    return OutcomePool(
        kind=Classes(("a", "b", "c")),
        items=Items(prediction=prediction[:, None].astype(np.float64), probability=probability),
        codes=np.where(rng.random(SIZE) > sure, (prediction + 1) % 3, prediction).astype(np.float64),
    )


def stack_of(one: OutcomePool, name: str) -> tuple[Stack, float]:
    stack = Stack(kind=one.kind, measures=(outcome_measure(name, one.kind, SIZE),))
    return stack, float(stack.measures[0].of_pool(one.items, one.kind.phi(one.codes))[0])


@pytest.mark.parametrize("name", NAMES)
def test_they_are_unbiased_and_cover(name):
    """A mean of 300 runs is beyond 4 of its standard errors in one of 16,000 tries; coverage of 0.95 is below
    0.90 in one of 5,000."""
    one = pool()
    stack, truth = stack_of(one, "accuracy")
    found = simulate(outcome_method(name), one, stack, ReplayPlan(budgets=[LABELS], seed=3), repeats=RUNS)[0]
    value = found.value[:, 0]
    assert abs(value.mean() - truth) < 4 * value.std() / RUNS**0.5
    inside = (found.lower[:, 0] <= truth) & (truth <= found.upper[:, 0])
    assert inside.mean() >= 0.90
    assert value.std() < 1.1 * (truth * (1 - truth) / LABELS) ** 0.5   # no worse than an even draw


@pytest.mark.parametrize("name", NAMES)
def test_a_census_is_exact(name):
    one = pool()
    stack, truth = stack_of(one, "accuracy")
    found = simulate(
        outcome_method(name), one, stack, ReplayPlan(budgets=[SIZE], batch_size=200), repeats=2
    )[0]
    assert found.value == pytest.approx(truth, abs=1e-9)
    assert found.upper - found.lower == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", ["active-inference:one-at-a-time=true", "lure:one-at-a-time=false"])
def test_each_has_one_way_to_draw(name):
    with pytest.raises(BadInput, match="leave out one-at-a-time"):
        outcome_method(name)
