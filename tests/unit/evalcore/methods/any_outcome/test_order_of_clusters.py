"""Clusters one after the other: the chances are those of the draws."""

import numpy as np
import pytest

from assay.evalcore.methods.any_outcome.whole_clusters import cluster_chances, in_turn


def test_with_equal_measures_it_is_a_simple_random_sample():
    x = np.ones((2, 8))
    found = cluster_chances(x, np.ones((2, 8)), np.array([2.0, 8.0]))
    assert found == pytest.approx(np.array([[0.25] * 8, [1.0] * 8]))
    even = cluster_chances(x[:1], np.full((1, 8), 5.0), np.array([10.0]))
    assert even == pytest.approx(np.full((1, 8), 0.25))


def test_nothing_is_drawn_of_what_cannot_be():
    found = cluster_chances(np.array([[1.0, 0.0, 2.0]]), np.ones((1, 3)), np.array([2.0]))
    assert found.tolist() == [[1.0, 0.0, 1.0]]
    assert cluster_chances(np.zeros((1, 3)), np.ones((1, 3)), np.array([2.0])).tolist() == [[0.0, 0.0, 0.0]]


def test_the_first_in_turn_have_these_chances():
    x = np.array([[1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 1.0, 1.0]])
    chance = cluster_chances(x, np.ones((1, 10)), np.array([4.0]))
    rng, drawn = np.random.default_rng(1), np.zeros(10)
    for row in in_turn(np.repeat(chance, 20_000, axis=0), rng)[:, :4]:
        drawn[row] += 1
    # the formula is an approximation; the standard error of a share is at most 0.0036
    assert drawn / 20_000 == pytest.approx(chance[0], abs=0.03)


def test_what_is_certain_comes_first_and_what_is_impossible_last():
    turn = in_turn(np.array([[0.0, 0.5, 1.0, 0.2]] * 50), np.random.default_rng(2))
    assert (turn[:, 0] == 2).all()
    assert (turn[:, 3] == 0).all()
