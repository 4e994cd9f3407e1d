"""Whole clusters: unbiased, and intervals that cover the population, by simulation."""

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

KIND, METHOD = Classes(("a", "b")), outcome_method("whole-clusters")
POOLS, LABELS = 100, (60, 120)


def pool_of(seed, clusters=60, size=10):
    """Items whose rates of right answers are Beta(1.4, 0.6) by cluster, of a mean of 0.7; sizes vary."""
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.geometric(1 / size, clusters)
    right = rng.random(sizes.sum()) < np.repeat(rng.beta(1.4, 0.6, clusters), sizes)
    said = rng.integers(0, 2, len(right)).astype(float)
    cluster = np.repeat(np.arange(clusters), sizes).astype(float)[:, None]
    items = Items(prediction=said[:, None], cluster=cluster)
    return OutcomePool(kind=KIND, items=items, codes=np.where(right, said, 1 - said))


def stack_of(pool):
    return Stack(kind=KIND, measures=(outcome_measure("accuracy", KIND, len(pool.items)),))


def replayed(pool, budgets, seed, batch_size=30):
    (trace,) = simulate(
        METHOD, pool, stack_of(pool), ReplayPlan(budgets=budgets, batch_size=batch_size, seed=seed), repeats=1
    )
    return trace


def test_estimates_are_unbiased_and_intervals_cover_the_population():
    value, covered = np.zeros((POOLS, 2)), np.zeros((POOLS, 2))
    for seed in range(POOLS):
        pool = pool_of(seed)
        trace = replayed(pool, LABELS, seed)
        value[seed] = trace.value[0] - pool.truth(stack_of(pool))[0]
        covered[seed] = (trace.lower[0] <= 0.7) & (trace.upper[0] >= 0.7)
    # standard errors of the means are about 0.014 and 0.009
    assert (np.abs(value.mean(axis=0)) < [0.045, 0.03]).all()
    # at a coverage of 0.93, fewer than 84 of 100 have a chance of 1 in 1,000
    assert (covered.sum(axis=0) >= 84).all()


def test_a_pool_labelled_out_has_the_exact_value():
    pool = pool_of(1, clusters=12, size=4)
    trace = replayed(pool, [len(pool.items)], 1)
    truth = pool.truth(stack_of(pool))[0]
    assert trace.value[0, 0] == pytest.approx(truth)
    assert trace.lower[0, 0] < truth < trace.upper[0, 0]


def test_of_one_cluster_nothing_is_known():
    trace = replayed(pool_of(2, clusters=3, size=40), [5], 2, batch_size=5)
    assert (trace.lower[0, 0], trace.upper[0, 0]) == (0.0, 1.0)


def test_without_clusters_it_is_refused():
    pool = pool_of(3)
    with pytest.raises(BadInput, match=r"needs clusters: name their column under pool\.cluster"):
        METHOD.cut(stack_of(pool), Items(prediction=pool.items.prediction))
