"""What a window is held against, and at which share of the error rate, worked by hand."""

import pytest

from assay.evalcore.monitoring.judging import DropRule, Rules, limits_of
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict

RATE = 0.05


def stands(sure, segment=None):
    """A window's verdicts, of one place, of which so much is sure."""
    found = Measured(value=0.9, lower=0.8, upper=1.0, confidence=0.95, labels=100)
    return {segment: PlaceVerdict(
        segment=segment, measured=found, limits=(), factors=(), evidence=(), needed=3.0, verdict="ok",
        sure=sure,
    )}


def rules(**given):
    return Rules(reference="w1", error_rate=RATE, **given)


def of_pool(asked, window, standing):
    return limits_of(asked, window, None, standing, RATE)


def test_a_floor_and_a_ceiling_share_the_error_rate():
    low, high = of_pool(rules(floor=0.8, ceiling=0.9), "w2", {})
    assert (low.limit.name, low.limit.side, low.limit.value) == ("floor", "below", 0.8)
    assert (high.limit.name, high.limit.side, high.limit.value) == ("ceiling", "above", 0.9)
    assert low.error_rate == high.error_rate == RATE / 2


def test_a_drop_from_the_reference_starts_at_what_is_sure_of_it_and_not_at_its_interval():
    # alone, the drop has the whole rate; half of it is for the windows, half for knowing the reference
    drop = DropRule(by=0.03, than="reference")
    (one,) = of_pool(rules(drop=drop), "w2", {"w1": stands(0.75)})
    assert one.limit.value == pytest.approx(0.75 - 0.03)
    assert (one.limit.side, one.error_rate) == ("below", RATE / 2)
    assert drop.knowing(RATE, 200) == RATE / 2


def test_where_smaller_is_better_a_drop_is_a_rise():
    asked = rules(ceiling=0.5, drop=DropRule(by=0.03, than="reference"))
    _, one = of_pool(asked, "w2", {"w1": stands(0.3)})
    assert (one.limit.side, one.limit.value) == ("above", pytest.approx(0.33))
    assert one.error_rate == RATE / 4


def test_the_reference_itself_and_a_window_before_it_was_judged_have_no_such_limit():
    asked = rules(floor=0.8, drop=DropRule(by=0.03, than="reference"))
    unsure = stands(None)
    for window, standing in (("w1", {}), ("w2", {}), ("w1", {"w1": stands(0.9)}), ("w2", {"w1": unsure})):
        (floor,) = of_pool(asked, window, standing)
        assert floor.error_rate == RATE / 2   # the drop's share stays unspent


def test_a_drop_from_the_windows_before_takes_the_last_few_of_them_by_time():
    standing = {f"w{i}": stands(value) for i, value in ((5, 0.1), (3, 0.9), (2, 0.7), (1, 0.2))}
    drop = DropRule(by=0.05, than="previous", windows=2)
    (one,) = of_pool(rules(drop=drop), "w4", standing)   # w2 and w3: 0.8
    assert (one.limit.value, one.error_rate) == (pytest.approx(0.75), RATE / 2)
    assert of_pool(rules(drop=drop), "w1", standing) == []
    # each window is in two means, and 100 means are made: all of them at once hold at half of the rate
    assert drop.knowing(RATE, 100) == pytest.approx(RATE / 2 / 100 / 2)


def test_a_segment_is_compared_with_itself():
    standing = {"w1": stands(0.9, "region=north")}
    asked = rules(drop=DropRule(by=0.03, than="reference"))
    assert limits_of(asked, "w2", "region=north", standing, RATE)
    assert limits_of(asked, "w2", "region=south", standing, RATE) == []
    assert of_pool(asked, "w2", standing) == []
