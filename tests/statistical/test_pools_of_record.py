"""A slice of the record on real pools: errors no worse than those of the authors' code, within chance.

STATISTICS: mean squared error of F1 of Marchant & Rubinstein's method at 100, 300 and 1,000 labels, as their
public code gave it on these pools; the paper plots it and prints no figure.  A bound is that figure plus the
chance error of our repeats: squared errors of R runs average within Z standard errors of their expectation.
"""

import numpy as np
import pytest
from doubles.pools import real_pool
from doubles.studies import in_a_study
from scipy.stats import norm

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

Z = norm.isf(1e-6)
BUDGETS = [100, 300, 1000]


def rows(pool_name, method_name, repeats):
    pool = real_pool(pool_name)
    m = measure("f1")
    truth = float(m.of_confusion(pool.confusion()))
    (trace,) = simulate(
        method(method_name), pool, [m], ReplayPlan(budgets=BUDGETS, batch_size=50, seed=1), repeats=repeats
    )
    return truth, summarise(trace, truth, BUDGETS)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("pool_name", "true_f1", "authors_code"),
    [
        ("abt-buy", 0.5946, [7.8e-2, 2.0e-2, 4.6e-3]),
        in_a_study("restaurant", 0.8989, [6.2e-3, None, 1.7e-4]),
    ],
)
def test_the_dirichlet_tree_is_no_worse_than_the_authors_code(pool_name, true_f1, authors_code):
    truth, got = rows(pool_name, "dirichlet-tree", 40)
    assert truth == pytest.approx(true_f1, abs=5e-5)
    for row, known in zip(got, authors_code, strict=True):
        if known is not None:
            assert row.mse < known + Z * row.mse_se, f"at {row.labels} labels"
        assert row.labels_mean == row.labels
        assert row.undefined == 0


@pytest.mark.statistical
def test_random_sampling_is_undefined_as_often_as_the_hypergeometric_says():
    # F1 of a random sample is undefined when it holds no item that is positive or predicted positive
    pool = real_pool("abt-buy")
    matter = int(((pool.prediction == 1) | (pool.label == 1)).sum())
    n_items, repeats = len(pool.label), 500
    _, got = rows("abt-buy", "passive", repeats)
    for row in got:
        chance = np.prod(1 - matter / (n_items - np.arange(row.labels)))
        assert abs(row.undefined - chance) < Z * np.sqrt(chance * (1 - chance) / repeats)
