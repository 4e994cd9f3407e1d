"""What a window is held against, and at which share of the error rate, worked by hand."""

import pytest

from assay.evalcore.monitoring.limits import DropRule, Rules, limits_of, widened
from assay.evalcore.monitoring.verdicts import Measured, PlaceVerdict

RATE = 0.05


def measured(value, half_width=0.1, labels=100):
    return Measured(
        value=value, lower=value - half_width, upper=value + half_width, confidence=0.95, labels=labels
    )


def stands(found, segment=None):
    """A window's verdicts, of one place."""
    return {segment: PlaceVerdict(
        segment=segment, measured=found, limits=(), factors=(), evidence=(), needed=3.0, verdict="ok"
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


def test_a_drop_from_the_reference_starts_at_the_end_of_its_interval_that_accuses_least():
    # alone, the drop has the whole rate; half of it, 0.025 on one side, is what a 95% interval leaves out:
    # the edge is the interval's lower end, and the limit 0.03 below it
    (one,) = of_pool(rules(drop=DropRule(by=0.03, than="reference")), "w2", {"w1": stands(measured(0.9))})
    assert one.limit.value == pytest.approx(0.8 - 0.03)
    assert (one.limit.side, one.error_rate) == ("below", RATE / 2)


def test_where_smaller_is_better_a_drop_is_a_rise():
    asked = rules(ceiling=0.5, drop=DropRule(by=0.03, than="reference"))
    _, one = of_pool(asked, "w2", {"w1": stands(measured(0.3))})
    assert one.limit.side == "above"
    assert one.limit.value > 0.4 + 0.03   # a smaller share of the rate: further out than the 95% end
    assert one.error_rate == RATE / 4


def test_the_reference_itself_and_a_window_before_it_was_judged_have_no_such_limit():
    asked = rules(floor=0.8, drop=DropRule(by=0.03, than="reference"))
    for window, standing in (("w1", {}), ("w2", {}), ("w1", {"w1": stands(measured(0.9))})):
        (floor,) = of_pool(asked, window, standing)
        assert floor.error_rate == RATE / 2   # the drop's share stays unspent


def test_a_drop_from_the_windows_before_takes_the_last_few_of_them_by_time():
    standing = {f"w{i}": stands(measured(value)) for i, value in ((5, 0.1), (3, 0.9), (2, 0.7), (1, 0.2))}
    asked = rules(drop=DropRule(by=0.05, than="previous", windows=2))
    (one,) = of_pool(asked, "w4", standing)   # w2 and w3: 0.8
    assert one.limit.value == pytest.approx(0.75)
    assert one.compared.value == pytest.approx(0.8)
    assert of_pool(asked, "w1", standing) == []


def test_a_segment_is_compared_with_itself():
    standing = {"w1": stands(measured(0.9), "region=north")}
    asked = rules(drop=DropRule(by=0.03, than="reference"))
    assert limits_of(asked, "w2", "region=north", standing, RATE)
    assert limits_of(asked, "w2", "region=south", standing, RATE) == []
    assert of_pool(asked, "w2", standing) == []


def test_two_intervals_are_joined_as_for_a_difference():
    # half-widths 0.03 and 0.04 make 0.05
    got = widened(measured(0.7, 0.03), measured(0.9, 0.04))
    assert (got.value, got.lower, got.upper) == pytest.approx((0.7, 0.65, 0.75))
    nothing = Measured(value=None, lower=None, upper=None, confidence=0.95, labels=0)
    assert widened(measured(0.7), nothing).value is None
