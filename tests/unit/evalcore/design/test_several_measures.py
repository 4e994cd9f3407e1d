"""Proposition 2 of Marchant & Rubinstein (2021) for several measures: least total variance, in any order."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import minimize

from assay.evalcore.design.proposal import LabelledCells, expected_risk, pull, variance_minimising
from assay.evalcore.measures.registry import measure
from assay.evalcore.measures.two_classes import served
from assay.evalcore.methods.registry import method
from assay.evalcore.pool.strata import Cells

SIZE = np.array([2000, 800, 150, 50])
RATE = np.array([0.002, 0.05, 0.5, 0.9])


def cells():
    return Cells(
        stratum=np.arange(4), prediction=np.array([0, 0, 1, 1]), size=SIZE,
        mean_score=np.array([-2.0, -1.0, 1.0, 2.0]), mean_probability=RATE, log_density=np.zeros(4),
        n_slots=4,
    )


def total_variance(measures, q):
    """tr Σ of one draw under q (C,) of an item of each cell, by hand: Σ_m Σ_x E[φ_m²]/(N² q) - (J R)²."""
    pool, nothing = cells(), np.zeros((1, 4, 2), int)
    total = 0.0
    for m in measures:
        risk = expected_risk(m, pool, nothing, SIZE[None], RATE[None])
        phi = pull(m, risk)[0][pool.prediction]
        second = (SIZE * ((1 - RATE) * phi[:, 0] ** 2 + RATE * phi[:, 1] ** 2) / q).sum() / SIZE.sum() ** 2
        total += second - float((m.gradient(risk) * risk).sum()) ** 2
    return total


def proposal(measures, deterministic=False):
    return variance_minimising(
        LabelledCells(measures=measures, cells=cells(), labelled=np.zeros((1, 4, 2), int), left=SIZE[None]),
        RATE[None], size=np.array([10]), epsilon=np.array([1e-9]), deterministic=deterministic,
    ).unlabelled[0]


PRECISION, RECALL, ACCURACY = measure("precision"), measure("recall"), measure("accuracy")


def test_no_other_proposal_has_a_smaller_total_variance():
    several = [PRECISION, RECALL, ACCURACY]
    best = proposal(several)
    assert (SIZE * best).sum() == pytest.approx(1)
    least = total_variance(several, best)
    rng = np.random.default_rng(3)
    for _ in range(200):
        other = best * np.exp(0.2 * rng.standard_normal(4))
        assert total_variance(several, other / (SIZE * other).sum()) > least


def test_the_least_total_variance_is_that_of_proposition_1():
    # tr Σ = (∫ v)² - ‖J R‖², v the root of the expected ‖J ℓ‖²
    pool, nothing = cells(), np.zeros((1, 4, 2), int)
    squares, centre = np.zeros((4, 2)), 0.0
    for m in (PRECISION, RECALL):
        risk = expected_risk(m, pool, nothing, SIZE[None], RATE[None])
        squares += pull(m, risk)[0][pool.prediction] ** 2
        centre += float((m.gradient(risk) * risk).sum()) ** 2
    v = (SIZE * np.sqrt((1 - RATE) * squares[:, 0] + RATE * squares[:, 1])).sum() / SIZE.sum()
    found = total_variance([PRECISION, RECALL], proposal([PRECISION, RECALL]))
    assert found == pytest.approx(v**2 - centre, rel=1e-6)


@pytest.mark.parametrize(
    "name", ["dirichlet-tree", "dirichlet-tree-stochastic", "dirichlet-flat", "static-is"]
)
def test_the_order_of_the_measures_makes_no_difference(name):
    m = method(name)
    found = [
        m.propose(m.start(cells(), list(order), 1), np.array([10]))
        for order in permutations([PRECISION, RECALL, ACCURACY])
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other.unlabelled, found[0].unlabelled, rtol=1e-12)
        np.testing.assert_allclose(other.gradient, found[0].gradient, rtol=1e-12)


def test_a_measure_listed_second_costs_little_against_the_best_proposal_for_it_alone():
    both, alone = proposal([PRECISION, RECALL]), proposal([RECALL])
    after_precision = proposal([PRECISION])
    after_precision = 0.9 * after_precision + 0.1 / SIZE.sum()     # as it was: a tenth spread evenly
    assert total_variance([RECALL], both) < 1.2 * total_variance([RECALL], alone)
    assert total_variance([RECALL], after_precision) > 5 * total_variance([RECALL], alone)


def test_measures_that_do_not_drive_get_a_tenth_spread_evenly():
    m = method("dirichlet-tree")
    chosen = [replace(PRECISION, drives=False), replace(RECALL, drives=True)]
    assert [one.name for one in served(chosen)] == ["recall"]
    found = m.propose(m.start(cells(), chosen, 1), np.array([10])).unlabelled[0]
    alone = m.propose(m.start(cells(), [RECALL], 1), np.array([10])).unlabelled[0]
    np.testing.assert_allclose(found, 0.9 * alone + 0.1 / SIZE.sum())


def test_one_measure_listed_twice_changes_nothing():
    for deterministic in (True, False):
        found = proposal([RECALL, RECALL], deterministic)
        np.testing.assert_allclose(found, proposal([RECALL], deterministic), rtol=1e-6)


def least_total_variance(losses, share):
    """The least tr Σ over q of items with known D ℓ, (n, m), by SLSQP; share (n,): p(x)."""
    squares, centre = (losses**2).sum(axis=1), (share[:, None] * losses).sum(axis=0)
    found = minimize(
        lambda q: (share**2 * squares / q).sum(), share, method="SLSQP", bounds=[(1e-6, 1)] * len(share),
        constraints={"type": "eq", "fun": lambda q: q.sum() - 1}, options={"ftol": 1e-14},
    )
    return found.fun - (centre**2).sum()


def test_several_measures_of_a_deterministic_oracle_leave_a_variance():
    # against Proposition 4: two items, equally likely, whose D ℓ point in two directions
    share, losses = np.full(2, 0.5), np.array([[1.0, 0.1], [0.1, 1.0]])
    assert least_total_variance(losses, share) == pytest.approx(0.405, abs=1e-6)
    root = (share * np.linalg.norm(losses, axis=1)).sum()           # E‖D ℓ‖, as Proposition 1 has it
    assert root**2 - ((share @ losses) ** 2).sum() == pytest.approx(0.405)
    assert least_total_variance(losses[:, :1], share) == pytest.approx(0, abs=1e-6), "one measure leaves none"
