"""Intervals for any outcome."""

import numpy as np
import pytest

from assay.evalcore.estimators.linearised import WIDER, interval_ends


def _ends(value, variance, *, skew=0.0, bounds=(-np.inf, np.inf), df=1e6):
    one = np.array([[1.0]])
    low, high = interval_ends(value * one, variance * one, df * one, skew * one, 0.95,
                     (np.array([bounds[0]]), np.array([bounds[1]])))
    return float(low[0, 0]), float(high[0, 0])


def test_without_bounds_it_is_the_normal_interval_a_little_wider():
    half = 1.959964 * WIDER
    np.testing.assert_allclose(_ends(3.0, 1.0), (3 - half, 3 + half), atol=1e-4)


def test_few_degrees_of_freedom_widen_it():
    assert _ends(0.0, 1.0, df=3)[1] > 1.5 * _ends(0.0, 1.0)[1]


def test_a_long_tail_moves_its_own_end_alone():
    low, high = _ends(0.0, 1.0)
    further = high * (1 + 0.5 * 8.683 / 11.76)     # (1 + 2 t²)/(6 t) of t = 1.96
    assert _ends(0.0, 1.0, skew=0.5) == (pytest.approx(low), pytest.approx(further, rel=1e-3))
    assert _ends(0.0, 1.0, skew=-0.5)[1] == pytest.approx(high)


def test_near_a_bound_it_reaches_away_from_it_and_never_beyond():
    low, high = _ends(0.999, 0.0005**2, bounds=(0.0, 1.0))
    assert low < 0.999 - 1.5 * 1.96 * 0.0005
    assert 0.999 < high <= 1


def test_with_one_bound_the_open_side_is_the_longer():
    low, high = _ends(1.0, 0.04, bounds=(0.0, np.inf))
    assert 0 < low < 1 < high
    assert high - 1 > 1 - low
    mirrored = _ends(-1.0, 0.04, bounds=(-np.inf, 0.0))
    np.testing.assert_allclose(mirrored, (-high, -low))


def test_nothing_left_to_know_leaves_no_width():
    assert _ends(0.4, 0.0, bounds=(0.0, 1.0)) == pytest.approx((0.4, 0.4))
