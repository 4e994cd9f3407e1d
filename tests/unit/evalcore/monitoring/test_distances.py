"""Distances between distributions in bins, worked by hand."""

import numpy as np
import pytest

from assay.evalcore.monitoring.signals import largest_gap, moved_share, stability


def test_equal_shares_have_no_psi_and_a_moved_half_has_what_the_formula_says():
    before = np.full(50, 20)
    assert stability(before, before) == 0.0
    # all of the window in the upper five groups: shares 0.2 and 0.1 there, half an item of 1000 below
    upper = np.array([0] * 25 + [40] * 25)
    expected = 5 * (0.2 - 0.1) * np.log(2) + 5 * (0.0005 - 0.1) * np.log(0.005)
    assert stability(upper, before) == pytest.approx(expected)


def test_the_largest_gap_is_that_of_the_distribution_functions():
    assert largest_gap(np.array([1, 1, 2]), np.array([2, 2, 0])) == pytest.approx(0.5)
    assert largest_gap(np.array([3, 3]), np.array([1, 1])) == 0.0


def test_the_moved_share_counts_values_that_come_and_go():
    # a: 0.5 against 0.75 of four, b: 0 against 0.25, c: 0.5 against 0
    assert moved_share({"a": 1, "c": 1}, [{"a": 2}, {"a": 1, "b": 1}]) == pytest.approx(0.5)
