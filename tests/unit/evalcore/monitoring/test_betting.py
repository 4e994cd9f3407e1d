"""Bets on the draws of a round, and what an interval or an exact value says, worked by hand."""

import numpy as np
import pytest

from assay.evalcore.measures.registry import measure
from assay.evalcore.monitoring import betting


@pytest.mark.parametrize("name", ["accuracy", "precision", "recall", "specificity", "f1"])
def test_a_measure_reaches_a_limit_exactly_when_its_margin_is_not_negative(name):
    counts = np.array([[50.0, 7.0], [11.0, 32.0]])   # [prediction, label]
    m = measure(name)
    value = float(m.of_confusion(counts))
    for limit, sign in ((value - 0.01, 1), (value + 0.01, -1)):
        constant, table = m.margin(limit)
        assert np.sign(constant + (counts / 100 * table).sum()) == sign


def test_a_measure_that_is_no_ratio_of_means_has_no_margin():
    assert measure("mcc").margin(0.5) is None
    assert betting.bet_against(measure("balanced_accuracy"), 0.5, "below") is None


def test_log_factors_are_the_logs_of_one_minus_share_times_x_over_bound():
    # x/bound is 1/2 and -1: factors (1 - λ/2)(1 + λ)², the second draw counted twice
    got = betting.log_factors(np.array([0.5, -1.0]), np.array(1.0), np.array([1, 2]))
    assert got == pytest.approx(np.log(1 - betting.SHARES / 2) + 2 * np.log(1 + betting.SHARES))


def test_an_interval_that_ends_at_the_limit_is_one_point_96_standard_errors_away():
    got = betting.interval_log_factors(0.8, 0.7, 0.9, 0.95, 0.9, "below")
    z = 1.959963985
    assert got == pytest.approx(betting.TILTS * z - betting.TILTS**2 / 2)
    assert betting.interval_log_factors(0.8, 0.7, 0.9, 0.95, 0.7, "above") == pytest.approx(got)


def test_an_exact_value_decides():
    assert (betting.known_log_factors(0.79, 0.8, "below") > 50).all()
    assert (betting.known_log_factors(0.80, 0.8, "below") < -50).all()
