"""The change of a judge between windows: its size, its interval, and how often that covers."""

import numpy as np
import pytest

from assay.evalcore.monitoring.earlier_windows import judge_changes
from assay.evalcore.weighted.judges import JudgeFigure


def figure(value, half=0.1, labels=100, name="agreement"):
    return JudgeFigure(
        figure=name, value=value, lower=None if value is None else value - half,
        upper=None if value is None else value + half, undefined_reason=None if value is not None else "no",
        interval="weighted", labels=labels,
    )


def test_the_newest_window_against_the_mean_of_those_before():
    [change] = judge_changes(
        {"a": {"j": [figure(0.8, labels=100)]}, "b": {"j": [figure(0.9, labels=300)]},
         "c": {"j": [figure(0.6)]}}, 0.95,
    )
    assert change.before == pytest.approx(0.875)
    assert change.change == pytest.approx(-0.275)
    half = np.hypot(0.1, np.hypot(0.025, 0.075))
    assert (change.change_lower, change.change_upper) == pytest.approx((-0.275 - half, -0.275 + half))
    assert change.beyond_chance
    assert (change.labels_before, change.windows_before) == (400, ("a", "b"))


def test_nothing_is_said_of_one_window_or_of_what_has_no_value():
    assert judge_changes({"a": {"j": [figure(0.8)]}}, 0.95) == ()
    assert judge_changes({"a": {"j": [figure(None)]}, "b": {"j": [figure(0.5)]}}, 0.95) == ()
    assert judge_changes({"a": {"j": [figure(0.5)]}, "b": {"j": [figure(None)]}}, 0.95) == ()
    assert judge_changes({"a": {"other": [figure(0.5)]}, "b": {"j": [figure(0.5)]}}, 0.95) == ()


def test_its_interval_covers_no_change_as_often_as_it_says():
    rng, inside = np.random.default_rng(3), 0
    for _ in range(1000):
        values = 0.8 + 0.05 * rng.standard_normal(4)
        windows = {str(i): {"j": [figure(v, half=1.96 * 0.05)]} for i, v in enumerate(values.tolist())}
        [change] = judge_changes(windows, 0.95)
        inside += not change.beyond_chance
    assert 925 <= inside <= 972   # a chance of 1 in 1,000 to be outside at 0.95
