"""The static proposals, against the formulas of their papers written out."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.pools import synthetic_pool

from assay.evalcore.measures.registry import measure
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.partition import build_partition


def design_of(name, measure_name, beta=None, pool_seed=6):
    pool = synthetic_pool(300, seed=pool_seed)
    m = method(name)
    partition, _ = build_partition(m, pool.score, pool.probability, pool.prediction)
    cells = partition.cells
    state = m.start(cells, [measure(measure_name, beta)], 1)
    return cells, m.propose(state, np.array([10]))


def proportional(actual, expected):
    return actual / actual.sum() == pytest.approx(expected / expected.sum())


@pytest.mark.parametrize(("measure_name", "beta"), [("f1", None), ("fbeta", 2.0), ("fbeta", 0.5)])
def test_sawade_corollary_2(measure_name, beta):
    cells, design = design_of("sawade", measure_name, beta)
    alpha = 1 / (1 + (beta or 1.0) ** 2)
    p, f = cells.mean_probability, cells.prediction
    tp, pp, pos = (cells.size * x for x in (p * f, f, p))
    value = tp.sum() / (alpha * pp.sum() + (1 - alpha) * pos.sum())
    expected = np.where(
        f == 1,
        np.sqrt(p * (1 - value) ** 2 + alpha**2 * (1 - p) * value**2),
        (1 - alpha) * np.sqrt(p * value**2),
    )
    assert proportional(design.unlabelled[0], expected)


def test_sawade_corollary_3_recall():
    cells, design = design_of("sawade", "recall")
    p, f = cells.mean_probability, cells.prediction
    value = (cells.size * p * f).sum() / (cells.size * p).sum()
    assert proportional(design.unlabelled[0], np.sqrt(p * np.where(f == 1, (1 - value) ** 2, value**2)))


def test_sawade_corollary_4_precision_never_looks_at_predicted_negatives():
    cells, design = design_of("sawade", "precision")
    p, f = cells.mean_probability, cells.prediction
    value = (cells.size * p * f).sum() / (cells.size * f).sum()
    # as printed: √((1 - 2G) p(f(x)|x) + G²), p(f(x)|x) = p where the prediction is positive
    assert proportional(design.unlabelled[0], np.where(f == 1, np.sqrt((1 - 2 * value) * p + value**2), 0))


def test_optimal_is_softens_the_probabilities():
    cells, design = design_of("optimal-is", "f1")
    p, f = 0.9 * cells.mean_probability + 0.05, cells.prediction

    def table(y):  # f and g of the ratio Σ f / Σ g that is F1
        return f * y, (f + y) / 2

    (f0, g0), (f1, g1) = table(0), table(1)
    ratio = (cells.size * (p * f1 + (1 - p) * f0)).sum() / (cells.size * (p * g1 + (1 - p) * g0)).sum()
    expected = np.sqrt(p * (f1 - ratio * g1) ** 2 + (1 - p) * (f0 - ratio * g0) ** 2)
    assert proportional(design.unlabelled[0], expected)


def test_optimal_is_for_accuracy_is_the_spread_of_the_error():
    cells, design = design_of("optimal-is", "accuracy")
    p = 0.9 * cells.mean_probability + 0.05
    right = np.where(cells.prediction == 1, p, 1 - p)
    accuracy = (cells.size * right).sum() / cells.n_items
    expected = np.sqrt(right * (1 - accuracy) ** 2 + (1 - right) * accuracy**2)
    assert proportional(design.unlabelled[0], expected)


def test_static_is_weighs_labels_by_their_chance():
    # F1 = R₀/R₁ with ℓ = (f y, (f + y)/2): J·ℓ is (1 - F)/R₁ for a hit, -F/2R₁ for a miss or a false alarm
    cells, design = design_of("static-is", "f1")
    p, f = cells.mean_probability, cells.prediction
    value = 2 * (cells.size * p * f).sum() / (cells.size * (p + f)).sum()
    expected = np.where(f == 1, p * (1 - value) + (1 - p) * value / 2, p * value / 2)
    assert proportional(design.unlabelled[0], expected)


def test_the_proposal_does_not_move_with_the_labels():
    pool = synthetic_pool(300, seed=6)
    m = method("static-is")
    partition, _ = build_partition(m, pool.score, pool.probability, pool.prediction)
    state = m.start(partition.cells, [measure("f1")], 1)
    before = m.propose(state, np.array([10]))
    labelled = np.zeros_like(state.labelled)
    labelled[0, :, 1] = partition.cells.size // 2
    after = m.propose(replace(state, labelled=labelled), np.array([10]))
    some = after.left[0] > 0
    assert after.unlabelled[0, some] == pytest.approx(before.unlabelled[0, some])
    assert after.labelled[0, some, 1] == pytest.approx(before.unlabelled[0, some])


def test_every_proposal_sums_to_one():
    for name in ("sawade", "optimal-is", "static-is", "oasis", "dirichlet-flat", "dirichlet-tree-stochastic"):
        _, design = design_of(name, "f1")
        assert (design.left * design.unlabelled).sum() == pytest.approx(1), name
