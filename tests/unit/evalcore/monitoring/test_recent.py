"""The mean over the last windows, worked by hand."""

import numpy as np
import pytest

from assay.evalcore.monitoring.earlier_windows import recent_mean
from assay.evalcore.monitoring.verdicts import Measured


def _measured(value, low, high, labels=100):
    lower, upper = (None, None) if value is None else (value - low, value + high)
    return Measured(value=value, lower=lower, upper=upper, confidence=0.95, labels=labels)


def test_windows_are_weighted_by_labels_and_independent_errors_add_as_squares():
    told = {"1": _measured(0.9, 0.06, 0.03), "2": _measured(0.6, 0.06, 0.06, 200)}
    found = recent_mean(None, told, "independent")
    assert (found.windows, found.labels) == (("1", "2"), 300)
    assert found.value == pytest.approx(0.7)
    assert found.value - found.lower == pytest.approx(np.hypot(0.02, 0.04))
    assert found.upper - found.value == pytest.approx(np.hypot(0.01, 0.04))


def test_dependent_errors_add_themselves():
    told = {"1": _measured(0.9, 0.06, 0.06), "2": _measured(0.7, 0.03, 0.03)}
    found = recent_mean("half=a", told, "dependent")
    assert (found.segment, found.joined) == ("half=a", "dependent")
    assert found.upper - found.value == pytest.approx(0.045)


def test_a_window_without_an_estimate_is_left_out_and_one_window_has_no_mean():
    told = {"1": _measured(0.9, 0.06, 0.06), "2": _measured(None, 0, 0), "3": _measured(0.8, 0.06, 0.06)}
    assert recent_mean(None, told, "independent").windows == ("1", "3")
    assert recent_mean(None, {"1": told["1"], "2": told["2"]}, "independent") is None


@pytest.mark.statistical
@pytest.mark.parametrize(("shared", "joined"), [(0.0, "independent"), (0.9, "dependent")])
def test_the_interval_covers_the_mean_of_the_windows(shared, joined):
    # errors of four windows, each of variance 1; `shared` of it is common to all
    rng, runs, truth = np.random.default_rng(1), 2000, np.array([0.0, 1.0, 2.0, 3.0])
    common = rng.standard_normal((runs, 1)) * np.sqrt(shared)
    values = truth + common + rng.standard_normal((runs, 4)) * np.sqrt(1 - shared)
    covered = 0
    for row in values:
        told = {str(i): _measured(float(x), 1.96, 1.96) for i, x in enumerate(row)}
        found = recent_mean(None, told, joined)
        covered += found.lower <= truth.mean() <= found.upper
    assert covered / runs >= 0.95 - 4.75 * np.sqrt(0.95 * 0.05 / runs)   # 1e-6
    if joined == "independent":
        assert covered / runs <= 0.95 + 4.75 * np.sqrt(0.95 * 0.05 / runs)
