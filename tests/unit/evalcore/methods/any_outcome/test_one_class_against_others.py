"""A question about one class of three is that about it and all others: the same draws, the same numbers."""

import numpy as np
import pytest
from scipy.special import expit

from assay.evalcore.measures.measure import side_by_side
from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import OUTCOME_METHODS, outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

N = 3000
BY = [
    name for name, one in OUTCOME_METHODS.items()
    if not (one.capabilities.needs_clusters or one.of_some_measures) and "classes" in one.kinds
]


def _pools(systems: int) -> tuple[OutcomePool, OutcomePool]:
    """Two classes; and the same with the negatives split at random, labels and predictions on their own."""
    rng = np.random.default_rng(5)
    score = rng.normal(-2.0, 1.5, N)
    p = np.asarray(expit(score))
    label = (rng.random(N) < p).astype(np.float64)
    said = (score[:, None] + rng.normal(0, 0.4, (N, systems)) > 0).astype(np.float64)
    two = OutcomePool(
        kind=Classes(("other", "owl")), codes=label,
        items=Items(prediction=said, probability=np.stack([1 - p, p], axis=1)),
    )

    def split(of: np.ndarray) -> np.ndarray:
        return np.where(of > 0, 1.0, np.where(rng.random(of.shape) < 0.5, 0.0, 2.0))

    three = OutcomePool(
        kind=Classes(("cat", "owl", "dog")), codes=split(label),
        items=Items(prediction=split(said), probability=np.stack([(1 - p) / 2, p, (1 - p) / 2], axis=1)),
    )
    return two, three


def _found(pool: OutcomePool, by: str, systems: int) -> list[np.ndarray]:
    measures = [
        [outcome_measure(name, pool.kind, N, system=s, options={"class": "owl"}) for s in range(systems)]
        for name in ("f1", "precision")
    ]
    stack = Stack(kind=pool.kind, measures=side_by_side(measures))
    traces = simulate(outcome_method(by), pool, stack, ReplayPlan(budgets=(60, 120)), repeats=4)
    return [array for one in traces for array in (one.value, one.lower, one.upper)]


@pytest.mark.parametrize("by", BY)
def test_three_classes_are_two(by):
    for two, three in zip(*(_found(pool, by, 1) for pool in _pools(1)), strict=True):
        np.testing.assert_allclose(three, two, rtol=0, atol=1e-8)


@pytest.mark.parametrize("by", ["guesses", "stratified-neyman"])
def test_of_two_systems_too(by):
    for two, three in zip(*(_found(pool, by, 2) for pool in _pools(2)), strict=True):
        np.testing.assert_allclose(three, two, rtol=0, atol=1e-8)
