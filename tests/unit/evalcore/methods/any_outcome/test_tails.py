"""Heavy tails: the index that tells them, and the ends that are moved out for them."""

import numpy as np
import pytest

from assay.evalcore.methods.any_outcome.interval import FURTHEST_MOVE, further, index, moved_out


def test_the_index_of_pareto_tails_is_found():
    rng = np.random.default_rng(2)
    for alpha in (0.7, 1.5):
        there = rng.random((1, 20_000, 1)) < 0.4     # the median is 0
        pull = there * (rng.pareto(alpha, size=there.shape) + 1)
        # k = 4,000: the standard error of α̂ is α/√k
        assert index(pull)[0, 0] == pytest.approx(alpha, abs=4 * alpha / np.sqrt(4000))


def test_without_enough_positive_pulls_there_is_no_tail():
    assert index(-np.ones((1, 50, 1)))[0, 0] == np.inf
    assert index(np.ones((1, 50, 1)))[0, 0] == np.inf     # all alike
    assert index(np.arange(4.0).reshape(1, 4, 1))[0, 0] == np.inf


def test_squares_most_of_which_lie_below_their_mean_have_a_tail():
    errors = np.exp(2.2 * np.random.default_rng(5).standard_normal((1, 200, 1)))
    centred = errors - errors.mean()
    assert (centred > 0).mean() < 0.2
    assert index(centred)[0, 0] < 1


def test_only_the_end_on_the_side_of_the_tail_of_an_unbounded_measure_is_moved():
    rng = np.random.default_rng(3)
    heavy = rng.pareto(0.6, size=(1, 400, 1)) * np.array([1.0, -1.0, 1.0])
    value, lower, upper = np.zeros((1, 3)), np.full((1, 3), -1.0), np.ones((1, 3))
    lo, hi = moved_out(value, lower, upper, further(heavy, np.array([True, True, False])))
    assert lo[0, 0] == -1
    assert 1.25 < hi[0, 0] <= 1 + FURTHEST_MOVE
    assert (lo[0, 1], hi[0, 1]) == (-hi[0, 0], 1)
    assert (lo[0, 2], hi[0, 2]) == (-1, 1)
    light = rng.uniform(-1, 1, size=(1, 400, 3))
    assert np.array_equal(moved_out(value, lower, upper, further(light, np.ones(3, bool))), (lower, upper))
