"""Exact intervals of shares, and what no label has shown."""

import numpy as np
import pytest
from scipy.stats import hypergeom

from assay.evalcore.estimators.intervals import depths, exact_share, hidden_items, hidden_reach

TAIL = 0.025


def share(hits, labels, items, tail=TAIL):
    lower, upper = exact_share(*(np.array([x]) for x in (hits, labels, items)), np.array([tail]))
    return lower[0], upper[0]


@pytest.mark.parametrize(("labels", "lower"), [(200, 0.982), (500, 0.9929), (100, 0.964)])
def test_all_right_is_no_proof_of_perfection(labels, lower):
    assert share(labels, labels, 10_000) == pytest.approx((lower, 1.0), abs=5e-5)


def test_one_wrong_of_two_hundred():
    assert share(199, 200, 10_000) == pytest.approx((0.9727, 0.9998), abs=5e-5)


def test_it_inverts_the_hypergeometric_distribution():
    rng = np.random.default_rng(3)
    for _ in range(100):
        items = int(rng.integers(2, 200))
        labels = int(rng.integers(1, items + 1))
        hits = int(rng.integers(0, labels + 1))
        there = np.arange(hits, items - labels + hits + 1)
        most = there[hypergeom.cdf(hits, items, there, labels) > TAIL].max()
        least = there[hypergeom.sf(hits - 1, items, there, labels) > TAIL].min()
        assert share(hits, labels, items) == pytest.approx((least / items, most / items))


def test_its_coverage_is_exact_for_every_number_of_hits():
    items, labels = 60, 25
    hits = np.arange(labels + 1)
    lower, upper = exact_share(
        hits, np.full(26, labels), np.full(26, items), np.full(26, TAIL)
    )
    for there in range(items + 1):
        covers = (lower <= there / items + 1e-12) & (there / items - 1e-12 <= upper)
        assert hypergeom.pmf(hits, items, there, labels)[covers].sum() >= 0.95 - 1e-12


def test_what_is_labelled_in_full_hides_nothing():
    gain, none = np.full((1, 3), 0.1), np.zeros((1, 3))
    assert hidden_reach(gain, np.full((1, 3), 30.0), none, np.zeros(1), np.full(1, TAIL))[0] == 0


def test_without_spread_it_is_the_exact_bound_and_without_anything_hidden_the_normal_one():
    items, labels = 10_000, 200
    caught, left = np.array([[-np.log1p(-labels / items)]]), np.array([[float(items - labels)]])
    alone = hidden_reach(np.array([[1 / items]]), caught, left, np.zeros(1), np.full(1, TAIL))[0]
    assert alone == pytest.approx(1 - share(labels, labels, items)[0], abs=3e-4)
    normal = hidden_reach(np.zeros((1, 1)), caught, left, np.ones(1), np.full(1, TAIL))[0]
    assert normal == pytest.approx(1.96, abs=1e-3)


def test_cells_are_filled_by_what_they_hide_best_and_never_beyond_their_items():
    gain, caught = np.array([[1.0, 1.0, 5.0]]), np.array([[0.01, 0.5, 0.1]])
    hidden = hidden_items(gain, caught, np.array([[50.0, 100.0, 4.0]]), np.array([[0.3, 2.0]]))[0]
    assert hidden[0].tolist() == pytest.approx([30.0, 0.0, 0.0])
    assert hidden[1].tolist() == pytest.approx([50.0, 2.2, 4.0])


def test_an_end_covers_hidden_items_and_the_labels_error_together():
    """B items are hidden with the chance e^-t; the rest of the error is normal."""
    rng = np.random.default_rng(7)
    gain, caught, left = np.array([[0.02]]), np.array([[0.02]]), np.array([[1e4]])
    for spread in (0.0, 0.5, 1.0, 3.0):
        reach = hidden_reach(gain, caught, left, np.full(1, spread), np.full(1, TAIL))[0]
        for t in depths(np.full(1, TAIL))[0]:
            moved = 0.02 * t / 0.02 * (rng.random(200_000) < np.exp(-t))
            missed = (moved + spread * rng.standard_normal(200_000) > reach + 1e-9) & (moved > 0)
            # 0.0015 is 4 standard errors of a share of 0.025 in 200,000
            assert missed.mean() <= TAIL + 0.0015
