"""Intervals from an effective number of labels."""

import numpy as np
import pytest
from scipy.stats import beta, norm, t

from assay.evalcore.estimators.intervals import clopper_pearson, effective_number


def test_a_simple_random_sample_is_worth_its_labels_but_for_the_degrees_of_freedom():
    p, n = 0.8, 50.0
    found = effective_number(np.array([p]), np.array([p * (1 - p) / n]), np.array([n]), 0.95)
    assert found == pytest.approx([n * (norm.ppf(0.975) / t.ppf(0.975, 49)) ** 2])


def test_whole_numbers_give_the_exact_interval():
    ends = clopper_pearson(np.array([0.8, 0.0, 1.0]), np.array([10.0, 10.0, 10.0]), 0.95)
    assert ends.lower == pytest.approx([beta.ppf(0.025, 8, 3), 0, 0.025 ** 0.1])
    assert ends.upper == pytest.approx([beta.ppf(0.975, 9, 2), 1 - 0.025 ** 0.1, 1], abs=1e-6)


def test_labels_that_all_agree_still_leave_a_width():
    number = effective_number(np.array([1.0]), np.array([1e-3]), np.array([20.0]), 0.95)
    assert clopper_pearson(np.array([1.0]), number, 0.95).lower[0] < 0.99
