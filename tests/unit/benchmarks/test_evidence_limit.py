"""The most that evidence can grow by, against a search over all rates that keep the limit."""

import numpy as np
import pytest

from benchmarks.evidence_limit import Rates, closest, growth


def test_no_rates_that_keep_the_limit_are_closer_than_those_found():
    # two cells of 60 and 40 items; a right prediction is worth 0.2, a wrong one −0.8: the floor is 0.8
    known = Rates(rate=np.array([0.3, 0.7]), value=np.array([[0.2, -0.8], [-0.8, 0.2]]))
    left, chance = np.array([[60.0, 40.0]]), np.array([[0.5, 0.5]])
    null, a = closest(known, left, chance, np.zeros(1))
    margin = (left * (known.value[:, 0] + (known.value[:, 1] - known.value[:, 0]) * null)).sum()
    assert margin == pytest.approx(0.0, abs=1e-5)
    assert null + a * null * (1 - null) == pytest.approx(known.rate[None])   # a bet on y − r₀ is r₁/r₀
    # all pairs of rates at which the share of right predictions is 0.8: 0.6 (1 − r) + 0.4 s = 0.8
    r = np.linspace(1e-3, 0.3333, 2000)
    s = (0.8 - 0.6 * (1 - r)) / 0.4
    every = growth(known.rate, np.stack([r, s], axis=1), np.array([0.5, 0.5]))
    assert growth(known.rate, null, chance)[0] == pytest.approx(every.min(), rel=1e-4)


def test_there_is_no_bet_where_the_rates_keep_the_limit():
    known = Rates(rate=np.array([0.1]), value=np.array([[0.2, -0.8]]))
    null, a = closest(known, np.array([[50.0]]), np.ones((1, 1)), np.zeros(1))
    assert a == pytest.approx(0.0, abs=1e-6)
    assert null == pytest.approx(0.1, abs=1e-6)
