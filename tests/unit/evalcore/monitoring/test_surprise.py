"""Bounds that are learned from the windows before."""

import numpy as np
import pytest
from scipy.stats import binom, t

from assay.evalcore.monitoring.signals import (
    MEMORY,
    MOST_COMPARISONS,
    distance_bound,
    earlier_windows,
    level_bound,
)


def test_a_window_is_compared_with_the_newest_ones_before_it():
    among = earlier_windows([()] * 12)
    assert among[0] == []
    assert among[3] == [2, 1, 0]
    assert among[11] == [10, 9, 8, 7, 6, 5, 4, 3]
    assert len(among[11]) == MEMORY
    long = earlier_windows([()] * 100)
    assert [k for k, others in enumerate(long) if others] == list(range(100 - MOST_COMPARISONS - 1, 100))


def test_seasons_count_once_four_windows_of_the_new_ones_season_are_there():
    days = [(str(i % 7),) for i in range(29)]
    assert earlier_windows(days)[28] == [21, 14, 7, 0]
    assert earlier_windows(days[:28])[27][:2] == [26, 25], "three earlier windows of its day are too few"


def test_the_bound_of_a_level_is_student_s():
    # three past residuals of root mean square 2, four windows compared with: t(3) 2 √(1 + 1/4)
    bound = level_bound([2.0, -2.0, 2.0], 4, 0.05)
    assert bound == pytest.approx(t.ppf(0.975, 3) * 2 * np.sqrt(1.25))


@pytest.mark.statistical
def test_both_bounds_are_exceeded_at_the_stated_rate():
    rng, rate, runs, k = np.random.default_rng(2), 0.1, 3000, 6
    levels = rng.standard_normal((runs, k + 1))
    means = np.cumsum(levels, axis=1)[:, :-1] / np.arange(1, k + 1)
    residual = (levels[:, 1:] - means) / np.sqrt(1 + 1 / np.arange(1, k + 1))
    beyond = sum(
        abs(x[-1] - m[-1]) > level_bound(u[:-1], k, rate)
        for x, m, u in zip(levels, means, residual, strict=True)
    )
    distances = np.exp(rng.standard_normal((runs, k + 1)))
    far = sum(d[-1] > distance_bound(d[:-1], rate) for d in distances)
    for count in (beyond, far):
        assert binom.ppf(5e-7, runs, rate) <= count <= binom.isf(5e-7, runs, rate)
