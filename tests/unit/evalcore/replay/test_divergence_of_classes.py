"""KL(q* ‖ q) beyond two classes, item by item."""

from dataclasses import replace

import numpy as np
import pytest

from assay.evalcore.measures.registry import outcome_measure
from assay.evalcore.measures.stack import Stack
from assay.evalcore.methods.registry import outcome_method
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.outcomes.items import Items
from assay.evalcore.replay.pool import OutcomePool, prepared
from assay.evalcore.replay.run import ReplayPlan, simulate

KIND = Classes(("a", "b", "c"))
N = 200


def pool():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.full(3, 0.6), N)
    y = (p.cumsum(axis=1) > rng.random((N, 1))).argmax(axis=1)
    items = Items(prediction=p.argmax(axis=1)[:, None].astype(float), probability=p)
    return OutcomePool(kind=KIND, items=items, codes=y.astype(float))


def of_accuracy(name):
    found, method = pool(), outcome_method(name)
    ready = prepared(method, found, Stack(kind=KIND, measures=(outcome_measure("accuracy", KIND, N),)))
    return found, method, ready


@pytest.mark.parametrize("name", ["dirichlet-tree:printed=true", "dirichlet-tree", "dirichlet-flat"])
def test_before_any_label_it_is_the_sum_over_all_items(name):
    found, method, ready = of_accuracy(name)
    state = ready.begin(method, 1)
    # accuracy: an item pulls where it is wrong, all alike
    wrong = found.items.prediction[:, 0] != found.codes
    best = wrong / wrong.sum()
    opened, _ = method.item_proposal(state)
    q = opened[0][ready.cut.cell]
    assert q.sum() == pytest.approx(1.0)
    expected = (best[wrong] * np.log(best[wrong] / q[wrong])).sum()
    assert ready.distance(method, state, 1)[0] == pytest.approx(expected)


def test_it_falls_as_labels_come_in_and_methods_without_a_proposal_have_none():
    found, method, ready = of_accuracy("dirichlet-tree:printed=true")
    plan = ReplayPlan(budgets=(20, 150), divergences=True)
    trace = simulate(method, found, ready.stack, plan, repeats=4)[0]
    assert trace.divergence is not None
    assert (trace.divergence[:, 1] < trace.divergence[:, 0]).all()
    passive = outcome_method("passive")
    ready = prepared(passive, found, ready.stack)
    assert ready.distance(passive, ready.begin(passive, 1), 1) is None


def test_the_best_proposal_is_of_the_measures_that_drive():
    found, _, ready = of_accuracy("dirichlet-tree")
    both = Stack(kind=KIND, measures=tuple(outcome_measure(m, KIND, N) for m in ("accuracy", "macro_f1")),
                 drive=(True, False))
    of_both = prepared(outcome_method("dirichlet-tree"), found, both)
    assert replace(ready, cut=of_both.cut).best_of_items() == pytest.approx(of_both.best_of_items())
