"""Clusters: what they add to an interval, by simulation of populations that pools are drawn from."""

import numpy as np

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import OUTCOME_METHODS
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool
from assay.evalcore.replay.run import ReplayPlan, simulate

KIND = Classes(("a", "b"))
POOLS, M, SIZE, LABELS = 120, 50, 20, 150


def one(seed, clustered, *, m=M, size=SIZE, labels=LABELS, method="passive"):
    """Accuracy (value, lower, upper) of a pool whose clusters are drawn anew; its mean is 0.7.

    The rates of clusters are Beta(0.7, 0.3): the correlation within a cluster is 1/(0.7 + 0.3 + 1) = 0.5.
    """
    rng = np.random.default_rng(seed)
    right = rng.random(m * size) < np.repeat(rng.beta(0.7, 0.3, m), size)
    said = rng.integers(0, 2, m * size)
    cluster = np.repeat(np.arange(m), size).astype(float)[:, None] if clustered else None
    items = Items(prediction=said.astype(float)[:, None], cluster=cluster)
    stack = Stack(kind=KIND, measures=(outcome_measure("accuracy", KIND, m * size),))
    pool = OutcomePool(kind=KIND, items=items, codes=np.where(right, said, 1 - said).astype(float))
    (trace,) = simulate(
        OUTCOME_METHODS[method], pool, stack, ReplayPlan(budgets=[labels], batch_size=75, seed=seed),
        repeats=1
    )
    return [float(end[0, 0]) for end in (trace.value, trace.lower, trace.upper)]


def test_the_interval_covers_the_population_where_the_naive_one_does_not():
    naive, clustered = (np.array([one(seed, c) for seed in range(POOLS)]) for c in (False, True))
    np.testing.assert_array_equal(naive[:, 0], clustered[:, 0])     # the estimates are the same
    covers = [((v[:, 1] <= 0.7) & (v[:, 2] >= 0.7)).mean() for v in (naive, clustered)]
    # at a coverage of 0.93, fewer than 102 of 120 have a chance below 1 in 1,000
    assert covers[0] < 0.86 < covers[1]
    # unbiased: the standard error of the mean is about 0.006
    assert abs(clustered[:, 0].mean() - 0.7) < 0.02


def test_clusters_of_one_item_add_what_a_finite_pool_leaves_out():
    value, lower, upper = one(3, True, m=500, size=1, labels=100)
    same, low, high = one(3, False, m=500, size=1, labels=100)
    assert value == same
    assert 1.0 < (upper - lower) / (high - low) < 1.25


def test_of_one_cluster_nothing_is_known():
    assert one(1, True, m=1, size=80, labels=40)[1:] == [0.0, 1.0]


def test_all_labelled_leaves_the_variance_between_clusters():
    _, lower, upper = one(5, True, m=30, size=5, labels=150)
    assert 0.1 < upper - lower < 0.5
    assert one(5, False, m=30, size=5, labels=150)[1:] == [one(5, False, m=30, size=5, labels=150)[0]] * 2
