"""One label set serves every measure that was listed: nothing they touch is ruled out, and each is told."""

import numpy as np
import pytest
from doubles.pools import synthetic_pool
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import METHODS, method
from assay.evalcore.pool.partition import build_partition

# the low-shot methods search the top of the ranking and say so: what lies below the cut is out of their reach
NAMES = [name for name, m in METHODS.items() if m.capabilities.weighting != "none"]
LISTED = ("precision", "recall", "f1", "accuracy", "specificity", "balanced_accuracy", "mcc")


def question(pool, name, listed):
    how = method(name)
    partition, cell = build_partition(how, pool.score, pool.probability, pool.prediction)
    asked = Question(method=how, cells=partition.cells, measures=tuple(map(measure, listed)), confidence=0.95,
                     seed=5, evaluation="shared")
    return asked, cell


def run(asked, cell, pool, rounds, size):
    """States and plans of so many rounds, labelled with the pool's truth."""
    order = np.argsort(cell, kind="stable")
    first = np.searchsorted(cell[order], np.arange(asked.cells.n_cells))
    state = before_any_label(asked)
    for _ in range(rounds):
        if state.exhausted:
            break
        drawn = plan(asked, state, size)
        yield state, drawn
        state = observe(asked, state, drawn, pool.label[order[first[drawn.cell] + drawn.rank]])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3, deadline=None)
@given(
    seed=st.integers(0, 50),
    listed=st.permutations(LISTED).map(lambda names: names[:3]),
    threshold=st.sampled_from([-0.5, 1.0, 2.5]),
)
def test_every_item_that_a_listed_measure_touches_may_be_drawn(name, seed, listed, threshold):
    pool = synthetic_pool(300, seed=seed, threshold=threshold)
    asked, cell = question(pool, name, listed)
    for state, drawn in run(asked, cell, pool, 3, 20):
        if drawn.census:
            return
        # a cell where labels can change any of them, and some are missing, has a floor under its probability
        wanted = state.inner.wanted[0] > 0
        assert (drawn.design.unlabelled[0][wanted] > 0).all(), (name, listed)


@pytest.mark.parametrize("name", ["passive", "dirichlet-tree", "recalibrated", "static-is", "stratified"])
def test_one_label_set_gives_each_measure_its_value_and_interval(name):
    pool = synthetic_pool(600, seed=3)
    asked, cell = question(pool, name, LISTED)
    rounds = list(run(asked, cell, pool, 5, 40))
    state, _ = rounds[-1]
    found = estimates(asked, state)
    assert [e.measure for e in found] == list(LISTED)
    truth = [float(m.of_confusion(pool.confusion())) for m in asked.measures]
    for e, true, m in zip(found, truth, asked.measures, strict=True):
        assert e.value is not None, (name, e.measure)
        assert m.bounds[0] <= e.lower <= e.value <= e.upper <= m.bounds[1], (name, e.measure)
        assert e.upper > e.lower or e.interval == "exact"
        assert abs(e.value - true) < 0.5
        assert e.price_tag.random_labels or e.price_tag.random_labels_reason
