"""The error of having simulated only so many worlds."""

import numpy as np
import pytest

from assay.evalcore.forecast.labels_needed import simulation_error
from assay.evalcore.reproducible import stream

FALSE_ALARM = 1e-6


def test_the_median_lies_between_ordered_numbers_by_the_binomial_distribution():
    # of 12 worlds, at most 2 lie below the median with a chance of 79/4096 = 1.9%, at most 3 of 7.3%
    found = simulation_error(np.arange(1.0, 13.0))
    assert (found.lower, found.upper) == (3.0, 10.0)
    # Wilson's half-width at 12 of 12: z²/2K / (1 + z²/K)
    assert found.share == pytest.approx(1.96**2 / 24 / (1 + 1.96**2 / 12), rel=1e-3)


def test_it_is_small_once_more_worlds_would_hardly_change_what_is_said():
    assert simulation_error(np.linspace(400, 420, 24)).small
    assert not simulation_error(np.linspace(100, 900, 24)).small
    beyond = np.full(24, np.inf)
    assert simulation_error(beyond).small   # none of 24 met it: 0 to 14%
    beyond[:6] = 300.0
    assert not simulation_error(beyond).small   # 25 ± 17%
    half = np.concatenate([np.linspace(300, 310, 13), np.full(11, np.inf)])
    assert not simulation_error(half).small   # a number, or more than the horizon


def test_both_statements_hold_as_often_as_they_say():
    # 2,000 forecasts of 24 worlds each, whose true median is 300 and of which 80% meet the goal
    rng, held, shares, times = stream(1, "luck"), 0, 0, 2000
    for _ in range(times):
        took = np.sort(np.where(rng.random(24) < 0.2, np.inf, rng.exponential(100 / np.log(2.0), 24)))
        true_median = -100 / np.log(2.0) * np.log(1 - 0.5 / 0.8)
        found = simulation_error(took)
        held += found.lower <= true_median <= found.upper
        shares += abs(np.isfinite(took).mean() - 0.8) <= found.share
    # 5 standard errors of a share of 0.95 in 2,000 are 0.024; Wilson's half-width alone, around the share
    # itself and not around its own centre, may hold a little less
    assert held / times >= 0.926
    assert shares / times >= 0.90
