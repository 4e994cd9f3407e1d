"""Intervals from a mean and a variance, and the weights of rounds."""

import numpy as np
import pytest
from scipy.stats import t

from assay.evalcore.estimators.importance import round_weight
from assay.evalcore.estimators.intervals import beta_fit, normal, student

YES = np.array([True])


def ends(interval):
    return float(interval.lower[0]), float(interval.upper[0])


def test_the_beta_with_the_uniform_moments_is_the_uniform():
    # mean 1/2 and variance 1/12 belong to Beta(1, 1)
    got = beta_fit(np.array([0.5]), np.array([1 / 12]), YES, 0.9, (0.0, 1.0))
    assert ends(got) == pytest.approx((0.05, 0.95))


def test_the_beta_is_stretched_over_the_range_of_the_measure():
    # on [-1, 1] the uniform has mean 0 and variance 4/12
    got = beta_fit(np.array([0.0]), np.array([1 / 3]), YES, 0.9, (-1.0, 1.0))
    assert ends(got) == pytest.approx((-0.9, 0.9))


@pytest.mark.parametrize(("mean", "variance"), [(0.0, 0.01), (1.0, 0.01), (0.5, 0.25), (0.5, 0.3)])
def test_where_no_beta_fits_the_whole_range_is_the_answer(mean, variance):
    got = beta_fit(np.array([mean]), np.array([variance]), YES, 0.95, (0.0, 1.0))
    assert ends(got) == (0.0, 1.0)


def test_a_beta_with_all_mass_on_the_edges_does_not_break():
    lower, upper = ends(beta_fit(np.array([0.3]), np.array([0.21 - 1e-9]), YES, 0.95, (0.0, 1.0)))
    assert 0 <= lower <= 0.3 <= upper <= 1


def test_student_is_wider_than_normal_with_few_draws():
    value, variance = np.array([0.5]), np.array([0.01])
    low, high = ends(student(value, variance, YES, 0.95, (0.0, 1.0), np.array([5])))
    assert high - 0.5 == pytest.approx(0.1 * t.ppf(0.975, 4))
    z_low, z_high = ends(normal(value, variance, YES, 0.95, (0.0, 1.0)))
    assert z_high - 0.5 == pytest.approx(0.1 * 1.959963984540054)
    assert low < z_low


@pytest.mark.parametrize("build", [normal, beta_fit])
def test_ignorance_is_the_whole_range(build):
    got = build(np.array([0.7]), np.array([0.0]), np.array([False]), 0.95, (-1.0, 1.0))
    assert ends(got) == (-1.0, 1.0)


def test_the_three_rules():
    size, predicted = np.array([25, 0]), np.array([0.04, 0.04])
    assert round_weight("plain", 9, size, predicted) == pytest.approx([25, 0])
    assert round_weight("square-root", 9, size, predicted) == pytest.approx([3, 0])
    assert round_weight("inverse-variance", 9, size, predicted) == pytest.approx([25, 0])
    assert np.isfinite(round_weight("inverse-variance", 1, np.array([5]), np.array([0.0]))).all()
