"""The low-shot methods live: folded from what the ledger keeps, with people who cannot decide, to the end."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.design.round import CountedDesign
from assay.evalcore.evaluation.estimates import estimates
from assay.evalcore.evaluation.state import Question, before_any_label, observe, plan
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.outcomes.base import UNDECIDED
from assay.evalcore.pool.partition import build_partition

NAMES = [
    "acis", "acis:top_k=false", "acis:calibration=platt", "acis-pooled", "acis-pooled:top_k=false", "topk",
    "gmm", "gmm:top_domain=true", "herding", "herding:kernel=gaussian:top_domain=true", "isotonic",
    "isotonic:prior_labels=1:top_domain=true", "platt", "platt:top_domain=true", "recycle",
]


@pytest.mark.parametrize("name", NAMES)
def test_undecided_items_leave_the_pool_and_the_rest_is_measured_exactly(name):
    pool = synthetic_pool(500, seed=3)
    undecided = np.random.default_rng(1).random(500) < 0.1
    m = method(name)
    partition, cell = build_partition(m, pool.score, pool.probability, pool.prediction)
    order = np.argsort(cell, kind="stable")
    offset = np.cumsum(partition.cells.size) - partition.cells.size
    question = Question(
        method=m, cells=partition.cells, measures=(measure("f1"), measure("accuracy")), confidence=0.95,
        seed=1, evaluation="test",
    )
    state = before_any_label(question)
    while not state.exhausted:
        p = plan(question, state, 60)
        assert p.ask.sum() <= 60
        items = order[offset[p.cell] + p.rank]
        labels = np.where(undecided[items], UNDECIDED, pool.label[items])
        # the design as a later run reads it from the ledger
        stored = replace(p, design=CountedDesign.from_columns(p.design.to_columns()))
        state = observe(question, state, stored, labels)
        for e in estimates(question, state):
            assert e.value is None or e.lower <= e.value <= e.upper
        assert state.round < 60
    decided = ~undecided
    counts = np.bincount(pool.prediction[decided] * 2 + pool.label[decided], minlength=4).reshape(2, 2)
    for m, e in zip(question.measures, estimates(question, state), strict=True):
        assert e.value == pytest.approx(float(m.of_confusion(counts.astype(float))), abs=1e-12)
        assert e.interval == "exact"
