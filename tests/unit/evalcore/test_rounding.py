"""What is discrete does not follow a rounding."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evalcore.methods.any_outcome.interval import index
from assay.evalcore.methods.dirichlet import _past
from assay.evalcore.outcomes.classes import Classes
from assay.evalcore.recalibration.interval import weighted_quantiles
from assay.evalcore.recalibration.label_model import SMOOTHNESS, rough_modes
from assay.evalcore.reproducible import first_largest, is_nothing, steady


def shaken(x, seed):
    """The same numbers, each off by a few roundings."""
    return x * (1 + np.random.default_rng(seed).uniform(-4e-16, 4e-16, np.shape(x)))


@given(st.integers(0, 1000))
def test_numbers_equal_but_for_rounding_are_equal(seed):
    shares = np.array([1 / 3, 0.1, 2e-9, 7e5, -0.3])
    assert np.array_equal(steady(shaken(shares, seed)), steady(shaken(shares, seed + 1)))
    assert steady(shares) == pytest.approx(shares, rel=1e-7)
    assert steady(np.array([0.0, -np.inf])).tolist() == [0.0, -np.inf]


@given(st.integers(0, 1000))
def test_of_equal_numbers_the_first_is_the_largest(seed):
    gains = np.array([[0.2, 0.7, 0.7, -np.inf], [1e-12, 1e-12, 0.0, 1e-12]])
    assert first_largest(shaken(gains, seed)).tolist() == [1, 0]


def test_a_difference_of_roundings_is_nothing():
    assert is_nothing(np.array([3e-17, 1e-3, 0.0]), np.array([0.3, 0.3, 0.0])).tolist() == [True, False, True]


@pytest.mark.parametrize("n_cells", [1, 2, 5, 26, 140])
def test_the_modes_are_the_eigenvectors_of_the_rough_remainder(n_cells):
    place = np.arange(n_cells) / n_cells
    covariance = np.exp(-np.abs(place[:, None] - place) / SMOOTHNESS)
    size, modes = rough_modes(n_cells, 25)
    assert np.abs(covariance @ modes - modes * size).max() < 1e-10
    assert np.abs(modes.T @ modes - np.eye(len(size))).max() < 1e-12
    assert size == pytest.approx(np.linalg.eigvalsh(covariance)[::-1][: len(size)], rel=1e-9)


@given(st.integers(0, 1000))
def test_quantiles_follow_weights_and_draws_continuously(seed):
    rng = np.random.default_rng(1)
    draws = np.round(rng.normal(size=(2, 400)), 1)       # many ties
    weight = np.full((2, 400), 1 / 400)                  # levels fall between two draws
    there = weighted_quantiles(draws, weight, [0.025, 0.5, 0.975])
    again = weighted_quantiles(shaken(draws, seed), shaken(weight, seed + 1), [0.025, 0.5, 0.975])
    assert again == pytest.approx(there, rel=1e-10, abs=1e-12)


def test_a_quantile_is_a_mean_over_a_window_of_its_tail():
    # 100 draws 1 … 100 of weight 0.01, the window of the level 0.5 is 0.475 to 0.525: half of 48, all of 49
    # to 52 and half of 53, whose mean is 50.5
    draws = np.arange(1.0, 101.0)[None]
    assert weighted_quantiles(draws, np.full((1, 100), 0.01), [0.5])[0, 0] == pytest.approx(50.5)
    assert weighted_quantiles(np.full((1, 100), 0.3), np.full((1, 100), 0.01), [0.1])[0, 0] == 0.3


def test_the_place_of_a_stop_is_continuous_at_the_tolerance():
    # just below it the last step counts whole; had it been just above, the next one would not count
    assert _past(1e-6, np.array([1e-5]), np.array([1e-6 * (1 - 1e-12)])) == pytest.approx([1.0], abs=1e-9)
    assert _past(1e-6, np.array([1e-6 * (1 + 1e-12)]), np.array([1e-7])) == pytest.approx([0.0], abs=1e-9)
    assert _past(1e-6, np.array([np.inf]), np.array([1e-9])) == [1.0]


def test_a_variance_of_roundings_is_no_variance():
    phi = np.full((1, 3), 1 / 3)
    assert Classes(names=("a", "b", "c")).variance(np.full((1, 3), 0.1), phi).tolist() == [0.0]


def test_errors_that_are_none_have_no_tail():
    pull = np.concatenate([np.full(30, 3e-17), [0.2, 0.1]])[None, :, None]
    assert index(pull).tolist() == [[np.inf]]
