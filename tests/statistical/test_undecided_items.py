"""Items nobody can decide, where the proposal looks most."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from scipy.stats import norm

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.outcomes.base import UNDECIDED
from assay.evalcore.pool.partition import build_partition

Z = norm.isf(1e-6 / 2)


@pytest.mark.statistical
def test_undecided_draws_count_as_draws():
    # 15% of the items, close to the boundary, are beyond people.  They take far more than 15% of the draws;
    # were those forgotten, the errors found by the others would be taken for those of a whole round.
    pool = synthetic_pool(400, seed=6)
    beyond = np.zeros(400, bool)
    beyond[np.argsort(np.abs(pool.probability - 0.5))[:60]] = True
    m = method("dirichlet-tree")
    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=m, cells=partition.cells, measures=(measure("accuracy"),), confidence=0.95, seed=0,
        evaluation="undecided",
    )
    start, values, share = before_any_label(question), [], []
    for seed in range(70):
        asked = replace(question, seed=seed)
        draws = plan(asked, start, 40)
        items = order[offset[draws.cell] + draws.rank]
        state = observe(asked, start, draws, np.where(beyond[items], UNDECIDED, pool.label[items]))
        values.append(estimates(asked, state)[0].value)
        share.append(beyond[items].mean())
    wrong = (pool.prediction != pool.label) & ~beyond
    # a round from a fixed proposal is unbiased for the errors per item of the pool, but for its last draw,
    # always a new item: 1/40 of them
    errors = 1 - np.array(values)
    tolerance = Z * errors.std(ddof=1) / np.sqrt(len(errors)) + wrong.mean() / 40
    assert abs(errors.mean() - wrong.mean()) < tolerance
    if_forgotten = errors / (1 - np.array(share))
    assert if_forgotten.mean() > wrong.mean() + tolerance, "the pool is one where it matters"


def test_a_round_without_a_decision_says_nothing():
    pool = synthetic_pool(200, seed=6)
    m = method("dirichlet-tree")
    partition, _ = build_partition(m, pool.score, pool.probability, pool.prediction)
    question = Question(
        method=m, cells=partition.cells, measures=(measure("accuracy"),), confidence=0.95, seed=0,
        evaluation="undecided",
    )
    draws = plan(question, before_any_label(question), 10)
    undecided = np.full(len(draws.cell), UNDECIDED)
    (e,) = estimates(question, observe(question, before_any_label(question), draws, undecided))
    assert (e.value, e.lower, e.upper) == (None, 0.0, 1.0)
