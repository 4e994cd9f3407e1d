"""KL(q* ‖ q): by hand, and falling while a method learns."""

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.design.round import CountedDesign
from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.strata import Cells
from assay.evalcore.replay.pool import best_proposal, divergence
from assay.evalcore.replay.run import ReplayPlan, simulate, summarise

CELLS = Cells(
    stratum=np.array([0, 1]), prediction=np.array([0, 1]), size=np.array([8, 4]),
    mean_score=np.zeros(2), mean_probability=np.array([0.2, 0.7]), log_density=np.zeros(2), n_slots=2,
)
BY_LABEL = np.array([[6, 2], [1, 3]])       # TN, FN; FP, TP: recall 3/5


def design(unlabelled, labelled, replacement=True):
    return CountedDesign(
        replacement=replacement, size=CELLS.size[None], left=CELLS.size[None],
        unlabelled=np.array([unlabelled]), labelled=np.array([labelled]), model=np.full((1, 2), 0.5),
        gradient=np.zeros((1, 2)), census=np.array([False]),
    )


def test_the_best_proposal_for_recall_by_hand():
    # |J ℓ| ∝ y |f - 3/5|: 3/5 for each of 2 misses, 2/5 for each of 3 hits; they sum to 12/5
    best = best_proposal([measure("recall")], CELLS, BY_LABEL)
    np.testing.assert_allclose(best, [[0, 1 / 4], [0, 1 / 6]], atol=1e-15)


def test_the_best_proposal_for_accuracy_draws_errors_alone():
    best = best_proposal([measure("accuracy")], CELLS, BY_LABEL)
    np.testing.assert_allclose(best, [[0, 1 / 3], [1 / 3, 0]], atol=1e-15)


def test_the_distance_of_even_draws_by_hand():
    # 2 · 1/4 log(12/4) + 3 · 1/6 log(12/6)
    best = best_proposal([measure("recall")], CELLS, BY_LABEL)
    even = design([1 / 12, 1 / 12], np.full((2, 2), 1 / 12))
    expected = 0.5 * np.log(3) + 0.5 * np.log(2)
    for labelled in (np.zeros((1, 2, 2), int), np.array([[[1, 1], [0, 2]]])):
        assert divergence(best, even, BY_LABEL, labelled) == pytest.approx([expected])


def test_the_best_proposal_is_at_no_distance_and_an_item_ruled_out_at_an_infinite_one():
    best = best_proposal([measure("recall")], CELLS, BY_LABEL)
    everything = BY_LABEL[None]
    assert divergence(best, design([0, 0], best), BY_LABEL, everything) == pytest.approx([0], abs=1e-15)
    assert np.isinf(divergence(best, design([0, 0.25], np.zeros((2, 2))), BY_LABEL, np.zeros((1, 2, 2), int)))


def test_draws_without_replacement_have_no_proposal():
    without = design([0.1, 0.1], np.zeros((2, 2)), replacement=False)
    best = best_proposal([measure("recall")], CELLS, BY_LABEL)
    assert np.isnan(divergence(best, without, BY_LABEL, np.zeros((1, 2, 2), int))).all()


def test_a_replay_tells_the_distance_where_asked_and_changes_nothing_else():
    pool, f1 = synthetic_pool(600, seed=4), measure("f1")
    at = {"batch_size": 25, "seed": 3}
    (told,) = simulate(
        method("dirichlet-tree"), pool, [f1], ReplayPlan(budgets=[25, 400], divergences=True, **at), repeats=4
    )
    (plain,) = simulate(method("dirichlet-tree"), pool, [f1], ReplayPlan(budgets=[25, 400], **at), repeats=4)
    np.testing.assert_array_equal(told.value, plain.value)
    assert plain.divergence is None
    assert told.divergence.shape == (4, 2)
    assert (told.divergence[:, 1] < told.divergence[:, 0]).all(), "labels bring it closer"
    first, last = summarise(told, 0.5, [25, 400])
    assert 0 < last.divergence < first.divergence == pytest.approx(told.divergence[:, 0].mean())
    (without,) = simulate(
        method("passive"), pool, [f1], ReplayPlan(budgets=[25], divergences=True, **at), repeats=4
    )
    assert summarise(without, 0.5, [25])[0].divergence is None


def least_variance(measures):
    """tr Σ of one draw under q*, item by item, when every label is known."""
    best = best_proposal(measures, CELLS, BY_LABEL)
    total = 0.0
    for m in measures:
        risk = np.einsum("cy,cyd->d", BY_LABEL, m.loss[CELLS.prediction]) / 12
        phi = m.influence(risk)[CELLS.prediction]
        drawn = best > 0
        total += (BY_LABEL * phi**2)[drawn] @ (1 / best[drawn]) / 12**2 - (m.gradient(risk) @ risk) ** 2
    return total


def test_the_least_variance_of_recall_and_accuracy_is_that_of_appendix_d():
    assert least_variance([measure("recall")]) == pytest.approx(4 * 0.6**2 * 0.4**2)       # example 5
    assert least_variance([measure("accuracy")]) == pytest.approx(0, abs=1e-15)            # example 4


def test_proposition_4_does_not_hold_for_two_measures():
    # two items whose J ℓ is positive for both measures, as the proposition asks, but not in one direction
    several = [measure("accuracy"), measure("accuracy")]
    assert least_variance(several) == pytest.approx(0, abs=1e-15), "in one direction it holds"
    a, b = np.array([1.0, 0.1]), np.array([0.1, 1.0])
    mean = (a + b) / 2
    least = np.mean([np.linalg.norm(a), np.linalg.norm(b)]) ** 2 - mean @ mean
    assert least == pytest.approx(1.01 - 0.605)
