"""Totals by inclusion probability: all outcomes of a small adaptive design, and worked examples."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import beta

from assay.evalcore.estimators.horvitz_thompson import Totals, estimate_of_totals, measure_variance, one_round
from assay.evalcore.estimators.importance import round_weight
from assay.evalcore.measures.registry import measure
from assay.evalcore.pool.strata import Cells


def cells_of(sizes, predictions):
    n = len(sizes)
    return Cells(
        stratum=np.arange(n), prediction=np.array(predictions), size=np.array(sizes), mean_score=np.zeros(n),
        mean_probability=np.full(n, 0.5), log_density=np.zeros(n), n_slots=n,
    )


# eight items in three cells; positives 1 of 3, 2 of 3, 1 of 2.  N by [prediction, label]: [[3, 3], [1, 1]]
SIZES, PREDICTIONS, POSITIVES = [3, 3, 2], [0, 0, 1], [1, 2, 1]
TRUTH = np.array([[3.0, 3.0], [1.0, 1.0]])


def outcomes(left, pi):
    """Every (counts drawn by cell and label, chance) of independent draws; left (3, 2) by label."""
    from math import comb

    cells_and_labels = [(c, y) for c in range(3) for y in (0, 1)]
    for counts in product(*(range(left[c][y] + 1) for c, y in cells_and_labels)):
        drawn, chance = np.zeros((3, 2), int), 1.0
        for (c, y), n in zip(cells_and_labels, counts, strict=True):
            drawn[c, y] = n
            chance *= comb(left[c][y], n) * pi[c] ** n * (1 - pi[c]) ** (left[c][y] - n)
        yield drawn, chance


@pytest.mark.parametrize("assisted", [False, True])
@pytest.mark.parametrize("rule", ["plain", "square-root", "inverse-variance"])
def test_two_adaptive_rounds_are_unbiased_by_exact_enumeration(assisted, rule):
    cells = cells_of(SIZES, PREDICTIONS)
    by_label = np.stack([np.array(SIZES) - POSITIVES, POSITIVES], axis=1)
    model = np.array([[[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]]) if assisted else None
    first_pi = np.array([0.4, 0.6, 0.5])
    nothing = np.zeros((1, 3, 2), int)
    mean_first, mean_second, mean_sum, total_chance = 0.0, 0.0, 0.0, 0.0
    for drawn, chance in outcomes(by_label, first_pi):
        first = one_round(cells, nothing, np.array([SIZES]), drawn[None], first_pi[None], model)
        # the second round looks harder where positives turned up: its π and its weight know the first labels
        second_pi = np.array([0.3, 0.5, 0.4]) + 0.15 * drawn[:, 1]
        left = np.array(SIZES) - drawn.sum(axis=1)
        size = np.array([1 + drawn[:, 1].sum()])
        weights = [
            round_weight(rule, 1, np.array([4]), np.array([2.0])),
            round_weight(rule, 2, size, 1.0 / size),
        ]
        conditional = np.zeros((2, 2))
        for again, chance_again in outcomes(by_label - drawn, second_pi):
            second = one_round(cells, drawn[None], left[None], again[None], second_pi[None], model)
            conditional += chance_again * second.table[0]
        assert conditional == pytest.approx(TRUTH), "given the past, a round is unbiased"
        mean_first += chance * first.table[0]
        mean_second += chance * conditional
        mean_sum += chance * (weights[0] * (first.table[0] - TRUTH) + weights[1] * (conditional - TRUTH))
        total_chance += chance
    assert total_chance == pytest.approx(1)
    assert mean_first == pytest.approx(TRUTH)
    assert mean_second == pytest.approx(TRUTH)
    assert mean_sum == pytest.approx(np.zeros((2, 2)), abs=1e-12)


@pytest.mark.parametrize("assisted", [False, True])
def test_the_variance_estimate_is_unbiased_by_exact_enumeration(assisted):
    cells = cells_of(SIZES, PREDICTIONS)
    by_label = np.stack([np.array(SIZES) - POSITIVES, POSITIVES], axis=1)
    model = np.array([[[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]]) if assisted else None
    pi, phi = np.array([0.4, 0.6, 0.5]), np.array([[0.0, 1.0], [0.3, -0.5]])
    mean, second, estimated = 0.0, 0.0, 0.0
    for drawn, chance in outcomes(by_label, pi):
        got = one_round(cells, np.zeros((1, 3, 2), int), np.array([SIZES]), drawn[None], pi[None], model)
        value = float((phi * got.table[0]).sum())
        mean += chance * value
        second += chance * value**2
        estimated += chance * float(np.einsum("fy,fyz,fz->", phi, got.moments[0], phi))
    assert estimated == pytest.approx(second - mean**2)


def test_a_difference_with_a_perfect_model_has_no_variance():
    cells = cells_of([10, 5], [0, 1])
    model = np.array([[[1.0, 0.0], [0.0, 1.0]]])      # all of cell 0 negative, all of cell 1 positive
    drawn = np.array([[[2, 0], [0, 1]]])
    got = one_round(
        cells, np.zeros((1, 2, 2), int), np.array([[10, 5]]), drawn, np.array([[0.2, 0.2]]), model
    )
    assert got.table[0] == pytest.approx(np.array([[10, 0], [0, 5]]))
    assert not got.moments.any()


def test_precision_by_hand():
    # predicted positive: 4 drawn at π = 1/2, 3 of them positive: TP = 6, FP = 2, precision 3/4.
    # φ = (1[y] - 3/4) / 8; variance Σ (1 - π)/π² φ² = 2 (3 · (1/32)² + (3/32)²) = 24/1024
    cells = cells_of([8, 20], [1, 0])
    drawn = np.array([[[1, 3], [0, 0]]])
    totals = one_round(
        cells, np.zeros((1, 2, 2), int), np.array([[8, 20]]), drawn, np.array([[0.5, 0.0]])
    )
    value, variance = measure_variance(measure("precision"), totals)
    assert (value[0], variance[0]) == pytest.approx((0.75, 24 / 1024))
    got = estimate_of_totals(measure("precision"), totals, 0.9)
    strength = 0.75 * 0.25 / (24 / 1024) - 1                      # 7
    assert (got.lower[0], got.upper[0]) == pytest.approx(
        tuple(beta.ppf([0.05, 0.95], 0.75 * strength, 0.25 * strength))
    )


def test_rounds_are_weighed_in_value_and_variance():
    # two rounds of one cell with weights 1 and 3: table (1·4 + 3·8)/4 = 7; moments (1·2 + 9·4) = 38 over 16
    a = Totals(table=np.full((1, 2, 2), 4.0), moments=np.full((1, 2, 2, 2), 2.0), weight=np.ones(1))
    b = Totals(table=np.full((1, 2, 2), 8.0), moments=np.full((1, 2, 2, 2), 4.0), weight=np.ones(1))
    both = Totals.none(1).add(a, np.array([1.0])).add(b, np.array([3.0]))
    assert both.weight == pytest.approx([4])
    assert both.table / 4 == pytest.approx(np.full((1, 2, 2), 7.0))
    assert both.moments == pytest.approx(np.full((1, 2, 2, 2), 38.0))
    value, variance = measure_variance(measure("precision"), both)
    # precision of a table of equal counts is 1/2; φ = ±1/2 over half the table's total of 4 · 28 = 112, so
    # φ = ±1/112 on predicted positives: φᵀ M φ with M all 38 is 38 (1/112 - 1/112)² = 0
    assert (value[0], variance[0]) == pytest.approx((0.5, 0.0))


def test_nothing_drawn_is_no_estimate():
    got = estimate_of_totals(measure("f1"), Totals.none(2), 0.95)
    assert np.isnan(got.value).all()
    assert (got.lower == 0).all()
    assert (got.upper == 1).all()
